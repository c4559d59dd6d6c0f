//! The parts that the listeners of a server share.

use std::path::PathBuf;

use http_server::{RequestObserver, ServerReadiness, Tls};

/// The parts that the listeners of a server share. Clones share their state.
#[derive(Clone)]
pub(super) struct ListenerParts {
    pub(super) ready: ServerReadiness,
    pub(super) tls: Option<Tls>,
    pub(super) observer: RequestObserver,
    /// Folder of the store, on whose file system manifests are cached.
    pub(super) folder: PathBuf,
}
