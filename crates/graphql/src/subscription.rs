//! Subscriptions: the events of a stream and the response text of each. This module does not know
//! the transport.
//!
//! A stream remembers the catalogs as it reported them last and looks for a difference whenever
//! something was published. So nothing queues up for a slow reader: it receives the latest state
//! when it reads again. Equal requests are executed once per event.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fbc_grammar::Digest;
use http_facts::peer::Peer;
use serde_json::{Map, Value};
use serving::{Catalogs, FairPermit, FairSemaphore, RenewalError, Revision, Served, Snapshot};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::budget::Cancellation;
use super::document::Document;
use super::documents::ResolvedRequest;
use super::errors::{self, Code, Error};
use super::execute::{Execution, Turn};
use super::executor::Permit;
use super::write::CatalogChange;
use super::{Engine, coercion, plan};

/// Limits of streams.
#[derive(Clone, Debug)]
pub struct StreamLimits {
    /// Maximum number of streams: event streams and operations of WebSocket connections. As many
    /// WebSocket connections may be open.
    pub streams: usize,
    /// Maximum number of operations per WebSocket.
    pub operations: usize,
    /// Interval of keep-alive messages on a stream that has no events.
    pub ping: Duration,
    /// Time for a WebSocket to send `connection_init`.
    pub init: Duration,
    /// Interval at which it is found out what the caller of a stream may see.
    pub renewal: Duration,
}

/// Maximum number of event texts that are shared between the streams.
const SHARED_TEXTS: usize = 64;

/// Maximum size of a shared event text, in bytes.
const SHARED_TEXT_BYTES: usize = 256 << 10;

/// Maximum number of events that are written at one time, half of them for one peer: more than
/// processors would only take memory.
const CONCURRENT_EVENTS: usize = 4;

/// Time-out of finding out what the caller of a stream may see; it ends the stream. Shorter than
/// the interval of keep-alive messages, for which a transport gives up waiting for an event.
pub const RENEWAL_TIMEOUT: Duration = Duration::from_secs(10);

/// State shared by all subscriptions.
pub(super) struct Streams {
    /// Whether streams are to end; each stream holds a receiver.
    ending: watch::Sender<bool>,
    /// Permits of events, held from when they are written until there is room for them.
    events: FairSemaphore<Peer>,
    shared: Mutex<SharedTexts>,
}

/// Texts of events since the last change of the published set.
#[derive(Default)]
struct SharedTexts {
    /// Revision of the published set.
    revision: Revision,
    texts: Vec<(EventKey, Bytes)>,
}

/// Everything that the text of an event depends on.
#[derive(Clone, PartialEq, Eq)]
struct EventKey {
    request: Digest,
    /// Revision of what the caller sees.
    revision: Revision,
    /// Name of the catalog.
    name: String,
    /// Digest of the content that was reported last; `None` for a new catalog.
    before: Option<Digest>,
}

/// A running subscription.
pub struct Subscription {
    operation: Arc<SubscribedOperation>,
    /// Hash of the document, the operation and the variables.
    request: Digest,
    /// Names of the catalogs to report; `None` for every catalog.
    names: Option<Vec<String>>,
    /// The catalogs as they were reported last, by name.
    reported: Vec<Arc<Served>>,
    /// Name of the catalog that was reported last.
    last: String,
    changes: watch::Receiver<u64>,
    ending: watch::Receiver<bool>,
    /// What the caller may see.
    catalogs: Catalogs,
    /// When it is found out what the caller may see; `None` if that never changes.
    renew_at: Option<Instant>,
    /// Whether the last event was written.
    has_ended: bool,
}

/// The operation that is executed for each event.
struct SubscribedOperation {
    engine: Arc<Engine>,
    document: Arc<Document>,
    name: Option<String>,
    variables: Map<String, Value>,
    /// Who subscribed.
    peer: Peer,
}

