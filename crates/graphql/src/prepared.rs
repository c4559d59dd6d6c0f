//! Prepared requests: a request with its document and the key of its response, for one snapshot.
//!
//! Here, a response is taken from the cache, or it is executed, cached and compressed.

use std::sync::Arc;

use admission::Peer;
use bytes::Bytes;
use http_content::coding::{Coding, CompressionLevel};
use http_content::negotiation::{AcceptableCodings, is_worth_compressing};
use serving::{Catalogs, Snapshot};

use super::budget::ExecutionMode;
use super::bundle_manifests::{MAX_FETCH_ROUNDS, RequestImages};
use super::document::Document;
use super::documents::ResolvedRequest;
use super::engine::Engine;
use super::errors::{Code, Error, Outcome};
use super::metrics::{OperationKind, RequestResult};
use super::request::Request;
use super::response::Response;
use super::response_cache::CachedResponse;
use super::response_key::{ResponseKey, Validator};
use super::subscription::Subscription;

/// Size in bytes from which compression takes a tenth of a millisecond or longer, and runs on
/// threads that serve no connections.
const LONG_COMPRESSION_BYTES: usize = 16 << 10;

/// A request whose document is valid, with the snapshot that answers it.
pub struct PreparedRequest<'r> {
    engine: &'r Arc<Engine>,
    /// The catalogs that the caller may see.
    catalogs: &'r Catalogs,
    snapshot: Arc<Snapshot>,
    resolved: ResolvedRequest<'r>,
    validator: Option<Validator>,
    /// The peer that sent the request.
    peer: Peer,
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

impl Engine {
    /// Prepares a request of a peer for a snapshot of these catalogs: the engine's own ones, or
    /// those that a caller may see.
    ///
    /// # Errors
    /// The document is missing, unknown, not trusted, invalid, or exceeds a limit.
    pub fn prepare<'r>(
        self: &'r Arc<Self>,
        request: &'r Request<'r>,
        catalogs: &'r Catalogs,
        peer: Peer,
    ) -> Result<PreparedRequest<'r>, Error> {
        self.prepare_parsed(request, catalogs, peer, None)
    }

    /// Prepares a request as [`Self::prepare`] does. A long document that is not cached is parsed
    /// with a permit of the peer, on a thread that serves no connections.
    ///
    /// # Errors
    /// Those of [`Self::prepare`], or too many long requests are waiting.
    pub async fn prepare_offloaded<'r>(
        self: &'r Arc<Self>,
        request: &'r Request<'r>,
        catalogs: &'r Catalogs,
        peer: Peer,
    ) -> Result<PreparedRequest<'r>, Error> {
        let Some((digest, text)) = self.documents.unparsed(request) else {
            return self.prepare(request, catalogs, peer);
        };
        let engine = Arc::clone(self);
        let text = text.to_owned();
        let parse = move |_| {
            engine
                .documents
                .parse(digest, &text, &engine.schema, &engine.limits)
        };
        let parsed = self
            .run_offloaded(peer, parse)
            .await
            .and_then(|parsed| parsed);
        self.prepare_parsed(request, catalogs, peer, Some(parsed))
    }

    /// Prepares a request; `parsed` is the result of parsing its document, if that is done.
    fn prepare_parsed<'r>(
        self: &'r Arc<Self>,
        request: &'r Request<'r>,
        catalogs: &'r Catalogs,
        peer: Peer,
        parsed: Option<Result<Arc<Document>, Error>>,
    ) -> Result<PreparedRequest<'r>, Error> {
        let resolved = self
            .documents
            .resolve(request, &self.schema, &self.limits, parsed);
        let resolved =
            resolved.inspect_err(|error| self.metrics.refuse(OperationKind::Query, error.code))?;
        Ok(PreparedRequest::new(self, catalogs, resolved, peer))
    }
}

impl<'r> PreparedRequest<'r> {
    pub(super) fn new(
        engine: &'r Arc<Engine>,
        catalogs: &'r Catalogs,
        resolved: ResolvedRequest<'r>,
        peer: Peer,
    ) -> Self {
        // One snapshot for the validator and the response, or else the validator could name a
        // response over other catalogs.
        let snapshot = catalogs.snapshot();
        let validator = engine.response_keys.validator(&snapshot, &resolved);
        Self {
            engine,
            catalogs,
            snapshot,
            resolved,
            validator,
            peer,
        }
    }

