//! Responses on their way: from what is kept or newly made to a response, in the coding that the client prefers.
//!
//! It does not know what a request asks.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use http_facts::coding::{Coding, CompressionLevel, MIN_ENCODED_BYTES};
use http_facts::preconditions::{self, EmptyBody};
use serving::Snapshot;
use tokio::sync::OwnedSemaphorePermit;

use super::{CURRENT, LASTING, NEGOTIATED, PreparedRequest, Server, Validator, block_in_place, overload};
use crate::Answer;
use crate::cache::CachedResponse;
use crate::errors::{Media, Outcome, status};
use crate::validator::Key;

/// Bytes of answers are counted in kibibytes: a semaphore counts to 2^29 on small machines.
pub(super) const IN_FLIGHT_UNIT: usize = 1024;

/// Bytes whose compression takes long enough to be kept off the threads that serve connections: about a tenth of a
/// millisecond.
const LONG_BYTES: usize = 16 << 10;

/// An answer as it is sent.
pub(super) struct EncodedBody {
    pub(super) bytes: Bytes,
    /// What it is compressed with.
    pub(super) coding: Option<Coding>,
    pub(super) outcome: Outcome,
}

/// How an answer is described.
#[derive(Clone, Copy)]
pub(super) struct Representation {
    pub(super) media: Media,
    /// Of an answer that caches may keep.
    pub(super) validator: Option<Validator>,
}

/// An answer that a client has not taken yet.
pub(super) struct InFlight {
    bytes: Bytes,
    /// Given back with the memory.
    _held: OwnedSemaphorePermit,
}

impl InFlight {
    /// Bytes that hold as much of what may be in flight as was acquired for them, until nobody has them any more.
    pub(super) fn hold(bytes: Bytes, held: OwnedSemaphorePermit) -> Bytes {
        Bytes::from_owner(Self { bytes, _held: held })
    }
}

impl AsRef<[u8]> for InFlight {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Server {
    /// The answer that nobody has to make: the client has it, or it is kept.
    pub(super) async fn held(
        &self,
        headers: &HeaderMap,
        form: Representation,
        key: Option<&Key>,
        codings: &[Coding],
    ) -> Option<Response> {
        if let Some(response) = form.not_modified(headers, codings) {
            return Some(response);
        }
        let sheet = self.kept(key?, codings).await?;
        Some(self.send(sheet, form))
    }

    /// The answer of a key, if it is kept.
    async fn kept(&self, key: &Key, codings: &[Coding]) -> Option<EncodedBody> {
        let answer = self.engine.answers.get(key)?;
        Some(self.coded(key, &answer, codings).await)
    }

    /// A new answer, which is kept if it may be.
    pub(super) async fn made(
        &self,
        snapshot: &Snapshot,
        known: &PreparedRequest<'_>,
        key: Option<Key>,
        codings: &[Coding],
    ) -> EncodedBody {
        // The semaphore is never closed; a permit is held until the answer is written and compressed.
        let permit = self.running.acquire().await;
        let Answer { body, outcome } = self.engine.execute_in(snapshot, known, block_in_place);
        // What was published meanwhile leaves nobody to ask for it again.
        let is_wanted = |key: &Key| outcome == Outcome::Complete && key.is_current(&self.engine.catalogs.snapshot());
        let offered = key.filter(is_wanted);
        if let Some((key, kept)) = offered.and_then(|key| Some((key, self.engine.answers.offer(key, &body)?))) {
            drop(permit);
            return self.coded(&key, &kept, codings).await;
        }
        let coding = self.choose(body.len(), codings);
        let bytes = match coding {
            Some(coding) => compressing(body.len(), || coding.compress_to_vec(&body, CompressionLevel::Fast).into()),
            None => body.into(),
        };
        EncodedBody { bytes, coding, outcome }
    }

