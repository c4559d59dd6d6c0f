//! Subscriptions: the events of a stream and the response text of each. This module does not know
//! the transport.
//!
//! A stream keeps the catalogs that it reported last, and compares them with the published set
//! after each change. Events therefore never queue up for a slow reader, which receives the latest
//! state when it reads again. Equal requests are executed once per event.

use std::sync::Arc;
use std::time::Duration;

use admission::{FairPermit, Peer};
use bytes::Bytes;
use fbc_grammar::Digest;
use serde_json::{Map, Value};
use serving::{Catalogs, RenewalError, Served, Snapshot};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::budget::{Cancellation, ExecutionMode};
use super::bundle_manifests::RequestImages;
use super::document::Document;
use super::documents::ResolvedRequest;
use super::engine::Engine;
use super::errors::{self, Code, Error};
use super::execute::Execution;
use super::executor::ExecutionPermit;
use super::streams::{EventKey, SHARED_TEXT_BYTES};
use super::write::CatalogChange;
use super::{coercion, plan};

/// Timeout of a renewal of the catalogs that the caller of a stream may see; it ends the stream. It
/// is shorter than the interval of keep-alive messages, at which a transport may stop waiting for
/// an event.
pub const RENEWAL_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// The catalogs that the caller may see.
    catalogs: Catalogs,
    /// Time of the next renewal of `catalogs`; `None` if they never change for this caller.
    renew_at: Option<Instant>,
    /// True after the last event was written.
    has_ended: bool,
}

/// The operation that is executed for each event.
struct SubscribedOperation {
    engine: Arc<Engine>,
    document: Arc<Document>,
    name: Option<String>,
    variables: Map<String, Value>,
    /// The peer that subscribed.
    peer: Peer,
}

/// One response of a subscription.
pub struct SubscriptionEvent {
    /// JSON text of the response.
    pub text: Bytes,
    /// Permit to hold a text that has no memory budget yet: to be dropped once the text is
    /// counted elsewhere.
    pub permit: FairPermit,
}

/// A catalog before and after a change; `None` where it is not served.
#[derive(Clone)]
struct CatalogVersions {
    before: Option<Arc<Served>>,
    after: Option<Arc<Served>>,
}

impl CatalogVersions {
    fn change(&self) -> CatalogChange<'_> {
        CatalogChange {
            before: self.before.as_deref(),
            after: self.after.as_deref(),
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

    /// Returns the time of the next renewal of these catalogs; `None` if they have no caller.
    fn renew_at(&self, catalogs: &Catalogs) -> Option<Instant> {
        catalogs
            .has_caller()
            .then(|| Instant::now() + self.limits.streams.renewal)
    }

    /// Returns a receiver that becomes `true` when streams are to end. [`Self::streams_ended`]
    /// waits until it is dropped.
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

    /// Waits for the next event; `None` if the stream has ended. Cancel-safe. If the renewal of the
    /// caller's catalogs fails, the last event is an error.
    pub async fn next(&mut self) -> Option<SubscriptionEvent> {
        loop {
            if self.has_ended {
                return None;
            }
            if self.renew_at.is_some_and(|at| at <= Instant::now())
                && let Err(error) = self.renew().await
            {
                self.has_ended = true;
                return self.renewal_error_event(error).await;
            }
            // Before the snapshot is taken, so that a change after it wakes the stream.
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
            // Before the event is written: otherwise a change would make all streams hold a text.
            let permit = self
                .operation
                .engine
                .streams
                .events
                .acquire(&self.operation.peer)
                .await;
            // Something else may have been published while this stream waited.
            let now = self.catalogs.snapshot();
            if let Some(versions) = self.find_change(&now) {
                let text = self.text(&now, &versions).await?;
                self.mark_reported(versions);
                return Some(SubscriptionEvent { text, permit });
            }
        }
    }

    /// Renews the catalogs that the caller may see. Those that it may no longer see are reported as
    /// removed.
    async fn renew(&mut self) -> Result<(), RenewalError> {
        let renewed = timeout(RENEWAL_TIMEOUT, self.catalogs.renew()).await;
        self.catalogs = renewed.unwrap_or(Err(RenewalError::Undecided))?;
        self.renew_at = self.operation.engine.renew_at(&self.catalogs);
        Ok(())
    }

    /// Returns the last event after a failed renewal.
    async fn renewal_error_event(&self, error: RenewalError) -> Option<SubscriptionEvent> {
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
        engine.metrics.refused[code].inc();
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
            .map(|name| CatalogVersions {
                before: before(name),
                after: now.get(name).cloned(),
            })
            .find(|versions| versions.change().change().is_some())
    }

    fn mark_reported(&mut self, versions: CatalogVersions) {
        versions.change().name().clone_into(&mut self.last);
        match (self.position(&self.last), versions.after) {
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
        let change = versions.change();
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
        let text = if let Some(text) = self.operation.execute(now, change, ExecutionMode::Inline) {
            text
        } else {
            let operation = Arc::clone(&self.operation);
            let now = Arc::clone(now);
            let versions = versions.clone();
            match self.operation.engine.executor.try_acquire() {
                Some(permit) => operation.execute_offloaded(permit, now, versions).await?,
                None => operation.execute_queued(now, versions).await?,
            }
        };
        if text.len() <= SHARED_TEXT_BYTES {
            streams.share(published, key, &text);
        }
        Some(text)
    }
}

impl SubscribedOperation {
    /// Waits for a permit and executes the operation, in a task of its own: if the client stops
    /// reading, the connection polls nothing, and the permit would be held for ever.
    ///
    /// `None` if the runtime is shutting down.
    async fn execute_queued(
        self: Arc<Self>,
        now: Arc<Snapshot>,
        versions: CatalogVersions,
    ) -> Option<Bytes> {
        let written = tokio::spawn(async move {
            let permit = self.engine.executor.acquire_patiently(self.peer).await?;
            self.execute_offloaded(permit, now, versions).await
        });
        written.await.ok()?
    }

    /// Executes the operation with a permit, on a thread that serves no connections.
    ///
    /// `None` if the runtime is shutting down.
    async fn execute_offloaded(
        self: Arc<Self>,
        permit: ExecutionPermit,
        now: Arc<Snapshot>,
        versions: CatalogVersions,
    ) -> Option<Bytes> {
        let executed = tokio::task::spawn_blocking(move || {
            // Held by the thread, which goes on if the future is dropped.
            let _permit = permit;
            self.execute(
                &now,
                versions.change(),
                ExecutionMode::Offloaded(Cancellation::default()),
            )
        });
        executed.await.ok()?
    }

    /// Executes the operation for an event; `None` if it would take long in
    /// [`ExecutionMode::Inline`].
    fn execute(
        &self,
        now: &Snapshot,
        change: CatalogChange<'_>,
        mode: ExecutionMode,
    ) -> Option<Bytes> {
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
                images: &RequestImages::default(),
            };
            engine.execute_operation(now, execution, mode)
        });
        match response {
            Ok(response) => Some(response?.body.into()),
            Err(errors) => Some(errors::body(&errors).into()),
        }
    }
}

/// Waits for a moment; for ever if there is none.
async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
