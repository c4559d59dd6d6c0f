//! What is to be loaded, and under which name.

use serving::{CatalogMetadata, CatalogName};

use crate::source::Source;

/// A catalog that is to be kept current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogSpec {
    /// What it is called.
    pub name: CatalogName,
    /// Where its files are.
    pub place: SourceSpec,
    /// What its owner says of it.
    pub metadata: CatalogMetadata,
}

/// Where the files of a catalog are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceSpec {
    /// A directory or an image.
    pub source: Source,
    /// Which directory of an image holds the catalog, in place of what the image says itself.
    pub configs_dir: Option<String>,
}

impl From<Source> for SourceSpec {
    fn from(source: Source) -> Self {
        Self { source, configs_dir: None }
    }
}

impl SourceSpec {
    /// What tells this place from every other.
    pub(super) fn key(&self) -> String {
        let source = self.source.key();
        self.configs_dir.as_ref().map_or(source.clone(), |folder| format!("{source} {folder}"))
    }
}
