//! The catalogs that can be edited. Each has a queue, and one batch at a time is applied and
//! served.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admission::{FairSemaphore, Peer, Permits};
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use edit_directory::{FolderError, LockedFolder};
use fbc_grammar::Digest;
use loading::{RefreshError, Refresher};
use serving::{CatalogName, CatalogNameError, Catalogs};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::apply::{EditResponse, apply};
use crate::error::EditRequestError;
use crate::request::EditRequest;
use crate::{MAX_BATCH_BYTES, MAX_PUBLISHING, PENDING_BYTES, PENDING_OVERHEAD_BYTES};

/// A directory whose catalog can be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditableDirectory {
    /// Name of the catalog.
    pub name: String,
    /// The directory. Links are followed at each edit, as the loader follows them at each load.
    pub path: PathBuf,
}

/// The catalogs that can be edited.
pub struct EditableCatalogs {
    catalogs: BTreeMap<String, Arc<EditableCatalog>>,
    /// All catalogs that are served. Only digests are read of them, and an editor knows that of its
    /// catalog.
    published: Catalogs,
    /// Loads a directory without waiting for the next poll.
    refresher: Refresher,
    /// Bytes of batches that are queued or applied.
    pending: Permits,
}

struct EditableCatalog {
    name: CatalogName,
    directory: PathBuf,
    /// One permit, which peers get in turn, however many batches each of them has queued.
    queue: FairSemaphore<Peer>,
}

/// A directory cannot be edited.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The name is not one of a catalog.
    #[error("cannot let `{name}` be edited")]
    Name {
        /// The name.
        name: String,
        /// The rule that it breaks.
        source: CatalogNameError,
    },
    /// The directory cannot be locked, or an interrupted change of it cannot be finished.
    #[error("cannot let `{name}` be edited")]
    Folder {
        /// Name of the catalog.
        name: String,
        /// The step that failed.
        source: FolderError,
    },
    /// The path of the directory cannot be resolved.
    #[error("cannot let `{name}` be edited")]
    Path {
        /// Name of the catalog.
        name: String,
        /// Reason of the operating system.
        source: io::Error,
    },
    /// One directory is in another.
    #[error("cannot let `{name}` be edited: `{}` is in the directory of another catalog", root.display())]
    Nested {
        /// Name of the catalog.
        name: String,
        /// Its directory, or the one that contains it.
        root: PathBuf,
    },
}

/// An edit is not served yet.
#[derive(Debug, thiserror::Error)]
enum PublishError {
    #[error(transparent)]
    Refresh(#[from] RefreshError),
    #[error("loading it takes longer than {} s", MAX_PUBLISHING.as_secs())]
    Timeout,
}

impl EditableCatalogs {
    /// Opens directories, and finishes changes of them that were interrupted. `refresher` loads
    /// their catalogs, which `published` then has.
    pub fn open(
        directories: impl IntoIterator<Item = EditableDirectory>,
        published: Catalogs,
        refresher: Refresher,
    ) -> Result<Self, OpenError> {
        let mut catalogs = BTreeMap::new();
        let mut roots = Vec::<PathBuf>::new();
        for EditableDirectory { name, path } in directories {
            let root = recover(&name, &path)?;
            let overlaps = |other: &PathBuf| other.starts_with(&root) || root.starts_with(other);
            if roots.iter().any(overlaps) {
                return Err(OpenError::Nested { name, root });
            }
            roots.push(root);
            let catalog_name = match CatalogName::new(&name) {
                Ok(name) => name,
                Err(source) => return Err(OpenError::Name { name, source }),
            };
            let catalog = EditableCatalog {
                name: catalog_name,
                directory: path,
                queue: FairSemaphore::new(1),
            };
            catalogs.insert(name, Arc::new(catalog));
        }
        Ok(Self {
            catalogs,
            published,
            refresher,
            pending: Permits::new(PENDING_BYTES),
        })
    }

