//! Watches: the changes of a collection, one JSON object a line, for as long as the client listens.
//!
//! Each state is compared with the objects that the client knows, some events at a time, and an
//! event is written when it is sent. A task of the watch does that, so that the watch ends in time
//! whether the client reads or not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use admission::FairPermit;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::access::AccessCheck;
use crate::collection::{Collection, write_table};
use crate::difference::{Difference, WatchEvent};
use crate::executor::RequestExecutor;
use crate::item::{Item, RowOptions};
use crate::json::JsonWriter;
use crate::negotiation::{Projection, Serialization};
use crate::options::{IncludeObject, ListOptions};
use crate::published::PublishedState;
use crate::response;
use crate::status::Status;
use crate::version::ResourceVersion;

/// Interval of the bookmarks of a watch that asks for them. A bookmark tells the client the current
/// resource version.
pub const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum number of watches at a time; a further one is refused with 429, and clients repeat it.
pub const MAX_WATCHES: usize = 1024;

/// Interval at which the rights of the caller of a watch are evaluated again. The watch ends when
/// they have changed, and the client lists again.
pub const RENEWAL_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum time for that evaluation. Without a decision, the watch ends.
pub const RENEWAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Minimum duration of a watch without `timeoutSeconds`; the maximum is
/// [`MAX_WATCH_TIME`](crate::options::MAX_WATCH_TIME). As upstream does, the duration is random, so
/// that watches which began together, after a restart, do not end together.
const MIN_DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);

/// Maximum time until a client takes the next event. The watch ends then.
pub const WATCH_STALL: Duration = Duration::from_secs(30);

/// Maximum time until a client has read the events of a state that was replaced: the watch keeps the
/// contents of that state in memory. It ends with 410 then.
pub const MAX_WATCH_LAG: Duration = Duration::from_mins(5);

/// A watch request that is authorized.
pub(crate) struct WatchRequest {
    pub(crate) collection: Collection,
    /// The authorization of the caller; `None` if every caller may do everything.
    pub(crate) access: Option<AccessCheck>,
    pub(crate) states: watch::Receiver<Arc<PublishedState>>,
    /// A state in which the kind is listed.
    pub(crate) state: Arc<PublishedState>,
    pub(crate) projection: Projection,
    pub(crate) bookmark_interval: Duration,
    pub(crate) permit: FairPermit,
    pub(crate) executor: RequestExecutor,
}

/// A watch that is being sent.
struct Watch {
    collection: Arc<Collection>,
    states: watch::Receiver<Arc<PublishedState>>,
    state: Arc<PublishedState>,
    difference: Difference,
    events: VecDeque<WatchEvent>,
    projection: Projection,
    include: IncludeObject,
    /// `true` until a table is sent: only the first one has columns.
    is_first_table: bool,
    end: Instant,
    next_bookmark: Option<Instant>,
    bookmark_interval: Duration,
    /// `true` if a bookmark is due after the events of a change. Without it the client would know
    /// only the versions of objects, at which no watch can resume.
    owes_bookmark: bool,
    /// The time at which the state was replaced while its events are being sent.
    lags_since: Option<Instant>,
    /// The authorization of the caller; `None` if every caller may do everything.
    access: Option<AccessCheck>,
    /// The time of its next evaluation.
    renewal: Instant,
    has_ended: bool,
    executor: RequestExecutor,
    _permit: FairPermit,
}

/// Writes the event of a watch.
struct EventWriter {
    collection: Arc<Collection>,
    state: Arc<PublishedState>,
    projection: Projection,
    include: IncludeObject,
    /// `true` if a table has columns.
    has_columns: bool,
}

