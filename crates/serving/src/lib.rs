//! The published set of catalogs: one writer publishes, readers take snapshots.
//!
//! A snapshot never changes. Publishing swaps a pointer, so no reader waits and no lock is held
//! while a request runs. This crate does not know where catalogs come from or who reads them.

mod cache;
mod change_log;
mod history;
mod minimum_revision;
mod name;
mod read_barrier;
mod status;
mod verification;
mod visibility;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use bytes::Bytes;
use fbc::{Catalog, FoundIcon, Icons, Outline};
use fbc_grammar::Digest;
use http_content::coding::Coding;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

pub use cache::{BoundedCache, CacheUsage, RecentMisses};
pub use change_log::{
    ChangeLog, ChangeSet, HeadChange, MAX_CHANGE_LOG_BYTES, MAX_CHANGE_SET_BYTES, MAX_CHANGE_SETS,
    PackageChanges,
};
pub use history::{History, RememberedContent};
pub use minimum_revision::{MAX_MINIMUM_REVISIONS, MinimumRevision, MinimumRevisionError};
pub use name::{CatalogName, CatalogNameError};
pub use read_barrier::{QUEUED_READS, ReadBarrier, WaitingRead, read_barrier};
pub use status::{
    CatalogSourceKind, FailureReason, LoadFailure, LoadStatus, LoadStatuses, MAX_BEHIND,
    SourceDescription,
};
pub use verification::{SignedPart, Verification, VerificationReason, VerificationState};
pub use visibility::{Caller, NARROWED_SNAPSHOTS, Renewal, RenewalError, Visibility};

use visibility::NarrowedSnapshots;

/// Path prefix of icons, each of which is served by the digest of its image.
pub const ICONS: &str = "/icons/";

/// A catalog that is served.
#[derive(Debug)]
pub struct Served {
    /// Its name, unique among those served: a DNS-1123 subdomain.
    pub name: String,
    /// The content.
    pub content: Content,
    /// Metadata that its owner gives it.
    pub metadata: CatalogMetadata,
    /// Decision of the signature policy about its image; `None` without a policy, or an image.
    pub verification: Option<Arc<Verification>>,
    revision: Revision,
}

/// The immutable content of a catalog, and where and when it was read.
#[derive(Clone, Debug)]
pub struct Content {
    /// The index over its lines.
    pub catalog: Arc<Catalog>,
    /// SHA-256 of its canonical lines.
    pub digest: Digest,
    /// Its lines compressed, as far as that is done.
    pub encodings: Arc<Encodings>,
    /// The image that it was unpacked from, by digest; `None` for a directory.
    pub image: Option<Arc<str>>,
    /// Time at which it was first read from its source; `None` if that is unknown.
    pub last_unpacked: Option<jiff::Timestamp>,
}

/// Compressed forms of a content, which become available some time after it is served, if at all.
#[derive(Debug, Default)]
pub struct Encodings {
    zstd: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

/// Metadata that the owner of a catalog gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogMetadata {
    /// Rank among catalogs that offer the same package; the highest wins.
    pub priority: i32,
    /// Name to show to people, where it is not the name itself.
    pub display_name: Option<String>,
    /// Publisher of the catalog.
    pub publisher: Option<String>,
    /// Labels, by key.
    pub labels: BTreeMap<String, String>,
    /// Image reference that its owner has named, with its tag; `None` for a source that is not in a
    /// registry.
    pub image_reference: Option<String>,
    /// Namespace of the object that it comes from, if that has one.
    pub namespace: Option<String>,
    /// Creation time of the object that it comes from, if that is known.
    pub created: Option<jiff::Timestamp>,
}

/// Number of former contents of each catalog whose icons stay available: a client that was given an
/// icon's URL a moment ago may still follow it.
pub const FORMER_ICONS: usize = 2;

/// Every catalog served at one moment. It never changes.
#[derive(Default)]
pub struct Snapshot {
    /// By name.
    slots: Vec<Slot>,
    /// Indexes into `slots`: highest priority first, then by name.
    by_priority: Vec<usize>,
    revision: Revision,
    unversioned: UnversionedState,
    narrowed: NarrowedSnapshots,
}