/// One response of a subscription.
pub struct SubscriptionEvent {
    /// JSON text of the response.
    pub text: Bytes,
    /// Permit to hold a text that has no memory budget yet: to be dropped once the text is counted
    /// elsewhere.
    pub permit: FairPermit,
}

/// A catalog before and after a change; `None` where it is not served.
type CatalogVersions = (Option<Arc<Served>>, Option<Arc<Served>>);

impl Default for StreamLimits {
    fn default() -> Self {
        let ping = Duration::from_secs(12);
        let init = Duration::from_secs(3);
        Self {
            streams: 1_000,
            operations: 20,
            ping,
            init,
            renewal: Duration::from_mins(1),
        }
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            ending: watch::Sender::new(false),
            events: FairSemaphore::new(CONCURRENT_EVENTS),
            shared: Mutex::default(),
        }
    }
}

impl Engine {
    /// Ends every stream after the event that it is writing.
    pub fn end_streams(&self) {
        self.streams.ending.send_replace(true);
    }

    /// Waits until every stream has ended.
    pub async fn streams_ended(&self) {
        self.streams.ending.closed().await;
    }

    /// When it is to be found out again what the caller of these catalogs may see.
    fn renew_at(&self, catalogs: &Catalogs) -> Option<Instant> {
        catalogs
            .has_caller()
            .then(|| Instant::now() + self.limits.streams.renewal)
    }

    /// A receiver that turns `true` when streams are to end. [`Self::streams_ended`] waits until it
    /// is dropped.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.streams.ending.subscribe()
    }
}

impl Subscription {
    /// Starts a subscription.
    ///
    /// # Errors
    /// Request errors.
    pub(super) fn new(
        engine: &Arc<Engine>,
        ResolvedRequest {
            request,
            document,
            digest,
            ..
        }: &ResolvedRequest<'_>,
        catalogs: &Catalogs,
        peer: Peer,
    ) -> Result<Self, Vec<Error>> {
        let operation = document
            .operation(request.operation_name.as_deref())
            .map_err(|error| vec![error])?;
        let raw_variables = request.variables.clone().unwrap_or_default();
        let variables = coercion::variables(
            &engine.schema,
            document,
            operation,
            &raw_variables,
            &engine.limits,
        )?;
        let refused = |error: &coercion::CoercionError| {
            let location = document.location(error.span);
            vec![Error::request(Code::BadUserInput, error.message.clone()).at(location)]
        };
        let plan = plan::plan(&engine.schema, document, operation, &variables)
            .map_err(|error| refused(&error))?;
        engine.check_cost(&plan).map_err(|error| vec![error])?;
        // Validation ensures that there is exactly one field.
        let arguments = plan
            .fields
            .first()
            .map(|field| field.arguments.as_ref().map_err(|error| refused(error)));
        let names = arguments
            .transpose()?
            .and_then(|arguments| arguments.strings("names"));
        let names = names.map(|names| names.iter().map(str::to_owned).collect());
        let operation_name = request.operation_name.as_deref().map(str::to_owned);
        // `Debug` quotes texts, so that each part ends where the next begins.
        let key = format!("{digest:?}{operation_name:?}{raw_variables:?}");
        let changes = catalogs.changes();
        Ok(Self {
            request: Digest::new(Sha256::digest(key).into()),
            names,
            reported: catalogs.snapshot().by_name().cloned().collect(),
            last: String::new(),
            changes,
            renew_at: engine.renew_at(catalogs),
            catalogs: catalogs.clone(),
            has_ended: false,
            ending: engine.ending(),
            operation: Arc::new(SubscribedOperation {
                engine: Arc::clone(engine),
                document: Arc::clone(document),
                name: operation_name,
                variables: raw_variables,
                peer,
            }),
        })
    }

