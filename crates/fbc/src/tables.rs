//! Tables beyond the index, each made on first use, or all at once by
//! [`Catalog::prepare`](crate::Catalog::prepare).
//!
//! Loading does not wait for them. They depend on the content alone, so a catalog never appears to
//! change.

use std::sync::{Arc, OnceLock};

use crate::array::Array;
use crate::outline::layout::Outline;
use crate::tables::bundles::BundleIndex;
use crate::tables::completions::Completions;
use crate::tables::csv_positions::CsvPositions;
use crate::tables::facets::FacetTable;
use crate::tables::icons::Icons;
use crate::tables::lifecycles::LifecycleBlobs;
use crate::tables::metas::MetaIndex;
use crate::tables::order::{BundleOrders, BundleRanks};
use crate::tables::package_order::PackageOrders;
use crate::tables::properties::BundleProperties;
use crate::tables::search::SearchIndex;
use crate::tables::summaries::Summaries;

pub(crate) mod apis;
pub(crate) mod bundles;
pub(crate) mod channel_order;
pub(crate) mod completions;
pub(crate) mod csv_positions;
pub(crate) mod facets;
pub(crate) mod icons;
pub(crate) mod lifecycles;
pub(crate) mod metas;
pub(crate) mod order;
pub(crate) mod package_order;
pub(crate) mod postings;
pub(crate) mod properties;
pub(crate) mod search;
pub(crate) mod summaries;

/// Lazily made tables of a content.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) summaries: OnceLock<Summaries>,
    pub(crate) icons: OnceLock<Arc<Icons>>,
    pub(crate) bundles: OnceLock<BundleIndex>,
    pub(crate) ranks: OnceLock<BundleRanks>,
    pub(crate) orders: OnceLock<BundleOrders>,
    pub(crate) package_orders: OnceLock<PackageOrders>,
    pub(crate) facets: OnceLock<FacetTable>,
    pub(crate) properties: OnceLock<BundleProperties>,
    pub(crate) channels: OnceLock<Array<u32>>,
    pub(crate) lifecycles: OnceLock<LifecycleBlobs>,
    pub(crate) metas: OnceLock<MetaIndex>,
    pub(crate) search: OnceLock<SearchIndex>,
    pub(crate) completions: OnceLock<Completions>,
    pub(crate) csv_positions: OnceLock<CsvPositions>,
    pub(crate) outline: OnceLock<Outline>,
}
