//! Which catalogs are served now: one writer publishes, readers take snapshots.
//!
//! A snapshot never changes. Publishing swaps a pointer, so no reader waits and no lock is held while a request runs.
//! This room does not know where catalogs come from or who reads them.

mod history;
mod name;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use bytes::Bytes;
use fbc::catalog::{FoundIcon, Icons};
use fbc::{Catalog, Digest, Outline};
use http_facts::coding::Coding;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

pub use history::History;
pub use name::{CatalogName, InvalidName};

/// Where icons are served, each by the digest of its image.
pub const ICONS: &str = "/icons/";

/// One catalog being served, with what is known of it besides its content.
#[derive(Debug)]
pub struct Served {
    /// Its name, unique among those served: a DNS-1123 subdomain.
    pub name: String,
    /// The content.
    pub catalog: Arc<Catalog>,
    /// Digest of the content: sha256 of its canonical lines.
    pub digest: Digest,
    /// The content compressed, as far as that is done.
    pub encodings: Arc<Encodings>,
    /// Image reference the content was unpacked from, by digest.
    pub image: Option<String>,
    /// When the content was unpacked, when that is known.
    pub last_unpacked: Option<jiff::Timestamp>,
    /// What its owner says of it.
    pub metadata: CatalogMetadata,
}

/// Compressed forms of a content. They come after it: it is served before they are made, and where they are not made.
#[derive(Debug, Default)]
pub struct Encodings {
    zstd: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

/// What the owner of a catalog says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogMetadata {
    /// Which catalog wins when several offer the same package; the highest does.
    pub priority: i32,
    /// Name to show, when it is not the name.
    pub display_name: Option<String>,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// Labels, by key.
    pub labels: BTreeMap<String, String>,
}

/// How many contents of a catalog before the one that is served have icons that can still be had: who was given a URL
/// a moment ago may follow it.
pub const FORMER_ICONS: usize = 2;

/// Every catalog served at one moment.
#[derive(Default)]
pub struct Snapshot {
    /// By name.
    by_name: Vec<Arc<Served>>,
    /// The revision of each catalog of `by_name`.
    revisions: Vec<Revision>,
    /// The icons of the contents before, of each catalog of `by_name`, latest first.
    former_icons: Vec<Vec<Arc<Icons>>>,
    /// Places in `by_name`: highest priority first, then by name.
    by_priority: Vec<usize>,
    revision: Revision,
    history: History,
}

/// What tells one state from another, of one catalog or of the whole published set: equal ones give equal answers, also
/// in another process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Revision([u8; 32]);

/// Reads what is served; clones are cheap and see the same.
#[derive(Clone, Debug)]
pub struct Catalogs {
    current: Arc<ArcSwap<Snapshot>>,
    changes: watch::Receiver<u64>,
}

/// Publishes and withdraws catalogs. There is one, so that no two changes race.
#[derive(Debug)]
pub struct CatalogsWriter {
    current: Arc<ArcSwap<Snapshot>>,
    changes: watch::Sender<u64>,
}

/// The two ends of a published set that is empty.
pub fn catalogs() -> (CatalogsWriter, Catalogs) {
    let current: Arc<ArcSwap<Snapshot>> = Arc::default();
    let (sender, receiver) = watch::channel(0);
    (CatalogsWriter { current: Arc::clone(&current), changes: sender }, Catalogs { current, changes: receiver })
}

impl Encodings {
    /// The form in this coding, when it is there.
    pub fn get(&self, coding: Coding) -> Option<&Bytes> {
        self.cell(coding).get()
    }

    /// Offers the form in this coding to whoever asks from now on. The first one stays; all would say the same. Tells
    /// whether this is the first.
    pub fn offer(&self, coding: Coding, bytes: Bytes) -> bool {
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
    /// What is served now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Counts the changes: its value rises after each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }
}

impl CatalogsWriter {
    /// Serves a catalog, in place of the one of the same name.
    pub fn publish(&mut self, served: Served) {
        let mut next = self.current.load().parts();
        let revision = Revision::of(&served);
        match next.by_name.binary_search_by(|other| other.name.cmp(&served.name)) {
            Ok(at) => {
                let before = &next.by_name[at];
                if before.digest != served.digest {
                    if let Some(outline) = before.catalog.known_outline() {
                        next.history.remember(&before.name, vec![(before.digest, outline.clone())]);
                    }
                    next.former_icons[at].insert(0, Arc::clone(next.by_name[at].catalog.icons()));
                    next.former_icons[at].truncate(FORMER_ICONS);
                }
                next.by_name[at] = Arc::new(served);
                next.revisions[at] = revision;
            }
            Err(at) => {
                next.by_name.insert(at, Arc::new(served));
                next.revisions.insert(at, revision);
                next.former_icons.insert(at, Vec::new());
            }
        }
        self.swap(next);
    }

