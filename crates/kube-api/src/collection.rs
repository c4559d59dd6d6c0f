//! The objects of a kind that a request sees, and the responses with one of them, a page, or a
//! table.

use std::sync::Arc;

use admission::FairPermit;
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use serving::Catalogs;

use crate::chunks;
use crate::continuation::Continuation;
use crate::history::SeenObjects;
use crate::item::Item;
use crate::json::{JsonText, JsonWriter};
use crate::kind::Kind;
use crate::negotiation::{Format, Shape};
use crate::options::{IncludeObject, Options, Selection};
use crate::published::{CatalogObjects, Listed, Published};
use crate::response;
use crate::status::Status;
use crate::version::{self, ResourceVersion};
use crate::work::Work;

/// The objects of a kind that a request sees: those of a namespace and of the global one, or all.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) kind: Kind,
    /// Namespace of the request; `None` for all.
    namespace: Option<String>,
    global_namespace: Arc<str>,
    /// What the caller may see.
    pub(crate) reader: Catalogs,
    /// Tells sets of visible catalogs apart, most of the time.
    view: u64,
    selection: Selection,
}

/// Where an object is in a state: index of its catalog, and its index in the list.
pub(crate) type Place = (usize, usize);

impl Collection {
    pub(crate) fn new(
        kind: Kind,
        namespace: Option<&str>,
        global_namespace: &Arc<str>,
        reader: Catalogs,
    ) -> Self {
        let namespace = namespace.map(str::to_owned);
        let global_namespace = Arc::clone(global_namespace);
        let view = version::view(reader.visibility());
        Self {
            kind,
            namespace,
            global_namespace,
            reader,
            view,
            selection: Selection::default(),
        }
    }

