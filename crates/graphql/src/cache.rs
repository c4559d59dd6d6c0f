//! Responses that are kept for whoever asks the same again.
//!
//! The key of an answer tells everything that it depends on, so that nothing is ever invalidated: what is out of date is
//! not asked for any more, and is let go of only for its memory. An answer is kept from the second request on, or else a
//! walk over a catalog would push out what is in use. It does not know what answers say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use http_facts::coding::{Coding, CompressionLevel};
use serving::{Encodings, Snapshot};

use super::limits::Limits;
use super::second_chance::SecondChanceCache;
use super::validator::Key;

/// Memory of an answer that is kept besides its bytes.
const BYTES_PER_ANSWER: usize = 400;

/// How many keys of answers that are not kept are remembered. Of two at one place the later stays.
const SEEN: usize = 4096;

/// Responses that are kept.
pub(super) struct ResponseCache {
    kept: SecondChanceCache<Key, CachedResponse>,
    bytes: usize,
    answer_bytes: usize,
    /// By one half of a key the other half.
    seen: Box<[AtomicU64]>,
}

/// The text of an answer, and its compressed forms, as far as somebody asked for them.
#[derive(Debug)]
pub(super) struct CachedResponse {
    pub(super) plain: Bytes,
    encodings: Encodings,
}

impl ResponseCache {
    /// Keeps what the limits allow.
    pub(super) fn new(limits: &Limits) -> Self {
        let seen = (0..SEEN).map(|_| AtomicU64::new(0)).collect();
        let kept = SecondChanceCache::new(usize::MAX, limits.kept_bytes);
        Self { kept, bytes: limits.kept_bytes, answer_bytes: limits.kept_answer_bytes, seen }
    }

    /// Whether it keeps anything at all.
    pub(super) fn is_on(&self) -> bool {
        self.bytes > 0
    }

    /// The answer of this key, if it is kept.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<CachedResponse>> {
        self.kept.get(key)
    }

    /// Keeps an answer, if it is not too large and was asked for before.
    pub(super) fn offer(&self, key: Key, answer: &[u8]) -> Option<Arc<CachedResponse>> {
        if answer.len() > self.answer_bytes || !self.is_on() || !self.was_seen(key) {
            return None;
        }
        // A copy, because what an answer is written into has room for more.
        let kept = CachedResponse { plain: Bytes::copy_from_slice(answer), encodings: Encodings::default() };
        let kept = Arc::new(kept);
        self.kept.insert(key, &kept, BYTES_PER_ANSWER + answer.len());
        Some(kept)
    }

    /// A compressed form of an answer that is kept: the one that was made before, or else a new one, which is then
    /// kept and counted with it.
    pub(super) fn encoded(&self, key: &Key, answer: &CachedResponse, coding: Coding) -> Bytes {
        if let Some(bytes) = answer.encodings.get(coding) {
            return bytes.clone();
        }
        let bytes = Bytes::from(coding.compress_to_vec(&answer.plain, CompressionLevel::Compact).into_boxed_slice());
        if answer.encodings.set(coding, bytes.clone()) {
            self.kept.grow(key, bytes.len());
        }
        bytes
    }

    /// Lets go of answers that nobody can ask for any more.
    pub(super) fn forget_former(&self, snapshot: &Snapshot) {
        self.kept.retain(|key| key.is_current(snapshot));
    }

    /// Remembers that an answer was asked for; whether it was before.
    fn was_seen(&self, key: Key) -> bool {
        let [place, rest] = key.halves();
        let place = usize::try_from(place % SEEN as u64).unwrap_or_default();
        self.seen[place].swap(rest, Ordering::Relaxed) == rest
    }
}

impl CachedResponse {
    /// Whether it is there in this coding.
    pub(super) fn has(&self, coding: Coding) -> bool {
        self.encodings.get(coding).is_some()
    }
}

#[cfg(test)]
mod tests;