/// Responds with the changes of a collection after the resource version of the request. Without
/// one, all objects are added first.
///
/// # Errors
/// A watch cannot resume at the resource version, which gets 410.
pub(crate) fn respond(request: WatchRequest, options: &ListOptions) -> Result<Response, Status> {
    let WatchRequest {
        collection,
        access,
        mut states,
        state,
        projection,
        bookmark_interval,
        permit,
        executor,
    } = request;
    let former = match options.resource_version()? {
        None => Vec::new(),
        Some(version) => collection.objects_at(&state, version).ok_or_else(|| {
            let current = collection.list_version(&state);
            Status::expired(format!("too old resource version: {version} ({current})"))
        })?,
    };
    // The receiver reports states that are later than this one.
    if !Arc::ptr_eq(&states.borrow_and_update(), &state) {
        states.mark_changed();
    }

    let now = Instant::now();
    let timeout = options
        .timeout()?
        .unwrap_or_else(|| MIN_DEFAULT_TIMEOUT.mul_f64(1.0 + fastrand::f64()));
    let watch = Watch {
        difference: Difference::new(&former, &collection, &state),
        collection: Arc::new(collection),
        states,
        state,
        events: VecDeque::new(),
        projection,
        include: options.include_object()?,
        is_first_table: true,
        end: now + timeout,
        next_bookmark: options
            .is_set("allowWatchBookmarks")
            .then(|| now + bookmark_interval),
        bookmark_interval,
        owes_bookmark: false,
        lags_since: None,
        access,
        renewal: now + RENEWAL_INTERVAL,
        has_ended: false,
        executor,
        _permit: permit,
    };
    // A client that reads nothing must not collect lines in memory: one waits at most.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(watch.run(sender));
    let frames = stream::unfold(receiver, async |mut receiver| {
        let frame = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), receiver))
    });
    Ok(response::typed(
        Body::from_stream(frames),
        Serialization::Json.media_type(),
    ))
}