    /// Narrows it to the objects that a request selects.
    pub(crate) fn select(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// Returns whether the caller may see a catalog, and its objects are seen in the namespace of
    /// the request.
    pub(crate) fn sees(&self, objects: &CatalogObjects) -> bool {
        if !self.reader.visibility().contains(&objects.catalog) {
            return false;
        }
        let own = objects.source.namespace.as_str();
        match &self.namespace {
            Some(namespace) if self.kind.is_namespaced() => {
                own == namespace || own == &*self.global_namespace
            }
            _ => true,
        }
    }

    /// Returns whether an object of a catalog that is seen is selected.
    pub(crate) fn selects(&self, objects: &CatalogObjects, listed: &Listed) -> bool {
        let namespace = self.namespace_of(objects).unwrap_or_default();
        let Selection { labels, fields, .. } = &self.selection;
        labels.matches(&listed.object.labels) && fields.matches(namespace, listed)
    }

    /// Returns whether the request shows an object.
    pub(crate) fn shows(&self, objects: &CatalogObjects, listed: &Listed) -> bool {
        self.sees(objects) && self.selects(objects, listed)
    }

    /// Returns the resource version of a change, as the caller knows it.
    pub(crate) fn version(&self, revision: u64) -> u64 {
        ResourceVersion::Change {
            revision,
            view: self.view,
        }
        .number()
    }

    /// Returns the resource version of a state, as a caller knows it that has seen this tick.
    pub(crate) fn state_version(&self, state: &Published, seen: u64) -> u64 {
        let tick = version::tick(self.revision(state)).max(seen);
        ResourceVersion::State {
            tick,
            fingerprint: self.current_fingerprint(state),
        }
        .number()
    }

    /// Returns the revision of a state for the caller: that of the last change of what it may see.
    pub(crate) fn revision(&self, state: &Published) -> u64 {
        state.history.revision(self.reader.visibility())
    }

    fn current_fingerprint(&self, state: &Published) -> u64 {
        let visible = state.catalogs.iter().map(|catalog| &catalog.objects);
        let visible = visible.filter(|objects| self.reader.visibility().contains(&objects.catalog));
        version::fingerprint(visible.map(|objects| &objects.fingerprint))
    }

    /// Returns the revision and the objects of what a client knows by a resource version; `None` if
    /// nobody knows that any more.
    pub(crate) fn known_at(
        &self,
        state: &Published,
        version: ResourceVersion,
    ) -> Option<(u64, SeenObjects)> {
        let visibility = self.reader.visibility();
        match version {
            ResourceVersion::Any => Some((0, Vec::new())),
            ResourceVersion::State { fingerprint, .. } => {
                state.history.states(visibility).find(|(_, objects)| {
                    version::fingerprint(objects.iter().map(|objects| &objects.fingerprint))
                        == fingerprint
                })
            }
            // What somebody who sees other catalogs has got says nothing here.
            ResourceVersion::Change { view, .. } if view != self.view => None,
            ResourceVersion::Change { revision, .. } => {
                Some((revision, state.history.before_change(visibility, revision)?))
            }
        }
    }

    /// Returns the resource version of the oldest state that a watch can begin at.
    pub(crate) fn oldest_version(&self, state: &Published) -> u64 {
        let oldest = state.history.states(self.reader.visibility()).last();
        self.version(oldest.map_or(state.revision, |(revision, _)| revision))
    }

    /// Returns whether a state is not older than a resource version.
    pub(crate) fn has_reached(&self, state: &Published, wanted: ResourceVersion) -> bool {
        match wanted {
            ResourceVersion::Any => true,
            ResourceVersion::State { tick, .. } => {
                tick <= version::tick(self.revision(state))
                    || self.known_at(state, wanted).is_some()
            }
            ResourceVersion::Change { revision, .. } => revision <= self.revision(state),
        }
    }

    /// Returns whether a resource version is that of a state, for the caller.
    fn is_current(&self, state: &Published, version: ResourceVersion) -> bool {
        let current = self.current_fingerprint(state);
        matches!(version, ResourceVersion::State { fingerprint, .. } if fingerprint == current)
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
    pub(crate) fn item<'p>(&'p self, state: &'p Published, (catalog, at): Place) -> Item<'p> {
        let published = &state.catalogs[catalog];
        let objects = &*published.objects;
        let listed = &published.listed(self.kind)[at];
        let namespace = self.namespace_of(objects);
        let revision = self.version(listed.object.revision);
        let kind = self.kind;
        Item {
            kind,
            objects,
            object: &listed.object,
            namespace,
            revision,
            published: Some((published, listed)),
        }
    }

    /// Finds the object of a name; of several catalogs that have it, that with the highest priority
    /// counts.
    pub(crate) fn find(&self, state: &Published, name: &str) -> Option<Place> {
        let seen = state
            .catalogs
            .iter()
            .enumerate()
            .filter(|(_, catalog)| self.sees(&catalog.objects));
        let found = seen.filter_map(|(at, catalog)| {
            let listed = catalog.listed(self.kind);
            let place = listed
                .binary_search_by(|listed| listed.object.name.as_str().cmp(name))
                .ok()?;
            Some((at, place))
        });
        found.min_by_key(|place| self.key(state, *place))
    }

    /// Returns the objects that are selected, in order.
    fn places(&self, state: &Published) -> Vec<Place> {
        let seen = state
            .catalogs
            .iter()
            .enumerate()
            .filter(|(_, catalog)| self.sees(&catalog.objects));
        let selected = seen.flat_map(|(catalog, published)| {
            let listed = published.listed(self.kind).iter().enumerate();
            let selected = listed.filter(|(_, listed)| self.selects(&published.objects, listed));
            selected.map(move |(at, _)| (catalog, at))
        });
        let mut places: Vec<_> = selected.collect();
        places.sort_by(|a, b| self.key(state, *a).cmp(&self.key(state, *b)));
        places
    }

    /// The order of objects: by namespace, name, highest priority of their catalogs, and catalog.
    fn key<'p>(
        &'p self,
        state: &'p Published,
        (catalog, at): Place,
    ) -> (&'p str, &'p str, std::cmp::Reverse<i32>, &'p str) {
        let published = &state.catalogs[catalog];
        let objects = &*published.objects;
        let name = published.listed(self.kind)[at].object.name.as_str();
        let namespace = self.namespace_of(objects).unwrap_or_default();
        (
            namespace,
            name,
            std::cmp::Reverse(objects.priority),
            &objects.catalog,
        )
    }

    /// Returns whether the object of a name is so short that writing it takes no longer than
    /// handing it to another thread.
    pub(crate) fn is_short(&self, state: &Published, name: &str) -> bool {
        self.find(state, name)
            .is_none_or(|place| self.item(state, place).is_short())
    }

    /// Responds with one object.
    pub(crate) fn get(
        &self,
        state: &Published,
        name: &str,
        format: Format,
        shape: Shape,
        options: &Options,
    ) -> Result<Response, Status> {
        options.resource_version()?;
        let place = self
            .find(state, name)
            .ok_or_else(|| Status::not_found(self.kind, name))?;
        let item = self.item(state, place);
        let mut out = JsonWriter::default();
        match shape {
            Shape::Whole => item.write(true, &mut out),
            Shape::Metadata(version) => item.write_partial(version, &mut out),
            Shape::Table(version) => {
                let mut head = self.table_head(version, true);
                head["metadata"] = json!({ "resourceVersion": item.revision.to_string() });
                let mut row = JsonWriter::default();
                item.write_row(
                    version,
                    options.include_object()?,
                    Timestamp::now(),
                    &mut row,
                );
                out.raw(head.to_string().as_bytes());
                out.truncate(out.len() - 1);
                out.key("rows");
                out.open(b'[');
                out.raw(&row.into_bytes());
                out.close(b']');
                out.close(b'}');
            }
        }
        let json = out.into_bytes();
        response::check_convertible(json.len(), format)?;
        Ok(response::whole(json, format))
    }

    /// Responds with the objects that are selected, or a page of them. `turn` is asked for if they
    /// are more than a chunk, of which the further ones are made as work of the same requester.
    pub(crate) fn list(
        self,
        state: &Arc<Published>,
        options: &Options,
        (format, shape): (Format, Shape),
        headers: &HeaderMap,
        (turn, work): (impl FnOnce() -> Option<FairPermit>, &Work),
    ) -> Result<Response, Status> {
        let mut places = self.places(state);
        let continuation = options.continuation()?;
        let wanted = continuation.as_ref().and_then(|token| token.revision);
        let exact = options.resource_version()?;
        let current = self.state_version(state, exact.tick());
        if options.is_exact() && !self.is_current(state, exact) {
            let exact = exact.number();
            return Err(Status::expired(format!(
                "The resourceVersion for the provided list is too old: {exact}"
            )));
        }
        if let Some(Continuation { after, .. }) = &continuation {
            if wanted
                .is_some_and(|wanted| !self.is_current(state, ResourceVersion::from_number(wanted)))
            {
                let resume = Continuation {
                    revision: None,
                    after: after.clone(),
                }
                .token();
                let error = Status::expired(
                    "the list has changed since its first page: start again, or go on with the token of this response, \
                     with which objects may be missing or appear twice",
                );
                return Ok(error.respond_with(format, Some(&resume)));
            }
            places = self.after(state, &places, after);
        }
        let (page, resume) = self.page(
            state,
            places,
            options.limit()?,
            wanted.is_some() || continuation.is_none(),
        );
        let mut metadata = json!({ "resourceVersion": current.to_string() });
        if let Some((token, remaining)) = resume {
            metadata["continue"] = json!(token);
            if !self.selection.is_partial {
                metadata["remainingItemCount"] = json!(remaining);
            }
        }
        let include = options.include_object()?;
        let (mut head, member) = self.head(shape);
        head["metadata"] = metadata;
        let state = Arc::clone(state);
        let now = Timestamp::now();
        if format != Format::Json {
            let mut length = 0;
            for place in &page {
                length += self.text(&state, *place, shape, (include, now)).len();
                response::check_convertible(length, format)?;
            }
        }
        let items = page
            .into_iter()
            .map(move |place| self.text(&state, place, shape, (include, now)));
        chunks::respond((&head, member), items, format, headers, (turn, work))
    }

    /// Returns the objects behind the last one of a page.
    fn after(
        &self,
        state: &Published,
        places: &[Place],
        after: &(String, String, String),
    ) -> Vec<Place> {
        let namespace = after.0.as_str();
        let name = after.1.as_str();
        let catalog = after.2.as_str();
        let is_last = |place: &Place| {
            let key = self.key(state, *place);
            (key.0, key.1, key.3) == (namespace, name, catalog)
        };
        // If it is gone, the list goes on at the next name.
        let start = places.iter().position(is_last).map(|at| at + 1);
        let start = start.unwrap_or_else(|| {
            places.partition_point(|place| {
                let key = self.key(state, *place);
                (key.0, key.1) <= (namespace, name)
            })
        });
        places[start..].to_vec()
    }

    /// Returns a page, and if there is more, the token for it and the number of further objects.
    fn page(
        &self,
        state: &Published,
        mut places: Vec<Place>,
        limit: Option<usize>,
        is_consistent: bool,
    ) -> (Vec<Place>, Option<(String, usize)>) {
        let Some(limit) = limit.filter(|limit| *limit < places.len()) else {
            return (places, None);
        };
        let remaining = places.len() - limit;
        places.truncate(limit);
        let key = self.key(state, places[limit - 1]);
        let after = (key.0.to_owned(), key.1.to_owned(), key.3.to_owned());
        let token = Continuation {
            revision: is_consistent.then(|| self.state_version(state, 0)),
            after,
        }
        .token();
        (places, Some((token, remaining)))
    }

    /// Returns the members of a list beside its objects, and the name of their array.
    fn head(&self, shape: Shape) -> (Value, &'static str) {
        match shape {
            Shape::Table(version) => (self.table_head(version, true), "rows"),
            Shape::Metadata(version) => {
                let api_version = format!("meta.k8s.io/{version}");
                (
                    json!({ "kind": "PartialObjectMetadataList", "apiVersion": api_version }),
                    "items",
                )
            }
            Shape::Whole => {
                let kind = format!("{}List", self.kind.name());
                (
                    json!({ "kind": kind, "apiVersion": self.kind.api_version() }),
                    "items",
                )
            }
        }
    }

    /// Returns the members of a table beside its rows.
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

    /// Returns the text of an object in a list.
    fn text(
        &self,
        state: &Published,
        place: Place,
        shape: Shape,
        row: (IncludeObject, Timestamp),
    ) -> JsonText {
        let item = self.item(state, place);
        let mut out = JsonWriter::default();
        match shape {
            Shape::Whole => item.write(false, &mut out),
            Shape::Metadata(version) => item.write_partial(version, &mut out),
            Shape::Table(version) => item.write_row(version, row.0, row.1, &mut out),
        }
        out.into_text()
    }
}
