//! Watches: the changes of a collection, one JSON object a line, for as long as the client listens.
//!
//! A change of the published set is compared by the hashes of its objects, some events at a time;
//! an event is written when it is sent. A task writes them, so that a watch ends in time whether
//! the client reads or not. What takes longer than a moment is done in turns.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use admission::FairPermit;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::access::Question;
use crate::collection::Collection;
use crate::difference::{Difference, Event};
use crate::item::Item;
use crate::json::JsonWriter;
use crate::negotiation::{Format, Shape};
use crate::options::{IncludeObject, Options};
use crate::published::{CatalogObjects, Published};
use crate::response;
use crate::status::Status;
use crate::work::Work;

/// Interval of the bookmarks of a watch that asks for them: they tell it the current resource
/// version.
pub const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum number of watches at a time; a further one is refused with 429, and clients repeat it.
pub const MAX_WATCHES: usize = 1024;

/// Interval at which it is decided again whether the caller of a watch may watch, and what it may
/// see. The watch ends when that has changed, and the client lists again.
pub const RENEWAL_INTERVAL: Duration = Duration::from_mins(1);

/// How long that may take. No answer is a refusal.
pub const RENEWAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time that a watch lasts, whatever `timeoutSeconds` says. Clients go on with another one.
pub const MAX_WATCH_TIME: Duration = Duration::from_hours(1);

/// Shortest time that a watch without `timeoutSeconds` lasts; the longest is [`MAX_WATCH_TIME`].
/// Watches that began together do not end together.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);

/// Time in which a client takes the next event. Without that, the watch ends.
pub const WATCH_STALL: Duration = Duration::from_secs(30);

/// Longest time that a client may take to read the events of one state while there is a later one:
/// the watch holds the contents of that state. It ends with 410 then.
pub const MAX_WATCH_LAG: Duration = Duration::from_mins(5);

/// A watch that is being sent.
struct Watch {
    collection: Arc<Collection>,
    states: watch::Receiver<Arc<Published>>,
    state: Arc<Published>,
    difference: Difference,
    events: VecDeque<Event>,
    shape: Shape,
    include: IncludeObject,
    /// Whether no table was sent yet: the first one has columns.
    is_first: bool,
    end: Instant,
    bookmarks: Option<Instant>,
    bookmark_interval: Duration,
    /// Whether a bookmark is due, behind the events of a change: other processes know the state
    /// that they led to.
    is_behind: bool,
    /// Since when there is a later state while events of this one are sent.
    lags_since: Option<Instant>,
    /// Tick of the resource version at which the client began. Another replica may have made it,
    /// whose state is younger.
    began: u64,
    /// What the caller was allowed; `None` where nobody's rights are evaluated.
    question: Option<Question>,
    /// When that is asked again.
    renewal: Instant,
    /// Whether nothing follows any more.
    has_ended: bool,
    work: Work,
    _turn: FairPermit,
}

/// Writes the event of a watch.
struct EventWriter {
    collection: Arc<Collection>,
    state: Arc<Published>,
    shape: Shape,
    include: IncludeObject,
    /// Whether a table has its columns.
    has_columns: bool,
}

