//! What a request is about: the lines of one content, all or some, plain or in a coding, and the answer that has them.
//!
//! It knows nothing of paths.

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED, RANGE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_facts::coding::{self, Coding, CompressionLevel, MIN_ENCODED_BYTES};
use http_facts::preconditions::{EmptyBody, PreconditionResult, Validators, first_value};
use serving::Served;
use sha2::{Digest as _, Sha256};

use super::super::body::Slices;
use super::super::ranges::Ranges;
use super::parameters::Parameters;
use super::{parts, texts};

/// Bytes beyond which blobs are not compressed when they are asked for: that would hold up other requests.
pub const MAX_ENCODED_BYTES: usize = 128 * 1024;

const JSON_LINES: &str = "application/jsonl";

/// Lines of one content.
pub(super) struct Resource<'s> {
    served: &'s Served,
    lines: Slices,
    /// Whether these are all the lines.
    is_whole: bool,
    /// Whether parts of it can be had, as of catalogd's whole catalogs.
    has_parts: bool,
    /// Tells these lines from all others.
    tag: String,
}

impl<'s> Resource<'s> {
    /// All lines.
    pub(super) fn all(served: &'s Served) -> Self {
        let lines = Slices::whole(served.catalog.content().clone());
        Self { served, lines, is_whole: true, has_parts: true, tag: served.digest.hex() }
    }

    /// The lines of the blobs that meet the conditions.
    pub(super) fn metas(served: &'s Served, parameters: &Parameters, build: &str) -> Self {
        let is_whole = parameters.is_empty();
        let content = served.catalog.content().clone();
        let mut lines = if is_whole { Slices::whole(content) } else { Slices::of(content) };
        if let Some(filter) = parameters.filter().filter(|_| !is_whole) {
            for place in served.catalog.find_metas(&filter) {
                lines.push(served.catalog.meta_at(place as usize).line_span());
            }
        }
        Self { served, lines, is_whole, has_parts: false, tag: tag_of_metas(served, parameters, build) }
    }

    /// The answer to a `GET` or `HEAD`.
    pub(super) fn answer(self, head: &Parts) -> Response {
        let coding = self.choose(head);
        let validators = self.validators(coding);
        match validators.evaluate(&head.headers) {
            PreconditionResult::Satisfied => {}
            PreconditionResult::NotModified => {
                return (StatusCode::NOT_MODIFIED, described(&validators), Body::new(EmptyBody)).into_response();
            }
            PreconditionResult::Failed => {
                let mut headers = described(&validators);
                // The words of Go's library, which serves catalogd's whole catalogs; the rest is catalogd's own.
                if self.has_parts {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
                }
                // Go does not say of the head how long nothing is.
                let body = if head.method == Method::HEAD { Body::new(EmptyBody) } else { Body::empty() };
                return (StatusCode::PRECONDITION_FAILED, headers, body).into_response();
            }
        }
        match coding {
            Some(coding) => self.coded(coding, &validators),
            None => self.plain(&head.headers, &validators),
        }
    }

    /// The coding to answer in. What the client has already costs nothing, in whichever coding it has it.
    fn choose(&self, head: &Parts) -> Option<Coding> {
        // Ranges are of the plain lines, and a client that asks for the head alone asks how long those are.
        let is_range = self.has_parts && first_value(&head.headers, &RANGE).is_some();
        if head.method != Method::GET || is_range {
            return None;
        }
        let codings: Vec<_> =
            coding::parse_accept_encoding(&head.headers).into_iter().filter(|one| self.has(*one)).collect();
        let is_known = |coding| self.validators(coding).matches_if_none_match(&head.headers) == Some(true);
        match codings.iter().copied().map(Some).chain([None]).find(|coding| is_known(*coding)) {
            Some(known) => known,
            None => codings.first().copied(),
        }
    }

    fn has(&self, coding: Coding) -> bool {
        let is_small = usize::try_from(self.lines.length())
            .is_ok_and(|length| (MIN_ENCODED_BYTES..=MAX_ENCODED_BYTES).contains(&length));
        is_small || self.kept(coding).is_some()
    }

    fn kept(&self, coding: Coding) -> Option<&Bytes> {
        self.served.encodings.get(coding).filter(|_| self.is_whole)
    }

    fn validators(&self, coding: Option<Coding>) -> Validators {
        let tag = &self.tag;
        let tag = coding.map_or_else(|| tag.clone(), |coding| format!("{tag}-{}", coding.name()));
        // The store sees to it that another content has another second.
        let modified = self.served.last_unpacked.and_then(|at| u64::try_from(at.as_second()).ok());
        Validators::new(&tag, modified)
    }

    fn coded(self, coding: Coding, validators: &Validators) -> Response {
        let kept = self.kept(coding).cloned();
        let bytes = kept.unwrap_or_else(|| coding.compress_to_vec(&self.lines.concat(), CompressionLevel::Fast).into());
        let mut headers = with_type(described(validators));
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        (headers, Body::from(Slices::whole(bytes))).into_response()
    }

    /// The lines, or the parts of them that the client asks for.
    fn plain(self, asked: &HeaderMap, validators: &Validators) -> Response {
        let mut headers = with_type(described(validators));
        if !self.has_parts {
            return (headers, Body::from(self.lines)).into_response();
        }
        let content = self.served.catalog.content().clone();
        let wanted = first_value(asked, &RANGE).filter(|_| validators.allows_partial_response(asked));
        let ranges = match wanted.map_or(Ok(Ranges::Whole), |text| Ranges::parse(text, content.len())) {
            Ok(ranges) => ranges,
            Err(error) => return texts::range_not_satisfiable(error, content.len()),
        };
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let (status, body) = match ranges {
            Ranges::Whole => (StatusCode::OK, self.lines),
            Ranges::One(range) => {
                headers.insert(CONTENT_RANGE, parts::content_range(&range, content.len()));
                let mut slices = Slices::of(content);
                slices.push(range);
                (StatusCode::PARTIAL_CONTENT, slices)
            }
            Ranges::Many(ranges) => {
                let boundary = parts::boundary(&validators.etag);
                headers.insert(CONTENT_TYPE, parts::content_type(&boundary));
                (StatusCode::PARTIAL_CONTENT, parts::body(content, &ranges, &boundary, JSON_LINES))
            }
        };
        (status, headers, Body::from(body)).into_response()
    }
}

/// Tells the blobs of these conditions in this content from all others.
fn tag_of_metas(served: &Served, parameters: &Parameters, build: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{build:?}"));
    hash.update(served.digest.hex());
    for text in parameters.texts() {
        // Lengths first, so that no two lists of texts are the same bytes.
        hash.update(text.map_or(u64::MAX, |text| text.len() as u64).to_be_bytes());
        hash.update(text.unwrap_or_default());
    }
    fbc::Digest::new(hash.finalize().into()).hex()
}

/// What is said of lines in an answer with them and in one without.
fn described(validators: &Validators) -> HeaderMap {
    let tag: Option<(HeaderName, HeaderValue)> = validators.etag_header().ok().map(|tag| (ETAG, tag));
    let modified = validators.last_modified_header().map(|at| (LAST_MODIFIED, at));
    tag.into_iter().chain(modified).collect()
}

fn with_type(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
    headers
}
