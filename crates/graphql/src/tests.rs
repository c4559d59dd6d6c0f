//! The engine as a whole, over two small catalogs.

mod answers;
mod bounds;
mod console;
mod diffs;
mod every_field;
mod finding;
pub(crate) mod fixture;
mod history;
mod hostile;
mod installing;
mod many_catalogs;
mod merging;
mod mirror_sets;
mod odd;
mod paging;
mod platform_upgrades;
mod solving;
mod statuses;
mod suggestions;
mod upgrades;
mod verifications;