/// Responds with the changes of a collection after the resource version of the request; without
/// one, all objects are added first. The question is what the caller was allowed, which is asked
/// again.
pub(crate) fn respond(
    (collection, question): (Collection, Option<Question>),
    (mut states, state): (watch::Receiver<Arc<Published>>, Arc<Published>),
    options: &Options,
    (shape, bookmark_interval): (Shape, Duration),
    (turn, work): (FairPermit, Work),
) -> Result<Response, Status> {
    let version = options.resource_version()?;
    let known = collection.known_at(&state, version);
    let is_listed = |objects: &Arc<CatalogObjects>| objects.known(collection.kind).is_some();
    let Some((since, former)) = known.filter(|(_, former)| former.iter().all(is_listed)) else {
        let oldest = collection.oldest_version(&state);
        return Err(Status::expired(format!(
            "too old resource version: {} ({oldest})",
            version.number()
        )));
    };
    // Only a later state is a change.
    if !Arc::ptr_eq(&states.borrow_and_update(), &state) {
        states.mark_changed();
    }
    let now = Instant::now();
    let timeout = options
        .timeout()?
        .unwrap_or_else(|| DEFAULT_TIMEOUT.mul_f64(1.0 + fastrand::f64()));
    let bookmarks = options
        .is_set("allowWatchBookmarks")
        .then(|| now + bookmark_interval);
    let watch = Watch {
        is_behind: false,
        began: version.tick(),
        collection: Arc::new(collection),
        states,
        state,
        difference: Difference {
            since,
            former,
            compared: Some(since),
        },
        events: VecDeque::new(),
        shape,
        include: options.include_object()?,
        is_first: true,
        end: now + timeout,
        bookmarks,
        bookmark_interval,
        lags_since: None,
        question,
        renewal: now + RENEWAL_INTERVAL,
        has_ended: false,
        work,
        _turn: turn,
    };
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(watch.run(sender));
    let frames = stream::unfold(receiver, async |mut receiver| {
        let frame = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), receiver))
    });
    Ok(response::typed(
        Body::from_stream(frames),
        Format::Json.media_type(),
    ))
}

impl Watch {
    /// Sends lines until the watch ends, or the client has left or takes none any more.
    async fn run(mut self, sender: mpsc::Sender<Bytes>) {
        loop {
            let line = tokio::select! {
                line = self.next() => line,
                () = sender.closed() => None,
            };
            let Some(line) = line else { return };
            let stalled = self.end.min(Instant::now() + WATCH_STALL);
            if !matches!(timeout_at(stalled, sender.send(line)).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// Returns the next line; `None` when the watch ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.has_ended {
                return None;
            }
            if Instant::now() >= self.renewal
                && let Err(status) = self.renew().await
            {
                return Some(self.end_with(&status));
            }
            if self.lags() {
                return Some(self.end_with(&Status::expired(
                    "the client is too slow: there are later changes",
                )));
            }
            if let Some(event) = self.events.pop_front() {
                return self.frame(event).await.ok();
            }
            if self.difference.compared.is_some() {
                self.compare().await.ok()?;
                continue;
            }
            if std::mem::take(&mut self.is_behind) && self.bookmarks.is_some() {
                return Some(self.bookmark());
            }
            let bookmark = self.bookmarks;
            tokio::select! {
                changed = self.states.changed() => {
                    changed.ok()?;
                    self.follow().await.ok()?;
                }
                () = sleep_until(self.end) => return None,
                () = sleep_until(bookmark.unwrap_or(self.end)), if bookmark.is_some() => {
                    self.bookmarks = Some(Instant::now() + self.bookmark_interval);
                    return Some(self.bookmark());
                }
                () = sleep_until(self.renewal), if self.question.is_some() => {}
            }
        }
    }

    /// Returns whether events of a state are still being sent long after there is a later one.
    fn lags(&mut self) -> bool {
        let is_sending = !self.events.is_empty() || self.difference.compared.is_some();
        if !is_sending || !self.states.has_changed().unwrap_or_default() {
            self.lags_since = None;
            return false;
        }
        self.lags_since.get_or_insert_with(Instant::now).elapsed() > MAX_WATCH_LAG
    }

    /// Goes on from the state that the client knows to the next one.
    async fn follow(&mut self) -> Result<(), Status> {
        let next = Arc::clone(&self.states.borrow_and_update());
        let next = crate::prepared(next, self.collection.kind, &self.work).await?;
        let since = self.state.revision;
        self.difference = Difference {
            since,
            former: self.state.objects(),
            compared: Some(since),
        };
        // A change of what the caller may not see is none.
        self.is_behind = self.collection.revision(&next) > self.collection.revision(&self.state);
        self.state = next;
        Ok(())
    }

