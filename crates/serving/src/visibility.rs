//! Which catalogs a reader may see. Who decides that is known elsewhere.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Catalogs, Revision, Snapshot};

/// Maximum number of sets of visible catalogs for which a snapshot remembers what it is without the
/// others. Callers with further sets cause the earliest one to be forgotten, and made again when it
/// is needed.
pub const NARROWED_SNAPSHOTS: usize = 64;

/// The catalogs that a reader may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Every catalog, also those that are served later.
    All,
    /// The catalogs of these names, whether they are served or not.
    Only(Arc<BTreeSet<String>>),
}

/// Someone whose rights can change while it reads.
pub trait Caller: fmt::Debug + Send + Sync {
    /// Returns a reader of what the caller may see now.
    fn renew(&self) -> Renewal<'_>;
}

/// A reader that will be there once the rights of its caller are known.
pub type Renewal<'c> = Pin<Box<dyn Future<Output = Result<Catalogs, RenewalError>> + Send + 'c>>;

/// Why the reader of a caller cannot be renewed. Either ends what is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalError {
    /// The caller may not read any more.
    Refused,
    /// It cannot be found out what the caller may see: it may try again.
    Undecided,
}

/// The snapshots without hidden catalogs that were made of one snapshot, the earliest first.
#[derive(Default)]
pub(super) struct NarrowedSnapshots(Mutex<VecDeque<(Visibility, Arc<Snapshot>)>>);

impl Visibility {
    /// No catalog at all.
    pub fn none() -> Self {
        Self::Only(Arc::default())
    }

    /// The catalogs of these names.
    pub fn only(names: impl IntoIterator<Item = String>) -> Self {
        Self::Only(Arc::new(names.into_iter().collect()))
    }

    /// Returns whether a catalog of this name may be seen.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    /// Returns whether no catalog may be seen, whatever is served.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Only(names) if names.is_empty())
    }
}

impl NarrowedSnapshots {
    /// Returns the snapshot for a set of catalogs, which `narrow` makes if it is not remembered.
    pub(super) fn get(
        &self,
        visibility: &Visibility,
        narrow: impl FnOnce() -> Snapshot,
    ) -> Arc<Snapshot> {
        // Sets are shared, so that most comparisons compare addresses.
        let find = |all: &VecDeque<_>| {
            let found = all
                .iter()
                .find(|(other, _): &&(Visibility, Arc<Snapshot>)| other == visibility);
            found.map(|(_, snapshot)| Arc::clone(snapshot))
        };
        if let Some(found) = find(&self.lock()) {
            return found;
        }
        // Made without the lock, so that nobody waits for it.
        let made = Arc::new(narrow());
        let mut all = self.lock();
        if let Some(found) = find(&all) {
            return found;
        }
        if all.len() >= NARROWED_SNAPSHOTS {
            all.pop_front();
        }
        all.push_back((visibility.clone(), Arc::clone(&made)));
        made
    }

    /// Returns whether a remembered snapshot has this revision.
    pub(super) fn has(&self, revision: &Revision) -> bool {
        self.lock()
            .iter()
            .any(|(_, snapshot)| snapshot.revision() == *revision)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Visibility, Arc<Snapshot>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
