//! Executing one operation: variables, plan, cost, text.

use std::sync::Arc;
use std::time::Instant;

use apollo_compiler::executable;
use serde_json::{Map, Value};
use serving::Snapshot;

use super::budget::{Budget, ExecutionMode};
use super::bundle_manifests::RequestImages;
use super::document::Document;
use super::documents::ResolvedRequest;
use super::engine::Engine;
use super::errors::{self, Code, Cost, Error, Outcome};
use super::introspection::PlannedOperation;
use super::plan::Plan;
use super::response::Response;
use super::write::{self, CatalogChange, ExecutionResult, WriteContext};
use super::{coercion, plan, suggestion};

/// An operation with everything that its response depends on besides the snapshot.
#[derive(Clone, Copy)]
pub(super) struct Execution<'e> {
    pub(super) document: &'e Document,
    pub(super) operation: &'e executable::Operation,
    /// Values of the operation's variables, as the client sent them.
    pub(super) raw_variables: &'e Map<String, Value>,
    /// The event that a subscription reports; `None` for a query.
    pub(super) change: Option<CatalogChange<'e>>,
    /// True if the response has the cost in its `extensions`.
    pub(super) includes_cost: bool,
    /// Images of bundles that were fetched for the request.
    pub(super) images: &'e RequestImages,
}

/// Units of work, estimated or drawn, up to which an execution is short: about half a millisecond.
const SHORT_WORK: u64 = 500;

impl Engine {
    /// Executes a query; `None` if it would take long in [`ExecutionMode::Inline`].
    ///
    /// # Errors
    /// Request errors, for which nothing was executed.
    pub(super) fn execute_resolved(
        &self,
        snapshot: &Snapshot,
        ResolvedRequest {
            request,
            document,
            includes_cost,
            ..
        }: &ResolvedRequest<'_>,
        images: &RequestImages,
        mode: ExecutionMode,
    ) -> Result<Option<Response>, Vec<Error>> {
        let operation = document
            .operation(request.operation_name.as_deref())
            .map_err(|error| vec![error])?;
        if operation.is_subscription() {
            // The message of graphql-http (npm), and what to do.
            let message = "Subscriptions are not supported in a single response: accept text/event-stream or use a WebSocket";
            return Err(vec![Error::request(
                Code::OperationResolutionFailure,
                message,
            )]);
        }
        let none = Map::new();
        let raw_variables = request.variables.as_ref().unwrap_or(&none);
        let includes_cost = *includes_cost;
        let execution = Execution {
            document,
            operation,
            raw_variables,
            change: None,
            includes_cost,
            images,
        };
        self.execute_operation(snapshot, execution, mode)
    }

    /// Executes an operation, whatever its kind; `None` if it would take long in
    /// [`ExecutionMode::Inline`].
    ///
    /// # Errors
    /// Request errors, for which nothing was executed.
    pub(super) fn execute_operation(
        &self,
        snapshot: &Snapshot,
        Execution {
            document,
            operation,
            raw_variables,
            change,
            includes_cost,
            images,
        }: Execution<'_>,
        mode: ExecutionMode,
    ) -> Result<Option<Response>, Vec<Error>> {
        let begun = Instant::now();
        let variables = coercion::variables(
            &self.schema,
            document,
            operation,
            raw_variables,
            &self.limits,
        )?;
        let plan = match plan::plan(&self.schema, document, operation, &variables) {
            Ok(plan) => plan,
            Err(error) => return Ok(Some(Response::without_data(document, &error))),
        };
        // Before anything is executed: the estimate refuses what is certain to exceed the budget.
        let cost = self.check_cost(&plan).map_err(|error| vec![error])?;
        let cache = &self.introspection_cache;
        let planned_operation = PlannedOperation {
            document,
            operation,
            variables: &variables,
            plan: &plan,
        };
        // Introspection of the whole schema takes milliseconds.
        if matches!(mode, ExecutionMode::Inline) && !cache.has(planned_operation) {
            return Ok(None);
        }
        let introspection = match cache.execute(&self.schema, planned_operation) {
            Ok(introspection) => introspection,
            Err(error) => return Ok(Some(Response::from_errors(&[error], Outcome::Abandoned))),
        };
        let server = &self.server;
        let limits = &self.limits;
        let context = WriteContext {
            snapshot,
            change,
            document,
            server,
            limits,
            introspection: &introspection,
            images,
            fetches_images: self.bundle_manifests.is_some(),
            search_index: &self.search_index,
        };
        let is_long = cost > SHORT_WORK || plan::cost::copies_json(&plan);
        let budget = match mode {
            ExecutionMode::Inline if is_long => return Ok(None),
            ExecutionMode::Inline => Budget::short(&self.limits, SHORT_WORK),
            ExecutionMode::Offloaded(cancellation) => Budget::new(&self.limits, cancellation),
        };
        let planned = Instant::now();
        let mut out = Vec::with_capacity(initial_capacity(cost));
        out.extend_from_slice(b"{\"data\":");
        let written = write::write(&plan, context, &budget, out);
        // An inline attempt that was too short is repeated with a permit, which is then observed.
        if !(written.is_err() && budget.was_too_short()) {
            self.metrics
                .plan
                .observe_duration(planned.duration_since(begun));
            self.metrics.write.observe_duration(planned.elapsed());
        }
        Ok(match written {
            Ok(written) => {
                self.metrics.work.observe(written.work);
                Some(Response::from_written(
                    written,
                    includes_cost.then_some(cost),
                ))
            }
            Err(_) if budget.was_too_short() => None,
            Err(reason) => Some(Response::from_errors(&[reason], Outcome::Abandoned)),
        })
    }

