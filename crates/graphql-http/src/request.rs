//! GraphQL requests in bodies and URLs, and the media types that a client accepts.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::media_type::MediaType;
use graphql::Request;

/// Status and text of the response to a request that is not a well-formed GraphQL request.
pub(super) type BadRequest = (StatusCode, String);

/// The media types that a client accepts.
#[derive(Clone, Copy)]
pub(super) struct AcceptedMedia {
    /// The JSON media type that it ranks highest; `None` if it accepts none.
    pub(super) media: Option<MediaType>,
    pub(super) stream: StreamPreference,
}

/// Operations for which a client wants an event stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamPreference {
    /// Never: it does not accept event streams.
    Never,
    /// For subscriptions only: it ranks JSON higher.
    ForSubscriptions,
    /// For every operation.
    Always,
}

/// Parses the request in a JSON body.
pub(super) fn from_body(body: &[u8]) -> Result<Request<'_>, BadRequest> {
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(bad(
            "batched requests are not supported: send one request at a time",
        ));
    }
    let request: Request<'_> = serde_json::from_slice(body)
        .map_err(|error| bad(format!("the body is not a valid GraphQL request: {error}")))?;
    if request.has_document() {
        Ok(request)
    } else {
        Err(bad("the body has no `query`"))
    }
}

/// Parses the request in the parameters of a URL: `query`, `documentId`, `operationName`, and
/// `variables` and `extensions` as JSON.
pub(super) fn from_url(parameters: &str) -> Result<Request<'_>, BadRequest> {
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
    if request.has_document() {
        Ok(request)
    } else {
        Err(bad("the parameter `query` is missing"))
    }
}

fn object(name: &str, text: &str) -> Result<Option<Map<String, Value>>, BadRequest> {
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text).map_err(|error| {
        bad(format!(
            "the parameter `{name}` is not a JSON object: {error}"
        ))
    })
}

fn bad(text: impl Into<String>) -> BadRequest {
    (StatusCode::BAD_REQUEST, text.into())
}

/// Parses the `Accept` header (RFC 9110 §12.5.1); without one, `application/json` is accepted.
pub(super) fn accepted(headers: &HeaderMap) -> AcceptedMedia {
    let mut ranges = headers.get_all(ACCEPT).iter().peekable();
    let mut accepted = AcceptedMedia {
        media: None,
        stream: StreamPreference::Never,
    };
    if ranges.peek().is_none() {
        return AcceptedMedia {
            media: Some(MediaType::Json),
            ..accepted
        };
    }
    let mut best = 0.0;
    let mut best_json = 0.0;
    for range in ranges
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
    {
        let mut parts = range.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let rank = parts
            .find_map(|part| part.strip_prefix("q="))
            .map_or(1.0, |q| q.parse().unwrap_or(0.0));
        let is = |other: &str| range.eq_ignore_ascii_case(other);
        let is_stream = is("text/event-stream");
        let media = if is("application/graphql-response+json") {
            Some(MediaType::GraphqlResponse)
        } else {
            (is("application/json") || is("application/*") || is("*/*")).then_some(MediaType::Json)
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
                (false, preference) => preference,
            };
        }
    }
    accepted
}

/// Returns whether the client wants a page, as a browser does that opens a URL.
pub(super) fn is_browser(headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(ACCEPT).iter();
    ranges.any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("text/html"))
    })
}

/// Returns the media type of an error, which is sent also if the client accepts no JSON.
pub(super) fn media(headers: &HeaderMap) -> MediaType {
    accepted(headers).media.unwrap_or(MediaType::Json)
}

/// Returns whether the body is JSON in UTF-8. Pages of another origin cannot send this type without
/// a preflight request.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let mut parts = value.split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    json && parts
        .filter_map(|part| part.split_once('='))
        .all(|(name, value)| {
            !name.eq_ignore_ascii_case("charset")
                || value.trim_matches('"').eq_ignore_ascii_case("utf-8")
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
            (
                "text/event-stream, application/json",
                StreamPreference::Always,
            ),
            (
                "application/json;q=0.9, text/event-stream",
                StreamPreference::Always,
            ),
            (urql, StreamPreference::ForSubscriptions),
            (mixed, StreamPreference::ForSubscriptions),
            ("application/json", StreamPreference::Never),
            ("*/*", StreamPreference::Never),
            ("text/event-stream;q=0", StreamPreference::Never),
            ("", StreamPreference::Never),
        ] {
            let headers: HeaderMap = [(ACCEPT, HeaderValue::from_static(accept))]
                .into_iter()
                .collect();
            assert!(accepted(&headers).stream == expected, "{accept}");
        }
        assert!(accepted(&HeaderMap::new()).stream == StreamPreference::Never);
    }
}
