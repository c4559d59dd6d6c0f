//! Introspection: the values of `__schema` and `__type` as JSON text, by response key.
//!
//! Introspection takes milliseconds where everything else takes microseconds, and clients send the
//! same few introspection queries. The last results are therefore cached.

use std::sync::{Arc, Mutex, PoisonError};

use apollo_compiler::executable;
use apollo_compiler::response::{JsonMap, serde_json_bytes};
use serde_json::{Map, Value};

use super::document::{Document, Schema};
use super::errors::{Code, Error};
use super::plan::{Plan, ValuePlan};

/// Result of the introspection fields of an operation: JSON text by response key.
pub(super) type IntrospectionData = Vec<(Box<str>, Box<[u8]>)>;

/// Maximum number of cached results.
const MAX_ENTRIES: usize = 4;

/// Maximum size of a cached result, in bytes. The result for the whole schema is smaller.
const MAX_ENTRY_BYTES: usize = 1 << 20;

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
    fn new(
        document: &Document,
        operation: &executable::Operation,
        variables: &Map<String, Value>,
    ) -> Self {
        Self {
            text: document.text().into(),
            operation: operation.name.as_ref().map(|name| name.as_str().into()),
            variables: variables.clone(),
        }
    }
}

impl IntrospectionCache {
    /// Returns whether [`Self::execute`] finds the result in the cache, or has nothing to execute.
    pub(super) fn has(
        &self,
        document: &Document,
        operation: &executable::Operation,
        variables: &Map<String, Value>,
        plan: &Plan<'_>,
    ) -> bool {
        !introspects(plan)
            || self
                .get(&IntrospectionKey::new(document, operation, variables))
                .is_some()
    }

    /// Returns the result of the introspection fields of a plan, cached or executed now; empty if
    /// it has none.
    pub(super) fn execute(
        &self,
        schema: &Schema,
        document: &Document,
        operation: &executable::Operation,
        variables: &Map<String, Value>,
        plan: &Plan<'_>,
    ) -> Result<Arc<IntrospectionData>, Error> {
        if !introspects(plan) {
            return Ok(Arc::default());
        }
        let key = IntrospectionKey::new(document, operation, variables);
        if let Some(data) = self.get(&key) {
            return Ok(data);
        }
        let data = Arc::new(execute(schema, document, operation, variables, plan)?);
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
    document: &Document,
    operation: &executable::Operation,
    variables: &Map<String, Value>,
    plan: &Plan<'_>,
) -> Result<IntrospectionData, Error> {
    if introspects(plan) {
        to_texts(&schema.introspect(document, operation, to_json_map(variables))?)
    } else {
        Ok(IntrospectionData::default())
    }
}

fn introspects(plan: &Plan<'_>) -> bool {
    plan.fields
        .iter()
        .any(|field| matches!(field.value, ValuePlan::Introspection(_)))
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
