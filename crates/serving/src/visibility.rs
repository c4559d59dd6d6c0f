//! Visibility of catalogs to a reader. This module does not know how it is decided.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Catalogs, Revision, Snapshot};

/// Maximum number of narrowed snapshots of a snapshot: one for each set of visible catalogs. A
/// further set evicts the earliest one, which is made again when it is needed.
pub const NARROWED_SNAPSHOTS: usize = 64;

/// The catalogs that a reader may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Every catalog, also those that are served later.
    All,
    /// The catalogs of these names, whether they are served or not.
    Only(Arc<BTreeSet<String>>),
}

/// A caller whose rights can change while it reads.
pub trait Caller: fmt::Debug + Send + Sync {
    /// Returns a reader of the catalogs that the caller may see now.
    fn renew(&self) -> Renewal<'_>;
}

/// Future of a reader, which completes when the rights of its caller are known.
pub type Renewal<'c> = Pin<Box<dyn Future<Output = Result<Catalogs, RenewalError>> + Send + 'c>>;

/// An error of renewing the reader of a caller. It ends the response that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalError {
    /// The caller may not read any more.
    Refused,
    /// Authorization is not available: the caller may try again.
    Undecided,
}

/// The snapshots without hidden catalogs that were made of one snapshot, the earliest first.
#[derive(Default)]
pub(super) struct NarrowedSnapshots(Mutex<VecDeque<(Visibility, Arc<Snapshot>)>>);

impl Visibility {
    /// Returns the visibility of no catalog.
    pub fn none() -> Self {
        Self::Only(Arc::default())
    }

    /// Returns the visibility of the catalogs of these names.
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
        // Made without the lock: other readers would wait for it.
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