    /// Waits for the next event; `None` if the stream has ended. Cancel-safe. A caller who may not
    /// read any more, or of whom that cannot be found out, is told so in the last event.
    pub async fn next(&mut self) -> Option<SubscriptionEvent> {
        loop {
            if self.has_ended {
                return None;
            }
            if self.renew_at.is_some_and(|at| at <= Instant::now())
                && let Err(error) = self.renew().await
            {
                self.has_ended = true;
                return self.refusal(error).await;
            }
            self.changes.borrow_and_update();
            let now = self.catalogs.snapshot();
            if self.find_change(&now).is_none() {
                // Catalogs may have been published anew with the same content: the former ones are
                // released.
                self.reported = now.by_name().cloned().collect();
                drop(now);
                tokio::select! {
                    changed = self.changes.changed() => changed.ok()?,
                    () = wait_until(self.renew_at) => {}
                    _ = self.ending.wait_for(|ending| *ending) => return None,
                }
                continue;
            }
            let permit = self
                .operation
                .engine
                .streams
                .events
                .acquire(&self.operation.peer)
                .await;
            // Something else may have been published while this stream waited.
            let now = self.catalogs.snapshot();
            if let Some(change) = self.find_change(&now) {
                let text = self.text(&now, &change).await?;
                self.mark_reported(change);
                return Some(SubscriptionEvent { text, permit });
            }
        }
    }

    /// Finds out what the caller may see from now on: what it may not see any more is reported as
    /// removed.
    async fn renew(&mut self) -> Result<(), RenewalError> {
        let renewed = timeout(RENEWAL_TIMEOUT, self.catalogs.renew()).await;
        self.catalogs = renewed.unwrap_or(Err(RenewalError::Undecided))?;
        self.renew_at = self.operation.engine.renew_at(&self.catalogs);
        Ok(())
    }

    /// The last event of a caller who does not read on.
    async fn refusal(&self, error: RenewalError) -> Option<SubscriptionEvent> {
        let (code, message) = match error {
            RenewalError::Refused => (
                Code::Forbidden,
                "the stream ends, because its caller may not read any more: subscribe with valid credentials",
            ),
            RenewalError::Undecided => (
                Code::AuthorizationUnavailable,
                "the stream ends, because it cannot be found out what its caller may read: subscribe again later",
            ),
        };
        let text = errors::body(&[Error::request(code, message)]).into();
        let engine = &self.operation.engine;
        let permit = engine.streams.events.acquire(&self.operation.peer).await;
        engine.metrics.refused[code].increment();
        Some(SubscriptionEvent { text, permit })
    }

    /// Finds the first catalog that differs from what was reported, beginning after the one that
    /// was reported last: a catalog that changes all the time hides no other.
    fn find_change(&self, now: &Snapshot) -> Option<CatalogVersions> {
        let is_selected = |name: &&str| {
            self.names
                .as_ref()
                .is_none_or(|names| names.iter().any(|other| other == name))
        };
        let both = self.reported.iter().chain(now.by_name());
        let mut names: Vec<_> = both
            .map(|served| served.name.as_str())
            .filter(is_selected)
            .collect();
        names.sort_unstable();
        names.dedup();
        let next = names.partition_point(|name| *name <= self.last.as_str());
        names.rotate_left(next);
        let before = |name: &str| Some(Arc::clone(&self.reported[self.position(name).ok()?]));
        names
            .into_iter()
            .map(|name| (before(name), now.get(name).cloned()))
            .find(|versions| catalog_change(versions).change().is_some())
    }