    /// Applies the batch of a request, and serves the result.
    pub(crate) async fn edit(
        self: &Arc<Self>,
        name: &str,
        request: Request,
    ) -> Result<EditResponse, EditRequestError> {
        let catalog = self.catalogs.get(name);
        let catalog = catalog.ok_or_else(|| EditRequestError::NotEditable(name.to_owned()))?;
        let catalog = Arc::clone(catalog);

        let (head, body) = request.into_parts();
        let request = EditRequest::from_head(&head)?;
        let peer = Peer::from_extensions(&head.extensions);
        let pending = self
            .pending
            .try_acquire(peer, request.length + PENDING_OVERHEAD_BYTES)
            .ok_or(EditRequestError::Busy)?;
        let body = to_bytes(body, MAX_BATCH_BYTES)
            .await
            .map_err(|_| EditRequestError::TooLarge)?;
        let permit = catalog.queue.acquire(&peer).await;

        let catalogs = Arc::clone(self);
        // A task of its own, so that a batch which has begun ends although its client disconnects,
        // and the next one waits for that.
        let task = tokio::spawn(async move {
            let _permits = (permit, pending);
            let response = catalog.apply(request, body).await?;
            Ok(catalogs.publish(&catalog, response).await)
        });
        task.await?
    }

    /// Serves the content that a batch has made. The next batch waits for it, so that the files
    /// that are loaded are those that the batch was checked with.
    async fn publish(&self, catalog: &EditableCatalog, response: EditResponse) -> EditResponse {
        let Some(digest) = response.digest else {
            return response;
        };
        let refreshed = self.refresh(&catalog.name, digest);
        let result = match timeout(MAX_PUBLISHING, refreshed).await {
            Ok(result) => result.map_err(PublishError::from),
            Err(_) => Err(PublishError::Timeout),
        };
        EditResponse {
            unserved: result.err().map(|error| error.to_string()),
            ..response
        }
    }

    #[cfg(test)]
    pub(crate) fn queue(&self, name: &str) -> &FairSemaphore<Peer> {
        &self.catalogs[name].queue
    }

    #[cfg(test)]
    pub(crate) fn pending(&self) -> &Permits {
        &self.pending
    }

    async fn refresh(&self, name: &CatalogName, digest: Digest) -> Result<(), RefreshError> {
        let snapshot = self.published.published();
        let served = snapshot.get(name.as_str());
        // A batch without changes, or one that was replayed, needs no load.
        if served.is_some_and(|served| served.content.digest == digest) {
            return Ok(());
        }
        // A change of files since then gives another digest. Its content has the edit too.
        self.refresher.refresh(name).await.map(drop)
    }
}

impl EditableCatalog {
    /// Applies a batch on a thread that may block.
    async fn apply(
        &self,
        request: EditRequest,
        body: Bytes,
    ) -> Result<EditResponse, EditRequestError> {
        let directory = self.directory.clone();
        // The batch is parsed there, when it is its turn: one that is queued takes no more memory
        // than its bytes.
        let result = spawn_blocking(move || apply(&directory, &request, &body))
            .await
            .unwrap_or_else(|error| Err(error.into()));

        let catalog = self.name.as_str();
        match &result {
            Ok(EditResponse {
                digest: Some(digest),
                ..
            }) => tracing::info!(catalog, %digest, "catalog edited"),
            Err(error) if error.status() == StatusCode::INTERNAL_SERVER_ERROR => {
                tracing::error!(catalog, %error, "cannot edit the catalog");
            }
            // A dry run changes nothing, and every other error is the client's.
            Ok(EditResponse { digest: None, .. }) | Err(_) => {}
        }
        result
    }
}

/// Finishes an interrupted change of a directory; returns the directory, without links.
fn recover(name: &str, directory: &Path) -> Result<PathBuf, OpenError> {
    match LockedFolder::lock(directory) {
        Ok(folder) => Ok(folder.root().to_owned()),
        // An operator has to decide which files count. Until then the catalog is served, and edits
        // are refused.
        Err(error @ FolderError::Interrupted { .. }) => {
            tracing::error!(catalog = name, %error, "cannot edit the catalog");
            directory.canonicalize().map_err(|source| OpenError::Path {
                name: name.to_owned(),
                source,
            })
        }
        Err(source) => Err(OpenError::Folder {
            name: name.to_owned(),
            source,
        }),
    }
}
