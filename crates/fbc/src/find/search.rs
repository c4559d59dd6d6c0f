//! The full-text index of a catalog, made of the summaries and descriptions of its packages.

use fbc_read::json::JsonText;

use crate::bundle::Bundle;
use crate::catalog::Catalog;
use crate::metadata::CsvMetadata;
use crate::tables::search::{PackageTexts, SearchIndex, SearchIndexBuilder};

impl Catalog {
    pub(crate) fn search_index(&self) -> &SearchIndex {
        self.tables.search.get_or_init(|| index_packages(self))
    }
}

fn index_packages(catalog: &Catalog) -> SearchIndex {
    let mut builder = SearchIndexBuilder::default();
    for package in catalog.packages() {
        let summary = package.summary();
        let metadata = summary.bundle().and_then(Bundle::metadata);
        let description = metadata.as_ref().and_then(CsvMetadata::description);
        let descriptions = package.description().into_iter().chain(description);
        let texts = PackageTexts {
            name: package.name(),
            display_name: summary.display_name(),
            keywords: summary.keywords().collect(),
            provider_name: summary.provider_name(),
            descriptions: descriptions.map(JsonText::decode).collect(),
        };
        builder.add(package.place(), &texts);
    }
    builder.finish()
}
