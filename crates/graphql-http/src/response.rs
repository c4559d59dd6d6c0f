//! HTTP responses with one GraphQL response: media type, status, validators, and the budget for
//! unread bytes.
//!
//! This module does not read requests.

use admission::Peer;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use graphql::errors::{Error, Outcome};
use graphql::{EncodedResponse, Validator};
use http_content::cache_control::{REVALIDATE, SURROGATE_KEY};
use http_content::coding::Coding;
use http_content::negotiation::{AcceptableCodings, etag_suffix};
use http_content::preconditions::{EmptyBody, WEAK};

use super::media_type::MediaType;
use super::{GraphqlService, IMMUTABLE, NEGOTIATED, limit_errors};

/// The selected representation of a response (RFC 9110 §3.2), except for its content coding.
pub(super) struct ResponseRepresentation {
    pub(super) media: MediaType,
    /// Validator of a response that HTTP caches may store; `None` for responses to `POST`.
    pub(super) validator: Option<Validator>,
    /// Key by which shared caches purge such a response.
    pub(super) surrogate_key: Option<HeaderValue>,
}

impl GraphqlService {
    /// Sends a response, unless the budget for unread responses is exhausted.
    pub(super) fn send(
        &self,
        peer: Peer,
        response: EncodedResponse,
        representation: ResponseRepresentation,
    ) -> Response {
        match self.in_flight.try_hold(peer, response.bytes) {
            Some(bytes) => representation.respond(EncodedResponse { bytes, ..response }),
            None => limit_errors::overloaded(&self.unread(), representation.media),
        }
    }

    /// Returns the error of a response beyond the budget, and counts it.
    pub(super) fn unread(&self) -> Error {
        let error = limit_errors::unread_responses();
        self.engine.metrics().refused[error.code].inc();
        error
    }
}

impl ResponseRepresentation {
    /// Responds with 304 if the client has the response, in one of these codings or in none.
    pub(super) fn not_modified(
        &self,
        headers: &HeaderMap,
        codings: &AcceptableCodings,
    ) -> Option<Response> {
        let validator = self.validator?;
        let stored =
            codings.stored_by_client(headers, |coding| self.entity_tag(validator, coding))?;
        let mut response = Response::new(Body::new(EmptyBody));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
            .headers_mut()
            .insert(VARY, HeaderValue::from_static(NEGOTIATED));
        self.insert_validators(&stored.etag, response.headers_mut());
        Some(response)
    }

    fn respond(self, encoded: EncodedResponse) -> Response {
        let EncodedResponse {
            bytes,
            coding,
            outcome,
        } = encoded;
        let mut response = bytes.into_response();
        *response.status_mut() = self.media.status(outcome);
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static(self.media.content_type()),
        );
        headers.insert(VARY, HeaderValue::from_static(NEGOTIATED));
        if let Some(coding) = coding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        if outcome != Outcome::Complete {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        } else if let Some(validator) = self.validator {
            self.insert_validators(&self.entity_tag(validator, coding), headers);
        }
        response
    }

    /// Inserts the entity tag, the time for which caches may reuse the response, and its surrogate
    /// key.
    fn insert_validators(&self, tag: &str, headers: &mut HeaderMap) {
        // Always succeeds: a tag has only characters of base64 and of codings.
        if let Ok(tag) = HeaderValue::from_str(tag) {
            headers.insert(ETAG, tag);
        }
        let is_immutable = self
            .validator
            .is_some_and(|validator| validator.is_immutable());
        let control = if is_immutable { IMMUTABLE } else { REVALIDATE };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(control));
        if let Some(key) = &self.surrogate_key {
            headers.insert(SURROGATE_KEY, key.clone());
        }
    }

    /// Returns the entity tag of the response in a content coding, with its quotes. That of a
    /// compressed one is weak: cached responses are compressed at another level, to other bytes.
    fn entity_tag(&self, validator: Validator, coding: Option<Coding>) -> String {
        let mut tag = String::with_capacity(48);
        if coding.is_some() {
            tag.push_str(WEAK);
        }
        tag.push('"');
        validator.append_to(&mut tag);
        tag.push_str(match self.media {
            MediaType::Json => "-json",
            MediaType::GraphqlResponse => "-gqlr",
        });
        tag.push_str(etag_suffix(coding));
        tag.push('"');
        tag
    }
}

#[cfg(test)]
mod tests;
