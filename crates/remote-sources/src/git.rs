//! Catalogs in git repositories: a folder of a commit, over version 2 of git's HTTP protocol, or out of
//! a bundle.
//!
//! A poll asks for one ref. A commit that is new is fetched without its history and, if the server
//! can, without the contents of files; then those of the files below the folder follow. There is no
//! work tree: nothing that a repository says about checking it out (hooks, attributes, filters,
//! submodules, configuration) is read.

mod bundle;
mod delta;
mod object;
mod pack;
mod packet;
mod transport;
mod tree;

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use images::unpack::{UnpackLimits, Unpacked};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::fetch::io_error;
use crate::git_ref::GitRef;
use crate::metrics::remote_requests;
use crate::{
    GitFetch, GitFetched, GitReason, HttpClient, MAX_DELTA_OBJECT_BYTES, RemoteError, RemoteKind,
    RemoteReference, RequestResult,
};

use object::{EntryKind, ObjectId};
use pack::{Pack, PackLimits};
use transport::{ListedRef, Remote, Wanted};
use tree::{CatalogTree, Commit, ListedEntry, Objects};

/// Permits for opening a pack, one at a time: each opening holds bases of deltas in memory.
static OPENING: Semaphore = Semaphore::const_new(1);

/// Names of the packs in the folder of a fetch.
const FIRST_PACK: &str = "commit.pack";
const SECOND_PACK: &str = "files.pack";