    /// An answer that is kept, in the best of these codings.
    async fn coded(&self, key: &Key, answer: &CachedResponse, codings: &[Coding]) -> EncodedBody {
        let (plain, coding) = (&answer.plain, self.choose(answer.plain.len(), codings));
        let encoded = |coding| self.engine.answers.encoded(key, answer, coding);
        let bytes = match coding {
            None => plain.clone(),
            Some(coding) if answer.has(coding) => encoded(coding),
            Some(coding) => {
                let _permit = self.running.acquire().await;
                compressing(plain.len(), || encoded(coding))
            }
        };
        EncodedBody { bytes, coding, outcome: Outcome::Complete }
    }

    /// The coding for an answer of so many bytes.
    fn choose(&self, length: usize, codings: &[Coding]) -> Option<Coding> {
        let is_worth_it = (MIN_ENCODED_BYTES..=self.engine.limits().compressed_bytes).contains(&length);
        codings.first().copied().filter(|_| is_worth_it)
    }

    /// The response with an answer, unless too much is on its way.
    pub(super) fn send(&self, sheet: EncodedBody, form: Representation) -> Response {
        match Arc::clone(&self.in_flight).try_acquire_many_owned(units(sheet.bytes.len())) {
            Ok(held) => respond(sheet, form, held),
            Err(_) => overload(),
        }
    }
}

/// What so many bytes take of what may be in flight.
pub(super) fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(IN_FLIGHT_UNIT)).unwrap_or(u32::MAX)
}

/// Compresses so many bytes where that holds up nobody.
fn compressing(length: usize, compress: impl FnOnce() -> Bytes) -> Bytes {
    if length < LONG_BYTES {
        return compress();
    }
    let (mut compress, mut bytes) = (Some(compress), Bytes::new());
    block_in_place(&mut || bytes = compress.take().map_or_else(Bytes::new, |compress| compress()));
    bytes
}

fn respond(
    EncodedBody { bytes, coding, outcome }: EncodedBody,
    form: Representation,
    held: OwnedSemaphorePermit,
) -> Response {
    let status = StatusCode::from_u16(status(outcome, form.media)).unwrap_or(StatusCode::OK);
    let mut response = InFlight::hold(bytes, held).into_response();
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    headers.insert(VARY, HeaderValue::from_static(NEGOTIATED));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    }
    if outcome != Outcome::Complete {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    } else if let Some(tag) = form.tag(coding) {
        form.describe(&tag, headers);
    }
    response
}

impl Representation {
    /// That the client has the answer, if it has it in one of these codings or in none.
    pub(super) fn not_modified(self, headers: &HeaderMap, codings: &[Coding]) -> Option<Response> {
        headers.contains_key(IF_NONE_MATCH).then_some(())?;
        let forms = codings.iter().copied().map(Some).chain([None]);
        let mut tags = forms.filter_map(|coding| self.tag(coding));
        let tag = tags.find(|tag| preconditions::if_none_match_contains(headers, tag) == Some(true))?;
        let mut response = Response::new(Body::new(EmptyBody));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().insert(VARY, HeaderValue::from_static(NEGOTIATED));
        self.describe(&tag, response.headers_mut());
        Some(response)
    }

    /// Tells caches what the answer is, and how long they may keep it.
    fn describe(self, tag: &str, headers: &mut HeaderMap) {
        // A tag has no character that a header may not have.
        if let Ok(tag) = HeaderValue::from_str(tag) {
            headers.insert(ETAG, tag);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(self.control()));
    }

    /// How long caches may keep the answer.
    fn control(self) -> &'static str {
        if self.validator.is_some_and(|validator| validator.is_lasting) { LASTING } else { CURRENT }
    }

    fn tag(self, coding: Option<Coding>) -> Option<String> {
        self.validator.map(|validator| validator.key.tag(self.media, coding))
    }

    fn content_type(self) -> &'static str {
        match self.media {
            Media::Json => "application/json; charset=utf-8",
            Media::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests;
