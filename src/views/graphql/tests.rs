//! The engine as a whole, over two small catalogs.

mod answers;
mod arms;
mod bounds;
mod diffs;
mod finding;
pub(in crate::views::graphql) mod fixture;
mod hostile;
mod odd;
mod paging;
mod upgrades;