/// A folder of a commit that was fetched. It counts against
/// [`MAX_DOWNLOADS`](crate::MAX_DOWNLOADS) until this is dropped.
#[derive(Debug)]
pub struct GitDownload {
    reference: String,
    revision: String,
    objects: Objects,
    catalog: CatalogTree,
    entries: Vec<ListedEntry>,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The ids of a revision.
struct Revision {
    commit: ObjectId,
    /// Text of the tree, or of the file.
    tree: String,
}

/// Reads all objects of a pack, in any order, into memory. `object` is called with the id, the kind and
/// the data of each, as `git cat-file --batch` prints them.
pub fn read_pack(file: File, mut object: impl FnMut(&str, &str, &[u8])) -> Result<(), GitReason> {
    let pack = Pack::open(file, 0, PackLimits::default())?;
    for (id, position) in pack.ids() {
        let (bytes, mut content) = pack.content(position)?;
        let limit = MAX_DELTA_OBJECT_BYTES;
        if bytes > limit {
            return Err(GitReason::ObjectTooLarge { bytes, limit });
        }
        let mut data = Vec::new();
        content.read_to_end(&mut data)?;
        object(&id.to_string(), pack.kind(position).name(), &data);
    }
    Ok(())
}

impl HttpClient {
    /// Fetches a folder of a repository if it has changed. `progress` is called with the number of
    /// bytes that have arrived.
    pub async fn fetch_git(
        &self,
        fetch: GitFetch<'_>,
        progress: impl Fn(u64, u64) + Send + Sync,
    ) -> Result<GitFetched, RemoteError> {
        let counts = &remote_requests()[RemoteKind::Git];
        let fetched = match fetch.reference.url().scheme() {
            "file" => fetch_bundle(&fetch).await,
            _ => fetch_remote(self, &fetch, &progress).await,
        };
        let result = match &fetched {
            Ok(GitFetched::Unchanged) => RequestResult::NotModified,
            Ok(GitFetched::Moved { .. } | GitFetched::Downloaded(_)) => RequestResult::Downloaded,
            Err(_) => RequestResult::Failed,
        };
        counts[result].inc();
        fetched
    }
}

impl GitDownload {
    /// Returns the revision: the ids of the commit and of the tree.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the number of files, folders and links.
    pub fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Copies the files of the folder to the file system of another one. `progress` is called with the number of entries that are copied.
    pub fn unpack(&self, folder: &Path, progress: impl Fn(u64)) -> Result<Unpacked, RemoteError> {
        let unpacked = self
            .objects
            .unpack(&self.catalog, &self.entries, folder, progress);
        unpacked.map_err(|error| error.of(&self.reference))
    }
}

impl Revision {
    fn new(commit: &Commit, catalog: &CatalogTree) -> Self {
        // The name of a file belongs to its content: it tells errors and paths.
        let tree = match &catalog.file {
            Some(name) => format!("blob {} {name}", catalog.id),
            None => format!("tree {}", catalog.id),
        };
        Self {
            commit: commit.id,
            tree,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (commit, tree) = text.strip_prefix("commit ")?.split_once(' ')?;
        Some(Self {
            commit: ObjectId::parse(commit.as_bytes())?,
            tree: tree.to_owned(),
        })
    }

    fn text(&self) -> String {
        format!("commit {} {}", self.commit, self.tree)
    }
}

/// Fetches from a server.
async fn fetch_remote(
    client: &HttpClient,
    fetch: &GitFetch<'_>,
    progress: &(impl Fn(u64, u64) + Send + Sync),
) -> Result<GitFetched, RemoteError> {
    let reference = fetch.reference;
    let known = fetch.known.and_then(Revision::parse);
    let mut remote = Remote {
        client,
        reference,
        deadline: Instant::now() + client.settings().limits.total,
        server: None,
    };
    if known.is_none() {
        remote.connect().await?;
    }
    let name = reference.git_ref();
    let id = if let GitRef::Commit(hex) = name {
        commit_id(hex)
    } else {
        let refs = remote.list_refs(&name.prefixes()).await?;
        choose(name, &refs)
    };
    let id = id.map_err(|reason| remote.refused(reason))?;
    if known.as_ref().is_some_and(|known| known.commit == id) {
        return Ok(GitFetched::Unchanged);
    }
    let permit = client.reserve_download().await;
    let is_filtered = remote.connect().await?.has_filter;
    let wanted = Wanted {
        objects: &[id],
        is_shallow: true,
        is_filtered,
    };
    let first = fetch.folder.join(FIRST_PACK);
    remote.fetch(wanted, &first, progress).await?;
    let found = find(reference, first, id).await?;
    match known {
        Some(known) if known.tree == found.revision.tree => {
            let revision = found.revision.text();
            tracing::info!(source = %reference, from = %known.commit, to = %id, "the commit has changed, the folder has not");
            return Ok(GitFetched::Moved { revision });
        }
        Some(known) => {
            tracing::info!(source = %reference, from = %known.commit, to = %id, "the commit has changed");
        }
        None => {}
    }

    let mut found = found;
    let missing = found.missing();
    if !missing.is_empty() {
        // A server that has a filter has what it left out.
        if !is_filtered {
            let reason = GitReason::Missing(missing[0].to_string());
            return Err(remote.refused(reason));
        }
        let wanted = Wanted {
            objects: &missing,
            is_shallow: false,
            is_filtered: false,
        };
        let second = fetch.folder.join(SECOND_PACK);
        remote.fetch(wanted, &second, progress).await?;
        let pack = open(reference, second, 0).await?;
        found.objects.0.push(pack);
        if let Some(missing) = found.missing().first() {
            return Err(remote.refused(GitReason::Missing(missing.to_string())));
        }
    }
    Ok(GitFetched::Downloaded(Box::new(
        found.download(reference, permit),
    )))
}

/// Reads a bundle, which is a file with refs and a pack.
async fn fetch_bundle(fetch: &GitFetch<'_>) -> Result<GitFetched, RemoteError> {
    let reference = fetch.reference;
    let refused = |reason| RemoteError::Git {
        reference: reference.to_string(),
        reason,
    };
    let path = reference.url().to_file_path();
    let path = path.map_err(|()| refused(GitReason::Bundle("its URL names no file")))?;
    let file = File::open(&path).map_err(|source| io_error("open", &path, source))?;
    let bundle = bundle::read_head(&file).map_err(refused)?;
    let name = reference.git_ref();
    let id = match name {
        GitRef::Commit(hex) => commit_id(hex),
        _ => choose(name, &bundle.refs),
    };
    let id = id.map_err(refused)?;
    let known = fetch.known.and_then(Revision::parse);
    // A tag is not peeled in a bundle: its commit is known only from the pack.
    if known.as_ref().is_some_and(|known| known.commit == id) {
        return Ok(GitFetched::Unchanged);
    }
    let _permit = opening_permit().await;
    let reading = reference.clone();
    let found = spawn_blocking(move || {
        let pack = Pack::open(file, bundle.pack, PackLimits::default())
            .map_err(|reason| git_error(&reading, reason))?;
        FoundCatalog::new(&reading, pack, id)
    });
    let found = found.await.map_err(|_| panicked(reference))??;
    if let Some(missing) = found.missing().first() {
        return Err(refused(GitReason::Missing(missing.to_string())));
    }
    match known {
        Some(known) if known.commit == found.revision.commit => Ok(GitFetched::Unchanged),
        Some(known) if known.tree == found.revision.tree => Ok(GitFetched::Moved {
            revision: found.revision.text(),
        }),
        _ => Ok(GitFetched::Downloaded(Box::new(
            found.download(reference, None),
        ))),
    }
}

/// The folder of a catalog in a commit.
struct FoundCatalog {
    objects: Objects,
    revision: Revision,
    catalog: CatalogTree,
    entries: Vec<ListedEntry>,
}

impl FoundCatalog {
    /// Finds the folder that a reference names in a commit.
    fn new(reference: &RemoteReference, pack: Pack, id: ObjectId) -> Result<Self, RemoteError> {
        let find = || {
            let objects = Objects(vec![pack]);
            let commit = objects.commit(id, &reference.git_ref().shown())?;
            let catalog = objects.catalog(&commit, reference.path())?;
            let entries = objects.list(&catalog, &UnpackLimits::default())?;
            Ok(Self {
                revision: Revision::new(&commit, &catalog),
                objects,
                catalog,
                entries,
            })
        };
        find().map_err(|reason| git_error(reference, reason))
    }