    /// Checks the estimated cost of a plan (its query complexity) against the limit, and returns
    /// it, in objects.
    ///
    /// # Errors
    /// If it is higher than the limit.
    pub(super) fn check_cost(&self, plan: &Plan<'_>) -> Result<u64, Error> {
        let cost = plan::cost::cost(plan, &self.limits);
        let maximum = self.limits.cost;
        if cost <= maximum {
            return Ok(cost);
        }
        let message =
            format!("the operation may produce {cost} objects; at most {maximum} are allowed");
        Err(Error {
            cost: Some(Cost { cost, maximum }),
            ..Error::request(Code::CostEstimated, message)
        })
    }
}

impl Response {
    /// Creates a response whose `data` is `null`, because its root could not be planned.
    fn without_data(document: &Document, error: &Arc<coercion::CoercionError>) -> Self {
        let location = document.location(error.span);
        let error = Error::request(Code::BadUserInput, error.message.clone()).at(location);
        let data = b"{\"data\":null".to_vec();
        let written = ExecutionResult {
            data,
            errors: vec![error],
            suggestions: Vec::new(),
            wanted_images: Vec::new(),
            work: 0,
        };
        Self::from_written(written, None)
    }

    /// Completes the text of a response, with its costs if `estimated_cost` is present.
    fn from_written(written: ExecutionResult, estimated_cost: Option<u64>) -> Self {
        let ExecutionResult {
            data: mut body,
            errors,
            suggestions,
            wanted_images,
            work,
        } = written;
        let outcome = if errors.is_empty() {
            Outcome::Complete
        } else {
            Outcome::Partial
        };
        if outcome == Outcome::Partial {
            body.push(b',');
            errors::write_all(&errors, &mut body);
        }
        let cost = estimated_cost.map(|estimated| {
            let cost =
                serde_json::json!({"requestedQueryCost": estimated, "actualQueryCost": work});
            format!("\"cost\":{cost}").into_bytes()
        });
        let suggestions = (!suggestions.is_empty()).then(|| suggestion::to_json(&suggestions));
        let extensions: Vec<_> = cost.into_iter().chain(suggestions).collect();
        if !extensions.is_empty() {
            body.extend_from_slice(b",\"extensions\":{");
            body.extend_from_slice(&extensions.join(&b","[..]));
            body.push(b'}');
        }
        body.push(b'}');
        Self {
            body,
            outcome,
            refused: None,
            wanted_images,
        }
    }
}

/// Capacity of the output buffer, in bytes: room for most responses, and not too much for the
/// others.
fn initial_capacity(cost: u64) -> usize {
    usize::try_from(cost)
        .unwrap_or(usize::MAX)
        .saturating_mul(128)
        .clamp(256, 64 << 10)
}
