//! Specifications of desired catalogs and of their sources.

use std::time::Duration;

use images::Registries;
use remote_sources::HttpClient;
use serving::{CatalogMetadata, CatalogName};

use crate::{RefreshPolicy, Source};

/// A desired catalog: the loader serves it and keeps it current.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogSpec {
    /// Name of the catalog.
    pub name: CatalogName,
    /// Source of its files.
    pub source: SourceSpec,
    /// Metadata that its owner has set, such as its priority.
    pub metadata: CatalogMetadata,
    /// Withdraw the catalog if the signature policy refuses its image; otherwise it stays served.
    pub policy_withdraws: bool,
}

/// A source with everything that is needed to load it and to keep it current.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// A directory, an image, or a remote source.
    pub source: Source,
    /// The directory of an image that holds the catalog; `None` takes the one that the image's
    /// label names.
    pub configs_dir: Option<String>,
    /// Intervals at which the source is polled.
    pub refresh: RefreshPolicy,
    /// Client for registries: credentials, mirrors, certificates.
    pub registries: Registries,
    /// Client for HTTP servers.
    pub http: HttpClient,
}

impl SourceSpec {
    /// Creates the spec of a source that is loaded once. In an image, its label names the directory.
    pub fn once(source: Source, registries: Registries) -> Self {
        Self {
            source,
            configs_dir: None,
            refresh: RefreshPolicy::ONCE,
            registries,
            http: HttpClient::default(),
        }
    }

    /// Returns the source's key in the store. It is equal for specs with the same files.
    pub fn key(&self) -> String {
        let source = self.source.key();
        self.configs_dir
            .as_ref()
            .map_or(source.clone(), |folder| format!("{source} {folder}"))
    }

    /// Returns the interval between two polls without failures; `None` if the source is loaded once.
    pub fn poll_interval(&self) -> Option<Duration> {
        match &self.source {
            Source::Directory(_) => self.refresh.directories.map(|interval| interval.poll),
            Source::Image(_) | Source::Remote(_) => self
                .refresh
                .images
                .and_then(|policy| policy.delay(0, self.source.is_pinned())),
        }
    }

    /// Returns whether one task can keep both sources current: they have the same files, poll
    /// interval and credentials.
    pub(crate) fn is_same_task(&self, other: &Self) -> bool {
        let is_same_access = match self.source {
            Source::Directory(_) => true,
            Source::Image(_) => self.registries == other.registries,
            Source::Remote(_) => self.http == other.http,
        };
        is_same_access && self.key() == other.key() && self.refresh == other.refresh
    }
}
