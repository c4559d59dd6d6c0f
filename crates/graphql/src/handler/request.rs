//! What a request over HTTP asks, and in which form it wants the answer.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::Refusal;
use crate::Request;
use crate::errors::Media;

/// The forms of an answer that a client accepts.
#[derive(Clone, Copy)]
pub(super) struct Accepted {
    /// The form of JSON that it ranks highest.
    pub(super) media: Option<Media>,
    pub(super) stream: StreamPreference,
}

/// Which streams a client accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamPreference {
    /// No stream.
    Never,
    /// A stream where there is nothing else to be had.
    ForSubscriptions,
    /// A stream of whatever it asks for.
    Always,
}

/// The request in a body of JSON.
pub(super) fn of_body(body: &[u8]) -> Result<Request<'_>, Refusal> {
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(bad("one request at a time: batches are not answered"));
    }
    let request: Request<'_> =
        serde_json::from_slice(body).map_err(|error| bad(format!("the body is no GraphQL request: {error}")))?;
    if request.has_document() { Ok(request) } else { Err(bad("the body has no `query`")) }
}

/// The request in the parameters of a URL: `query`, `documentId`, `operationName`, and `variables` and `extensions` as
/// JSON.
pub(super) fn of_url(parameters: &str) -> Result<Request<'_>, Refusal> {
    let mut request = Request::default();
    let mut seen = [false; 5];
    for (name, value) in form_urlencoded::parse(parameters.as_bytes()) {
        let at = match &*name {
            "query" => 0,
            "operationName" => 1,
            "variables" => 2,
            "extensions" => 3,
            "documentId" => 4,
            _ => continue,
        };
        if std::mem::replace(&mut seen[at], true) {
            return Err(bad(format!("the parameter `{name}` is given twice")));
        }
        match at {
            0 => request.query = Some(value),
            1 => request.operation_name = Some(value).filter(|name| !name.is_empty()),
            2 => request.variables = object(&name, &value)?,
            3 => request.extensions = object(&name, &value)?,
            _ => request.document_id = Some(value),
        }
    }
    if request.has_document() { Ok(request) } else { Err(bad("the parameter `query` is missing")) }
}

fn object(name: &str, text: &str) -> Result<Option<Map<String, Value>>, Refusal> {
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text).map_err(|error| bad(format!("the parameter `{name}` is no JSON object: {error}")))
}

fn bad(text: impl Into<String>) -> Refusal {
    (StatusCode::BAD_REQUEST, text.into())
}

/// The forms of an answer that a client accepts: `application/json` when it does not say.
pub(super) fn accepted(headers: &HeaderMap) -> Accepted {
    let mut ranges = headers.get_all(ACCEPT).iter().peekable();
    let mut accepted = Accepted { media: None, stream: StreamPreference::Never };
    if ranges.peek().is_none() {
        return Accepted { media: Some(Media::Json), ..accepted };
    }
    let (mut best, mut best_json) = (0.0, 0.0);
    for range in ranges.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let rank = parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
        let is = |other: &str| range.eq_ignore_ascii_case(other);
        let is_stream = is("text/event-stream");
        let media = if is("application/graphql-response+json") {
            Some(Media::GraphqlResponse)
        } else {
            (is("application/json") || is("application/*") || is("*/*")).then_some(Media::Json)
        };
        if media.is_some() && rank > best_json {
            (best_json, accepted.media) = (rank, media);
        }
        if is_stream && rank > 0.0 && accepted.stream == StreamPreference::Never {
            accepted.stream = StreamPreference::ForSubscriptions;
        }
        if rank > best {
            best = rank;
            accepted.stream = match (is_stream, accepted.stream) {
                (true, _) => StreamPreference::Always,
                (false, StreamPreference::Always) => StreamPreference::ForSubscriptions,
                (false, wish) => wish,
            };
        }
    }
    accepted
}

/// Whether a body is JSON in UTF-8. A page of another origin cannot send this type without asking first.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    json && parts.filter_map(|part| part.split_once('=')).all(|(name, value)| {
        !name.eq_ignore_ascii_case("charset") || value.trim_matches('"').eq_ignore_ascii_case("utf-8")
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_stream_is_taken_from_what_is_accepted() {
        // What urql sends with everything that it asks.
        let urql = "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed";
        let mixed = "text/event-stream;q=0.5, application/json";
        for (accept, expected) in [
            ("text/event-stream", StreamPreference::Always),
            ("Text/Event-Stream;q=0.1", StreamPreference::Always),
            ("text/event-stream, application/json", StreamPreference::Always),
            ("application/json;q=0.9, text/event-stream", StreamPreference::Always),
            (urql, StreamPreference::ForSubscriptions),
            (mixed, StreamPreference::ForSubscriptions),
            ("application/json", StreamPreference::Never),
            ("*/*", StreamPreference::Never),
            ("text/event-stream;q=0", StreamPreference::Never),
            ("", StreamPreference::Never),
        ] {
            let headers: HeaderMap = [(ACCEPT, HeaderValue::from_static(accept))].into_iter().collect();
            assert!(accepted(&headers).stream == expected, "{accept}");
        }
        assert!(accepted(&HeaderMap::new()).stream == StreamPreference::Never);
    }
}
