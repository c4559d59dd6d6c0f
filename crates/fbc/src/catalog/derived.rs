//! What a catalog knows beyond its index: made when it is first asked for, or at once by [`Catalog::prepare`].
//!
//! Loading does not wait for it. It depends on the content alone, so that a catalog seems never to change.

use std::sync::{Arc, OnceLock};

use super::Catalog;
use super::find::{BundleIndex, BundleRanks, MetaIndex, SearchIndex};
use super::icon::Icons;
use super::metadata::ManifestPlaces;
use super::summary::Summaries;
use crate::outline::Outline;

/// Tables that are made once.
#[derive(Default)]
pub(super) struct Derived {
    summaries: OnceLock<Summaries>,
    icons: OnceLock<Arc<Icons>>,
    bundles: OnceLock<BundleIndex>,
    ranks: OnceLock<BundleRanks>,
    metas: OnceLock<MetaIndex>,
    search: OnceLock<SearchIndex>,
    manifests: OnceLock<ManifestPlaces>,
    outline: OnceLock<Outline>,
}

impl Catalog {
    /// Makes at once everything that is otherwise made when it is first asked for, so that no request waits for it.
    pub fn prepare(&self) {
        self.summaries();
        self.icons();
        self.bundle_index();
        self.bundle_ranks();
        self.meta_index();
        self.search_index();
        self.outline();
    }

    /// The icons of its packages, which can be kept longer than the catalog.
    pub fn icons(&self) -> &Arc<Icons> {
        self.derived.icons.get_or_init(|| Arc::new(Icons::of(self)))
    }

    /// What it holds by name and hash, which can be kept longer than the catalog.
    pub fn outline(&self) -> &Outline {
        self.derived.outline.get_or_init(|| Outline::of(self))
    }

    /// Its outline, if somebody asked for it before.
    pub fn known_outline(&self) -> Option<&Outline> {
        self.derived.outline.get()
    }

    pub(super) fn summaries(&self) -> &Summaries {
        self.derived.summaries.get_or_init(|| Summaries::of(self))
    }

    pub(super) fn bundle_index(&self) -> &BundleIndex {
        self.derived.bundles.get_or_init(|| BundleIndex::new(self))
    }

    pub(super) fn bundle_ranks(&self) -> &BundleRanks {
        self.derived.ranks.get_or_init(|| BundleRanks::new(self))
    }

    pub(super) fn meta_index(&self) -> &MetaIndex {
        self.derived.metas.get_or_init(|| MetaIndex::new(&self.metas, &self.names))
    }

    pub(super) fn manifest_places(&self) -> &ManifestPlaces {
        self.derived.manifests.get_or_init(|| ManifestPlaces::unknown(self.bundles.len()))
    }

    pub(super) fn search_index(&self) -> &SearchIndex {
        self.derived.search.get_or_init(|| SearchIndex::new(self))
    }
}
