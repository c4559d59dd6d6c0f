//! Makes all lazy tables of a catalog ahead of the first request.

use crate::catalog::Catalog;

impl Catalog {
    /// Makes all lazy tables now, so that no request waits for them.
    pub fn prepare(&self) {
        self.summaries();
        self.icons();
        self.bundle_index();
        self.bundle_ranks();
        self.bundle_properties();
        self.bundle_orders();
        self.package_orders();
        self.facet_table();
        self.channel_order();
        self.meta_index();
        self.search_index();
        self.completions();
        self.outline();
    }
}
