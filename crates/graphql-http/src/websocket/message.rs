//! The messages of `graphql-transport-ws`, which are JSON objects.

use axum::body::Bytes;
use axum::http::HeaderValue;
use graphql::Request;
use graphql::errors::{self, Error};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A message of the client.
pub(super) enum Incoming<'m> {
    /// `connection_init` with its payload, which [`authorization`] parses.
    Init(Option<&'m RawValue>),
    /// `ping` with the payload that the `pong` repeats.
    Ping(Option<&'m RawValue>),
    Pong,
    /// `subscribe` with its request, which [`request`] parses.
    Subscribe {
        id: String,
        payload: &'m RawValue,
    },
    Complete {
        id: String,
    },
}

/// A message about an operation.
pub(super) enum Outgoing {
    /// A response.
    Next(Bytes),
    /// A JSON array of request errors; no message follows.
    Errors(Bytes),
    /// No message follows.
    Complete,
}

/// The reply to `connection_init`.
pub(super) const ACKNOWLEDGED: &str = r#"{"type":"connection_ack"}"#;

/// Members of a message, with an unparsed payload.
#[derive(Deserialize)]
struct RawMessage<'m> {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    #[serde(borrow)]
    payload: Option<&'m RawValue>,
}

/// Members of the payload of `connection_init` that the server reads. It ignores others, such as
/// those for a gateway.
#[derive(Default, Deserialize)]
struct InitPayload {
    #[serde(rename = "Authorization", alias = "authorization")]
    authorization: Option<String>,
}

/// The payload of `connection_init` is malformed.
pub(super) struct PayloadError;

impl<'m> Incoming<'m> {
    /// Parses a message; `None` if it is malformed.
    pub(super) fn read(text: &'m str) -> Option<Self> {
        let RawMessage { kind, id, payload } = serde_json::from_str(text).ok()?;
        let is_object = payload.is_none_or(|payload| payload.get().starts_with('{'));
        let id = id.filter(|id| !id.is_empty());
        match kind.as_str() {
            "connection_init" if is_object => Some(Self::Init(payload)),
            "ping" if is_object => Some(Self::Ping(payload)),
            "pong" if is_object => Some(Self::Pong),
            "complete" => Some(Self::Complete { id: id? }),
            "subscribe" => Some(Self::Subscribe {
                id: id?,
                payload: payload?,
            }),
            _ => None,
        }
    }
}

impl Outgoing {
    /// Returns the message with the request errors of an operation.
    pub(super) fn errors(errors: &[Error]) -> Self {
        let mut list = Vec::new();
        errors::write_list(errors, &mut list);
        Self::Errors(list.into())
    }

    /// Returns the JSON of the message about the operation with this id. In parts, so that the
    /// payload is not copied.
    pub(super) fn into_parts(self, id: &str) -> [Bytes; 3] {
        let (kind, payload) = match self {
            Self::Next(result) => ("next", Some(result)),
            Self::Errors(errors) => ("error", Some(errors)),
            Self::Complete => ("complete", None),
        };
        let member = if payload.is_some() {
            ",\"payload\":"
        } else {
            ""
        };
        let head = format!("{{\"id\":{},\"type\":\"{kind}\"{member}", Value::from(id));
        [
            head.into(),
            payload.unwrap_or_default(),
            Bytes::from_static(b"}"),
        ]
    }
}

/// Parses the request of a `subscribe` message; `None` if it is malformed.
pub(super) fn request(payload: &RawValue) -> Option<Request<'_>> {
    let request: Request<'_> = serde_json::from_str(payload.get()).ok()?;
    request.has_document().then_some(request)
}

/// Returns the value of `Authorization` in the payload of a `connection_init`.
pub(super) fn authorization(
    payload: Option<&RawValue>,
) -> Result<Option<HeaderValue>, PayloadError> {
    let payload = payload
        .map(|payload| serde_json::from_str::<InitPayload>(payload.get()))
        .transpose();
    let text = payload
        .map_err(|_| PayloadError)?
        .and_then(|payload| payload.authorization);
    text.map(|text| HeaderValue::try_from(text).map_err(|_| PayloadError))
        .transpose()
}

/// Returns a message in one part.
pub(super) fn whole(json: String) -> [Bytes; 3] {
    [json.into(), Bytes::new(), Bytes::new()]
}

/// Returns the reply to a `ping`.
pub(super) fn pong(payload: Option<&RawValue>) -> String {
    match payload {
        Some(payload) => format!(r#"{{"type":"pong","payload":{payload}}}"#),
        None => r#"{"type":"pong"}"#.to_owned(),
    }
}
