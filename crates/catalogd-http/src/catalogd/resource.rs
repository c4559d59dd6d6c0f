//! The resources of this view: all lines of a content, or those of the blobs that match a filter;
//! their representations in each coding, and the responses with them.
//!
//! This module does not know the paths of resources.

use admission::{FairSemaphore, Peer, PeerPermit, Permits};
use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED,
    RANGE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use fbc_grammar::Digest;
use http_content::coding::{Coding, CompressionLevel, MIN_ENCODED_BYTES};
use http_content::negotiation::{AcceptableCodings, etag_suffix, is_worth_compressing};
use http_content::preconditions::{EmptyBody, PreconditionResult, Validators, first_value};
use serving::Served;
use sha2::{Digest as _, Sha256};

use super::super::body::{CompressedSlices, Slices};
use super::super::ranges::Ranges;
use super::encoding_cache::{EncodingCache, EncodingKey};
use super::parameters::Parameters;
use super::{parts, responses};

/// Maximum length in bytes of filtered blobs that are compressed before the response begins, which
/// then has a `Content-Length`. Longer ones are compressed while they are sent: compressing them in
/// one piece would delay other requests.
pub const MAX_ENCODED_BYTES: usize = 128 * 1024;

/// Maximum number of responses that are compressed while they are sent, at one time. Further ones
/// are not compressed. The memory of their encoders is about 1 MiB each.
pub const MAX_COMPRESSED_STREAMS: usize = 32;

const JSON_LINES: &str = "application/jsonl";

/// Compresses responses, within limits that all of them share.
#[derive(Clone)]
pub(super) struct Compression {
    /// Bounds the responses that are compressed while they are sent.
    pub(super) streams: Permits,
    /// Bounds concurrent searches and compressions.
    pub(super) work: FairSemaphore<Peer>,
    /// Compressed forms of filtered blobs.
    pub(super) cache: EncodingCache,
}

/// Lines of one content.
pub(super) struct Resource<'s> {
    served: &'s Served,
    lines: Slices,
    /// True for all lines of the content.
    is_whole: bool,
    /// True if ranges are supported, as for catalogd's whole catalogs.
    has_ranges: bool,
    /// Hash of everything that the lines depend on: the opaque part of the entity tag, without the
    /// suffix of a coding.
    tag: Digest,
}

/// The representation that is selected for a response.
enum SelectedRepresentation {
    Plain,
    /// A compressed form that was made before.
    Stored(Coding, Bytes),
    /// Compressed in one piece for this response.
    Compressed(Coding),
    /// Compressed while it is sent.
    Streamed(Coding, PeerPermit),
    /// The one that the client has stored: no body is needed.
    NotNeeded(Option<Coding>),
}

impl SelectedRepresentation {
    fn coding(&self) -> Option<Coding> {
        match self {
            Self::Plain => None,
            Self::Stored(coding, _) | Self::Compressed(coding) | Self::Streamed(coding, _) => {
                Some(*coding)
            }
            Self::NotNeeded(coding) => *coding,
        }
    }
}

impl<'s> Resource<'s> {
    /// Creates the resource of all lines.
    pub(super) fn all(served: &'s Served) -> Self {
        let lines = Slices::whole(served.content.catalog.content().clone());
        Self {
            served,
            lines,
            is_whole: true,
            has_ranges: true,
            tag: served.content.digest,
        }
    }

    /// Creates the resource of the blobs that match a filter, whose lines these are.
    pub(super) fn metas(
        served: &'s Served,
        parameters: &Parameters,
        build: &str,
        lines: Slices,
    ) -> Self {
        let tag = metas_etag(served, parameters, build);
        Self {
            served,
            lines,
            is_whole: parameters.is_empty(),
            has_ranges: false,
            tag,
        }
    }