impl Watch {
    /// Sends lines until the watch ends, or the client has left or takes none any more.
    async fn run(mut self, sender: mpsc::Sender<Bytes>) {
        loop {
            let line = tokio::select! {
                line = self.next() => line,
                // The permit of a client that has left is returned at once.
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
            // Before each line, since a client that is always busy would never reach the timer.
            if Instant::now() >= self.renewal
                && let Err(status) = self.renew_access().await
            {
                return Some(self.end_with(&status));
            }
            if self.lags() {
                return Some(self.end_with(&Status::expired(
                    "the client is too slow: there are later changes",
                )));
            }
            if let Some(event) = self.events.pop_front() {
                return self.event_line(event).await.ok();
            }
            if !self.difference.is_done() {
                self.compare().await.ok()?;
                continue;
            }
            if std::mem::take(&mut self.owes_bookmark) && self.next_bookmark.is_some() {
                return Some(self.bookmark());
            }

            let bookmark = self.next_bookmark;
            tokio::select! {
                changed = self.states.changed() => {
                    changed.ok()?;
                    self.follow().await.ok()?;
                }
                () = sleep_until(self.end) => return None,
                () = sleep_until(bookmark.unwrap_or(self.end)), if bookmark.is_some() => {
                    self.next_bookmark = Some(Instant::now() + self.bookmark_interval);
                    return Some(self.bookmark());
                }
                () = sleep_until(self.renewal), if self.access.is_some() => {}
            }
        }
    }

    /// Returns whether the events of a state are still being sent long after it was replaced.
    fn lags(&mut self) -> bool {
        let is_sending = !self.events.is_empty() || !self.difference.is_done();
        if !is_sending || !self.states.has_changed().unwrap_or_default() {
            self.lags_since = None;
            return false;
        }
        self.lags_since.get_or_insert_with(Instant::now).elapsed() > MAX_WATCH_LAG
    }

    /// Begins to send the changes from the state that the client knows to the latest one.
    async fn follow(&mut self) -> Result<(), Status> {
        let next = Arc::clone(&self.states.borrow_and_update());
        let next = next.list_kind(self.collection.kind, &self.executor).await?;
        self.difference = Difference::new(&self.state.objects(), &self.collection, &next);
        // The caller's revision does not change with catalogs that are hidden from it.
        self.owes_bookmark =
            self.collection.revision(&next) > self.collection.revision(&self.state);
        self.state = next;
        Ok(())
    }

    /// Finds the next events of the state.
    async fn compare(&mut self) -> Result<(), Status> {
        let collection = Arc::clone(&self.collection);
        let state = Arc::clone(&self.state);
        let mut difference = std::mem::take(&mut self.difference);
        let compare = move || {
            let events = difference.next(&collection, &state);
            (difference, events)
        };
        let (difference, events) = self.executor.run(compare).await?;
        self.owes_bookmark |= !events.is_empty();
        self.difference = difference;
        self.events = events;
        Ok(())
    }

    /// Evaluates the rights of the caller again.
    ///
    /// # Errors
    /// The caller may not watch any more, nothing was decided, or the caller sees other catalogs.
    async fn renew_access(&mut self) -> Result<(), Status> {
        let Some(access) = &self.access else {
            return Ok(());
        };
        let granted = timeout(RENEWAL_TIMEOUT, access.evaluate())
            .await
            .unwrap_or_else(|_| Err(Status::internal("the API server does not answer")))?;
        if granted.reader.visibility() != self.collection.visibility() {
            return Err(Status::expired("what the caller may see has changed"));
        }
        self.renewal = Instant::now() + RENEWAL_INTERVAL;
        Ok(())
    }

    /// Returns the last line, which tells the client why the watch ends.
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
    async fn event_line(&mut self, event: WatchEvent) -> Result<Bytes, Status> {
        let has_columns = self.is_first_table;
        self.is_first_table &= !matches!(self.projection, Projection::Table(_));
        let writer = EventWriter {
            collection: Arc::clone(&self.collection),
            state: Arc::clone(&self.state),
            projection: self.projection,
            include: self.include,
            has_columns,
        };
        // Copying takes less time than handing it to another thread.
        if writer.item(&event).is_short() {
            return Ok(writer.line(&event));
        }
        self.executor.run(move || writer.line(&event)).await
    }

    /// Returns the line that tells the client the current resource version.
    fn bookmark(&self) -> Bytes {
        let kind = self.collection.kind;
        let current = self.collection.list_version(&self.state);
        let object = |name: &str, api_version: &str| {
            let metadata =
                json!({ "resourceVersion": current.to_string(), "creationTimestamp": null });
            json!({ "kind": name, "apiVersion": api_version, "metadata": metadata }).to_string()
        };
        let mut out = JsonWriter::default();
        out.open(b'{');
        out.text_member("type", "BOOKMARK");
        out.key("object");
        match self.projection {
            Projection::Whole => out.raw(object(kind.name(), &kind.api_version()).as_bytes()),
            Projection::Metadata(version) => {
                let api_version = format!("meta.k8s.io/{version}");
                out.raw(object("PartialObjectMetadata", &api_version).as_bytes());
            }
            Projection::Table(version) => {
                let head = self.collection.table_head(version, self.is_first_table);
                write_table(head, current, None, &mut out);
            }
        }
        out.close(b'}');
        line(out)
    }
}

impl EventWriter {
    fn item<'e>(&'e self, event: &'e WatchEvent) -> Item<'e> {
        Item {
            kind: self.collection.kind,
            objects: &event.objects,
            entry: &event.entry,
            namespace: self.collection.namespace_of(&event.objects),
            version: ResourceVersion::of_object(event.revision),
            catalog: event.catalog.map(|index| &self.state.catalogs[index]),
        }
    }

    fn line(&self, event: &WatchEvent) -> Bytes {
        let item = self.item(event);
        let row = RowOptions {
            include: self.include,
            now: Timestamp::now(),
        };
        let mut out = JsonWriter::default();
        out.open(b'{');
        out.text_member("type", event.name);
        out.key("object");
        if let Projection::Table(version) = self.projection {
            let mut text = JsonWriter::default();
            item.write(self.projection, true, row, &mut text);
            let head = self.collection.table_head(version, self.has_columns);
            write_table(head, item.version, Some(&text.into_bytes()), &mut out);
        } else {
            item.write(self.projection, true, row, &mut out);
        }
        out.close(b'}');
        line(out)
    }
}

fn line(out: JsonWriter) -> Bytes {
    let mut line = out.into_bytes();
    line.push(b'\n');
    line.into()
}
