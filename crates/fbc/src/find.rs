//! Filters packages, bundles and blobs of one catalog, and counts the filtered packages by facet.
//!
//! A condition that is `None` or an empty list always holds; several conditions must all hold.
//! Texts are compared byte by byte; only [`PackageFilter::search`] folds them. Results are indexes
//! in the orders of the catalog, ascending; callers sort and page them.

mod bundles;
mod completions;
mod facet_counts;
pub(crate) mod filter;
mod metas;
mod order;
mod packages;
mod search;

pub use completions::Completion;
pub use facet_counts::FacetCounts;
pub use filter::{BundleFilter, MetaFilter, PackageFilter};
pub use packages::FoundPackages;