    /// Responds to a `GET` or `HEAD` request.
    pub(super) async fn respond(self, head: &Parts, compression: &Compression) -> Response {
        let representation = self.select(head, compression);
        let validators = self.validators(representation.coding());
        match validators.evaluate(&head.headers) {
            PreconditionResult::Satisfied => {
                self.send(representation, head, &validators, &compression.work)
                    .await
            }
            PreconditionResult::NotModified => (
                StatusCode::NOT_MODIFIED,
                validator_headers(&validators),
                Body::new(EmptyBody),
            )
                .into_response(),
            PreconditionResult::Failed => {
                let mut headers = validator_headers(&validators);
                // catalogd serves whole catalogs with Go's `http.ServeContent`, which sends the
                // type also here.
                if self.has_ranges {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
                }
                // Go sends `Content-Length: 0` with a 412 to `GET` and none with one to `HEAD`.
                let body = if head.method == Method::HEAD {
                    Body::new(EmptyBody)
                } else {
                    Body::empty()
                };
                (StatusCode::PRECONDITION_FAILED, headers, body).into_response()
            }
        }
    }

    /// Returns the key of the compressed form that the response to a request will have, if an earlier
    /// request had it, too, and it is not cached.
    pub(super) fn missed_encoding(
        &self,
        head: &Parts,
        compression: &Compression,
    ) -> Option<EncodingKey> {
        let codings = self.codings(head)?;
        let stored = codings.stored_by_client(&head.headers, |coding| self.validators(coding).etag);
        if stored.is_some() || self.is_whole {
            return None;
        }
        let key = self.encoding_key(codings.preferred()?);
        compression.cache.is_wanted(&key).then_some(key)
    }

    /// Returns the codings in which a request can be answered; `None` if it asks for plain lines.
    fn codings(&self, head: &Parts) -> Option<AcceptableCodings> {
        // Ranges are ranges of the plain lines, and the length in a response to `HEAD` is that of
        // the plain lines.
        let is_range = self.has_ranges && first_value(&head.headers, &RANGE).is_some();
        if head.method != Method::GET || is_range {
            return None;
        }
        let codings = AcceptableCodings::from_headers(&head.headers);
        Some(codings.available_in(|coding| self.is_available(coding)))
    }

    /// Selects the representation for a request: the one that the client has stored, or else the
    /// best available one.
    fn select(&self, head: &Parts, compression: &Compression) -> SelectedRepresentation {
        let Some(codings) = self.codings(head) else {
            return SelectedRepresentation::Plain;
        };
        if let Some(stored) =
            codings.stored_by_client(&head.headers, |coding| self.validators(coding).etag)
        {
            return SelectedRepresentation::NotNeeded(stored.coding);
        }
        let Some(coding) = codings.preferred() else {
            return SelectedRepresentation::Plain;
        };
        let stored = self.stored_encoding(coding).cloned();
        if let Some(bytes) = stored.or_else(|| self.cached_encoding(coding, compression)) {
            return SelectedRepresentation::Stored(coding, bytes);
        }
        if self.is_compressed_at_once() {
            return SelectedRepresentation::Compressed(coding);
        }
        compression
            .streams
            .try_acquire(Peer::from_extensions(&head.extensions), 1)
            .map_or(SelectedRepresentation::Plain, |permit| {
                SelectedRepresentation::Streamed(coding, permit)
            })
    }

    /// Returns whether the lines can be sent in a coding. A whole catalog that is long can only if
    /// its compressed form is stored, which is made in the background.
    fn is_available(&self, coding: Coding) -> bool {
        let is_streamed = !self.is_whole && self.length() >= MIN_ENCODED_BYTES;
        self.is_compressed_at_once() || is_streamed || self.stored_encoding(coding).is_some()
    }

    fn is_compressed_at_once(&self) -> bool {
        is_worth_compressing(self.length(), MAX_ENCODED_BYTES)
    }

    fn length(&self) -> usize {
        usize::try_from(self.lines.length()).unwrap_or(usize::MAX)
    }

    fn stored_encoding(&self, coding: Coding) -> Option<&Bytes> {
        self.served
            .content
            .encodings
            .get(coding)
            .filter(|_| self.is_whole)
    }

    fn cached_encoding(&self, coding: Coding, compression: &Compression) -> Option<Bytes> {
        if self.is_whole {
            return None;
        }
        compression.cache.get(&self.encoding_key(coding))
    }

    fn encoding_key(&self, coding: Coding) -> EncodingKey {
        EncodingKey {
            text: self.tag,
            coding,
        }
    }

