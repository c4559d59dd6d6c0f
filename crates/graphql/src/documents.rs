//! Documents that requests need not send: the document cache, by SHA-256 of the source text, and
//! trusted documents, by the ids that clients use.
//!
//! Clients name a document by its digest (Apollo's `persistedQuery`, `documentId`), or by the id
//! that a compiler assigned: an MD5, a SHA-256 or any other text. An id is never checked against
//! the text of the document.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use ::metrics::Histogram;
use apollo_compiler::executable;
use fbc_grammar::Digest;
use serving::BoundedCache;
use sha2::{Digest as _, Sha256};

use super::document::Document;
use super::errors::{Code, Error, Location};
use super::limits::Limits;
use super::metrics;
use super::request::Request;
use super::schema::Schema;

/// Memory of a parsed document in bytes, besides what grows with its text.
const BYTES_PER_DOCUMENT: usize = 1_024;

/// Memory of a parsed document in bytes, for each byte of its text: about 25 if names are long, 60
/// if they are short.
const BYTES_PER_BYTE: usize = 40;

/// Length in bytes of a document from which parsing and validating it may take longer than half a
/// millisecond: one of names with one letter.
const LONG_DOCUMENT_BYTES: usize = 1 << 10;

/// Policy for the documents to execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentPolicy {
    /// Every document.
    #[default]
    Any,
    /// Only trusted documents.
    TrustedOnly,
}

/// The document cache and the trusted documents.
pub(super) struct Documents {
    cache: BoundedCache<Digest, Document>,
    trusted: TrustedDocuments,
    policy: DocumentPolicy,
    /// Time of parsing and validation.
    parse: Histogram,
}

/// A request with its validated document.
pub(super) struct ResolvedRequest<'r> {
    pub(super) request: &'r Request<'r>,
    pub(super) document: Arc<Document>,
    /// SHA-256 of the document's source text; the key of the document cache.
    pub(super) digest: Digest,
    /// True if the response has the cost in its `extensions`.
    pub(super) includes_cost: bool,
}

/// Documents that the operator configured.
#[derive(Default)]
struct TrustedDocuments {
    by_id: HashMap<Box<str>, Digest>,
    by_digest: HashMap<Digest, Arc<Document>>,
}

/// Error in the configured trusted documents.
#[derive(Debug, thiserror::Error)]
pub enum UntrustedError {
    /// The text is not a JSON object whose values are strings.
    #[error("expected a JSON object of documents by their ids")]
    Form(#[source] serde_json::Error),
    /// A document is invalid or exceeds a limit.
    #[error("the document \"{id}\" is refused{}: {message}", at(*.location))]
    Document {
        /// Id of the document.
        id: String,
        /// Position of the error in the document.
        location: Option<Location>,
        /// Message of the error.
        message: String,
    },
    /// Two documents have the same id.
    #[error("two documents have the id \"{0}\": change one of them")]
    Ambiguous(String),
}

fn at(location: Option<Location>) -> String {
    location
        .map(|Location { line, column }| format!(" at {line}:{column}"))
        .unwrap_or_default()
}

impl Documents {
    /// Creates an empty document cache of the size that the limits allow, without trusted
    /// documents.
    pub(super) fn new(limits: &Limits) -> Self {
        let cache = BoundedCache::with_entries_and_bytes(limits.documents, limits.document_bytes);
        Self {
            cache,
            trusted: TrustedDocuments::default(),
            policy: DocumentPolicy::Any,
            parse: metrics::phase(),
        }
    }

    /// Sets which documents are executed from now on.
    pub(super) fn set_policy(&mut self, policy: DocumentPolicy) {
        self.policy = policy;
    }

    /// Returns the durations of parsing and validation.
    pub(super) fn parse_durations(&self) -> &Histogram {
        &self.parse
    }

    /// Adds the documents of a JSON object, each by its id, to the trusted ones. Returns the number
    /// of trusted documents.
    pub(super) fn trust(
        &mut self,
        json: &str,
        schema: &Schema,
        limits: &Limits,
    ) -> Result<usize, UntrustedError> {
        let texts: BTreeMap<String, String> =
            serde_json::from_str(json).map_err(UntrustedError::Form)?;
        for (id, text) in texts {
            let digest = digest(&text);
            let document = schema.parse(&text, limits).map_err(
                |Error {
                     location, message, ..
                 }| {
                    UntrustedError::Document {
                        id: id.clone(),
                        location,
                        message,
                    }
                },
            )?;
            self.trusted
                .by_digest
                .entry(digest)
                .or_insert_with(|| Arc::new(document));
            if self
                .trusted
                .by_id
                .insert(id.as_str().into(), digest)
                .is_some_and(|other| other != digest)
            {
                return Err(UntrustedError::Ambiguous(id));
            }
        }
        Ok(self.trusted.by_digest.len())
    }

    /// Returns the document in a request and its digest, if [`Self::resolve`] would parse it and
    /// that takes long.
    pub(super) fn unparsed<'r>(&self, request: &'r Request<'_>) -> Option<(Digest, &'r str)> {
        let text = request
            .query
            .as_deref()
            .filter(|text| text.len() > LONG_DOCUMENT_BYTES)?;
        let digest = digest(text);
        let is_known =
            self.trusted.by_digest.contains_key(&digest) || self.cache.get(&digest).is_some();
        (!is_known && self.policy == DocumentPolicy::Any).then_some((digest, text))
    }

