//! Prepared requests: a request with its document and the name of its response, for one snapshot.
//!
//! A response comes from the cache or is executed, stored and compressed here.

use std::sync::Arc;

use bytes::Bytes;
use http_facts::coding::{Coding, CompressionLevel};
use http_facts::negotiation::{AcceptableCodings, is_worth_compressing};
use serving::Snapshot;

use super::documents::ResolvedRequest;
use super::errors::{Error, Outcome};
use super::response_cache::CachedResponse;
use super::response_key::{ResponseKey, Validator};
use super::subscription::Subscription;
use super::{Engine, Response, executor};

/// Size in bytes from which compression takes a tenth of a millisecond or longer, and is kept off the threads that
/// serve connections.
const LONG_COMPRESSION_BYTES: usize = 16 << 10;

/// A request whose document is valid, with the snapshot that answers it.
pub struct PreparedRequest<'r> {
    engine: &'r Arc<Engine>,
    snapshot: Arc<Snapshot>,
    resolved: ResolvedRequest<'r>,
    validator: Option<Validator>,
}

/// A response in the content coding in which it is sent.
#[derive(Debug)]
pub struct EncodedResponse {
    /// JSON text, compressed with `coding`.
    pub bytes: Bytes,
    /// Content coding of `bytes`; `None` for plain text.
    pub coding: Option<Coding>,
    /// Result of the request.
    pub outcome: Outcome,
}

impl<'r> PreparedRequest<'r> {
    pub(super) fn new(engine: &'r Arc<Engine>, snapshot: Arc<Snapshot>, resolved: ResolvedRequest<'r>) -> Self {
        let validator = engine.response_keys.validator(&snapshot, &resolved);
        Self { engine, snapshot, resolved, validator }
    }

    /// Validator of the response, known before it is executed.
    ///
    /// `None` if the request names no operation of its document, or if the response depends on more than the catalogs
    /// served now: on former contents or on future changes.
    pub fn validator(&self) -> Option<&Validator> {
        self.validator.as_ref()
    }

    /// Remembers the validator for requests with the same URL parameters, so that [`Engine::recall`] finds it.
    pub fn remember_url(&self, parameters: &str) {
        if let Some(validator) = self.validator {
            self.engine.response_keys.remember(&self.snapshot, parameters, validator);
        }
    }

    /// Returns whether the operation is a subscription, which [`Self::subscribe`] starts.
    pub fn is_subscription(&self) -> bool {
        self.resolved.is_subscription()
    }

    /// Starts the subscription of this request.
    ///
    /// # Errors
    /// Request errors: the operation does not exist, a variable is invalid, or the estimated cost is too high.
    pub fn subscribe(&self) -> Result<Subscription, Vec<Error>> {
        Subscription::new(self.engine, &self.resolved)
    }

    /// Returns the response from the response cache, or else executes the request and offers a complete response to the
    /// cache. The response is compressed with the preferred one of these codings if its size is suitable.
    ///
    /// # Errors
    /// Request errors, for which nothing was executed.
    pub async fn respond(&self, codings: &AcceptableCodings) -> Result<EncodedResponse, Vec<Error>> {
        let engine = &**self.engine;
        if let Some(validator) = &self.validator
            && let Some(response) = engine.cached(validator, codings).await
        {
            return Ok(response);
        }
        let permit = engine.executor.acquire().await;
        let response = engine.execute_resolved(&self.snapshot, &self.resolved)?;
        let Some((key, cached)) = self.store(&response) else { return Ok(engine.encode(response, codings)) };
        drop(permit);
        Ok(engine.encode_cached(&key, &cached, codings).await)
    }

    /// Offers a response to the cache; `None` if it was not stored.
    fn store(&self, response: &Response) -> Option<(ResponseKey, Arc<CachedResponse>)> {
        let key = self.validator?.key;
        // No request can hit a response whose catalogs have changed meanwhile.
        let is_cacheable = response.outcome == Outcome::Complete && key.is_current(&self.engine.catalogs.snapshot());
        let cached = is_cacheable.then(|| self.engine.response_cache.offer(key, &response.body)).flatten()?;
        Some((key, cached))
    }
}

impl Engine {
    /// Returns the cached response with this validator, if there is one, compressed with the preferred one of these
    /// codings if its size is suitable.
    pub async fn cached(&self, validator: &Validator, codings: &AcceptableCodings) -> Option<EncodedResponse> {
        let cached = self.response_cache.get(&validator.key)?;
        Some(self.encode_cached(&validator.key, &cached, codings).await)
    }

    /// Compresses a response with the preferred one of these codings if its size is suitable.
    pub fn encode(&self, Response { body, outcome }: Response, codings: &AcceptableCodings) -> EncodedResponse {
        let coding = self.choose_coding(body.len(), codings);
        let bytes = match coding {
            Some(coding) => executor::run(body.len() >= LONG_COMPRESSION_BYTES, || {
                coding.compress_to_vec(&body, CompressionLevel::Fast).into()
            }),
            None => body.into(),
        };
        EncodedResponse { bytes, coding, outcome }
    }

    async fn encode_cached(
        &self,
        key: &ResponseKey,
        cached: &CachedResponse,
        codings: &AcceptableCodings,
    ) -> EncodedResponse {
        let length = cached.plain.len();
        let coding = self.choose_coding(length, codings);
        let encode = |coding| self.response_cache.encoded(key, cached, coding);
        let bytes = match coding {
            None => cached.plain.clone(),
            Some(coding) if cached.has(coding) => encode(coding),
            Some(coding) => {
                let _permit = self.executor.acquire().await;
                executor::run(length >= LONG_COMPRESSION_BYTES, || encode(coding))
            }
        };
        EncodedResponse { bytes, coding, outcome: Outcome::Complete }
    }

    /// Returns the coding for a response of so many bytes; `None` to send it uncompressed.
    fn choose_coding(&self, length: usize, codings: &AcceptableCodings) -> Option<Coding> {
        codings.preferred().filter(|_| is_worth_compressing(length, self.limits.compressed_bytes))
    }
}
