//! Responses of other dialects in the response cache.
//!
//! A dialect parses, validates and executes its own requests
//! ([`runtime_schema`](super::runtime_schema)). Its responses are functions of the build, one
//! catalog and the request, so that the response cache can hold them too, within the same limits.

use admission::Peer;
use http_content::negotiation::AcceptableCodings;
use serving::Served;

use super::engine::Engine;
use super::prepared::EncodedResponse;
use super::response::Response;
use super::response_key::ResponseKey;

/// Key of a dialect's response to a request about a catalog as it is served now.
#[derive(Clone, Copy, Debug)]
pub struct DialectKey(ResponseKey);

impl Engine {
    /// Returns the key of the response of a dialect, given by its name, to a request about this
    /// catalog. The response must depend on the parts of the request and the catalog alone.
    pub fn dialect_key(&self, dialect: &str, catalog: &Served, request: &[&[u8]]) -> DialectKey {
        DialectKey(
            self.response_keys
                .for_dialect(dialect, catalog.revision(), request),
        )
    }

    /// Returns the cached response with this key, if there is one, compressed with the preferred
    /// one of these codings if its size is suitable.
    pub async fn cached_for_dialect(
        &self,
        DialectKey(key): &DialectKey,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> Option<EncodedResponse> {
        let cached = self.look_up(key, codings, peer).await;
        if cached.is_none() {
            self.metrics.cache_misses.inc();
        }
        cached
    }

    /// Offers a complete response with this key to the cache, and compresses it as [`Self::encode`]
    /// does.
    pub async fn encode_for_dialect(
        &self,
        DialectKey(key): DialectKey,
        response: Response,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> EncodedResponse {
        self.store_and_encode(Some(key), response, codings, peer)
            .await
    }
}
