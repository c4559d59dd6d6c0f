//! Watches: the changes of a collection, one JSON object a line, for as long as the client listens.
//!
//! A change of the published set is compared by the hashes of its objects; an event is written when it is sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

use crate::collection::Collection;
use crate::item::Item;
use crate::json::JsonWriter;
use crate::negotiation::{Format, Shape};
use crate::options::{IncludeObject, Options};
use crate::published::{CatalogObjects, Listed, Published};
use crate::response;
use crate::status::Status;

/// Interval of the bookmarks of a watch that asks for them: they tell it the current resource version.
pub const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum number of watches at a time; a further one is refused with 429, and clients repeat it.
pub const MAX_WATCHES: usize = 1024;

/// Interval at which a watch asks what its caller may see. It ends when that has changed, and the client lists again.
pub const RENEWAL_INTERVAL: Duration = Duration::from_mins(1);

/// Shortest time that a watch without `timeoutSeconds` lasts; the longest is twice that. Watches that began together do
/// not end together.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);

/// A watch that is being sent.
struct Watch {
    collection: Collection,
    states: watch::Receiver<Arc<Published>>,
    state: Arc<Published>,
    events: VecDeque<Event>,
    shape: Shape,
    include: IncludeObject,
    /// Whether no table was sent yet: the first one has columns.
    is_first: bool,
    end: Instant,
    bookmarks: Option<Instant>,
    bookmark_interval: Duration,
    /// Whether a bookmark is due, behind the events of a change: other processes know the state that they led to.
    is_behind: bool,
    /// Tick of the resource version at which the client began. Another replica may have made it, whose state is younger.
    began: u64,
    /// When the caller's rights are asked for next; `None` where nobody's rights are evaluated.
    renewal: Option<Instant>,
    /// Whether nothing follows any more.
    has_ended: bool,
    _permit: OwnedSemaphorePermit,
}

/// A change of an object.
struct Event {
    name: &'static str,
    revision: u64,
    objects: Arc<CatalogObjects>,
    listed: Listed,
    /// Index of its catalog in the state; `None` for an object that is gone.
    catalog: Option<usize>,
}

/// Responds with the changes of a collection after the resource version of the request; without one, all objects are
/// added first.
pub(crate) fn respond(
    collection: Collection,
    (states, state): (watch::Receiver<Arc<Published>>, Arc<Published>),
    options: &Options,
    (shape, bookmark_interval): (Shape, Duration),
    permit: OwnedSemaphorePermit,
) -> Result<Response, Status> {
    let version = options.resource_version()?;
    let known = collection.known_at(&state, version);
    let is_listed = |objects: &Arc<CatalogObjects>| objects.known(collection.kind).is_some();
    let Some((since, former)) = known.filter(|(_, former)| former.iter().all(is_listed)) else {
        let oldest = collection.version(state.oldest());
        return Err(Status::expired(format!("too old resource version: {} ({oldest})", version.number())));
    };
    let events = changes(&collection, since, &former, &state);
    let now = Instant::now();
    let timeout = options.timeout()?.unwrap_or_else(|| DEFAULT_TIMEOUT.mul_f64(1.0 + fastrand::f64()));
    let bookmarks = options.is_set("allowWatchBookmarks").then(|| now + bookmark_interval);
    let (include, end) = (options.include_object()?, now + timeout);
    let renewal = collection.reader.has_caller().then(|| now + RENEWAL_INTERVAL);
    let watch = Watch {
        is_behind: !events.is_empty(),
        began: version.tick(),
        collection,
        states,
        state,
        events,
        shape,
        include,
        is_first: true,
        end,
        bookmarks,
        bookmark_interval,
        renewal,
        has_ended: false,
        _permit: permit,
    };
    let frames = stream::unfold(watch, async |mut watch| {
        let frame = watch.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), watch))
    });
    Ok(response::typed(Body::from_stream(frames), Format::Json.media_type()))
}

/// Returns the changes of a collection after a revision, in the order of theirs. `former` has the objects of the last state at
/// that revision or before it.
fn changes(collection: &Collection, since: u64, former: &[Arc<CatalogObjects>], state: &Published) -> VecDeque<Event> {
    let mut events = Vec::new();
    for (at, published) in state.catalogs.iter().enumerate() {
        let objects = &published.objects;
        let before = former.iter().find(|before| before.catalog == objects.catalog);
        let later = published.listed(collection.kind).iter().filter(|listed| listed.object.revision > since);
        events.extend(later.filter_map(|listed| {
            let was = before.and_then(|before| {
                let listed = before.find(collection.kind, &listed.object.name)?;
                collection.shows(before, listed).then_some((before, listed))
            });
            let revision = listed.object.revision;
            let changed = |name| {
                let (objects, listed) = (Arc::clone(objects), listed.clone());
                Some(Event { name, revision, objects, listed, catalog: Some(at) })
            };
            match (was, collection.shows(objects, listed)) {
                (None, true) => changed("ADDED"),
                (Some(_), true) => changed("MODIFIED"),
                (Some((before, was)), false) => Some(Event::deleted(before, was, revision)),
                (None, false) => None,
            }
        }));
    }
    // Who begins anew knows nothing that could be gone.
    for (deletion, catalogs) in state.deletions_after(since).filter(|_| since > 0) {
        let objects = &deletion.objects;
        let now = catalogs.into_iter().find(|now| now.catalog == objects.catalog);
        let listed = (deletion.first..).zip(objects.known(collection.kind).unwrap_or_default());
        let gone = listed.filter(|(revision, listed)| {
            *revision > since && now.is_none_or(|now| now.find(collection.kind, &listed.object.name).is_none())
        });
        let shown = gone.filter(|(_, listed)| collection.shows(objects, listed));
        events.extend(shown.map(|(revision, listed)| Event::deleted(objects, listed, revision)));
    }
    events.sort_by_key(|event| event.revision);
    events.into()
}

