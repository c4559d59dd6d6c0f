//! GraphQL over the catalogs that are served.
//!
//! A document is parsed and validated once and kept; with its variables it becomes a plan; the plan writes JSON text
//! straight from one snapshot into one buffer. Nothing here waits.
//!
//! | module | what it is for |
//! |---|---|
//! | `document`, [`documents`] | text → a checked tree; those that need not be sent |
//! | `asked` | which catalogs an operation asks for |
//! | [`limits`] | what one request may ask for |
//! | `coercion` | variables and arguments → values |
//! | `plan` | selections → what to write; what that may cost |
//! | `write` | a plan → JSON text; one file a family of types |
//! | `filter` | arguments → conditions on what a catalog holds |
//! | `connection`, `key` | pages, cursors, ids |
//! | `introspection` | what the schema says of itself |
//! | [`errors`] | codes, texts, status |
//! | `subscription` | which changes a stream is told |
//! | `validator` | what names an answer before it is made; URLs that were read |
//! | `cache`, `kept` | answers that are kept; how anything is kept |
//! | `handler` | HTTP: requests, streams of events, sockets |

mod cache;
mod coercion;
mod connection;
mod dependencies;
mod document;
pub mod documents;
pub mod errors;
mod filter;
mod handler;
mod introspection;
mod key;
pub mod limits;
mod output;
mod plan;
mod second_chance;
mod subscription;
mod validator;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

use apollo_compiler::executable;
use fbc::Digest;
use serde::Deserialize;
use serde_json::{Map, Value};
use serving::{Catalogs, Snapshot};

use cache::ResponseCache;
use document::{Document, Schema};
use documents::{Documents, Policy, UntrustedError};
use errors::{Code, Cost, Error, Outcome};
use introspection::Introspections;
use limits::Limits;
use plan::Plan;
use subscription::Streams;
use validator::Validators;
use write::{CatalogChange, Context};

pub use document::SDL;
pub use handler::router;
pub use subscription::StreamLimits;

/// Answers GraphQL requests.
pub struct Engine {
    schema: Schema,
    catalogs: Catalogs,
    limits: Limits,
    documents: Documents,
    validators: Validators,
    answers: ResponseCache,
    introspections: Introspections,
    streams: Streams,
}

/// A request, as GraphQL over HTTP puts it in JSON.
#[derive(Debug, Default, Deserialize)]
pub struct Request<'a> {
    /// The document; it may be left out when a digest names one that is kept.
    #[serde(borrow, default)]
    pub query: Option<Cow<'a, str>>,
    /// `sha256:` and the digest of a document that is kept, or the id of one that is trusted.
    #[serde(borrow, default, rename = "documentId")]
    pub document_id: Option<Cow<'a, str>>,
    /// Which operation of the document to execute; it may be left out when there is one.
    #[serde(borrow, default, rename = "operationName")]
    pub operation_name: Option<Cow<'a, str>>,
    /// Values of the operation's variables.
    #[serde(default)]
    pub variables: Option<Map<String, Value>>,
    /// What is asked of this server alone: `{"cost": true}` tells what the request costs, and `persistedQuery` names a
    /// document by its digest, as Apollo's clients do.
    #[serde(default)]
    pub extensions: Option<Map<String, Value>>,
}

/// A request whose document is known.
struct PreparedRequest<'r> {
    request: &'r Request<'r>,
    document: Arc<Document>,
    /// Of the text of the document.
    digest: Digest,
    /// Whether the answer is to tell what it cost.
    asks_cost: bool,
}

/// An answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// JSON text: an object with `data`, `errors`, or both.
    pub body: Vec<u8>,
    /// What became of the request.
    pub outcome: Outcome,
}

/// What is to be executed.
#[derive(Clone, Copy)]
struct Execution<'e> {
    document: &'e Document,
    operation: &'e executable::Operation,
    /// Values of its variables, as they were sent.
    given: &'e Map<String, Value>,
    /// What happened, for a subscription.
    change: Option<CatalogChange<'e>>,
    /// Whether the answer is to tell what it cost.
    asks_cost: bool,
}

/// Cost, in objects, beyond which an execution takes long enough to be kept off the threads that serve connections:
/// about a tenth of a millisecond.
const LONG: u64 = 500;

impl Engine {
    /// An engine over these catalogs. `build` identifies the code that decides what responses say: entity tags of another
    /// build are never taken for this one's.
    pub fn new(catalogs: Catalogs, build: &str, limits: Limits) -> Self {
        Self {
            schema: Schema::load(),
            catalogs,
            documents: Documents::new(&limits),
            validators: Validators::new(build, &limits),
            answers: ResponseCache::new(&limits),
            introspections: Introspections::default(),
            streams: Streams::default(),
            limits,
        }
    }

    /// Adds the documents of a JSON object, each by its id, to those that are trusted, and says how many those are.
    pub fn trust(&mut self, json: &str) -> Result<usize, UntrustedError> {
        self.documents.trust(json, &self.schema, &self.limits)
    }

