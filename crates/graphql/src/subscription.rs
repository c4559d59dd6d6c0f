//! Subscriptions: which changes a stream is told, and the text of each. It does not know how they travel.
//!
//! A stream remembers the catalogs as it told them last and looks for a difference whenever something was published. So
//! nothing waits in a queue for a reader that is slow: it is told the latest state when it is there again. Equal
//! requests are executed once for a change.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fbc::Digest;
use serde_json::{Map, Value};
use serving::{Revision, Served, Snapshot};
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::document::Document;
use super::errors::{self, Code, Error};
use super::{CatalogChange, Engine, Execution, PreparedRequest, coercion, plan};

/// How much is streamed at once, and how long anything is waited for.
#[derive(Clone, Debug)]
pub struct StreamLimits {
    /// Streams at one time: those of events, and operations of a WebSocket; as many sockets may be open.
    pub streams: usize,
    /// Operations of one WebSocket at one time.
    pub operations: usize,
    /// Between two signs of life on a stream that has nothing to tell.
    pub ping: Duration,
    /// How long a WebSocket may take to begin with `connection_init`.
    pub init: Duration,
}

/// Texts that are kept for the listeners of one change.
const TOLD: usize = 64;

/// Bytes of a text that is kept.
const TOLD_BYTES: usize = 256 << 10;

/// Changes that are made into text at one time: more than processors would only take memory.
const TURNS: usize = 4;

/// What all subscriptions share.
pub(super) struct Streams {
    /// Whether they are to end; whoever streams holds a receiver.
    ending: watch::Sender<bool>,
    turns: Arc<Semaphore>,
    told: Mutex<Told>,
}

/// The texts of the last change.
#[derive(Default)]
struct Told {
    revision: Revision,
    texts: Vec<(Telling, Bytes)>,
}

/// What a text says of one state of the catalogs: who asked, and what was known before of which catalog.
#[derive(Clone, PartialEq, Eq)]
struct Telling {
    request: Digest,
    name: String,
    before: Option<Digest>,
}

/// A subscription that was checked.
pub(super) struct Subscription {
    engine: Arc<Engine>,
    document: Arc<Document>,
    operation_name: Option<String>,
    variables: Map<String, Value>,
    /// What tells its texts from those of another.
    request: Digest,
    /// The only catalogs that it is about; every one when absent.
    names: Option<Vec<String>>,
    /// The catalogs as they were told last, by name.
    seen: Vec<Arc<Served>>,
    /// The catalog that was told of last.
    last: String,
    changes: watch::Receiver<u64>,
    ending: watch::Receiver<bool>,
    long: fn(&mut dyn FnMut()),
}

/// One result of a subscription.
pub(super) struct Event {
    /// JSON text, as of an answer.
    pub(super) text: Bytes,
    /// To be given back once there is room for the text.
    pub(super) turn: OwnedSemaphorePermit,
}

/// A catalog before and after.
type Pair = (Option<Arc<Served>>, Option<Arc<Served>>);

impl Default for StreamLimits {
    fn default() -> Self {
        Self { streams: 1_000, operations: 20, ping: Duration::from_secs(12), init: Duration::from_secs(3) }
    }
}

impl Default for Streams {
    fn default() -> Self {
        let (ending, turns) = (watch::Sender::new(false), Arc::new(Semaphore::new(TURNS)));
        Self { ending, turns, told: Mutex::default() }
    }
}

impl Engine {
    /// Ends every stream, as soon as what it is telling is told.
    pub fn end_streams(&self) {
        self.streams.ending.send_replace(true);
    }

    /// Done when nobody streams any more.
    pub async fn streams_ended(&self) {
        self.streams.ending.closed().await;
    }

    /// Says when streams are to end; as long as somebody holds it, they have not ended.
    pub(super) fn ending(&self) -> watch::Receiver<bool> {
        self.streams.ending.subscribe()
    }

    /// Begins a subscription. What takes long is done in `long`.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        PreparedRequest { request, document, digest, .. }: &PreparedRequest<'_>,
        long: fn(&mut dyn FnMut()),
    ) -> Result<Subscription, Vec<Error>> {
        let operation = document.operation(request.operation_name.as_deref()).map_err(|error| vec![error])?;
        let given = request.variables.clone().unwrap_or_default();
        let variables = coercion::variables(&self.schema, document, operation, &given, self.limits.list_items)?;
        let refused = |fault: &coercion::Fault| {
            let location = document.location(fault.place);
            vec![Error::request(Code::BadUserInput, fault.message.clone()).at(location)]
        };
        let plan = plan::plan(&self.schema, document, operation, &variables).map_err(|fault| refused(&fault))?;
        self.cost(&plan).map_err(|error| vec![error])?;
        // Validation has seen to it that there is one field.
        let arguments = plan.fields.first().map(|field| field.arguments.as_ref().map_err(|fault| refused(fault)));
        let names = arguments.transpose()?.and_then(|arguments| arguments.texts("names"));
        let names = names.map(|names| names.iter().map(str::to_owned).collect());
        let operation_name = request.operation_name.as_deref().map(str::to_owned);
        // `Debug` quotes texts, so that each part ends where the next begins.
        let key = format!("{digest:?}{operation_name:?}{given:?}");
        let changes = self.catalogs.changes();
        Ok(Subscription {
            engine: Arc::clone(self),
            operation_name,
            variables: given,
            request: Digest::new(Sha256::digest(key).into()),
            names,
            seen: self.catalogs.snapshot().by_name().cloned().collect(),
            last: String::new(),
            changes,
            ending: self.ending(),
            long,
            document: Arc::clone(document),
        })
    }
}