    /// Finds the document of a request: a trusted or cached one, or else the one in the request,
    /// which is then cached. `parsed` is the result of parsing that one, if it is done.
    pub(super) fn resolve<'r>(
        &self,
        request: &'r Request<'r>,
        schema: &Schema,
        limits: &Limits,
        parsed: Option<Result<Arc<Document>, Error>>,
    ) -> Result<ResolvedRequest<'r>, Error> {
        let sent = request.query.as_deref().map(digest);
        let named = request.named().map(|id| self.named(&id)).transpose();
        // Otherwise the message would tell clients how to name documents that they may not use.
        let named = named.map_err(|error| {
            if self.policy == DocumentPolicy::TrustedOnly {
                not_trusted()
            } else {
                error
            }
        })?;
        let digest = match (sent, named) {
            (Some(sent), Some(named)) if sent != named => {
                let message = "provided sha does not match query";
                return Err(Error::request(Code::PersistedQueryHashMismatch, message));
            }
            (Some(digest), _) | (None, Some(digest)) => digest,
            (None, None) => {
                return Err(Error::request(
                    Code::ParseFailed,
                    "the request has no document",
                ));
            }
        };
        let document = match self.trusted.by_digest.get(&digest) {
            Some(document) => Arc::clone(document),
            None if self.policy == DocumentPolicy::TrustedOnly => return Err(not_trusted()),
            None => match parsed {
                Some(parsed) => parsed?,
                None => self.untrusted(digest, request, schema, limits)?,
            },
        };
        Ok(ResolvedRequest {
            request,
            digest,
            document,
            includes_cost: request.includes_cost(),
        })
    }

    fn untrusted(
        &self,
        digest: Digest,
        request: &Request<'_>,
        schema: &Schema,
        limits: &Limits,
    ) -> Result<Arc<Document>, Error> {
        if let Some(document) = self.cache.get(&digest) {
            return Ok(document);
        }
        // The message on which Apollo's clients send the text.
        let not_found = || Error::request(Code::PersistedQueryNotFound, "PersistedQueryNotFound");
        self.parse(
            digest,
            request.query.as_ref().ok_or_else(not_found)?,
            schema,
            limits,
        )
    }

    /// Parses and validates a document with this digest, and caches it.
    pub(super) fn parse(
        &self,
        digest: Digest,
        text: &str,
        schema: &Schema,
        limits: &Limits,
    ) -> Result<Arc<Document>, Error> {
        let begun = Instant::now();
        let parsed = schema.parse(text, limits);
        self.parse.observe_duration(begun.elapsed());
        let document = Arc::new(parsed?);
        self.cache.insert(digest, &document, size(text));
        Ok(document)
    }

    /// Returns the digest of the document that a request names.
    fn named(&self, id: &DocumentId<'_>) -> Result<Digest, Error> {
        let bad = |what: &str| Error::request(Code::BadUserInput, what);
        let trusted = |id: &str| self.trusted.by_id.get(id).copied();
        match *id {
            DocumentId::Document(id) => trusted(id).or_else(|| Digest::parse(id)).ok_or_else(|| {
                bad("`documentId` must be sha256: and 64 lower-case digits, or the id of a document that is trusted")
            }),
            DocumentId::Persisted(Some(hash)) => {
                trusted(hash).or_else(|| Digest::parse(&format!("sha256:{hash}"))).ok_or_else(|| bad(PERSISTED))
            }
            DocumentId::Persisted(None) => Err(bad(PERSISTED)),
        }
    }
}

const PERSISTED: &str = "`persistedQuery` must have version 1 and a sha256Hash of 64 digits";

fn not_trusted() -> Error {
    Error::request(
        Code::QueryNotInSafelist,
        "the server executes only trusted documents",
    )
}

/// Id by which a request names its document.
enum DocumentId<'r> {
    /// The parameter `documentId`.
    Document(&'r str),
    /// The hash in the extension `persistedQuery`; `None` if the extension is malformed.
    Persisted(Option<&'r str>),
}

impl ResolvedRequest<'_> {
    /// Returns whether the operation is a subscription.
    pub(super) fn is_subscription(&self) -> bool {
        let operation = self
            .document
            .operation(self.request.operation_name.as_deref());
        operation.is_ok_and(executable::Operation::is_subscription)
    }
}

impl Request<'_> {
    /// Returns whether the request has a document or names one.
    pub fn has_document(&self) -> bool {
        self.query.is_some() || self.named().is_some()
    }

    fn named(&self) -> Option<DocumentId<'_>> {
        if let Some(id) = &self.document_id {
            return Some(DocumentId::Document(id));
        }
        let persisted = self.extensions.as_ref()?.get("persistedQuery")?;
        Some(DocumentId::Persisted(
            persisted["sha256Hash"]
                .as_str()
                .filter(|_| persisted["version"] == 1),
        ))
    }

    /// Returns whether the request has the extension `cost`.
    fn includes_cost(&self) -> bool {
        self.extensions
            .as_ref()
            .is_some_and(|extensions| extensions.get("cost") == Some(&true.into()))
    }
}

/// Returns the SHA-256 of a document's source text; the key of the document cache.
fn digest(text: &str) -> Digest {
    Digest::new(Sha256::digest(text.as_bytes()).into())
}

fn size(text: &str) -> usize {
    BYTES_PER_DOCUMENT + text.len() * BYTES_PER_BYTE
}

#[cfg(test)]
mod tests;