    /// Validator of the response, known before it is executed.
    ///
    /// `None` if the request names no operation of its document, or if the response depends on more
    /// than the catalogs served now: on former contents or on future changes.
    pub fn validator(&self) -> Option<&Validator> {
        self.validator.as_ref()
    }

    /// Remembers the validator for requests with the same URL parameters, so that
    /// [`Engine::recall`] finds it.
    pub fn remember_url(&self, parameters: &str) {
        if let Some(validator) = self.validator {
            let published = self.engine.catalogs.published();
            self.engine
                .response_keys
                .remember(&published, &self.snapshot, parameters, validator);
        }
    }

    /// Returns whether the operation is a subscription, which [`Self::subscribe`] starts.
    pub fn is_subscription(&self) -> bool {
        self.resolved.is_subscription()
    }

    /// Starts the subscription of this request.
    ///
    /// # Errors
    /// Request errors: the operation does not exist, a variable is invalid, or the estimated cost
    /// is too high.
    pub fn subscribe(&self) -> Result<Subscription, Vec<Error>> {
        let subscribed = Subscription::new(self.engine, &self.resolved, self.catalogs, self.peer);
        let metrics = &self.engine.metrics;
        let kind = OperationKind::Subscription;
        match &subscribed {
            Ok(_) => metrics.count(kind, RequestResult::Ok),
            Err(errors) => metrics.refuse_all(kind, errors),
        }
        subscribed
    }

    /// Returns the response from the response cache, or else executes the request and offers a
    /// complete response to the cache. The response is compressed with the preferred one of these
    /// codings if its size is suitable.
    ///
    /// # Errors
    /// Request errors, for which nothing was executed.
    pub async fn respond(
        &self,
        codings: &AcceptableCodings,
    ) -> Result<EncodedResponse, Vec<Error>> {
        let engine = &**self.engine;
        if let Some(validator) = &self.validator {
            if let Some(response) = engine.cached(validator, codings, self.peer).await {
                return Ok(response);
            }
            engine.metrics.cache_misses.inc();
        }
        let response = self
            .execute_with_images()
            .await
            .inspect_err(|errors| engine.metrics.refuse_all(OperationKind::Query, errors))?;
        engine.metrics.executed(&response);
        let key = self.validator.map(|validator| validator.key);
        Ok(engine
            .store_and_encode(key, response, codings, self.peer)
            .await)
    }

    /// Executes the request, fetches the images of bundles that it asks for, and executes it again
    /// with them.
    async fn execute_with_images(&self) -> Result<Response, Vec<Error>> {
        let mut images = Arc::new(RequestImages::default());
        let mut response = self.execute(&images).await?;
        for _ in 0..MAX_FETCH_ROUNDS {
            let Some(source) = &self.engine.bundle_manifests else {
                break;
            };
            if response.wanted_images.is_empty() {
                break;
            }
            let wanted = std::mem::take(&mut response.wanted_images);
            images = Arc::new(images.with_fetched(&**source, wanted, self.peer).await);
            response = self.execute(&images).await?;
        }
        Ok(response)
    }

    /// Executes the request with these images.
    async fn execute(&self, images: &Arc<RequestImages>) -> Result<Response, Vec<Error>> {
        // Inline first: a short request must not wait behind long ones for a permit.
        let executed = self.engine.execute_resolved(
            &self.snapshot,
            &self.resolved,
            images,
            ExecutionMode::Inline,
        );
        match executed {
            Ok(None) => self.execute_offloaded(Arc::clone(images)).await,
            Ok(Some(response)) => Ok(response),
            Err(errors) => Err(errors),
        }
    }

    /// Executes a long request with a permit, on a thread that serves no connections. It is
    /// cancelled when the client leaves.
    async fn execute_offloaded(&self, images: Arc<RequestImages>) -> Result<Response, Vec<Error>> {
        let engine = Arc::clone(self.engine);
        let snapshot = Arc::clone(&self.snapshot);
        let ResolvedRequest {
            request,
            ref document,
            digest,
            includes_cost,
        } = self.resolved;
        let request = request.clone().into_owned();
        let document = Arc::clone(document);
        let execute = move |cancellation| {
            let resolved = ResolvedRequest {
                request: &request,
                document,
                digest,
                includes_cost,
            };
            let mode = ExecutionMode::Offloaded(cancellation);
            engine.execute_resolved(&snapshot, &resolved, &images, mode)
        };
        match self
            .engine
            .run_offloaded(self.peer, execute)
            .await
            .map_err(|error| vec![error])?
        {
            Ok(Some(response)) => Ok(response),
            Err(errors) => Err(errors),
            Ok(None) => {
                tracing::error!("an execution ended without a response");
                Err(vec![Error::request(
                    Code::Internal,
                    "internal server error".to_owned(),
                )])
            }
        }
    }
}

