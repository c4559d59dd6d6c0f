//! The events that lead from the state that a client of a watch knows to the next one, some at a
//! time.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::collection::Collection;
use crate::history::{Deletions, SeenObjects};
use crate::published::{CatalogObjects, Listed, Published};

/// Number of events of a watch that wait until they are sent. What follows is compared when these
/// are sent.
pub const MAX_EVENTS: usize = 256;

/// What leads from the state that a client knows to the next one.
#[derive(Default)]
pub(crate) struct Difference {
    /// Revision up to which the client knows the changes.
    pub(crate) since: u64,
    /// The objects of the last state at that revision or before it.
    pub(crate) former: SeenObjects,
    /// Revision up to which changes were compared; `None` if all were.
    pub(crate) compared: Option<u64>,
}

/// A change of an object.
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) revision: u64,
    pub(crate) objects: Arc<CatalogObjects>,
    pub(crate) listed: Listed,
    /// Index of its catalog in the state; `None` for an object that is gone.
    pub(crate) catalog: Option<usize>,
}

/// An object that may be the subject of an event.
enum Candidate<'s> {
    /// It is in the state, in the catalog of this index.
    Changed(usize, &'s Listed),
    Deleted(&'s Arc<CatalogObjects>, &'s Listed),
}

impl Difference {
    /// Returns the next changes of a collection that are not compared yet, in the order of their
    /// revisions, up to [`MAX_EVENTS`] of them: there may be none of these.
    pub(crate) fn next(&mut self, collection: &Collection, state: &Published) -> VecDeque<Event> {
        let Some(compared) = self.compared else {
            return VecDeque::new();
        };
        let mut candidates = self.candidates(collection, state, compared);
        self.compared = None;
        if candidates.len() > MAX_EVENTS {
            candidates.select_nth_unstable_by_key(MAX_EVENTS - 1, |(revision, _)| *revision);
            candidates.truncate(MAX_EVENTS);
            self.compared = candidates.last().map(|(revision, _)| *revision);
        }
        candidates.sort_by_key(|(revision, _)| *revision);
        let events = candidates
            .into_iter()
            .filter_map(|(revision, candidate)| match candidate {
                Candidate::Changed(at, listed) => self.changed(collection, state, (at, listed)),
                Candidate::Deleted(objects, listed) => collection
                    .shows(objects, listed)
                    .then(|| Event::deleted(objects, listed, revision)),
            });
        events.collect()
    }

    /// Returns what changed after a revision, with the revisions of the changes.
    fn candidates<'s>(
        &self,
        collection: &Collection,
        state: &'s Published,
        compared: u64,
    ) -> Vec<(u64, Candidate<'s>)> {
        let kind = collection.kind;
        let visibility = collection.reader.visibility();
        let mut candidates = Vec::new();
        for (at, published) in state.catalogs.iter().enumerate() {
            if visibility.contains(&published.objects.catalog) {
                let later = published
                    .listed(kind)
                    .iter()
                    .filter(|listed| listed.object.revision > compared);
                candidates.extend(
                    later.map(|listed| (listed.object.revision, Candidate::Changed(at, listed))),
                );
            }
        }
        // Who begins anew knows nothing that could be gone.
        if self.since > 0 {
            for Deletions {
                first,
                before,
                after,
            } in state.history.deletions_after(visibility, compared)
            {
                let listed = (first..).zip(before.known(kind).unwrap_or_default());
                let is_gone = |listed: &Listed| {
                    after.is_none_or(|after| after.find(kind, &listed.object.name).is_none())
                };
                let gone =
                    listed.filter(|(revision, listed)| *revision > compared && is_gone(listed));
                candidates.extend(
                    gone.map(|(revision, listed)| (revision, Candidate::Deleted(before, listed))),
                );
            }
        }
        candidates
    }

    /// Returns the event of an object that has changed; `None` if neither the former one nor this
    /// one is shown.
    fn changed(
        &self,
        collection: &Collection,
        state: &Published,
        (at, listed): (usize, &Listed),
    ) -> Option<Event> {
        let objects = &state.catalogs[at].objects;
        let before = self
            .former
            .iter()
            .find(|before| before.catalog == objects.catalog);
        let was = before.and_then(|before| {
            let listed = before.find(collection.kind, &listed.object.name)?;
            collection.shows(before, listed).then_some((before, listed))
        });
        let revision = listed.object.revision;
        let name = match (was, collection.shows(objects, listed)) {
            (None, true) => "ADDED",
            (Some(_), true) => "MODIFIED",
            (Some((before, was)), false) => return Some(Event::deleted(before, was, revision)),
            (None, false) => return None,
        };
        let objects = Arc::clone(objects);
        let listed = listed.clone();
        Some(Event {
            name,
            revision,
            objects,
            listed,
            catalog: Some(at),
        })
    }
}

impl Event {
    fn deleted(objects: &Arc<CatalogObjects>, listed: &Listed, revision: u64) -> Self {
        Self {
            name: "DELETED",
            revision,
            objects: Arc::clone(objects),
            listed: listed.clone(),
            catalog: None,
        }
    }
}
