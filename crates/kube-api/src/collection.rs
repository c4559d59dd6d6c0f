//! The objects that a request sees: those of a kind, in its namespace and the global one, of the
//! catalogs that the caller may see.

use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::{Value, json};
use serving::{Catalogs, Visibility};

use crate::catalog::{CatalogObjects, PublishedCatalog};
use crate::item::Item;
use crate::json::JsonWriter;
use crate::kind::ResourceKind;
use crate::object::{ObjectEntry, find_entry, hash_object};
use crate::options::Selection;
use crate::published::PublishedState;
use crate::version::{ResourceVersion, VersionTag};

/// The objects that a request sees.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) kind: ResourceKind,
    /// Namespace of the request; `None` for all.
    pub(crate) namespace: Option<String>,
    pub(crate) global_namespace: Arc<str>,
    /// Reader of the catalogs that the caller may see.
    pub(crate) reader: Catalogs,
    /// Tag of the versions that the caller gets.
    pub(crate) tag: VersionTag,
    pub(crate) selection: Selection,
}

/// The position of an object in a state.
#[derive(Clone, Copy)]
pub(crate) struct ObjectIndex {
    /// Index of the catalog.
    catalog: usize,
    /// Index in the list of the kind.
    entry: usize,
}

/// The order of objects in lists.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectKey<'p> {
    pub(crate) namespace: &'p str,
    pub(crate) name: &'p str,
    priority: Reverse<i32>,
    pub(crate) catalog: &'p str,
}

impl Collection {
    pub(crate) fn visibility(&self) -> &Visibility {
        self.reader.visibility()
    }

    /// Returns whether the request sees the objects of a catalog: the caller may see the catalog,
    /// and its objects are in the namespace of the request or in the global one.
    pub(crate) fn sees(&self, objects: &CatalogObjects) -> bool {
        if !self.visibility().contains(&objects.catalog) {
            return false;
        }
        let namespace = objects.source.namespace.as_str();
        // As upstream does: packages of the global namespace can be installed in every namespace.
        match &self.namespace {
            Some(requested) if self.kind.is_namespaced() => {
                namespace == requested || namespace == &*self.global_namespace
            }
            _ => true,
        }
    }

    /// Returns whether the request sees an object, and its selectors match.
    pub(crate) fn contains(&self, objects: &CatalogObjects, entry: &ObjectEntry) -> bool {
        self.sees(objects) && self.selects(objects, entry)
    }

    fn selects(&self, objects: &CatalogObjects, entry: &ObjectEntry) -> bool {
        let namespace = self.namespace_of(objects).unwrap_or_default();
        let Selection { labels, fields, .. } = &self.selection;
        labels.matches(&entry.meta.labels)
            && fields.matches(|field| entry.meta.selectable_field(field, namespace))
    }

    /// Returns the revision of the last change that the caller sees.
    pub(crate) fn revision(&self, state: &PublishedState) -> u64 {
        state.history.last_revision(self.visibility())
    }

    /// Returns the version of a list of a state.
    pub(crate) fn list_version(&self, state: &PublishedState) -> ResourceVersion {
        ResourceVersion::of_list(self.revision(state), self.tag)
    }

    /// Returns a hash of the contents that the caller sees. Replicas of one build that serve the same
    /// return the same.
    pub(crate) fn contents_hash(&self, state: &PublishedState) -> u64 {
        let visible = state
            .catalogs
            .iter()
            .filter(|catalog| self.visibility().contains(&catalog.objects.catalog));
        // Not by the revisions of served catalogs, which have the time of a replica's own pull. Other
        // builds may make other objects of the same contents.
        let contents = visible.map(|catalog| {
            let CatalogObjects {
                catalog: name,
                source,
                priority,
                ..
            } = &*catalog.objects;
            let digest = catalog.served.content.digest;
            format!("{name:?}{digest:?}{source:?}{priority}")
        });
        let build = env!("CARGO_PKG_VERSION").to_owned();
        let parts: Vec<_> = std::iter::once(build).chain(contents).collect();
        hash_object(parts.iter().map(String::as_bytes))
    }