/// State that changes without a new snapshot, and that no revision depends on.
#[derive(Clone, Default)]
struct UnversionedState {
    history: History,
    statuses: LoadStatuses,
    /// Names of the catalogs whose state the reader may see; `None` for all.
    visible: Option<Arc<BTreeSet<String>>>,
}

/// One catalog of a snapshot.
#[derive(Clone)]
struct Slot {
    served: Arc<Served>,
    /// Icons of the contents before this one, latest first; at most [`FORMER_ICONS`].
    former_icons: Vec<Arc<Icons>>,
}

/// Identifies a state of one catalog or of a whole snapshot: equal revisions give equal responses,
/// also in another process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Revision([u8; 32]);

/// Reads the published set, or the catalogs of it that a caller may see. Clones are cheap and read
/// the same set.
#[derive(Clone, Debug)]
pub struct Catalogs {
    current: Arc<ArcSwap<Snapshot>>,
    changes: watch::Receiver<u64>,
    visibility: Visibility,
    /// Caller whose rights narrow the reader; `None` if rights are not evaluated.
    caller: Option<Arc<dyn Caller>>,
}

/// Publishes and withdraws catalogs. There is one writer, so that no two changes race.
#[derive(Debug)]
pub struct CatalogsWriter {
    current: Arc<ArcSwap<Snapshot>>,
    changes: watch::Sender<u64>,
}

/// Creates an empty published set: its writer and its readers.
pub fn catalogs() -> (CatalogsWriter, Catalogs) {
    let current = Arc::new(ArcSwap::from_pointee(Snapshot::new(
        Vec::new(),
        UnversionedState::default(),
    )));
    let (sender, receiver) = watch::channel(0);
    let writer = CatalogsWriter {
        current: Arc::clone(&current),
        changes: sender,
    };
    (
        writer,
        Catalogs {
            current,
            changes: receiver,
            visibility: Visibility::All,
            caller: None,
        },
    )
}

impl Served {
    /// Creates a catalog and computes its revision.
    pub fn new(name: impl Into<String>, content: Content, metadata: CatalogMetadata) -> Self {
        let name = name.into();
        let revision = Revision::from_catalog(&name, &content, &metadata);
        Self {
            name,
            content,
            metadata,
            verification: None,
            revision,
        }
    }

    /// Sets the decision of the signature policy. Like metadata, it changes the revision; its time does
    /// not, because each replica decides at another one.
    #[must_use]
    pub fn with_verification(self, verification: Option<Arc<Verification>>) -> Self {
        let revision = match &verification {
            Some(verification) => self.revision.with(&verification.decision()),
            None => self.revision,
        };
        Self {
            verification,
            revision,
            ..self
        }
    }

    /// Returns whether the image of the catalog is signed as the policy requires.
    pub fn is_verified(&self) -> bool {
        self.verification
            .as_ref()
            .is_some_and(|verification| verification.is_verified())
    }

    /// Returns the revision, which identifies this state of the catalog.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

impl Content {
    /// Creates a content without compressed forms, image and date.
    pub fn new(catalog: impl Into<Arc<Catalog>>, digest: Digest) -> Self {
        Self {
            catalog: catalog.into(),
            digest,
            encodings: Arc::default(),
            image: None,
            last_unpacked: None,
        }
    }

    /// Returns whether both are the same catalog in memory, read from the same image.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.catalog, &other.catalog) && self.image == other.image
    }
}

impl Encodings {
    /// Returns the content in this coding, if it is available.
    pub fn get(&self, coding: Coding) -> Option<&Bytes> {
        self.cell(coding).get()
    }

    /// Sets the content in this coding, unless it is there already. Returns whether it was set.
    pub fn set(&self, coding: Coding, bytes: Bytes) -> bool {
        self.cell(coding).set(bytes).is_ok()
    }