    /// Finds the next events of the state.
    async fn compare(&mut self) -> Result<(), Status> {
        let collection = Arc::clone(&self.collection);
        let state = Arc::clone(&self.state);
        let mut difference = std::mem::take(&mut self.difference);
        let compared = move || {
            let events = difference.next(&collection, &state);
            (difference, events)
        };
        (self.difference, self.events) = self.work.run(compared).await?;
        self.is_behind |= !self.events.is_empty();
        Ok(())
    }

    /// Asks again whether the caller may watch, and what it may see.
    ///
    /// # Errors
    /// The caller may not, nobody can tell, or what it may see has changed.
    async fn renew(&mut self) -> Result<(), Status> {
        let Some(question) = &self.question else {
            return Ok(());
        };
        let no_answer = |_| Err(Status::internal("the API server does not answer"));
        let (reader, _) = timeout(RENEWAL_TIMEOUT, question.ask())
            .await
            .unwrap_or_else(no_answer)?;
        if reader.visibility() != self.collection.reader.visibility() {
            return Err(Status::expired("what the caller may see has changed"));
        }
        self.renewal = Instant::now() + RENEWAL_INTERVAL;
        Ok(())
    }

    /// Returns the last line, which says why the watch ends.
    fn end_with(&mut self, status: &Status) -> Bytes {
        self.has_ended = true;
        let mut out = JsonWriter::default();
        out.open(b'{');
        out.text_member("type", "ERROR");
        out.key("object");
        out.raw(status.object(None).to_string().as_bytes());
        out.close(b'}');
        line(out)
    }

    /// Returns the line of an event.
    async fn frame(&mut self, event: Event) -> Result<Bytes, Status> {
        let has_columns = self.is_first;
        self.is_first &= !matches!(self.shape, Shape::Table(_));
        let writer = EventWriter {
            collection: Arc::clone(&self.collection),
            state: Arc::clone(&self.state),
            shape: self.shape,
            include: self.include,
            has_columns,
        };
        if writer.item(&event).is_short() {
            return Ok(writer.line(&event));
        }
        self.work.run(move || writer.line(&event)).await
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
                write_table(
                    self.collection.table_head(version, self.is_first),
                    current,
                    b"",
                    &mut out,
                );
                out.close(b'}');
                return line(out);
            }
        };
        out.raw(
            json!({ "kind": name, "apiVersion": version, "metadata": metadata })
                .to_string()
                .as_bytes(),
        );
        out.close(b'}');
        line(out)
    }
}

impl EventWriter {
    fn item<'e>(&'e self, event: &'e Event) -> Item<'e> {
        let Event {
            revision,
            objects,
            listed,
            catalog,
            ..
        } = event;
        let kind = self.collection.kind;
        let published = catalog.map(|at| (&self.state.catalogs[at], listed));
        let revision = self.collection.version(*revision);
        let namespace = self.collection.namespace_of(objects);
        Item {
            kind,
            objects,
            object: &listed.object,
            namespace,
            revision,
            published,
        }
    }

    fn line(&self, event: &Event) -> Bytes {
        let item = self.item(event);
        let mut out = JsonWriter::default();
        out.open(b'{');
        out.text_member("type", event.name);
        out.key("object");
        match self.shape {
            Shape::Whole => item.write(true, &mut out),
            Shape::Metadata(version) => item.write_partial(version, &mut out),
            Shape::Table(version) => {
                let mut row = JsonWriter::default();
                item.write_row(version, self.include, Timestamp::now(), &mut row);
                let head = self.collection.table_head(version, self.has_columns);
                write_table(head, item.revision, &row.into_bytes(), &mut out);
            }
        }
        out.close(b'}');
        line(out)
    }
}

/// Writes a table with one row, or none.
fn write_table(mut head: Value, revision: u64, row: &[u8], out: &mut JsonWriter) {
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

fn line(out: JsonWriter) -> Bytes {
    let mut line = out.into_bytes();
    line.push(b'\n');
    line.into()
}