impl Engine {
    /// Returns the cached response with this validator, if there is one, compressed with the
    /// preferred one of these codings if its size is suitable.
    pub async fn cached(
        &self,
        validator: &Validator,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> Option<EncodedResponse> {
        let cached = self.look_up(&validator.key, codings, peer).await?;
        self.metrics
            .count(OperationKind::Query, RequestResult::Cached);
        Some(cached)
    }

    /// Returns the cached response with this key.
    pub(super) async fn look_up(
        &self,
        key: &ResponseKey,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> Option<EncodedResponse> {
        let cached = self.response_cache.get(key)?;
        self.metrics.cache_hits.inc();
        Some(self.encode_cached(key, &cached, codings, peer).await)
    }

    /// Offers a response with this key to the cache if it is complete, and compresses it as
    /// [`Self::encode`] does.
    pub(super) async fn store_and_encode(
        &self,
        key: Option<ResponseKey>,
        response: Response,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> EncodedResponse {
        // No request can hit a response whose catalogs have changed meanwhile.
        let is_cacheable = |key: &ResponseKey| {
            response.outcome == Outcome::Complete && key.is_current(&self.catalogs.published())
        };
        let key = key.filter(is_cacheable);
        match key.and_then(|key| Some((key, self.response_cache.offer(key, &response.body)?))) {
            Some((key, cached)) => self.encode_cached(&key, &cached, codings, peer).await,
            None => self.encode(response, codings, peer).await,
        }
    }

    /// Compresses a response with the preferred one of these codings if its size is suitable.
    pub async fn encode(
        &self,
        Response { body, outcome, .. }: Response,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> EncodedResponse {
        let body = Bytes::from(body);
        let plain = body.clone();
        let compress = move |coding: Coding| {
            coding
                .compress_to_vec(&plain, CompressionLevel::Fast)
                .into()
        };
        match self
            .compress_offloaded(body.len(), codings, peer, compress)
            .await
        {
            Some((coding, bytes)) => EncodedResponse {
                bytes,
                coding: Some(coding),
                outcome,
            },
            None => EncodedResponse {
                bytes: body,
                coding: None,
                outcome,
            },
        }
    }

    async fn encode_cached(
        &self,
        key: &ResponseKey,
        cached: &Arc<CachedResponse>,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> EncodedResponse {
        let cache = Arc::clone(&self.response_cache);
        let key = *key;
        let own = Arc::clone(cached);
        let encode = move |coding| cache.encoded(&key, &own, coding);
        let length = cached.plain.len();
        let encoded = match self
            .choose_coding(length, codings)
            .filter(|coding| cached.has(*coding))
        {
            Some(coding) => Some((coding, encode(coding))),
            None => self.compress_offloaded(length, codings, peer, encode).await,
        };
        let (coding, bytes) = encoded.map_or((None, cached.plain.clone()), |(coding, bytes)| {
            (Some(coding), bytes)
        });
        EncodedResponse {
            bytes,
            coding,
            outcome: Outcome::Complete,
        }
    }

    /// Compresses so many bytes with the preferred one of these codings, with a permit if that
    /// takes long. `None` to send them uncompressed: because of their size, or because too many
    /// requests wait for a permit.
    async fn compress_offloaded(
        &self,
        length: usize,
        codings: &AcceptableCodings,
        peer: Peer,
        compress: impl FnOnce(Coding) -> Bytes + Send + 'static,
    ) -> Option<(Coding, Bytes)> {
        let coding = self.choose_coding(length, codings)?;
        if length < LONG_COMPRESSION_BYTES {
            return Some((coding, compress(coding)));
        }
        let compressed = self
            .run_offloaded(peer, move |_| compress(coding))
            .await
            .ok()?;
        Some((coding, compressed))
    }

    /// Returns the coding for a response of so many bytes; `None` to send it uncompressed.
    fn choose_coding(&self, length: usize, codings: &AcceptableCodings) -> Option<Coding> {
        codings
            .preferred()
            .filter(|_| is_worth_compressing(length, self.limits.compressed_bytes))
    }
}
