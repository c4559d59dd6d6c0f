//! Which catalogs are served now: one writer publishes, readers take snapshots.
//!
//! A snapshot never changes. Publishing swaps a pointer, so no reader waits and no lock is held
//! while a request runs. This crate does not know where catalogs come from or who reads them.

mod fair_semaphore;
mod history;
mod name;
mod second_chance;
mod status;
mod visibility;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use bytes::Bytes;
use fbc::{Catalog, FoundIcon, Icons, Outline};
use fbc_grammar::Digest;
use http_facts::coding::Coding;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

pub use fair_semaphore::{FairPermit, FairSemaphore};
pub use history::{History, RememberedContent};
pub use name::{CatalogName, InvalidName};
pub use second_chance::{CacheUsage, SecondChanceCache};
pub use status::{FailureReason, LoadFailure, LoadStatus, LoadStatuses};
pub use visibility::{Caller, NARROWED_SNAPSHOTS, Renewal, RenewalError, Visibility};

use visibility::NarrowedSnapshots;

/// Where icons are served, each by the digest of its image.
pub const ICONS: &str = "/icons/";

/// A catalog that is served.
#[derive(Debug)]
pub struct Served {
    /// Its name, unique among those served: a DNS-1123 subdomain.
    pub name: String,
    /// The content.
    pub content: Content,
    /// What its owner says about it.
    pub metadata: CatalogMetadata,
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
    /// When it was first read from its source; `None` if that is unknown.
    pub last_unpacked: Option<jiff::Timestamp>,
}

/// Compressed forms of a content, which become available some time after it is served, if at all.
#[derive(Debug, Default)]
pub struct Encodings {
    zstd: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

/// What the owner of a catalog says about it.
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
    /// Namespace of the object that it comes from, if that has one.
    pub namespace: Option<String>,
    /// When the object that it comes from was created, if that is known.
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
    beside: Beside,
    narrowed: NarrowedSnapshots,
}

/// State that changes beside the snapshots and that no revision tells of.
#[derive(Clone, Default)]
struct Beside {
    history: History,
    statuses: LoadStatuses,
    /// The catalogs whose state may be told; `None` for every one.
    visible: Option<Arc<BTreeSet<String>>>,
}

/// The place of one catalog in a snapshot.
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

/// Reads what is served, or those of it that a caller may see. Clones are cheap and see the same.
#[derive(Clone, Debug)]
pub struct Catalogs {
    current: Arc<ArcSwap<Snapshot>>,
    changes: watch::Receiver<u64>,
    visibility: Visibility,
    /// Whose reader it is; `None` where nobody's rights are evaluated.
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
        Beside::default(),
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
        let revision = Revision::of_catalog(&name, &content, &metadata);
        Self {
            name,
            content,
            metadata,
            revision,
        }
    }

    /// Identifies this state of the catalog.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

impl Content {
    /// Creates a content of which nothing more is known.
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
    /// The content in this coding, once it is there.
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
    /// What is served now, as far as the reader may see it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        match &self.visibility {
            Visibility::All => self.current.load_full(),
            Visibility::Only(names) => self.current.load().visible_to(names),
        }
    }

    /// Everything that is served now, whatever the reader may see: for caches, which must know what
    /// is still current. No response may depend on it.
    pub fn published(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Which catalogs the reader may see, of those that are served and others.
    pub fn visibility(&self) -> &Visibility {
        &self.visibility
    }

    /// A reader of the same catalogs that sees these of them.
    #[must_use]
    pub fn visible(&self, visibility: Visibility) -> Self {
        Self {
            visibility,
            caller: None,
            ..self.clone()
        }
    }

    /// The same reader, which can be renewed: its caller is asked what it may see then.
    #[must_use]
    pub fn of_caller(self, caller: Arc<dyn Caller>) -> Self {
        Self {
            caller: Some(caller),
            ..self
        }
    }

    /// Whether the rights of somebody decide what the reader sees, so that it must be renewed now
    /// and then.
    pub fn has_caller(&self) -> bool {
        self.caller.is_some()
    }

    /// A reader of what its caller may see now, which for a reader without a caller is the same.
    ///
    /// # Errors
    /// The caller may not read any more, or it cannot be found out what it may see.
    pub async fn renew(&self) -> Result<Self, RenewalError> {
        match &self.caller {
            Some(caller) => caller.renew().await,
            None => Ok(self.clone()),
        }
    }

    /// The number of changes so far; it rises with each one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// The number of changes so far, now.
    pub fn change_count(&self) -> u64 {
        *self.changes.borrow()
    }
}