    fn cell(&self, coding: Coding) -> &OnceLock<Bytes> {
        match coding {
            Coding::Zstd => &self.zstd,
            Coding::Gzip => &self.gzip,
        }
    }
}

impl Catalogs {
    /// Returns the current snapshot, with the catalogs that the reader may see.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        match &self.visibility {
            Visibility::All => self.current.load_full(),
            Visibility::Only(names) => self.current.load().visible_to(names),
        }
    }

    /// Returns the current snapshot with all catalogs, also those that the reader may not see: for
    /// caches, which must know whether an entry is current. No response may depend on it.
    pub fn published(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Returns the names that the reader may see, whether catalogs of them are served or not.
    pub fn visibility(&self) -> &Visibility {
        &self.visibility
    }

    /// Returns a reader of the same catalogs that sees these of them.
    #[must_use]
    pub fn visible(&self, visibility: Visibility) -> Self {
        Self {
            visibility,
            caller: None,
            ..self.clone()
        }
    }

    /// Returns the same reader with its caller, by whom it can be renewed.
    #[must_use]
    pub fn with_caller(self, caller: Arc<dyn Caller>) -> Self {
        Self {
            caller: Some(caller),
            ..self
        }
    }

    /// Returns whether the rights of a caller narrow the reader, so that it must be renewed
    /// regularly.
    pub fn has_caller(&self) -> bool {
        self.caller.is_some()
    }

    /// Returns a reader of the catalogs that the caller may see now; the same reader if it has
    /// none.
    ///
    /// # Errors
    /// The caller may not read any more, or authorization is not available.
    pub async fn renew(&self) -> Result<Self, RenewalError> {
        match &self.caller {
            Some(caller) => caller.renew().await,
            None => Ok(self.clone()),
        }
    }

    /// Returns a receiver of the number of changes, which is notified of each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Returns a receiver that is notified when changes were recorded in the log of a catalog.
    pub fn recorded_changes(&self) -> watch::Receiver<u64> {
        self.current.load().unversioned.history.recorded()
    }

    /// Returns the number of changes so far.
    pub fn change_count(&self) -> u64 {
        *self.changes.borrow()
    }
}

impl CatalogsWriter {
    /// Publishes a catalog, which replaces the one of the same name.
    pub fn publish(&mut self, served: Served) {
        let now = self.current.load();
        let mut slots = now.slots.clone();
        let unversioned = now.unversioned.clone();
        let mut slot = Slot {
            served: Arc::new(served),
            former_icons: Vec::new(),
        };
        match now.position(&slot.served.name) {
            Ok(at) => {
                let before = std::mem::replace(&mut slots[at].served, Arc::clone(&slot.served));
                slot.former_icons = std::mem::take(&mut slots[at].former_icons);
                // New metadata of the same content add nothing to its history.
                if before.content.digest != slot.served.content.digest {
                    // An outline that was never needed is not computed for a content that goes.
                    if let Some(outline) = before.content.catalog.known_outline() {
                        let Content {
                            digest,
                            image,
                            last_unpacked,
                            ..
                        } = before.content.clone();
                        let former = RememberedContent {
                            digest,
                            image,
                            last_unpacked,
                            outline: outline.clone(),
                        };
                        unversioned.history.remember(&before.name, vec![former]);
                    }
                    slot.former_icons
                        .insert(0, Arc::clone(before.content.catalog.icons()));
                    slot.former_icons.truncate(FORMER_ICONS);
                }
                slots[at] = slot;
            }
            Err(at) => slots.insert(at, slot),
        }
        self.swap(Snapshot::new(slots, unversioned));
    }

    /// Withdraws the catalog of this name, if it is published.
    pub fn withdraw(&mut self, name: &str) {
        let now = self.current.load();
        let mut slots = now.slots.clone();
        let unversioned = now.unversioned.clone();
        slots.retain(|slot| slot.served.name != name);
        unversioned.history.forget(name);
        self.swap(Snapshot::new(slots, unversioned));
    }

    /// Returns the current snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Returns the history of outlines of former contents.
    pub fn history(&self) -> History {
        self.current.load().unversioned.history.clone()
    }

