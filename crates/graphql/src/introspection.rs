//! Introspection: the values of `__schema` and `__type` as JSON text, by response key.
//!
//! Introspection takes milliseconds where everything else takes microseconds, and clients send the
//! same few introspection queries. The last results are therefore cached.

use std::sync::{Arc, Mutex, PoisonError};

use apollo_compiler::executable;
use apollo_compiler::response::{JsonMap, serde_json_bytes};
use serde_json::{Map, Value};

use super::document::Document;
use super::errors::{Code, Error};
use super::plan::{Plan, ValuePlan};
use super::schema::Schema;

/// Result of the introspection fields of an operation: JSON text by response key.
pub(super) type IntrospectionData = Vec<(Box<str>, Box<[u8]>)>;

/// Maximum number of cached results.
const MAX_ENTRIES: usize = 4;

/// Maximum size of a cached result, in bytes. The result for the whole schema is smaller.
const MAX_ENTRY_BYTES: usize = 1 << 20;

/// An operation with its coerced variables and its plan.
#[derive(Clone, Copy)]
pub(super) struct PlannedOperation<'e> {
    pub(super) document: &'e Document,
    pub(super) operation: &'e executable::Operation,
    pub(super) variables: &'e Map<String, Value>,
    pub(super) plan: &'e Plan<'e>,
}

/// Cache of the last results, the latest last.
#[derive(Default)]
pub(super) struct IntrospectionCache {
    entries: Mutex<Vec<(IntrospectionKey, Arc<IntrospectionData>)>>,
}

/// Everything that a result depends on.
#[derive(Clone, PartialEq)]
struct IntrospectionKey {
    text: Box<str>,
    operation: Option<Box<str>>,
    variables: Map<String, Value>,
}

impl IntrospectionKey {
    fn new(planned: PlannedOperation<'_>) -> Self {
        let name = planned.operation.name.as_ref();
        Self {
            text: planned.document.text().into(),
            operation: name.map(|name| name.as_str().into()),
            variables: planned.variables.clone(),
        }
    }
}

impl IntrospectionCache {
    /// Returns whether [`Self::execute`] finds the result in the cache, or has nothing to execute.
    pub(super) fn has(&self, operation: PlannedOperation<'_>) -> bool {
        !operation.introspects() || self.get(&IntrospectionKey::new(operation)).is_some()
    }

    /// Returns the result of the introspection fields of a plan, cached or executed now; empty if
    /// it has none.
    pub(super) fn execute(
        &self,
        schema: &Schema,
        operation: PlannedOperation<'_>,
    ) -> Result<Arc<IntrospectionData>, Error> {
        if !operation.introspects() {
            return Ok(Arc::default());
        }
        let key = IntrospectionKey::new(operation);
        if let Some(data) = self.get(&key) {
            return Ok(data);
        }
        let data = Arc::new(execute(schema, operation)?);
        // Aliases multiply the result: without this bound a client could cache megabytes.
        if data.iter().map(|(_, json)| json.len()).sum::<usize>() <= MAX_ENTRY_BYTES {
            self.insert(key, &data);
        }
        Ok(data)
    }

    fn get(&self, key: &IntrospectionKey) -> Option<Arc<IntrospectionData>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .find(|(other, _)| other == key)
            .map(|(_, data)| Arc::clone(data))
    }

    fn insert(&self, key: IntrospectionKey, data: &Arc<IntrospectionData>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == MAX_ENTRIES {
            entries.remove(0);
        }
        entries.push((key, Arc::clone(data)));
    }
}

/// Executes the introspection fields of a plan; empty if it has none.
pub(super) fn execute(
    schema: &Schema,
    operation: PlannedOperation<'_>,
) -> Result<IntrospectionData, Error> {
    if !operation.introspects() {
        return Ok(IntrospectionData::default());
    }
    let variables = to_json_map(operation.variables);
    to_texts(&schema.introspect(operation.document, operation.operation, variables)?)
}

impl PlannedOperation<'_> {
    fn introspects(self) -> bool {
        self.plan
            .fields
            .iter()
            .any(|field| matches!(field.value, ValuePlan::Introspection(_)))
    }
}

fn to_json_map(variables: &Map<String, Value>) -> JsonMap {
    variables
        .iter()
        .map(|(name, value)| {
            (
                name.as_str().into(),
                serde_json_bytes::Value::from(value.clone()),
            )
        })
        .collect()
}

fn to_texts(data: &JsonMap) -> Result<IntrospectionData, Error> {
    data.iter()
        .map(|(response_key, value)| {
            let text = serde_json::to_vec(value)
                .map_err(|error| Error::request(Code::Internal, error.to_string()))?;
            Ok((response_key.as_str().into(), text.into()))
        })
        .collect()
}
