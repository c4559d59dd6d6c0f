//! Requests, as GraphQL over HTTP encodes them in JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A request, as GraphQL over HTTP encodes it in JSON.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Request<'a> {
    /// Source text of the document; `None` if `document_id` or the extension `persistedQuery` names
    /// a stored one.
    #[serde(borrow, default)]
    pub query: Option<Cow<'a, str>>,
    /// `sha256:` and the digest of a cached document, or the id of a trusted one.
    #[serde(borrow, default, rename = "documentId")]
    pub document_id: Option<Cow<'a, str>>,
    /// Name of the operation to execute; `None` if the document has only one.
    #[serde(borrow, default, rename = "operationName")]
    pub operation_name: Option<Cow<'a, str>>,
    /// Values of the operation's variables.
    #[serde(default)]
    pub variables: Option<Map<String, Value>>,
    /// Extensions of this server: `{"cost": true}` requests the cost in the response, and
    /// `persistedQuery` names a document by its digest, as Apollo's clients do.
    #[serde(default)]
    pub extensions: Option<Map<String, Value>>,
}

impl Request<'_> {
    /// Copies the borrowed texts of the request.
    pub fn into_owned(self) -> Request<'static> {
        let own = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        let Request {
            query,
            document_id,
            operation_name,
            variables,
            extensions,
        } = self;
        let query = own(query);
        let document_id = own(document_id);
        let operation_name = own(operation_name);
        Request {
            query,
            document_id,
            operation_name,
            variables,
            extensions,
        }
    }
}
