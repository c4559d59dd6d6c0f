//! Media types of GraphQL responses, and their statuses.

use axum::http::StatusCode;
use graphql::errors::Outcome;

/// Media type of a response with one JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaType {
    /// `application/json`, where every well-formed request gets the status 200.
    Json,
    /// `application/graphql-response+json`, where a request error has the status 400.
    GraphqlResponse,
}

impl MediaType {
    /// Returns the header field `Content-Type`.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            MediaType::Json => "application/json; charset=utf-8",
            MediaType::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
        }
    }

    /// Returns the HTTP status of a response of this type.
    pub(super) fn status(self, outcome: Outcome) -> StatusCode {
        match (outcome, self) {
            (Outcome::Refused, MediaType::GraphqlResponse) => StatusCode::BAD_REQUEST,
            (Outcome::Complete | Outcome::Partial | Outcome::Refused | Outcome::Abandoned, _) => {
                StatusCode::OK
            }
        }
    }
}
