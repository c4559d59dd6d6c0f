//! Responses of other dialects in the response cache.
//!
//! A dialect parses, validates and executes its own requests
//! ([`runtime_schema`](super::runtime_schema)). Its responses are functions of the build, one
//! catalog and the request, as those of `/graphql` are of more, so that they find room in the same
//! cache, within the same limits.

use admission::Peer;
use http_content::negotiation::AcceptableCodings;
use serving::Served;

use super::response_key::ResponseKey;
use super::{EncodedResponse, Engine, Response};

/// Names the response of a dialect to a request about a catalog as it is now.
#[derive(Clone, Copy, Debug)]
pub struct DialectKey(ResponseKey);

impl Engine {
    /// Returns the key of what a dialect, by its name, answers to a request about this catalog. The
    /// parts of the request are all that the response depends on besides.
    pub fn dialect_key(&self, dialect: &str, catalog: &Served, request: &[&[u8]]) -> DialectKey {
        DialectKey(
            self.response_keys
                .of_dialect(dialect, catalog.revision(), request),
        )
    }

    /// Returns the cached response with this key, if there is one, compressed with the preferred
    /// one of these codings if its size is suitable.
    pub async fn cached_of_dialect(
        &self,
        DialectKey(key): &DialectKey,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> Option<EncodedResponse> {
        let cached = self.look_up(key, codings, peer).await;
        if cached.is_none() {
            self.metrics.cache_misses.increment();
        }
        cached
    }

    /// Offers a complete response with this key to the cache, and compresses it as [`Self::encode`]
    /// does.
    pub async fn encode_of_dialect(
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