impl Subscription {
    /// The next result, once something changed; nothing when there will be none any more. It may be given up and asked
    /// again.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            self.changes.borrow_and_update();
            let now = self.engine.catalogs.snapshot();
            if self.change(&now).is_none() {
                // What is told may have been published anew with the same content: the former one is let go.
                self.seen = now.by_name().cloned().collect();
                drop(now);
                tokio::select! {
                    changed = self.changes.changed() => changed.ok()?,
                    _ = self.ending.wait_for(|ending| *ending) => return None,
                }
                continue;
            }
            let turn = Arc::clone(&self.engine.streams.turns).acquire_owned().await.ok()?;
            // Something else may have changed until it was its turn.
            let now = self.engine.catalogs.snapshot();
            if let Some(change) = self.change(&now) {
                let text = self.text(&now, &change);
                self.see(change);
                return Some(Event { text, turn });
            }
        }
    }

    /// The first catalog that is not as it was told, beginning after the one that was told of last: one that changes all
    /// the time hides no other.
    fn change(&self, now: &Snapshot) -> Option<Pair> {
        let is_wanted = |name: &&str| self.names.as_ref().is_none_or(|names| names.iter().any(|other| other == name));
        let both = self.seen.iter().chain(now.by_name());
        let mut names: Vec<_> = both.map(|served| served.name.as_str()).filter(is_wanted).collect();
        names.sort_unstable();
        names.dedup();
        let next = names.partition_point(|name| *name <= self.last.as_str());
        names.rotate_left(next);
        let before = |name: &str| Some(Arc::clone(&self.seen[self.place(name).ok()?]));
        names.into_iter().map(|name| (before(name), now.get(name).cloned())).find(|pair| what(pair).change().is_some())
    }

    /// Remembers what was told.
    fn see(&mut self, change: Pair) {
        what(&change).name().clone_into(&mut self.last);
        match (self.place(&self.last), change.1) {
            (Ok(at), Some(after)) => self.seen[at] = after,
            (Ok(at), None) => drop(self.seen.remove(at)),
            (Err(at), Some(after)) => self.seen.insert(at, after),
            (Err(_), None) => {}
        }
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.seen.binary_search_by(|served| served.name.as_str().cmp(name))
    }

    /// The text of a change: the one that another listener of the same request was told, or else a new one.
    fn text(&self, now: &Snapshot, change: &Pair) -> Bytes {
        let what = what(change);
        let before = what.before.map(|served| served.digest);
        let telling = Telling { request: self.request, name: what.name().to_owned(), before };
        let streams = &self.engine.streams;
        if let Some(text) = streams.told(now.revision(), &telling) {
            return text;
        }
        let text = self.execute(now, what);
        if text.len() <= TOLD_BYTES {
            streams.tell(now.revision(), telling, &text);
        }
        text
    }

    fn execute(&self, now: &Snapshot, change: CatalogChange<'_>) -> Bytes {
        let Self { engine, document, variables, .. } = self;
        let operation = document.operation(self.operation_name.as_deref()).map_err(|error| vec![error]);
        let answer = operation.and_then(|operation| {
            let change = Some(change);
            let execution = Execution { document, operation, given: variables, change, asks_cost: false };
            engine.perform(now, execution, self.long).map_err(|(errors, _)| errors)
        });
        let body = answer.map_or_else(|errors| errors::body(&errors), |answer| answer.body);
        body.into()
    }
}

impl Streams {
    fn told(&self, revision: Revision, telling: &Telling) -> Option<Bytes> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut texts = told.texts.iter().filter(|_| told.revision == revision);
        texts.find(|(other, _)| other == telling).map(|(_, text)| text.clone())
    }

    fn tell(&self, revision: Revision, telling: Telling, text: &Bytes) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.revision != revision || told.texts.len() >= TOLD {
            *told = Told { revision, texts: Vec::new() };
        }
        told.texts.push((telling, text.clone()));
    }
}

/// What became of a catalog.
fn what((before, after): &Pair) -> CatalogChange<'_> {
    CatalogChange { before: before.as_deref(), after: after.as_deref() }
}

#[cfg(test)]
mod tests;