    /// Returns the contents of files that were not fetched.
    fn missing(&self) -> Vec<ObjectId> {
        let mut seen = HashSet::new();
        let files = self
            .entries
            .iter()
            .filter(|entry| entry.kind != EntryKind::Folder);
        let missing = files.filter(|entry| !self.objects.has(entry.id));
        missing
            .map(|entry| entry.id)
            .filter(|id| seen.insert(*id))
            .collect()
    }

    fn download(
        self,
        reference: &RemoteReference,
        permit: Option<OwnedSemaphorePermit>,
    ) -> GitDownload {
        GitDownload {
            reference: reference.to_string(),
            revision: self.revision.text(),
            objects: self.objects,
            catalog: self.catalog,
            entries: self.entries,
            _permit: permit,
        }
    }
}

/// Finds the folder of a catalog in the pack with its commit, on a blocking thread.
async fn find(
    reference: &RemoteReference,
    path: PathBuf,
    id: ObjectId,
) -> Result<FoundCatalog, RemoteError> {
    let pack = open(reference, path, 0).await?;
    let finding = reference.clone();
    let found = spawn_blocking(move || FoundCatalog::new(&finding, pack, id));
    found.await.map_err(|_| panicked(reference))?
}

/// Opens a pack on a blocking thread.
async fn open(
    reference: &RemoteReference,
    path: PathBuf,
    offset: u64,
) -> Result<Pack, RemoteError> {
    let _permit = opening_permit().await;
    let opened = spawn_blocking(move || {
        let file = File::open(&path).map_err(GitReason::Io)?;
        Pack::open(file, offset, PackLimits::default())
    });
    let opened = opened.await.map_err(|_| panicked(reference))?;
    opened.map_err(|reason| git_error(reference, reason))
}

/// Waits until no other pack is being opened.
async fn opening_permit() -> Option<SemaphorePermit<'static>> {
    OPENING.acquire().await.ok()
}

fn git_error(reference: &RemoteReference, reason: GitReason) -> RemoteError {
    RemoteError::Git {
        reference: reference.to_string(),
        reason,
    }
}

fn panicked(reference: &RemoteReference) -> RemoteError {
    git_error(reference, GitReason::Damaged("reading it failed"))
}

/// Parses the id of a commit that a reference names.
fn commit_id(hex: &str) -> Result<ObjectId, GitReason> {
    let id = ObjectId::parse(hex.as_bytes());
    // The other form of 64 digits is that of SHA-256.
    id.ok_or_else(|| GitReason::ObjectFormat("sha256".to_owned()))
}

/// Chooses the ref that a reference names.
fn choose(name: &GitRef, refs: &[ListedRef]) -> Result<ObjectId, GitReason> {
    let meant = name.prefixes();
    let mut found = refs.iter().filter(|listed| meant.contains(&listed.name));
    let first = found.next();
    let first = first.ok_or_else(|| GitReason::NoRef(name.shown()))?;
    match (name, found.find(|other| other.name != first.name)) {
        (GitRef::Name(name), Some(_)) => Err(GitReason::Ambiguous(name.clone())),
        _ => Ok(first.id),
    }
}