    fn validators(&self, coding: Option<Coding>) -> Validators {
        // The store makes the modification times of two contents of a source differ by a second at
        // least.
        let modified = self
            .served
            .content
            .last_unpacked
            .and_then(|at| u64::try_from(at.as_second()).ok());
        let validators = Validators::new(
            &format!("{}{}", self.tag.hex(), etag_suffix(coding)),
            modified,
        );
        // A form that is cached has other bytes than one that is compressed while it is sent.
        if coding.is_some() && !self.is_whole {
            validators.weak()
        } else {
            validators
        }
    }

    /// Responds with a representation whose preconditions are satisfied.
    async fn send(
        self,
        representation: SelectedRepresentation,
        head: &Parts,
        validators: &Validators,
        work: &FairSemaphore<Peer>,
    ) -> Response {
        let Some(coding) = representation.coding() else {
            return self.send_plain(&head.headers, validators);
        };
        let peer = Peer::from_extensions(&head.extensions);
        let body = match representation {
            SelectedRepresentation::Stored(_, bytes) => Some(Body::from(Slices::whole(bytes))),
            SelectedRepresentation::Streamed(_, permit) => {
                CompressedSlices::new(self.lines, coding, permit)
                    .ok()
                    .map(|slices| slices.body(work, peer))
            }
            _ => {
                let lines = self.lines;
                let compress =
                    move || coding.compress_to_vec(&lines.concat(), CompressionLevel::Fast);
                work.acquire(&peer)
                    .await
                    .run(compress)
                    .await
                    .ok()
                    .map(Body::from)
            }
        };
        let Some(body) = body else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let mut headers = representation_headers(validators);
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        (headers, body).into_response()
    }

    /// Responds with the plain lines, or with the ranges of them that the request selects.
    fn send_plain(self, request: &HeaderMap, validators: &Validators) -> Response {
        let mut headers = representation_headers(validators);
        if !self.has_ranges {
            return (headers, Body::from(self.lines)).into_response();
        }
        let content = self.served.content.catalog.content().clone();
        let range =
            first_value(request, &RANGE).filter(|_| validators.allows_partial_response(request));
        let ranges =
            match range.map_or(Ok(Ranges::Whole), |text| Ranges::parse(text, content.len())) {
                Ok(ranges) => ranges,
                Err(error) => return responses::range_not_satisfiable(error, content.len()),
            };
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let (status, body) = match ranges {
            Ranges::Whole => (StatusCode::OK, self.lines),
            Ranges::One(range) => {
                headers.insert(CONTENT_RANGE, parts::content_range(&range, content.len()));
                let mut slices = Slices::new(content);
                slices.push(range);
                (StatusCode::PARTIAL_CONTENT, slices)
            }
            Ranges::Many(ranges) => {
                let boundary = parts::boundary(&validators.etag);
                headers.insert(CONTENT_TYPE, parts::content_type(&boundary));
                (
                    StatusCode::PARTIAL_CONTENT,
                    parts::body(content, &ranges, &boundary, JSON_LINES),
                )
            }
        };
        (status, headers, Body::from(body)).into_response()
    }
}

/// Returns the opaque part of the entity tag of filtered blobs: a hash of the build, the content
/// and the filter.
fn metas_etag(served: &Served, parameters: &Parameters, build: &str) -> Digest {
    let mut hash = Sha256::new();
    hash.update(format!("{build:?}"));
    hash.update(served.content.digest.hex());
    for text in parameters.texts() {
        // The length comes first, so that no two lists of texts are hashed as the same bytes.
        hash.update(
            text.map_or(u64::MAX, |text| text.len() as u64)
                .to_be_bytes(),
        );
        hash.update(text.unwrap_or_default());
    }
    Digest::new(hash.finalize().into())
}

/// Returns the headers with the validators, which responses have with and without a representation.
fn validator_headers(validators: &Validators) -> HeaderMap {
    let etag: Option<(HeaderName, HeaderValue)> =
        validators.etag_header().ok().map(|etag| (ETAG, etag));
    let last_modified = validators
        .last_modified_header()
        .map(|date| (LAST_MODIFIED, date));
    etag.into_iter().chain(last_modified).collect()
}

/// Returns the headers of a response with a representation.
fn representation_headers(validators: &Validators) -> HeaderMap {
    let mut headers = validator_headers(validators);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
    headers
}