    /// Serves no catalog of this name any more.
    pub fn withdraw(&mut self, name: &str) {
        let mut next = self.current.load().parts();
        if let Ok(at) = next.by_name.binary_search_by(|other| other.name.as_str().cmp(name)) {
            next.by_name.remove(at);
            next.revisions.remove(at);
            next.former_icons.remove(at);
            next.history.forget(name);
        }
        self.swap(next);
    }

    /// Where the outlines of former contents are remembered.
    pub fn history(&self) -> History {
        self.current.load().history.clone()
    }

    /// Publishes a snapshot of which only what is kept by name is settled.
    fn swap(&mut self, mut next: Snapshot) {
        next.by_priority = (0..next.by_name.len()).collect();
        next.by_priority.sort_by_key(|&at| std::cmp::Reverse(next.by_name[at].metadata.priority));
        next.revision = Revision::of_all(&next.revisions);
        self.current.store(Arc::new(next));
        self.changes.send_modify(|count| *count += 1);
    }
}

impl Snapshot {
    /// Every catalog, by name.
    pub fn by_name(&self) -> &[Arc<Served>] {
        &self.by_name
    }

    /// Every catalog, highest priority first, then by name.
    pub fn by_priority(&self) -> impl DoubleEndedIterator<Item = &Arc<Served>> + ExactSizeIterator {
        self.by_priority.iter().map(|&at| &self.by_name[at])
    }

    /// One catalog, by name.
    pub fn get(&self, name: &str) -> Option<&Arc<Served>> {
        self.place_of(name).map(|at| &self.by_name[at])
    }

    /// What tells it from another.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// What tells one catalog from what else it was or will be; nothing when there is none of that name.
    pub fn revision_of(&self, name: &str) -> Option<Revision> {
        self.place_of(name).map(|at| self.revisions[at])
    }

    /// Whether this is what tells it, or one of its catalogs, from another state.
    pub fn has(&self, revision: &Revision) -> bool {
        self.revision == *revision || self.revisions.contains(revision)
    }

    /// The outline of a content that is served, or that is remembered. The latter is no part of the snapshot: what was
    /// remembered may be forgotten.
    pub fn outline(&self, digest: &Digest) -> Option<Outline> {
        let served = self.by_name.iter().find(|served| served.digest == *digest);
        served.map(|served| served.catalog.outline().clone()).or_else(|| self.history.find(digest))
    }

    /// The icon whose image has this digest, of any catalog that is served or of its [`FORMER_ICONS`] contents before.
    pub fn icon(&self, digest: &Digest) -> Option<FoundIcon> {
        let now = self.by_name.iter().map(|served| served.catalog.icons());
        now.chain(self.former_icons.iter().flatten()).find_map(|icons| icons.find(digest))
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.by_name.binary_search_by(|served| served.name.as_str().cmp(name)).ok()
    }

    /// A copy of what is kept by name, to be changed.
    fn parts(&self) -> Self {
        Self {
            by_name: self.by_name.clone(),
            revisions: self.revisions.clone(),
            former_icons: self.former_icons.clone(),
            history: self.history.clone(),
            ..Self::default()
        }
    }
}

impl Revision {
    /// Everything that an answer about a catalog can depend on: the content, where its problems are, and what is known
    /// of it besides.
    fn of(served: &Served) -> Self {
        // Compressed forms say the same.
        let Served { name, catalog, digest, encodings: _, image, last_unpacked, metadata } = served;
        // Each part ends where the next begins: `Debug` quotes texts.
        let known = format!("{name:?}{digest:?}{image:?}{last_unpacked:?}{metadata:?}{:?}", catalog.problems());
        Self(Sha256::digest(known).into())
    }

    /// Everything that an answer can depend on.
    fn of_all(revisions: &[Self]) -> Self {
        let mut hash = Sha256::new();
        for revision in revisions {
            hash.update(revision.0);
        }
        Self(hash.finalize().into())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.by_name).finish()
    }
}

#[cfg(test)]
mod tests;
