//! The response cache: complete responses by their keys.
//!
//! Entries never need to be invalidated: their key includes everything that the response depends
//! on. Stale entries are evicted only for their memory. A response is admitted at its second
//! request, or else a walk over a catalog would evict what is in use.

use std::sync::Arc;

use bytes::Bytes;
use http_content::coding::{Coding, CompressionLevel};
use serving::{BoundedCache, CacheUsage, Encodings, RecentMisses, Snapshot};

use super::limits::Limits;
use super::response_key::ResponseKey;

/// Memory of a cached response in bytes, besides its text.
const BYTES_PER_RESPONSE: usize = 400;

/// Number of recently missed keys, on which admission depends.
const MISSED_KEYS: usize = 4096;

/// Cached responses.
pub(super) struct ResponseCache {
    responses: BoundedCache<ResponseKey, CachedResponse>,
    max_bytes: usize,
    max_response_bytes: usize,
    missed: RecentMisses,
}

/// The text of a response, and its compressed forms as far as clients requested them.
#[derive(Debug)]
pub(super) struct CachedResponse {
    pub(super) plain: Bytes,
    encodings: Encodings,
}

impl ResponseCache {
    /// Creates an empty cache of the size that the limits allow.
    pub(super) fn new(limits: &Limits) -> Self {
        let responses = BoundedCache::with_bytes(limits.cache_bytes);
        Self {
            responses,
            max_bytes: limits.cache_bytes,
            max_response_bytes: limits.cached_response_bytes,
            missed: RecentMisses::with_slots(MISSED_KEYS),
        }
    }

    /// Returns a cached response.
    pub(super) fn get(&self, key: &ResponseKey) -> Option<Arc<CachedResponse>> {
        self.responses.get(key)
    }

    /// Returns the size of the cache and the number of evictions.
    pub(super) fn usage(&self) -> CacheUsage {
        self.responses.usage()
    }

    /// Caches a response, unless it is too large or requested for the first time.
    pub(super) fn offer(&self, key: ResponseKey, response: &[u8]) -> Option<Arc<CachedResponse>> {
        let is_too_large = response.len() > self.max_response_bytes || self.max_bytes == 0;
        if is_too_large || !self.missed.was_missed(key.halves()) {
            return None;
        }
        // A copy, because the buffer of a new response has unused capacity, which would not be
        // counted.
        let cached = CachedResponse {
            plain: Bytes::copy_from_slice(response),
            encodings: Encodings::default(),
        };
        let cached = Arc::new(cached);
        self.responses
            .insert(key, &cached, BYTES_PER_RESPONSE + response.len());
        Some(cached)
    }

    /// Returns a compressed form of a cached response. A form that is made here is stored and
    /// counted with the response.
    pub(super) fn encoded(
        &self,
        key: &ResponseKey,
        cached: &CachedResponse,
        coding: Coding,
    ) -> Bytes {
        if let Some(bytes) = cached.encodings.get(coding) {
            return bytes.clone();
        }
        let bytes = Bytes::from(
            coding
                .compress_to_vec(&cached.plain, CompressionLevel::Compact)
                .into_boxed_slice(),
        );
        if cached.encodings.set(coding, bytes.clone()) {
            self.responses.grow(key, bytes.len());
        }
        bytes
    }

    /// Evicts responses that no request can hit any more.
    pub(super) fn evict_stale(&self, snapshot: &Snapshot) {
        self.responses.retain(|key| key.is_current(snapshot));
    }
}

impl CachedResponse {
    /// Returns whether the response was compressed with this coding before.
    pub(super) fn has(&self, coding: Coding) -> bool {
        self.encodings.get(coding).is_some()
    }
}

#[cfg(test)]
mod tests;
