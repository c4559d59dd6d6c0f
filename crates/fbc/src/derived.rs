//! Tables beyond the index, computed lazily on first use, or all at once by [`Catalog::prepare`].
//!
//! Loading does not wait for them. They depend on the content alone, so a catalog never appears to
//! change.

use std::sync::{Arc, OnceLock};

use super::find::{
    BundleFacts, BundleIndex, BundleOrders, BundleRanks, Completions, MetaIndex, SearchIndex,
};
use super::icon::Icons;
use super::lifecycle::LifecycleBlobs;
use super::metadata::CsvPositions;
use super::summary::Summaries;
use super::{Catalog, channel};
use crate::outline::Outline;

/// Lazily computed tables of a catalog.
#[derive(Default)]
pub(super) struct Derived {
    summaries: OnceLock<Summaries>,
    icons: OnceLock<Arc<Icons>>,
    bundles: OnceLock<BundleIndex>,
    ranks: OnceLock<BundleRanks>,
    orders: OnceLock<BundleOrders>,
    facts: OnceLock<BundleFacts>,
    channels: OnceLock<Box<[u32]>>,
    lifecycles: OnceLock<LifecycleBlobs>,
    metas: OnceLock<MetaIndex>,
    search: OnceLock<SearchIndex>,
    completions: OnceLock<Completions>,
    manifests: OnceLock<CsvPositions>,
    outline: OnceLock<Outline>,
}

impl Catalog {
    /// Computes all lazy tables now, so that no request waits for them.
    pub fn prepare(&self) {
        self.summaries();
        self.icons();
        self.bundle_index();
        self.bundle_ranks();
        self.bundle_facts();
        self.bundle_orders();
        self.channel_order();
        self.meta_index();
        self.search_index();
        self.completions();
        self.outline();
    }

    /// Returns the icons of its packages; the result may outlive the catalog.
    pub fn icons(&self) -> &Arc<Icons> {
        self.index
            .derived
            .icons
            .get_or_init(|| Arc::new(Icons::from_catalog(self)))
    }

    /// Returns the outline of its content: names and hashes.
    pub fn outline(&self) -> &Outline {
        self.index
            .derived
            .outline
            .get_or_init(|| Outline::from_catalog(self))
    }

    /// Returns the outline if it has already been computed.
    pub fn known_outline(&self) -> Option<&Outline> {
        self.index.derived.outline.get()
    }

    pub(super) fn summaries(&self) -> &Summaries {
        self.index
            .derived
            .summaries
            .get_or_init(|| Summaries::from_catalog(self))
    }

    pub(super) fn bundle_index(&self) -> &BundleIndex {
        self.index
            .derived
            .bundles
            .get_or_init(|| BundleIndex::new(self))
    }

    pub(super) fn bundle_ranks(&self) -> &BundleRanks {
        self.index
            .derived
            .ranks
            .get_or_init(|| BundleRanks::new(self))
    }

    pub(super) fn bundle_orders(&self) -> &BundleOrders {
        self.index
            .derived
            .orders
            .get_or_init(|| BundleOrders::new(self))
    }

    pub(super) fn bundle_facts(&self) -> &BundleFacts {
        self.index
            .derived
            .facts
            .get_or_init(|| BundleFacts::new(self))
    }

    /// Returns the ids of all channels, by package, then in the order of their names with numbers.
    pub(super) fn channel_order(&self) -> &[u32] {
        self.index
            .derived
            .channels
            .get_or_init(|| channel::order(self))
    }

    pub(super) fn lifecycle_blobs(&self) -> &LifecycleBlobs {
        self.index
            .derived
            .lifecycles
            .get_or_init(|| LifecycleBlobs::new(self))
    }

    pub(super) fn meta_index(&self) -> &MetaIndex {
        self.index
            .derived
            .metas
            .get_or_init(|| MetaIndex::new(&self.index.metas, &self.index.names))
    }

    pub(super) fn csv_positions(&self) -> &CsvPositions {
        self.index
            .derived
            .manifests
            .get_or_init(|| CsvPositions::new(self.index.bundles.len()))
    }

    pub(super) fn search_index(&self) -> &SearchIndex {
        self.index
            .derived
            .search
            .get_or_init(|| SearchIndex::new(self))
    }

    pub(super) fn completions(&self) -> &Completions {
        self.index
            .derived
            .completions
            .get_or_init(|| Completions::new(self))
    }
}