impl CatalogsWriter {
    /// Serves a catalog, in place of the one of the same name.
    pub fn publish(&mut self, served: Served) {
        let now = self.current.load();
        let mut slots = now.slots.clone();
        let beside = now.beside.clone();
        let mut slot = Slot {
            served: Arc::new(served),
            former_icons: Vec::new(),
        };
        match now.position(&slot.served.name) {
            Ok(at) => {
                let before = std::mem::replace(&mut slots[at].served, Arc::clone(&slot.served));
                slot.former_icons = std::mem::take(&mut slots[at].former_icons);
                if before.content.digest != slot.served.content.digest {
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
                        beside.history.remember(&before.name, vec![former]);
                    }
                    slot.former_icons
                        .insert(0, Arc::clone(before.content.catalog.icons()));
                    slot.former_icons.truncate(FORMER_ICONS);
                }
                slots[at] = slot;
            }
            Err(at) => slots.insert(at, slot),
        }
        self.swap(Snapshot::new(slots, beside));
    }

    /// Stops serving the catalog of this name, if there is one.
    pub fn withdraw(&mut self, name: &str) {
        let now = self.current.load();
        let mut slots = now.slots.clone();
        let beside = now.beside.clone();
        slots.retain(|slot| slot.served.name != name);
        beside.history.forget(name);
        self.swap(Snapshot::new(slots, beside));
    }

    /// What is served now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Where the outlines of former contents are remembered.
    pub fn history(&self) -> History {
        self.current.load().beside.history.clone()
    }

    /// Where the outcomes of attempts to load catalogs are reported.
    pub fn statuses(&self) -> LoadStatuses {
        self.current.load().beside.statuses.clone()
    }

    fn swap(&self, next: Snapshot) {
        self.current.store(Arc::new(next));
        self.changes.send_modify(|count| *count += 1);
    }
}

impl Snapshot {
    /// A snapshot of catalogs, which are in the order of their names.
    fn new(slots: Vec<Slot>, beside: Beside) -> Self {
        let mut by_priority: Vec<_> = (0..slots.len()).collect();
        by_priority.sort_by_key(|&at| std::cmp::Reverse(slots[at].served.metadata.priority));
        let revision = Revision::of_all(slots.iter().map(|slot| slot.served.revision));
        Self {
            slots,
            by_priority,
            revision,
            beside,
            narrowed: NarrowedSnapshots::default(),
        }
    }