impl Event {
    fn deleted(objects: &Arc<CatalogObjects>, listed: &Listed, revision: u64) -> Self {
        Self { name: "DELETED", revision, objects: Arc::clone(objects), listed: listed.clone(), catalog: None }
    }
}

impl Watch {
    /// Returns the next lines; `None` when the watch ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(self.frame(&event));
            }
            if self.has_ended {
                return None;
            }
            if std::mem::take(&mut self.is_behind) && self.bookmarks.is_some() {
                return Some(self.bookmark());
            }
            let (bookmark, renewal) = (self.bookmarks, self.renewal);
            tokio::select! {
                changed = self.states.changed() => {
                    changed.ok()?;
                    self.follow().await;
                }
                () = sleep_until(self.end) => return None,
                () = sleep_until(bookmark.unwrap_or(self.end)), if bookmark.is_some() => {
                    self.bookmarks = Some(Instant::now() + self.bookmark_interval);
                    return Some(self.bookmark());
                }
                () = sleep_until(renewal.unwrap_or(self.end)), if renewal.is_some() => {
                    if !self.renew().await? {
                        self.has_ended = true;
                        return Some(Self::expired());
                    }
                }
            }
        }
    }

    /// Compares the next state with the one that the client knows.
    async fn follow(&mut self) {
        let next = Arc::clone(&self.states.borrow_and_update());
        let next = crate::prepared(next, self.collection.kind).await;
        self.events = changes(&self.collection, self.state.revision, &self.state.objects(), &next);
        self.is_behind = true;
        self.state = next;
    }

    /// Asks what the caller may see now, and returns whether that is the same as before; `None` if it may not read any more.
    async fn renew(&mut self) -> Option<bool> {
        let reader = self.collection.reader.renew().await?;
        let is_same = reader.visibility() == self.collection.reader.visibility();
        self.collection.reader = reader;
        self.renewal = Some(Instant::now() + RENEWAL_INTERVAL);
        Some(is_same)
    }

    /// Returns the line after which the client lists again.
    fn expired() -> Bytes {
        let status = Status::expired("what the caller may see has changed").object(None);
        let mut out = JsonWriter::default();
        out.open(b'{');
        out.text_member("type", "ERROR");
        out.key("object");
        out.raw(status.to_string().as_bytes());
        out.close(b'}');
        line(out)
    }

    fn frame(&mut self, event: &Event) -> Bytes {
        let Event { name, revision, objects, listed, catalog } = event;
        let kind = self.collection.kind;
        let published = catalog.map(|at| (&self.state.catalogs[at], listed));
        let revision = self.collection.version(*revision);
        let namespace = self.collection.namespace_of(objects);
        let item = Item { kind, objects, object: &listed.object, namespace, revision, published };
        let mut out = JsonWriter::default();
        out.open(b'{');
        out.text_member("type", name);
        out.key("object");
        match self.shape {
            Shape::Whole => item.write(true, &mut out),
            Shape::Metadata(version) => item.write_partial(version, &mut out),
            Shape::Table(version) => {
                let mut row = JsonWriter::default();
                item.write_row(version, self.include, Timestamp::now(), &mut row);
                self.table(version, revision, &row.into_bytes(), &mut out);
                self.is_first = false;
            }
        }
        out.close(b'}');
        line(out)
    }

    /// Writes a table with one row, or none.
    fn table(&self, version: &str, revision: u64, row: &[u8], out: &mut JsonWriter) {
        let mut head = self.collection.table_head(version, self.is_first);
        head["metadata"] = json!({ "resourceVersion": revision.to_string() });
        out.raw(head.to_string().as_bytes());
        out.truncate(out.len() - 1);
        out.key("rows");
        out.open(b'[');
        if !row.is_empty() {
            out.raw(row);
        }
        out.close(b']');
        out.close(b'}');
    }

    /// Returns the line that tells the client the current resource version.
    fn bookmark(&self) -> Bytes {
        let kind = self.collection.kind;
        let current = self.collection.state_version(&self.state, self.began);
        let mut out = JsonWriter::default();
        out.open(b'{');
        out.text_member("type", "BOOKMARK");
        out.key("object");
        let metadata = json!({ "resourceVersion": current.to_string(), "creationTimestamp": null });
        let (name, version) = match self.shape {
            Shape::Whole => (kind.name(), kind.api_version()),
            Shape::Metadata(version) => ("PartialObjectMetadata", format!("meta.k8s.io/{version}")),
            Shape::Table(version) => {
                self.table(version, current, b"", &mut out);
                out.close(b'}');
                return line(out);
            }
        };
        out.raw(json!({ "kind": name, "apiVersion": version, "metadata": metadata }).to_string().as_bytes());
        out.close(b'}');
        line(out)
    }
}

fn line(out: JsonWriter) -> Bytes {
    let mut line = out.into_bytes();
    line.push(b'\n');
    line.into()
}