    fn mark_reported(&mut self, change: CatalogVersions) {
        catalog_change(&change).name().clone_into(&mut self.last);
        match (self.position(&self.last), change.1) {
            (Ok(at), Some(after)) => self.reported[at] = after,
            (Ok(at), None) => drop(self.reported.remove(at)),
            (Err(at), Some(after)) => self.reported.insert(at, after),
            (Err(_), None) => {}
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.reported
            .binary_search_by(|served| served.name.as_str().cmp(name))
    }

    /// Returns the text of an event: the one that another stream of the same request wrote, or else
    /// a new one.
    ///
    /// `None` if the runtime is shutting down.
    async fn text(&self, now: &Arc<Snapshot>, versions: &CatalogVersions) -> Option<Bytes> {
        let change = catalog_change(versions);
        let before = change.before.map(|served| served.content.digest);
        let key = EventKey {
            request: self.request,
            revision: now.revision(),
            name: change.name().to_owned(),
            before,
        };
        let streams = &self.operation.engine.streams;
        let published = self.operation.engine.catalogs.published().revision();
        if let Some(text) = streams.shared_text(published, &key) {
            return Some(text);
        }
        let text = if let Some(text) = self.operation.execute(now, change, Turn::Short) {
            text
        } else {
            let operation = Arc::clone(&self.operation);
            let now = Arc::clone(now);
            let versions = versions.clone();
            match self.operation.engine.executor.try_acquire() {
                Some(turn) => operation.execute_in(turn, now, versions).await?,
                None => operation.execute_in_turn(now, versions).await?,
            }
        };
        if text.len() <= SHARED_TEXT_BYTES {
            streams.share(published, key, &text);
        }
        Some(text)
    }
}

impl SubscribedOperation {
    /// Executes the operation when it is its turn, in a task of its own: a client that reads
    /// nothing holds no turn.
    ///
    /// `None` if the runtime is shutting down.
    async fn execute_in_turn(
        self: Arc<Self>,
        now: Arc<Snapshot>,
        versions: CatalogVersions,
    ) -> Option<Bytes> {
        let written = tokio::spawn(async move {
            let turn = self.engine.executor.acquire_patiently(self.peer).await?;
            self.execute_in(turn, now, versions).await
        });
        written.await.ok()?
    }

    /// Executes the operation in a turn, on a thread that serves no connections.
    ///
    /// `None` if the runtime is shutting down.
    async fn execute_in(
        self: Arc<Self>,
        turn: Permit,
        now: Arc<Snapshot>,
        versions: CatalogVersions,
    ) -> Option<Bytes> {
        let executed = tokio::task::spawn_blocking(move || {
            // Held until the work has really ended.
            let _turn = turn;
            self.execute(
                &now,
                catalog_change(&versions),
                Turn::Long(Cancellation::default()),
            )
        });
        executed.await.ok()?
    }

    /// Executes the operation for an event; `None` if it takes longer than a short turn.
    fn execute(&self, now: &Snapshot, change: CatalogChange<'_>, turn: Turn) -> Option<Bytes> {
        let Self {
            engine,
            document,
            name,
            variables,
            ..
        } = self;
        let operation = document
            .operation(name.as_deref())
            .map_err(|error| vec![error]);
        let response = operation.and_then(|operation| {
            let change = Some(change);
            let execution = Execution {
                document,
                operation,
                raw_variables: variables,
                change,
                includes_cost: false,
            };
            engine.execute_operation(now, execution, turn)
        });
        match response {
            Ok(response) => Some(response?.body.into()),
            Err(errors) => Some(errors::body(&errors).into()),
        }
    }
}

impl Streams {
    fn shared_text(&self, revision: Revision, key: &EventKey) -> Option<Bytes> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut texts = shared.texts.iter().filter(|_| shared.revision == revision);
        texts
            .find(|(other, _)| other == key)
            .map(|(_, text)| text.clone())
    }

    fn share(&self, revision: Revision, key: EventKey, text: &Bytes) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.revision != revision || shared.texts.len() >= SHARED_TEXTS {
            *shared = SharedTexts {
                revision,
                texts: Vec::new(),
            };
        }
        shared.texts.push((key, text.clone()));
    }
}

/// Waits for a moment; for ever if there is none.
async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn catalog_change((before, after): &CatalogVersions) -> CatalogChange<'_> {
    CatalogChange {
        before: before.as_deref(),
        after: after.as_deref(),
    }
}

#[cfg(test)]
mod tests;