    /// The same snapshot with these catalogs only, made once for equal sets. To who sees it, it is
    /// as if the others were not served: names, counts, revisions, icons, remembered contents and
    /// load statuses tell nothing of them.
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
                Beside {
                    visible: Some(Arc::clone(names)),
                    ..self.beside.clone()
                },
            )
        })
    }

    /// Every catalog, by name.
    pub fn by_name(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Arc<Served>> + ExactSizeIterator + Clone {
        self.slots.iter().map(|slot| &slot.served)
    }

    /// Every catalog, highest priority first, then by name.
    pub fn by_priority(&self) -> impl DoubleEndedIterator<Item = &Arc<Served>> + ExactSizeIterator {
        self.by_priority.iter().map(|&at| &self.slots[at].served)
    }

    /// One catalog, by name.
    pub fn get(&self, name: &str) -> Option<&Arc<Served>> {
        self.slot(name).map(|slot| &slot.served)
    }

    /// The revision of the whole snapshot.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The revision of one catalog; `None` when none of that name is served.
    pub fn revision_of(&self, name: &str) -> Option<Revision> {
        self.get(name).map(|served| served.revision)
    }

    /// Whether this is the revision of the snapshot, of one of its catalogs, or of what a caller is
    /// known to see of it.
    pub fn has(&self, revision: &Revision) -> bool {
        let is_of_catalog = || {
            self.slots
                .iter()
                .any(|slot| slot.served.revision == *revision)
        };
        self.revision == *revision || is_of_catalog() || self.narrowed.has(revision)
    }

    /// The outline of a content that one of these catalogs has or had. Contents that are not served
    /// any more are no part of the snapshot: they may be forgotten at any time.
    pub fn outline(&self, digest: &Digest) -> Option<Outline> {
        let served = self
            .by_name()
            .find(|served| served.content.digest == *digest);
        let former = || {
            self.beside
                .history
                .find(digest, |name| self.get(name).is_some())
        };
        served
            .map(|served| served.content.catalog.outline().clone())
            .or_else(former)
    }

    /// The contents that a catalog had before the one that it serves, as far as they are
    /// remembered, the latest first; at most [`fbc::outline::REMEMBERED`]. Like outlines, they are
    /// no part of the snapshot.
    pub fn former_contents(&self, served: &Served) -> Vec<RememberedContent> {
        let contents = self.beside.history.contents(&served.name).into_iter();
        let former = contents.filter(|content| content.digest != served.content.digest);
        former.take(fbc::outline::REMEMBERED).collect()
    }

    /// The load status of a catalog. Statuses are no part of the snapshot: they change with each
    /// attempt.
    pub fn status(&self, name: &str) -> LoadStatus {
        if self.beside.tells_of(name) {
            self.beside.statuses.get(name)
        } else {
            LoadStatus::default()
        }
    }

    /// The load statuses of all catalogs that are configured or served, by name.
    pub fn statuses(&self) -> BTreeMap<String, LoadStatus> {
        let mut all = self.beside.statuses.all();
        all.retain(|name, _| self.beside.tells_of(name));
        for served in self.by_name() {
            all.entry(served.name.clone()).or_default();
        }
        all
    }

    /// The icon whose image has this digest, of a catalog that is served or of its [`FORMER_ICONS`]
    /// contents before.
    pub fn icon(&self, digest: &Digest) -> Option<FoundIcon> {
        let now = self.by_name().map(|served| served.content.catalog.icons());
        now.chain(self.slots.iter().flat_map(|slot| &slot.former_icons))
            .find_map(|icons| icons.find(digest))
    }

    fn slot(&self, name: &str) -> Option<&Slot> {
        self.position(name).ok().map(|at| &self.slots[at])
    }

    /// The index of a catalog in `slots`, or else where it would stand.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.slots
            .binary_search_by(|slot| slot.served.name.as_str().cmp(name))
    }
}

impl Beside {
    /// Whether the state of a catalog of this name may be told.
    fn tells_of(&self, name: &str) -> bool {
        self.visible
            .as_ref()
            .is_none_or(|names| names.contains(name))
    }
}

impl Revision {
    /// A digest of everything that a response about one catalog can depend on: the content, its
    /// files, where its problems are, and its metadata.
    fn of_catalog(name: &str, content: &Content, metadata: &CatalogMetadata) -> Self {
        // Compressed forms have the same bytes.
        let Content {
            catalog,
            digest,
            encodings: _,
            image,
            last_unpacked,
        } = content;
        // `Debug` quotes texts, so that no two lists of parts are the same text.
        let files = catalog.files().collect::<Vec<_>>();
        let problems = catalog.problems();
        let parts = format!(
            "{name:?}{digest:?}{image:?}{last_unpacked:?}{metadata:?}{files:?}{problems:?}"
        );
        Self(Sha256::digest(parts).into())
    }

    /// A digest of everything that a response can depend on.
    fn of_all(revisions: impl Iterator<Item = Self>) -> Self {
        let mut hash = Sha256::new();
        revisions.for_each(|revision| hash.update(revision.0));
        Self(hash.finalize().into())
    }

    /// Its bytes.
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
