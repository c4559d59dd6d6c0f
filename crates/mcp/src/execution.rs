//! Executes the document of a tool for a caller, within the limits of GraphQL requests.

use std::borrow::Cow;
use std::sync::Arc;

use admission::Peer;
use axum::body::Bytes;
use graphql::errors::Error;
use graphql::{Engine, Request};
use http_content::negotiation::AcceptableCodings;
use serde_json::{Map, Value};
use serving::Catalogs;

use crate::error::ToolError;

/// Maximum size in bytes of a GraphQL response that an answer is made from.
pub const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Maximum number of error messages of a response that an answer repeats.
const SHOWN_ERRORS: usize = 3;

/// Sender of a request.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'c> {
    /// The catalogs that it may see.
    pub(crate) catalogs: &'c Catalogs,
    /// The peer whose share of permits it uses.
    pub(crate) peer: Peer,
}

/// Executes a document and returns its response, of at most [`MAX_RESPONSE_BYTES`].
pub(crate) async fn execute(
    engine: &Arc<Engine>,
    caller: Caller<'_>,
    document: &'static str,
    variables: Map<String, Value>,
) -> Result<Bytes, ToolError> {
    let request = Request {
        query: Some(Cow::Borrowed(document)),
        variables: Some(variables),
        ..Request::default()
    };
    let prepared = engine
        .prepare_offloaded(&request, caller.catalogs, caller.peer)
        .await
        .map_err(|error| refused(&[error]))?;
    let response = prepared.respond(&AcceptableCodings::default()).await;
    let response = response.map_err(|errors| refused(&errors))?;
    if response.bytes.len() > MAX_RESPONSE_BYTES {
        return Err(ToolError::TooLarge);
    }
    Ok(response.bytes)
}

/// Returns the data of a response. An error of any field is an error of the whole.
pub(crate) fn data_of(response: &[u8]) -> Result<Value, ToolError> {
    let unreadable = |_| ToolError::Refused("the response is not JSON".to_owned());
    let mut response: Value = serde_json::from_slice(response).map_err(unreadable)?;
    match response["errors"].as_array() {
        Some(errors) => {
            let messages = errors.iter().filter_map(|error| error["message"].as_str());
            Err(refusal(messages))
        }
        None => Ok(response["data"].take()),
    }
}

pub(crate) fn refused(errors: &[Error]) -> ToolError {
    refusal(errors.iter().map(|error| error.message.as_ref()))
}

fn refusal<'m>(messages: impl Iterator<Item = &'m str>) -> ToolError {
    let shown: Vec<_> = messages.take(SHOWN_ERRORS).collect();
    ToolError::Refused(shown.join("; "))
}