    /// Returns the load statuses, which the loader sets.
    pub fn statuses(&self) -> LoadStatuses {
        self.current.load().unversioned.statuses.clone()
    }

    fn swap(&self, next: Snapshot) {
        self.current.store(Arc::new(next));
        self.changes.send_modify(|count| *count += 1);
    }
}

impl Snapshot {
    /// Creates a snapshot of catalogs, which are in the order of their names.
    fn new(slots: Vec<Slot>, unversioned: UnversionedState) -> Self {
        let mut by_priority: Vec<_> = (0..slots.len()).collect();
        by_priority.sort_by_key(|&at| std::cmp::Reverse(slots[at].served.metadata.priority));
        let revision = Revision::from_revisions(slots.iter().map(|slot| slot.served.revision));
        Self {
            slots,
            by_priority,
            revision,
            unversioned,
            narrowed: NarrowedSnapshots::default(),
        }
    }

    /// Returns the snapshot with these catalogs only, made once for equal sets. Nothing of it
    /// depends on the others: names, counts, revisions, icons, remembered contents, and load
    /// statuses.
    fn visible_to(&self, names: &Arc<BTreeSet<String>>) -> Arc<Self> {
        self.narrowed.get(&Visibility::Only(Arc::clone(names)), || {
            let slots = self
                .slots
                .iter()
                .filter(|slot| names.contains(&slot.served.name))
                .cloned()
                .collect();
            Self::new(
                slots,
                UnversionedState {
                    visible: Some(Arc::clone(names)),
                    ..self.unversioned.clone()
                },
            )
        })
    }

    /// Returns whether it has only the catalogs that its reader may see.
    pub fn is_narrowed(&self) -> bool {
        self.unversioned.visible.is_some()
    }

    /// Returns the catalogs in the order of their names.
    pub fn by_name(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Arc<Served>> + ExactSizeIterator + Clone {
        self.slots.iter().map(|slot| &slot.served)
    }

    /// Returns the catalogs, highest priority first, then by name.
    pub fn by_priority(&self) -> impl DoubleEndedIterator<Item = &Arc<Served>> + ExactSizeIterator {
        self.by_priority.iter().map(|&at| &self.slots[at].served)
    }

    /// Returns the catalog of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Served>> {
        self.slot(name).map(|slot| &slot.served)
    }

    /// Returns the revision of the whole snapshot.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the revision of one catalog; `None` if none of that name is served.
    pub fn revision_of(&self, name: &str) -> Option<Revision> {
        self.get(name).map(|served| served.revision)
    }

    /// Returns whether this is the revision of the snapshot, of one of its catalogs, or of a
    /// narrowed snapshot that is remembered.
    pub fn has(&self, revision: &Revision) -> bool {
        let is_of_catalog = || {
            self.slots
                .iter()
                .any(|slot| slot.served.revision == *revision)
        };
        self.revision == *revision || is_of_catalog() || self.narrowed.has(revision)
    }

    /// Returns the outline of a content that one of these catalogs has or had. Former contents are
    /// no part of the snapshot: they may be forgotten at any time.
    pub fn outline(&self, digest: &Digest) -> Option<Outline> {
        let served = self
            .by_name()
            .find(|served| served.content.digest == *digest);
        let former = || {
            self.unversioned
                .history
                .find(digest, |name| self.get(name).is_some())
        };
        served
            .map(|served| served.content.catalog.outline().clone())
            .or_else(former)
    }

    /// Returns the remembered contents of a catalog before its current one, the latest first; at
    /// most [`fbc::outline::REMEMBERED`]. Like outlines, they are no part of the snapshot.
    pub fn former_contents(&self, served: &Served) -> Vec<RememberedContent> {
        let contents = self.unversioned.history.contents(&served.name).into_iter();
        let former = contents.filter(|content| content.digest != served.content.digest);
        former.take(fbc::outline::REMEMBERED).collect()
    }

