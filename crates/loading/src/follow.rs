//! Followed servers: a source that names a server stands for all of its catalogs, each with a source
//! of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures_util::future::select_all;
use remote_sources::{FollowedServer, FollowedState, ListedCatalog, ListedCatalogs};
use serving::{CatalogMetadata, CatalogName};
use tokio::sync::watch;

use crate::{CatalogSpec, Source, SourceSpec, StateFile};

/// Name of the file with the last lists, in the folder of the store. A start without the servers
/// serves what is stored of their catalogs.
const FILE: &str = "followed.json";

/// Lists of catalogs, by the keys of their servers.
type SavedLists = BTreeMap<String, ListedCatalogs>;

/// The followed servers of a loader.
#[derive(Debug)]
pub(crate) struct FollowedServers {
    servers: Vec<FollowedSource>,
    file: StateFile<SavedLists>,
}

#[derive(Debug)]
struct FollowedSource {
    spec: SourceSpec,
    state: watch::Receiver<FollowedState>,
    _followed: FollowedServer,
}

impl FollowedServers {
    /// Reads the last lists from a folder. A missing or unreadable file counts as empty.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            servers: Vec::new(),
            file: StateFile::open(folder.join(FILE)),
        }
    }

    /// Follows the servers that the desired catalogs name, and no others.
    pub(crate) fn set(&mut self, specs: &[CatalogSpec]) {
        let mut former = std::mem::take(&mut self.servers);
        for spec in specs.iter().map(|spec| &spec.source) {
            let Source::Remote(reference) = &spec.source else {
                continue;
            };
            if !reference.is_server()
                || self
                    .servers
                    .iter()
                    .any(|server| server.spec.is_same_task(spec))
            {
                continue;
            }
            let running = former
                .iter()
                .position(|server| server.spec.is_same_task(spec));
            let server = running.map_or_else(
                || {
                    let followed = spec.http.follow(reference, spec.poll_interval());
                    FollowedSource {
                        spec: spec.clone(),
                        state: followed.state(),
                        _followed: followed,
                    }
                },
                |at| former.swap_remove(at),
            );
            self.servers.push(server);
        }
    }

    /// Waits until a server has other catalogs. It is cancel-safe.
    pub(crate) async fn changed(&mut self) {
        // A receiver whose task has ended never changes again.
        let open = self
            .servers
            .iter_mut()
            .filter(|server| server.state.has_changed().is_ok());
        let changes: Vec<_> = open
            .map(|server| Box::pin(server.state.changed()))
            .collect();
        if changes.is_empty() {
            std::future::pending::<()>().await;
        }
        // Its error says that the task has ended, and the next call leaves it out.
        let _ = select_all(changes).await;
    }

    /// Returns whether a server has not responded yet.
    pub(crate) fn awaits_lists(&self) -> bool {
        self.servers
            .iter()
            .any(|server| !server.state.borrow().was_asked)
    }

    /// Returns the desired catalogs with those of the servers in place of these. A catalog that is
    /// named itself comes before one of a server, and that of the first server before others.
    pub(crate) fn expand(&mut self, specs: &[CatalogSpec]) -> Vec<CatalogSpec> {
        let mut expanded: Vec<_> = specs
            .iter()
            .filter(|spec| !spec.source.source.is_server())
            .cloned()
            .collect();
        let mut names: BTreeSet<_> = expanded.iter().map(|spec| spec.name.clone()).collect();
        let mut lists = SavedLists::new();
        for server in &mut self.servers {
            let key = server.spec.key();
            let listed = server.state.borrow_and_update().catalogs.clone();
            let listed = listed
                .map(|listed| ListedCatalogs::clone(&listed))
                .or_else(|| self.file.saved().get(&key).cloned())
                .unwrap_or_default();
            for (name, catalog) in &listed {
                let Some(spec) = catalog_spec(&server.spec, name, catalog) else {
                    tracing::warn!(
                        server = key,
                        name,
                        "skipping a catalog of the server, its name is not valid"
                    );
                    continue;
                };
                if names.insert(spec.name.clone()) {
                    expanded.push(spec);
                } else {
                    tracing::warn!(
                        server = key,
                        name,
                        "skipping a catalog of the server, another one has its name"
                    );
                }
            }
            lists.insert(key, listed);
        }
        self.file.save(lists);
        expanded
    }
}

/// Returns the spec of a catalog of a server; `None` if it has no valid name.
fn catalog_spec(server: &SourceSpec, name: &str, listed: &ListedCatalog) -> Option<CatalogSpec> {
    let Source::Remote(reference) = &server.source else {
        return None;
    };
    Some(CatalogSpec {
        name: CatalogName::new(name).ok()?,
        source: SourceSpec {
            source: Source::Remote(reference.catalog(name)),
            ..server.clone()
        },
        metadata: CatalogMetadata {
            priority: listed.priority,
            display_name: listed.display_name.clone(),
            publisher: listed.publisher.clone(),
            labels: listed.labels.clone(),
            ..CatalogMetadata::default()
        },
        // The signature policy is about images.
        policy_withdraws: false,
    })
}

/// Announcements of new contents of one source.
#[derive(Debug)]
pub(crate) struct Announcements {
    name: String,
    state: watch::Receiver<FollowedState>,
    _followed: FollowedServer,
}

impl Announcements {
    /// Follows the server of a source; `None` if it is not a catalog of a server.
    pub(crate) fn follow(spec: &SourceSpec) -> Option<Self> {
        let Source::Remote(reference) = &spec.source else {
            return None;
        };
        let followed = spec.http.follow(reference, spec.poll_interval());
        Some(Self {
            name: reference.name()?,
            state: followed.state(),
            _followed: followed,
        })
    }

    /// Returns the digest of the content that the server has announced last.
    pub(crate) fn digest(&self) -> Option<String> {
        let state = self.state.borrow();
        let catalogs = state.catalogs.as_ref()?;
        Some(catalogs.get(&self.name)?.digest.clone())
    }

    /// Waits until a content is announced other than the one that is served, and other than the one
    /// that was announced before the last attempt. It is cancel-safe.
    pub(crate) async fn other_than(&mut self, before: Option<&str>, served: Option<&str>) {
        loop {
            let announced = self.digest();
            let is_new = announced.is_some()
                && announced.as_deref() != before
                && announced.as_deref() != served;
            if is_new {
                return;
            }
            if self.state.changed().await.is_err() {
                // The client has ended the task.
                std::future::pending::<()>().await;
            }
        }
    }
}
