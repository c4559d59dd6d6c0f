//! Introspection: what the schema says of itself, as text for each response key.
//!
//! It takes milliseconds where everything else takes microseconds, and clients ask the same few questions, so the last
//! answers are cached.

use std::sync::{Arc, Mutex, PoisonError};

use apollo_compiler::executable;
use apollo_compiler::response::{JsonMap, serde_json_bytes};
use serde_json::{Map, Value};

use super::document::{Document, Schema};
use super::errors::{Code, Error};
use super::plan::{Plan, Selected};

/// What introspection said: JSON text by response key.
pub(super) type Introspection = Vec<(Box<str>, Box<[u8]>)>;

/// Number of cached answers
const MAX_ANSWERS: usize = 4;

/// Maximum size of a cached answer, in bytes; that to the whole schema is smaller.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The last answers, the latest last.
#[derive(Default)]
pub(super) struct Introspections {
    answers: Mutex<Vec<(IntrospectionKey, Arc<Introspection>)>>,
}

/// What an answer depends on.
#[derive(Clone, PartialEq)]
struct IntrospectionKey {
    text: Box<str>,
    operation: Option<Box<str>>,
    variables: Map<String, Value>,
}

impl Introspections {
    /// What the introspection fields of a plan say.
    pub(super) fn answer(
        &self,
        schema: &Schema,
        document: &Document,
        operation: &executable::Operation,
        variables: &Map<String, Value>,
        plan: &Plan<'_>,
    ) -> Result<Arc<Introspection>, Error> {
        if !plan.fields.iter().any(|field| matches!(field.value, Selected::Introspection(_))) {
            return Ok(Arc::default());
        }
        let question = IntrospectionKey {
            text: document.text().into(),
            operation: operation.name.as_ref().map(|name| name.as_str().into()),
            variables: variables.clone(),
        };
        if let Some(answer) = self.get(&question) {
            return Ok(answer);
        }
        let said = schema.introspect(document, operation, to_json_map(variables))?;
        let answer = Arc::new(to_texts(&said)?);
        if answer.iter().map(|(_, json)| json.len()).sum::<usize>() <= MAX_ANSWER_BYTES {
            self.insert(question, &answer);
        }
        Ok(answer)
    }

    fn get(&self, question: &IntrospectionKey) -> Option<Arc<Introspection>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().find(|(other, _)| other == question).map(|(_, answer)| Arc::clone(answer))
    }

    fn insert(&self, question: IntrospectionKey, answer: &Arc<Introspection>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() == MAX_ANSWERS {
            answers.remove(0);
        }
        answers.push((question, Arc::clone(answer)));
    }
}

fn to_json_map(variables: &Map<String, Value>) -> JsonMap {
    variables.iter().map(|(name, value)| (name.as_str().into(), serde_json_bytes::Value::from(value.clone()))).collect()
}

fn to_texts(said: &JsonMap) -> Result<Introspection, Error> {
    said.iter()
        .map(|(key, value)| {
            let text = serde_json::to_vec(value).map_err(|error| Error::request(Code::Internal, error.to_string()))?;
            Ok((key.as_str().into(), text.into()))
        })
        .collect()
}