    /// Returns the changes of the contents of a catalog. Like outlines, they are no part of the
    /// snapshot.
    pub fn change_log(&self, served: &Served) -> ChangeLog {
        let log = self.unversioned.history.change_log(&served.name);
        log.unwrap_or_default()
    }

    /// Returns the load status of a catalog. Statuses are no part of the snapshot: they change with
    /// each attempt.
    pub fn status(&self, name: &str) -> LoadStatus {
        if self.unversioned.shows(name) {
            self.unversioned.statuses.get(name)
        } else {
            LoadStatus::default()
        }
    }

    /// Returns the ids of the servers that the content of a catalog came through, with this one
    /// first; empty if they are unknown.
    pub fn via(&self, name: &str) -> Arc<str> {
        self.status(name).via
    }

    /// Returns `true` if the catalog is not served yet but may be soon: it is configured, or the
    /// names of the configured catalogs are still unknown.
    pub fn awaits(&self, name: &str) -> bool {
        self.get(name).is_none()
            && self.unversioned.shows(name)
            && self.unversioned.statuses.may_have(name)
    }

    /// Returns whether another replica serves an image of a catalog that this one does not serve yet.
    /// A client that comes for its content would take the former one for it.
    pub fn is_behind(&self, served: &Served) -> bool {
        let image = served.content.image.as_deref();
        self.unversioned.statuses.is_behind(&served.name, image)
    }

    /// Returns the load statuses of all catalogs that are configured or served, by name.
    pub fn statuses(&self) -> BTreeMap<String, LoadStatus> {
        let mut all = self.unversioned.statuses.all();
        all.retain(|name, _| self.unversioned.shows(name));
        for served in self.by_name() {
            all.entry(served.name.clone()).or_default();
        }
        all
    }

    /// Returns the icon whose image has this digest, of a catalog that is served or of its
    /// [`FORMER_ICONS`] former contents.
    pub fn icon(&self, digest: &Digest) -> Option<FoundIcon> {
        let now = self.by_name().map(|served| served.content.catalog.icons());
        now.chain(self.slots.iter().flat_map(|slot| &slot.former_icons))
            .find_map(|icons| icons.find(digest))
    }

    fn slot(&self, name: &str) -> Option<&Slot> {
        self.position(name).ok().map(|at| &self.slots[at])
    }

    /// Returns the index of a catalog in `slots`, or else the index at which it would be inserted.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.slots
            .binary_search_by(|slot| slot.served.name.as_str().cmp(name))
    }
}

impl UnversionedState {
    /// Returns whether the reader may see the state of a catalog of this name.
    fn shows(&self, name: &str) -> bool {
        self.visible
            .as_ref()
            .is_none_or(|names| names.contains(name))
    }
}

impl Revision {
    /// Computes the digest of everything that a response about one catalog can depend on: the
    /// content, its files, the positions of its problems, and its metadata.
    fn from_catalog(name: &str, content: &Content, metadata: &CatalogMetadata) -> Self {
        // Compressed forms are other representations of the same bytes. Each replica reads a content
        // at another time, and responses of all have the same validators.
        let Content {
            catalog,
            digest,
            encodings: _,
            image,
            last_unpacked: _,
        } = content;
        // `Debug` quotes texts, so that no two lists of parts are the same text.
        let files = catalog.files().collect::<Vec<_>>();
        let problems = catalog.problems();
        let parts = format!("{name:?}{digest:?}{image:?}{metadata:?}{files:?}{problems:?}");
        Self(Sha256::digest(parts).into())
    }

    /// Returns the digest of this revision with a further text that responses depend on.
    fn with(self, text: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(text);
        Self(hash.finalize().into())
    }

    /// Computes the digest of everything that a response about a snapshot can depend on.
    fn from_revisions(revisions: impl Iterator<Item = Self>) -> Self {
        let mut hash = Sha256::new();
        revisions.for_each(|revision| hash.update(revision.0));
        Self(hash.finalize().into())
    }

    /// Returns the bytes of the digest.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_name()).finish()
    }
}

#[cfg(test)]
mod tests;
