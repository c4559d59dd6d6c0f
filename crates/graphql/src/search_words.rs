//! The words of all catalogs, so that a search over many of them finds once what a word with a typo
//! may mean.
//!
//! They are collected in the background, after a search has missed them. Until then, and for callers
//! that do not see every catalog, each catalog is searched by its own words: nothing that a caller
//! may not see changes what a search does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use fbc::{Catalog, SearchWords};
use fbc_grammar::Digest;
use serving::{Revision, Snapshot};
use tokio::sync::Notify;

/// Minimum number of contents whose words are collected: the words of few catalogs are not worth
/// their memory.
pub const COLLECTED_CONTENTS: usize = 8;

/// Maximum number of words that are collected; over catalogs with more, each is searched by its own.
pub const COLLECTED_WORDS: usize = 1_000_000;

/// The words of the catalogs of the latest snapshot for which they were collected.
#[derive(Default)]
pub(super) struct SharedSearchWords {
    current: ArcSwapOption<CollectedWords>,
    /// Notified when a search misses the words of its snapshot.
    missed: Notify,
}

/// Words of the catalogs of a snapshot.
pub(super) struct CollectedWords {
    revision: Revision,
    /// `None` if there are too few contents or too many words.
    words: Option<Arc<SearchWords>>,
    /// Digests of the contents whose words they are, also of some that are not served any more.
    contents: HashSet<Digest>,
}

impl SharedSearchWords {
    /// Returns the words of the catalogs of a snapshot, if they are collected.
    pub(super) fn get(&self, snapshot: &Snapshot) -> Option<Arc<SearchWords>> {
        let current = self.current.load();
        match &*current {
            Some(collected) if collected.revision == snapshot.revision() => collected.words.clone(),
            _ => {
                self.missed.notify_one();
                None
            }
        }
    }

    /// Waits until a search misses the words of its snapshot.
    pub(super) async fn missed(&self) {
        self.missed.notified().await;
    }

    /// Collects the words of the catalogs of a snapshot.
    pub(super) fn collect(&self, snapshot: &Snapshot) {
        let former = self.current.load_full();
        // Searches of callers who do not see every catalog miss them each time.
        if former
            .as_ref()
            .is_some_and(|former| former.revision == snapshot.revision())
        {
            return;
        }
        let collected = CollectedWords::collect(snapshot, former.as_deref(), COLLECTED_WORDS);
        self.current.store(Some(Arc::new(collected)));
    }
}

impl CollectedWords {
    /// Adds the words of further contents to former ones, unless most of those are of contents that
    /// are not served any more; at most `maximum` words.
    fn collect(snapshot: &Snapshot, former: Option<&Self>, maximum: usize) -> Self {
        let served: HashMap<Digest, &Catalog> = snapshot
            .by_name()
            .map(|served| (served.content.digest, &*served.content.catalog))
            .collect();
        let none = Self {
            revision: snapshot.revision(),
            words: None,
            contents: HashSet::new(),
        };
        if served.len() < COLLECTED_CONTENTS {
            return none;
        }
        let former = former.filter(|former| former.contents.len() < 2 * served.len());
        let kept = former.and_then(|former| Some((former.words.as_ref()?, &former.contents)));
        let is_new = |digest: &Digest| kept.is_none_or(|(_, contents)| !contents.contains(digest));
        let added: Vec<_> = served.iter().filter(|(digest, _)| is_new(digest)).collect();
        let added_catalogs = added.iter().map(|(_, catalog)| **catalog);
        let words = match kept {
            Some((words, _)) if added.is_empty() => Arc::clone(words),
            Some((words, _)) => Arc::new(words.with(added_catalogs)),
            None => Arc::new(SearchWords::default().with(added_catalogs)),
        };
        let mut contents: HashSet<Digest> = added.iter().map(|(digest, _)| **digest).collect();
        contents.extend(kept.into_iter().flat_map(|(_, contents)| contents));
        if words.len() > maximum {
            // Without the words of contents that are gone, the others may be few enough.
            return kept.map_or(none, |_| Self::collect(snapshot, None, maximum));
        }
        Self {
            words: Some(words),
            contents,
            ..none
        }
    }
}

#[cfg(test)]
mod tests;
