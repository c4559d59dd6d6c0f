//! What catalogs had before: the states at which a watch can begin.
//!
//! Each caller has states of its own, those of the catalogs that it may see: a change of another
//! catalog is none. So no number and no answer depends on what is hidden from whoever gets it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serving::Visibility;

use crate::published::CatalogObjects;

/// Number of former states that a watch can begin at. An older one is answered with 410, and the
/// client lists again.
pub const FORMER_STATES: usize = 16;

/// The states of every catalog that is or was served, by its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Revision of the first state of the process.
    began: u64,
    catalogs: BTreeMap<String, Vec<CatalogState>>,
}

/// What a catalog had from one of its changes to the next.
#[derive(Clone, Debug)]
pub(crate) struct CatalogState {
    /// Revisions of its change: objects that changed have those from `first` on, objects that were
    /// deleted those from `deletions` on, and the range ends before `end`.
    pub(crate) first: u64,
    pub(crate) deletions: u64,
    pub(crate) end: u64,
    /// Revision of the state of all catalogs that had it first. All changes that led there have
    /// lower ones.
    pub(crate) revision: u64,
    /// `None` while there is no such catalog.
    pub(crate) objects: Option<Arc<CatalogObjects>>,
}

/// What the catalogs had that somebody sees, by their names.
pub(crate) type SeenObjects = Vec<Arc<CatalogObjects>>;

/// The deletions of a change of a catalog.
pub(crate) struct Deletions<'h> {
    /// Revision at which the first of the objects was deleted, if it was; each has the next one.
    pub(crate) first: u64,
    pub(crate) before: &'h Arc<CatalogObjects>,
    pub(crate) after: Option<&'h Arc<CatalogObjects>>,
}

impl History {
    /// Returns the history of a process that begins with this state.
    pub(crate) fn new(began: u64) -> Self {
        Self {
            began,
            catalogs: BTreeMap::new(),
        }
    }

    /// Adds the state to which a catalog has changed.
    pub(crate) fn push(&mut self, catalog: &str, state: CatalogState) {
        let began = self.began;
        let states = self.catalogs.entry(catalog.to_owned()).or_insert_with(|| {
            let absent = CatalogState {
                first: began,
                deletions: began,
                end: began,
                revision: began,
                objects: None,
            };
            if state.revision > began {
                vec![absent]
            } else {
                Vec::new()
            }
        });
        states.insert(0, state);
        states.truncate(FORMER_STATES + 1);
    }

    /// Forgets what catalogs had that are gone since before a revision: most will not come back.
    pub(crate) fn forget_gone(&mut self, before: u64) {
        for states in self.catalogs.values_mut() {
            if states
                .first()
                .is_some_and(|last| last.objects.is_none() && last.revision < before)
            {
                states.truncate(1);
            }
        }
    }

    /// Returns the states of each catalog that somebody sees, latest first.
    fn seen(&self, visibility: &Visibility) -> impl Iterator<Item = &[CatalogState]> {
        let seen = self
            .catalogs
            .iter()
            .filter(|(name, _)| visibility.contains(name));
        seen.map(|(_, states)| states.as_slice())
    }

    /// Returns the revision of the last state of what somebody sees.
    pub(crate) fn revision(&self, visibility: &Visibility) -> u64 {
        self.seen(visibility)
            .filter_map(|states| Some(states.first()?.revision))
            .fold(self.began, u64::max)
    }

    /// Returns the states of what somebody sees, latest first: the revision of each, and what it
    /// had.
    pub(crate) fn states(
        &self,
        visibility: &Visibility,
    ) -> impl Iterator<Item = (u64, SeenObjects)> {
        let seen: Vec<_> = self.seen(visibility).collect();
        let mut revisions: Vec<_> = seen
            .iter()
            .flat_map(|states| states.iter().map(|state| state.revision))
            .collect();
        revisions.push(self.began);
        revisions.sort_unstable_by(|a, b| b.cmp(a));
        revisions.dedup();
        revisions.truncate(FORMER_STATES + 1);
        revisions.into_iter().map_while(move |revision| {
            let at = |states: &[CatalogState]| {
                states
                    .iter()
                    .find(|state| state.revision <= revision)
                    .cloned()
            };
            Some((revision, objects(seen.iter().map(|states| at(states)))?))
        })
    }

