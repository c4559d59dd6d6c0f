//! The response to a request.

use super::errors::{self, Code, Error, Outcome};

/// The response to a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    /// JSON text: an object with `data`, `errors`, or both.
    pub body: Vec<u8>,
    /// Result of the request.
    pub outcome: Outcome,
    /// Code of the error because of which there is no data; `None` if the request was executed.
    pub(super) refused: Option<Code>,
    /// Images whose manifests would replace errors of the response.
    pub(super) wanted_images: Vec<String>,
}

impl Response {
    /// Creates a response of its JSON text.
    pub fn new(body: Vec<u8>, outcome: Outcome) -> Self {
        Self {
            body,
            outcome,
            refused: None,
            wanted_images: Vec::new(),
        }
    }

    /// Creates a response without `data`.
    pub fn from_errors(errors: &[Error], outcome: Outcome) -> Self {
        let refused = Some(errors.first().map_or(Code::Internal, |error| error.code));
        Self {
            body: errors::body(errors),
            outcome,
            refused,
            wanted_images: Vec::new(),
        }
    }
}