    /// Settles which documents are executed from now on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.documents.set_policy(policy);
    }

    /// The limits of its requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Answers a request from what is served now.
    pub fn execute(&self, request: &Request<'_>) -> Answer {
        match self.known(request) {
            Ok(known) => self.execute_in(&self.catalogs.snapshot(), &known, |work| work()),
            Err(error) => no_answer(&[error], Outcome::Refused),
        }
    }

    /// Lets go of what is kept about what is not served any more, each time that changes.
    pub async fn forget_former_answers(&self) {
        let mut changes = self.catalogs.changes();
        while changes.changed().await.is_ok() {
            let snapshot = self.catalogs.snapshot();
            self.answers.forget_former(&snapshot);
            self.validators.forget_former(&snapshot);
        }
    }

    /// A request with its document, or why it has none.
    fn known<'r>(&self, request: &'r Request<'r>) -> Result<PreparedRequest<'r>, Error> {
        self.documents.of(request, &self.schema, &self.limits)
    }

    /// Answers a request from one snapshot; what takes long is done in `long`, which must call what it is given.
    fn execute_in(
        &self,
        snapshot: &Snapshot,
        known: &PreparedRequest<'_>,
        long: impl FnOnce(&mut dyn FnMut()),
    ) -> Answer {
        self.run(snapshot, known, long).unwrap_or_else(|(errors, outcome)| no_answer(&errors, outcome))
    }

    fn run(
        &self,
        snapshot: &Snapshot,
        PreparedRequest { request, document, asks_cost, .. }: &PreparedRequest<'_>,
        long: impl FnOnce(&mut dyn FnMut()),
    ) -> Result<Answer, (Vec<Error>, Outcome)> {
        let refused = |error: Error| (vec![error], Outcome::Refused);
        let operation = document.operation(request.operation_name.as_deref()).map_err(refused)?;
        if operation.is_subscription() {
            // graphql-http's words, and what to do.
            let message = "Subscriptions are not supported in one answer: accept text/event-stream or use a WebSocket";
            return Err(refused(Error::request(Code::OperationResolutionFailure, message)));
        }
        let none = Map::new();
        let given = request.variables.as_ref().unwrap_or(&none);
        let asks_cost = *asks_cost;
        self.perform(snapshot, Execution { document, operation, given, change: None, asks_cost }, long)
    }

    fn perform(
        &self,
        snapshot: &Snapshot,
        Execution { document, operation, given, change, asks_cost }: Execution<'_>,
        long: impl FnOnce(&mut dyn FnMut()),
    ) -> Result<Answer, (Vec<Error>, Outcome)> {
        let refused = |error: Error| (vec![error], Outcome::Refused);
        let variables = coercion::variables(&self.schema, document, operation, given, self.limits.list_items)
            .map_err(|errors| (errors, Outcome::Refused))?;
        let plan = match plan::plan(&self.schema, document, operation, &variables) {
            Ok(plan) => plan,
            Err(fault) => return Ok(no_data(document, &fault)),
        };
        let cost = self.cost(&plan).map_err(refused)?;
        let introspection = self
            .introspections
            .answer(&self.schema, document, operation, &variables, &plan)
            .map_err(|error| (vec![error], Outcome::Abandoned))?;
        let context = Context { snapshot, change, document, limits: &self.limits, introspection: &introspection };
        let mut written = None;
        let mut work = || {
            let mut out = Vec::with_capacity(first_capacity(cost));
            out.extend_from_slice(b"{\"data\":");
            written = Some(write::write(&plan, context, out));
        };
        if cost > LONG || plan::cost::copies_json(&plan) {
            long(&mut work);
        } else {
            work();
        }
        let written = written
            .unwrap_or_else(|| Err(Error::request(Code::Internal, "internal server error")))
            .map_err(|reason| (vec![reason], Outcome::Abandoned))?;
        Ok(finish(written, asks_cost.then_some(cost)))
    }

    fn cost(&self, plan: &Plan<'_>) -> Result<u64, Error> {
        let (cost, maximum) = (plan::cost::cost(plan, &self.limits), self.limits.cost);
        if cost <= maximum {
            return Ok(cost);
        }
        let message = format!("the operation may produce {cost} objects; at most {maximum} are allowed");
        Err(Error { cost: Some(Cost { cost, maximum }), ..Error::request(Code::CostEstimated, message) })
    }
}

impl Request<'_> {
    /// The same request, of its own.
    fn into_owned(self) -> Request<'static> {
        let own = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        let Request { query, document_id, operation_name, variables, extensions } = self;
        let (query, document_id, operation_name) = (own(query), own(document_id), own(operation_name));
        Request { query, document_id, operation_name, variables, extensions }
    }
}

impl PreparedRequest<'_> {
    /// Whether it asks for a stream.
    fn is_subscription(&self) -> bool {
        let operation = self.document.operation(self.request.operation_name.as_deref());
        operation.is_ok_and(executable::Operation::is_subscription)
    }
}

/// An answer without data.
fn no_answer(errors: &[Error], outcome: Outcome) -> Answer {
    Answer { body: errors::body(errors), outcome }
}

/// An answer whose root could not be planned.
fn no_data(document: &Document, fault: &coercion::Fault) -> Answer {
    let location = document.location(fault.place);
    let error = Error::request(Code::BadUserInput, fault.message.clone()).at(location);
    let written = write::Written { data: b"{\"data\":null".to_vec(), errors: vec![error], objects: 0 };
    finish(written, None)
}

/// Closes the text of an answer; `cost` is what was estimated, when it is to be told.
fn finish(written: write::Written, cost: Option<u64>) -> Answer {
    let write::Written { data: mut body, errors, objects } = written;
    let outcome = if errors.is_empty() { Outcome::Complete } else { Outcome::Partial };
    if outcome == Outcome::Partial {
        body.push(b',');
        errors::write_all(&errors, &mut body);
    }
    if let Some(estimated) = cost {
        let cost = serde_json::json!({"cost": {"requestedQueryCost": estimated, "actualQueryCost": objects}});
        body.extend_from_slice(b",\"extensions\":");
        body.extend_from_slice(cost.to_string().as_bytes());
    }
    body.push(b'}');
    Answer { body, outcome }
}

/// Room for the answers of most requests, and not too much for the others.
fn first_capacity(cost: u64) -> usize {
    usize::try_from(cost).unwrap_or(usize::MAX).saturating_mul(128).clamp(256, 64 << 10)
}

#[cfg(test)]
mod tests;
