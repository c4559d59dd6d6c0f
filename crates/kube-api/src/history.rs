//! The history of the published catalogs: their objects at the revisions at which a watch can
//! begin.
//!
//! Each catalog has a history of its own, and a caller sees those of the catalogs that it may see.
//! So no version, event or error depends on a catalog that is hidden from the caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use serving::Visibility;

use crate::catalog::CatalogObjects;

/// Maximum number of former states of a catalog at which a watch can begin. A watch at an older one
/// gets 410, and the client lists again.
pub const FORMER_STATES: usize = 16;

/// The latest states of every catalog that is or was published, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct CatalogHistory {
    /// Revision of the first state of the process.
    first_revision: u64,
    /// The latest state comes first.
    catalogs: BTreeMap<String, Vec<CatalogRevision>>,
}

/// The state of a catalog from a revision on.
#[derive(Clone, Debug)]
struct CatalogRevision {
    revision: u64,
    /// `None` if the catalog is not published.
    objects: Option<Arc<CatalogObjects>>,
}

impl CatalogHistory {
    /// Creates the history of a process whose first state has this revision.
    pub(crate) fn new(first_revision: u64) -> Self {
        Self {
            first_revision,
            catalogs: BTreeMap::new(),
        }
    }

    /// Adds the state that a catalog has from a revision on.
    pub(crate) fn push(
        &mut self,
        catalog: &str,
        revision: u64,
        objects: Option<Arc<CatalogObjects>>,
    ) {
        // A watch that began before the first catalog of a name was published sees it added.
        let absent = CatalogRevision {
            revision: self.first_revision,
            objects: None,
        };
        let states = self.catalogs.entry(catalog.to_owned()).or_insert_with(|| {
            let is_later = revision > self.first_revision;
            is_later.then_some(absent).into_iter().collect()
        });
        states.insert(0, CatalogRevision { revision, objects });
        states.truncate(FORMER_STATES + 1);
    }

    /// Forgets the states that ended before a revision: no watch lasts so long.
    pub(crate) fn forget_before(&mut self, revision: u64) {
        for states in self.catalogs.values_mut() {
            let is_old = |state: &CatalogRevision| state.revision < revision;
            if let Some(at) = states.iter().position(is_old) {
                states.truncate(at + 1);
            }
        }
    }

    /// Returns the revision of the last change that is visible.
    pub(crate) fn last_revision(&self, visibility: &Visibility) -> u64 {
        self.visible(visibility)
            .filter_map(|states| Some(states.first()?.revision))
            .fold(self.first_revision, u64::max)
    }

    /// Returns the visible catalogs as they were from a revision to the next one; `None` unless the
    /// revision is that of a visible change, or the first one, and all their states are known.
    pub(crate) fn objects_at(
        &self,
        visibility: &Visibility,
        revision: u64,
    ) -> Option<Vec<Arc<CatalogObjects>>> {
        let mut changes = self.visible(visibility).flatten();
        // A number that this process did not issue, such as one made up by a client, is not known,
        // even if it lies between two that are.
        let is_known =
            revision == self.first_revision || changes.any(|change| change.revision == revision);
        if !is_known {
            return None;
        }
        let at_revision = |states: &[CatalogRevision]| {
            let state = states.iter().find(|state| state.revision <= revision)?;
            Some(state.objects.clone())
        };
        let objects: Option<Vec<_>> = self.visible(visibility).map(at_revision).collect();
        Some(objects?.into_iter().flatten().collect())
    }

    fn visible(&self, visibility: &Visibility) -> impl Iterator<Item = &[CatalogRevision]> {
        self.catalogs
            .iter()
            .filter(|(name, _)| visibility.contains(name))
            .map(|(_, states)| states.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history that begins at 5, of catalogs that change at these revisions.
    fn history(changes: &[(&str, u64)]) -> CatalogHistory {
        let mut history = CatalogHistory::new(5);
        for (catalog, revision) in changes {
            history.push(catalog, *revision, None);
        }
        history
    }

    fn only(names: &[&str]) -> Visibility {
        Visibility::only(names.iter().map(|name| (*name).to_owned()))
    }

    /// The revisions at which a watch can begin.
    fn known(history: &CatalogHistory, names: &[&str]) -> Vec<u64> {
        let known = |revision: &u64| history.objects_at(&only(names), *revision).is_some();
        (0..100).filter(known).collect()
    }

    #[test]
    fn a_watch_can_begin_at_the_changes_that_its_caller_sees() {
        let history = history(&[("a", 5), ("b", 10), ("a", 20), ("c", 20), ("b", 30)]);
        for (names, expected) in [
            (&["a"][..], &[5, 20][..]),
            (&["b"], &[5, 10, 30]),
            (&["c"], &[5, 20]),
            (&["a", "b", "c"], &[5, 10, 20, 30]),
            (&["absent"], &[5]),
            (&[], &[5]),
        ] {
            assert_eq!(known(&history, names), expected, "{names:?}");
            let last = history.last_revision(&only(names));
            assert_eq!(Some(&last), expected.last(), "{names:?}");
        }
    }

    #[test]
    fn a_watch_can_begin_at_so_many_former_states_of_each_catalog() {
        let changes: Vec<_> = (10..90)
            .map(|at| (if at % 2 == 0 { "a" } else { "b" }, at))
            .collect();
        let history = history(&changes);
        let own = (0..=FORMER_STATES).map(|at| 89 - 2 * at as u64);
        let mut own: Vec<_> = own.collect();
        own.reverse();
        assert_eq!(known(&history, &["b"]), own);
        assert_eq!(
            known(&history, &["a", "b"]),
            (own[0]..90).collect::<Vec<_>>(),
            "the states of both are known"
        );
    }

    #[test]
    fn states_that_ended_long_ago_are_forgotten() {
        let mut history = history(&[("a", 10), ("a", 20), ("b", 15)]);
        history.forget_before(20);
        assert_eq!(known(&history, &["a"]), [10, 20], "it ended at 20");
        assert_eq!(known(&history, &["b"]), [15]);
        history.forget_before(21);
        assert_eq!(known(&history, &["a"]), [20]);
        assert_eq!(history.last_revision(&only(&["a", "b"])), 20);
    }
}
