//! Which catalogs are served now: one writer publishes, readers take snapshots.
//!
//! A snapshot never changes. Publishing swaps a pointer, so no reader waits and no lock is held while a request runs.
//! This room does not know where catalogs come from or who reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use fbc::{Catalog, Digest};
use tokio::sync::watch;

/// One catalog being served, with what is known of it besides its content.
#[derive(Debug)]
pub struct Served {
    /// Its name, unique among those served: a DNS-1123 subdomain.
    pub name: String,
    /// The content.
    pub catalog: Arc<Catalog>,
    /// Digest of the content: sha256 of its canonical lines.
    pub digest: Digest,
    /// Image reference the content was unpacked from, by digest.
    pub image: Option<String>,
    /// When the content was unpacked, when that is known.
    pub last_unpacked: Option<jiff::Timestamp>,
    /// What its owner says of it.
    pub about: About,
}

/// What the owner of a catalog says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Which catalog wins when several offer the same package; the highest does.
    pub priority: i32,
    /// Name to show, when it is not the name.
    pub display_name: Option<String>,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// Labels, by key.
    pub labels: BTreeMap<String, String>,
}

/// Every catalog served at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// By name.
    by_name: Vec<Arc<Served>>,
    /// Places in `by_name`: highest priority first, then by name.
    by_priority: Vec<usize>,
}

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
    let current = Arc::new(ArcSwap::default());
    let (sender, receiver) = watch::channel(0);
    (CatalogsWriter { current: Arc::clone(&current), changes: sender }, Catalogs { current, changes: receiver })
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
        let mut by_name = self.current.load().by_name.clone();
        match by_name.binary_search_by(|other| other.name.cmp(&served.name)) {
            Ok(at) => by_name[at] = Arc::new(served),
            Err(at) => by_name.insert(at, Arc::new(served)),
        }
        self.swap(by_name);
    }

    /// Serves no catalog of this name any more.
    pub fn withdraw(&mut self, name: &str) {
        let mut by_name = self.current.load().by_name.clone();
        by_name.retain(|served| served.name != name);
        self.swap(by_name);
    }

    fn swap(&mut self, by_name: Vec<Arc<Served>>) {
        let mut by_priority: Vec<usize> = (0..by_name.len()).collect();
        by_priority.sort_by_key(|&at| std::cmp::Reverse(by_name[at].about.priority));
        self.current.store(Arc::new(Snapshot { by_name, by_priority }));
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
        let at = self.by_name.binary_search_by(|served| served.name.as_str().cmp(name)).ok()?;
        Some(&self.by_name[at])
    }
}

#[cfg(test)]
mod tests;
