//! The events that lead from the objects that the client of a watch knows to those of a state.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::catalog::CatalogObjects;
use crate::collection::Collection;
use crate::object::ObjectEntry;
use crate::published::PublishedState;

/// Maximum number of events that a watch holds. The rest of a change is compared when these are
/// sent.
pub const MAX_EVENTS: usize = 256;

/// The comparison of former objects with a state, some events at a time.
#[derive(Default)]
pub(crate) struct Difference {
    /// The catalogs that were not compared completely.
    catalogs: VecDeque<CatalogDifference>,
}

/// The comparison of the objects of one catalog. Both lists are sorted by name.
struct CatalogDifference {
    former: Option<Arc<CatalogObjects>>,
    current: Option<CurrentCatalog>,
    /// Number of former entries that were compared.
    former_done: usize,
    /// Number of current entries that were compared.
    current_done: usize,
}

/// A catalog of the state.
struct CurrentCatalog {
    index: usize,
    objects: Arc<CatalogObjects>,
}

/// The former and the current entry of a name.
struct EntryChange {
    former: Option<ObjectEntry>,
    current: Option<ObjectEntry>,
}

/// A change of an object, as a client sees it.
pub(crate) struct WatchEvent {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub(crate) name: &'static str,
    pub(crate) objects: Arc<CatalogObjects>,
    pub(crate) entry: ObjectEntry,
    /// Index of the catalog in the state; `None` if the object is deleted.
    pub(crate) catalog: Option<usize>,
    /// Revision that the object shows.
    pub(crate) revision: u64,
}

impl Difference {
    /// Begins to compare the objects that a client knows with a state in which their kind is
    /// listed.
    pub(crate) fn new(
        former: &[Arc<CatalogObjects>],
        collection: &Collection,
        state: &PublishedState,
    ) -> Self {
        let find_former = |name: &str| former.iter().find(|former| former.catalog == name);
        let current = state.catalogs.iter().enumerate().map(|(index, catalog)| {
            let objects = Arc::clone(&catalog.objects);
            CatalogDifference {
                former: find_former(&objects.catalog).cloned(),
                current: Some(CurrentCatalog { index, objects }),
                former_done: 0,
                current_done: 0,
            }
        });
        let is_withdrawn = |former: &&Arc<CatalogObjects>| {
            let mut current = state.catalogs.iter();
            current.all(|current| current.objects.catalog != former.catalog)
        };
        let withdrawn = former.iter().filter(is_withdrawn);
        let withdrawn = withdrawn.map(|former| CatalogDifference {
            former: Some(Arc::clone(former)),
            current: None,
            former_done: 0,
            current_done: 0,
        });
        let may_differ = |catalog: &CatalogDifference| catalog.may_differ(collection);
        Self {
            catalogs: current.chain(withdrawn).filter(may_differ).collect(),
        }
    }

    /// Returns whether everything was compared.
    pub(crate) fn is_done(&self) -> bool {
        self.catalogs.is_empty()
    }

    /// Returns the next events of a collection, at most [`MAX_EVENTS`].
    pub(crate) fn next(
        &mut self,
        collection: &Collection,
        state: &PublishedState,
    ) -> VecDeque<WatchEvent> {
        let revision = collection.revision(state);
        let mut events = VecDeque::new();
        // A new large catalog has tens of thousands of events, for each of a thousand watches.
        while let Some(catalog) = self.catalogs.front_mut() {
            while events.len() < MAX_EVENTS
                && let Some(change) = catalog.next_change(collection)
            {
                events.extend(catalog.event(change, collection, revision));
            }
            if events.len() == MAX_EVENTS {
                break;
            }
            self.catalogs.pop_front();
        }
        events
    }
}

impl CatalogDifference {
    /// Returns whether the catalog has changed, and the collection sees it or saw it before.
    fn may_differ(&self, collection: &Collection) -> bool {
        let former = self.former.as_ref();
        let current = self.current.as_ref().map(|current| &current.objects);
        let is_same = former
            .zip(current)
            .is_some_and(|(former, current)| Arc::ptr_eq(former, current));
        let is_seen = |objects: &Arc<CatalogObjects>| collection.sees(objects);
        // States share the objects of catalogs that did not change: a change of a small catalog costs
        // nothing for the large ones.
        !is_same && (former.is_some_and(is_seen) || current.is_some_and(is_seen))
    }

    /// Returns the next object that differs; `None` at the end.
    fn next_change(&mut self, collection: &Collection) -> Option<EntryChange> {
        let kind = collection.kind;
        let former = self.former.as_ref().and_then(|former| former.listed(kind));
        let current = self.current.as_ref();
        let current = current.and_then(|current| current.objects.listed(kind));
        let former = former.unwrap_or_default();
        let current = current.unwrap_or_default();
        loop {
            let old = former.get(self.former_done);
            let new = current.get(self.current_done);
            let order = match (old, new) {
                (Some(old), Some(new)) => old.meta.name.cmp(&new.meta.name),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            let old = old.filter(|_| order.is_le());
            let new = new.filter(|_| order.is_ge());
            self.former_done += usize::from(old.is_some());
            self.current_done += usize::from(new.is_some());
            // Objects that did not change keep their revisions.
            let is_same =
                |old: &ObjectEntry, new: &ObjectEntry| old.meta.revision == new.meta.revision;
            if !old.zip(new).is_some_and(|(old, new)| is_same(old, new)) {
                return Some(EntryChange {
                    former: old.cloned(),
                    current: new.cloned(),
                });
            }
        }
    }

    /// Returns the event of a change; `None` if the collection has neither entry.
    fn event(
        &self,
        change: EntryChange,
        collection: &Collection,
        revision: u64,
    ) -> Option<WatchEvent> {
        let former = self.former.as_ref().zip(change.former);
        let former = former.filter(|(objects, entry)| collection.contains(objects, entry));
        let current = self.current.as_ref().zip(change.current);
        let current =
            current.filter(|(current, entry)| collection.contains(&current.objects, entry));
        match (former, current) {
            (former, Some((current, entry))) => Some(WatchEvent {
                name: if former.is_some() {
                    "MODIFIED"
                } else {
                    "ADDED"
                },
                objects: Arc::clone(&current.objects),
                revision: entry.meta.revision,
                entry,
                catalog: Some(current.index),
            }),
            (Some((objects, entry)), None) => Some(WatchEvent {
                name: "DELETED",
                objects: Arc::clone(objects),
                revision,
                entry,
                catalog: None,
            }),
            (None, None) => None,
        }
    }
}