    /// Returns what somebody saw before the change that has this revision in its range; `None` if
    /// there was no such change of what it sees, or if it was too long ago. Clients know no others
    /// of this process. Other processes have ranges of their own.
    pub(crate) fn before_change(
        &self,
        visibility: &Visibility,
        revision: u64,
    ) -> Option<SeenObjects> {
        let is_it = |state: &CatalogState| (state.first..state.end).contains(&revision);
        if !self.seen(visibility).flatten().any(is_it) {
            return None;
        }
        objects(
            self.seen(visibility)
                .map(|states| states.iter().find(|state| state.end <= revision).cloned()),
        )
    }

    /// Returns the deletions of the changes after a revision, of what somebody sees.
    pub(crate) fn deletions_after(
        &self,
        visibility: &Visibility,
        revision: u64,
    ) -> impl Iterator<Item = Deletions<'_>> {
        let changes = self
            .seen(visibility)
            .flat_map(|states| states.iter().zip(states.iter().skip(1)));
        let later = changes.filter(move |(after, _)| after.end > revision);
        later.filter_map(|(after, before)| {
            let first = after.deletions;
            let before = before.objects.as_ref()?;
            Some(Deletions {
                first,
                before,
                after: after.objects.as_ref(),
            })
        })
    }
}

/// Returns the objects of catalogs in a state; `None` if that of one of them is not known any more.
fn objects(states: impl Iterator<Item = Option<CatalogState>>) -> Option<SeenObjects> {
    let known: Option<Vec<_>> = states.map(|state| Some(state?.objects)).collect();
    Some(known?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history that begins at 5, of catalogs that have changed at these revisions.
    fn history(changes: &[(&str, u64)]) -> History {
        let mut history = History::new(5);
        for (catalog, revision) in changes {
            let first = revision - 1;
            let revision = *revision;
            let state = CatalogState {
                first,
                deletions: first,
                end: revision,
                revision,
                objects: None,
            };
            history.push(catalog, state);
        }
        history
    }

    fn states(history: &History, names: &[&str]) -> Vec<u64> {
        let visibility = Visibility::only(names.iter().map(|name| (*name).to_owned()));
        let states: Vec<_> = history
            .states(&visibility)
            .map(|(revision, _)| revision)
            .collect();
        assert_eq!(states.first(), Some(&history.revision(&visibility)));
        states
    }

    #[test]
    fn everybody_has_the_states_of_what_it_sees() {
        let history = history(&[("a", 5), ("b", 10), ("a", 20), ("c", 20), ("b", 30)]);
        for (names, expected) in [
            (&["a"][..], &[20, 5][..]),
            (&["b"], &[30, 10, 5]),
            (&["c"], &[20, 5]),
            (&["a", "b", "c"], &[30, 20, 10, 5]),
            (&["absent"], &[5]),
            (&[], &[5]),
        ] {
            assert_eq!(states(&history, names), expected, "{names:?}");
        }
        let visible = |name: &str| Visibility::only([name.to_owned()]);
        let has = |name, revision| history.before_change(&visible(name), revision).is_some();
        assert_eq!(
            [has("a", 19), has("b", 19), has("b", 29), has("a", 20)],
            [true, false, true, false]
        );
    }

    #[test]
    fn as_many_former_states_are_known_as_there_are_to_be() {
        let changes: Vec<_> = (10..40)
            .map(|revision| (if revision % 3 == 0 { "a" } else { "b" }, revision))
            .collect();
        let history = history(&changes);
        for names in [&["b"][..], &["a", "b"]] {
            let own = changes
                .iter()
                .filter(|(name, _)| names.contains(name))
                .map(|(_, revision)| *revision);
            let expected: Vec<_> = own.rev().take(FORMER_STATES + 1).collect();
            assert_eq!(states(&history, names), expected, "{names:?}");
        }
    }

    #[test]
    fn what_a_catalog_had_is_forgotten_when_it_is_gone_for_long() {
        let mut history = history(&[("a", 10), ("a", 20), ("b", 15)]);
        history.forget_gone(20);
        assert_eq!(
            (states(&history, &["a"]), states(&history, &["b"])),
            (vec![20, 10, 5], vec![15])
        );
        history.forget_gone(21);
        assert_eq!(
            (states(&history, &["a"]), states(&history, &["b"])),
            (vec![20], vec![15])
        );
    }
}
