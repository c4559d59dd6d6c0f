//! What is to be served: catalogs, and the sources that they come from.

use std::time::Duration;

use images::Registries;
use serving::{CatalogMetadata, CatalogName};

use crate::{RefreshPolicy, Source};

/// A catalog that is to be served and kept current.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogSpec {
    /// Name of the catalog.
    pub name: CatalogName,
    /// Where its files come from.
    pub source: SourceSpec,
    /// What its owner says about it.
    pub metadata: CatalogMetadata,
}

/// Where the files of a catalog come from, and how they are kept current.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// A directory or an image.
    pub source: Source,
    /// The directory of an image that holds the catalog; `None` takes the one that the image's
    /// label names.
    pub configs_dir: Option<String>,
    /// When the source is polled again.
    pub refresh: RefreshPolicy,
    /// How images are reached: credentials, mirrors, certificates.
    pub registries: Registries,
}

impl SourceSpec {
    /// A source that is loaded once, from the directory of an image that its label names.
    pub fn once(source: Source, registries: Registries) -> Self {
        Self {
            source,
            configs_dir: None,
            refresh: RefreshPolicy::ONCE,
            registries,
        }
    }

    /// The source's key in the store: equal for specs that give the same files.
    pub fn key(&self) -> String {
        let source = self.source.key();
        self.configs_dir
            .as_ref()
            .map_or(source.clone(), |folder| format!("{source} {folder}"))
    }

    /// Interval between two polls while the source answers; `None` if it is loaded once.
    pub fn poll_interval(&self) -> Option<Duration> {
        match &self.source {
            Source::Directory(_) => self.refresh.directories.map(|interval| interval.poll),
            Source::Image(image) => self
                .refresh
                .images
                .and_then(|policy| policy.delay(0, image.is_pinned())),
        }
    }

    /// Whether one task can keep both current. A spec with another poll interval or with other
    /// credentials needs a task of its own.
    pub(crate) fn is_same_task(&self, other: &Self) -> bool {
        let is_same_access =
            matches!(self.source, Source::Directory(_)) || self.registries == other.registries;
        is_same_access && self.key() == other.key() && self.refresh == other.refresh
    }
}