    /// Returns the catalogs as they were at the version of a list or bookmark of this caller;
    /// `None` for every other version, and for one that is forgotten.
    pub(crate) fn objects_at(
        &self,
        state: &PublishedState,
        version: ResourceVersion,
    ) -> Option<Vec<Arc<CatalogObjects>>> {
        if !version.has_tag(self.tag) {
            return None;
        }
        let objects = state
            .history
            .objects_at(self.visibility(), version.revision)?;
        // A version from lists of another kind may be older than the first list of this kind.
        let is_listed = |objects: &Arc<CatalogObjects>| objects.listed(self.kind).is_some();
        objects.iter().all(is_listed).then_some(objects)
    }

    /// Returns the namespace in which the request sees the objects of a catalog.
    pub(crate) fn namespace_of<'n>(&'n self, objects: &'n CatalogObjects) -> Option<&'n str> {
        self.kind.is_namespaced().then(|| {
            self.namespace
                .as_deref()
                .unwrap_or(&objects.source.namespace)
        })
    }

    /// Returns an object of a state.
    pub(crate) fn item<'p>(&'p self, state: &'p PublishedState, index: ObjectIndex) -> Item<'p> {
        let catalog = &state.catalogs[index.catalog];
        let entry = self.entry(state, index);
        Item {
            kind: self.kind,
            objects: &catalog.objects,
            entry,
            namespace: self.namespace_of(&catalog.objects),
            version: ResourceVersion::of_object(entry.meta.revision),
            catalog: Some(catalog),
        }
    }

    fn entry<'p>(&self, state: &'p PublishedState, index: ObjectIndex) -> &'p ObjectEntry {
        &state.catalogs[index.catalog].entries(self.kind)[index.entry]
    }

    /// Finds the object of a name, in the catalog with the highest priority that has it.
    pub(crate) fn find(&self, state: &PublishedState, name: &str) -> Option<ObjectIndex> {
        let found = self.seen(state).filter_map(|(catalog, published)| {
            let entry = find_entry(published.entries(self.kind), name)?;
            Some(ObjectIndex { catalog, entry })
        });
        found.min_by_key(|index| self.key(state, *index))
    }

    /// Returns the objects that the selectors match, in the order of lists.
    pub(crate) fn select(&self, state: &PublishedState) -> Vec<ObjectIndex> {
        let selected = self.seen(state).flat_map(|(catalog, published)| {
            let entries = published.entries(self.kind).iter().enumerate();
            let selected = entries.filter(|(_, entry)| self.selects(&published.objects, entry));
            selected.map(move |(entry, _)| ObjectIndex { catalog, entry })
        });
        let mut indices: Vec<_> = selected.collect();
        indices.sort_by(|a, b| self.key(state, *a).cmp(&self.key(state, *b)));
        indices
    }

    fn seen<'p>(
        &self,
        state: &'p PublishedState,
    ) -> impl Iterator<Item = (usize, &'p PublishedCatalog)> {
        state
            .catalogs
            .iter()
            .enumerate()
            .filter(|(_, catalog)| self.sees(&catalog.objects))
    }

    /// Returns the position of an object in the order of lists: by namespace, name, highest
    /// priority of the catalog, and catalog.
    pub(crate) fn key<'p>(
        &'p self,
        state: &'p PublishedState,
        index: ObjectIndex,
    ) -> ObjectKey<'p> {
        let objects = &*state.catalogs[index.catalog].objects;
        ObjectKey {
            namespace: self.namespace_of(objects).unwrap_or_default(),
            name: &self.entry(state, index).meta.name,
            priority: Reverse(objects.priority),
            catalog: &objects.catalog,
        }
    }

    /// Returns the members of a table except its rows. As upstream does, watches send the columns
    /// once.
    pub(crate) fn table_head(&self, version: &str, has_columns: bool) -> Value {
        let columns = self
            .kind
            .columns()
            .iter()
            .filter(|_| has_columns)
            .map(|column| {
                json!({
                    "name": column.name, "type": "string", "format": column.format,
                    "description": column.description, "priority": column.priority,
                })
            });
        let columns: Vec<_> = columns.collect();
        json!({ "kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "columnDefinitions": columns })
    }
}

/// Writes a table with one row, or none.
pub(crate) fn write_table(
    mut head: Value,
    version: ResourceVersion,
    row: Option<&[u8]>,
    out: &mut JsonWriter,
) {
    head["metadata"] = json!({ "resourceVersion": version.to_string() });
    out.raw(head.to_string().as_bytes());
    out.reopen();
    out.key("rows");
    out.open(b'[');
    if let Some(row) = row {
        out.raw(row);
    }
    out.close(b']');
    out.close(b'}');
}
