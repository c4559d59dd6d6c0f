//! One search index of all catalogs, for searches over many of them: packages with equal texts are
//! searched once, and so are the words that a misspelling may mean.
//!
//! It is made in the background, after a search has missed it, or at once if there are many
//! catalogs. Until then each catalog is searched by its own index, and so are catalogs that are not
//! in it yet. Callers who do not see every catalog do not search it: nothing that a caller may not
//! see changes what a search does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use fbc::{Catalog, MergedSearchIndex, MergedSearchLimits};
use fbc_grammar::Digest;
use serving::{Content, Revision, Served, Snapshot};
use tokio::sync::Notify;

/// Minimum number of contents that are merged: the indexes of few catalogs are searched as fast.
pub const MERGED_CONTENTS: usize = 8;

/// Minimum number of catalogs whose indexes are merged before a search misses the index: a search of
/// each of so many catalogs may take more work than a request has.
pub const EAGERLY_MERGED_CATALOGS: usize = 100;

/// Maximum size of the index; over catalogs with more, each is searched by its own index.
pub const MERGED_LIMITS: MergedSearchLimits = MergedSearchLimits {
    packages: 1_000_000,
    words: 1_000_000,
    postings: 4_000_000,
};

/// The index of the latest snapshot for which it was made.
#[derive(Default)]
pub(super) struct SharedSearchIndex {
    current: ArcSwapOption<SnapshotIndex>,
    /// Notified when a search misses the index of its snapshot.
    missed: Notify,
}

/// The index of a snapshot.
struct SnapshotIndex {
    revision: Revision,
    /// `None` if there are too few contents or too many words.
    merged: Option<Arc<MergedContents>>,
}

/// One index of many contents.
pub(super) struct MergedContents {
    pub(super) index: MergedSearchIndex,
    /// Number in the index of each content, also of some that are not served any more.
    numbers: HashMap<Digest, usize>,
}

impl SharedSearchIndex {
    /// Returns the index for searches of a snapshot, if it is made. Latest contents may not be in
    /// it yet.
    pub(super) fn get(&self, snapshot: &Snapshot) -> Option<Arc<MergedContents>> {
        let current = self.current.load();
        let current = current.as_ref();
        let is_current = current.is_some_and(|index| index.revision == snapshot.revision());
        if !is_current {
            self.missed.notify_one();
        }
        let is_usable = is_current || !snapshot.is_narrowed();
        current.filter(|_| is_usable)?.merged.clone()
    }

    /// Waits until a search misses the index of its snapshot.
    pub(super) async fn missed(&self) {
        self.missed.notified().await;
    }

    /// Makes the index of a snapshot.
    pub(super) fn update(&self, snapshot: &Snapshot) {
        let former = self.current.load_full();
        // Searches of callers who do not see every catalog miss it each time.
        if former
            .as_ref()
            .is_some_and(|former| former.revision == snapshot.revision())
        {
            return;
        }
        let former = former.and_then(|former| former.merged.clone());
        let index = SnapshotIndex {
            revision: snapshot.revision(),
            merged: MergedContents::of(snapshot, former, MERGED_LIMITS),
        };
        self.current.store(Some(Arc::new(index)));
    }
}

impl MergedContents {
    /// Returns the number of a content in the index; `None` if it is not in it.
    pub(super) fn number_of(&self, content: &Content) -> Option<usize> {
        self.numbers.get(&content.digest).copied()
    }

    /// Adds the contents of a snapshot to a former index, unless most of its contents are not
    /// served any more. `None` if there are too few contents or too many words.
    fn of(
        snapshot: &Snapshot,
        former: Option<Arc<Self>>,
        limits: MergedSearchLimits,
    ) -> Option<Arc<Self>> {
        let served: HashSet<Digest> = snapshot
            .by_name()
            .map(|served| served.content.digest)
            .collect();
        if served.len() < MERGED_CONTENTS {
            return None;
        }
        let former = former.filter(|former| former.numbers.len() < 2 * served.len());
        let mut numbers = former
            .as_ref()
            .map_or_else(HashMap::new, |former| former.numbers.clone());
        let mut added: Vec<&Catalog> = Vec::new();
        for Served { content, .. } in snapshot.by_name().map(|served| &**served) {
            let next = numbers.len();
            numbers.entry(content.digest).or_insert_with(|| {
                added.push(&content.catalog);
                next
            });
        }
        if added.is_empty() {
            return former;
        }
        let none = MergedSearchIndex::default();
        let kept = former.as_ref().map_or(&none, |former| &former.index);
        match kept.with(added, limits) {
            Some(index) => Some(Arc::new(Self { index, numbers })),
            // Without the contents that are gone, the others may fit.
            None if former.is_some() => Self::of(snapshot, None, limits),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests;
