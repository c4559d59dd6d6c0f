//! Compressed forms of filtered blobs that clients request again and again. They are made beside the
//! responses, from the second request on, and sent to later ones.

use std::sync::Arc;

use admission::{FairSemaphore, Peer};
use axum::body::Bytes;
use fbc_grammar::Digest;
use http_content::coding::{Coding, CompressionLevel, StreamEncoder};
use serving::{BoundedCache, RecentMisses};

use super::super::body::{STEP_BYTES, Slices};

/// Maximum length in bytes of all compressed forms of filtered blobs that are cached.
pub const ENCODING_CACHE_BYTES: usize = 16 << 20;

/// Maximum length in bytes of one of them. All bundles of the largest public catalog have 5 MiB.
pub const MAX_CACHED_ENCODING_BYTES: usize = 8 << 20;

/// Memory of a cached form in bytes, besides its text.
const BYTES_PER_ENCODING: usize = 200;

/// Number of recently missed keys, on which admission depends.
const MISSED_KEYS: usize = 1024;

/// Key of a compressed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EncodingKey {
    /// Hash of everything that the plain text depends on.
    pub(super) text: Digest,
    pub(super) coding: Coding,
}

/// Compressed forms by their keys. Keys name contents, so that no entry needs to be invalidated.
#[derive(Clone)]
pub(super) struct EncodingCache {
    /// `None` for forms that are too long.
    encodings: Arc<BoundedCache<EncodingKey, Option<Bytes>>>,
    missed: Arc<RecentMisses>,
    /// Makes one form at a time.
    work: FairSemaphore<Peer>,
}

impl EncodingCache {
    /// Creates an empty cache of at most this many bytes.
    pub(super) fn with_bytes(max_bytes: usize) -> Self {
        Self {
            encodings: Arc::new(BoundedCache::with_bytes(max_bytes)),
            missed: Arc::new(RecentMisses::with_slots(MISSED_KEYS)),
            work: FairSemaphore::new(1),
        }
    }

    /// Returns a compressed form.
    pub(super) fn get(&self, key: &EncodingKey) -> Option<Bytes> {
        let encoding = self.encodings.get(key)?;
        Option::clone(&encoding)
    }

    /// Records a request for a form. Returns whether the form is to be made: it was requested before,
    /// and is neither cached nor too long.
    pub(super) fn is_wanted(&self, key: &EncodingKey) -> bool {
        self.encodings.get(key).is_none() && self.was_missed(key)
    }

    fn was_missed(&self, key: &EncodingKey) -> bool {
        let (halves, _) = key.text.as_bytes().as_chunks();
        let [first, second, ..] = halves else {
            return false;
        };
        let coding = key.coding as u64;
        let hash = [first, second].map(|half| u64::from_be_bytes(*half) ^ coding);
        self.missed.was_missed(hash)
    }

    /// Compresses lines on a thread that serves no connections, and caches the result. Does nothing
    /// while another form is made: a later request makes it. `lines` is called on that thread.
    pub(super) fn fill(
        &self,
        key: EncodingKey,
        peer: Peer,
        lines: impl FnOnce() -> Option<Slices> + Send + 'static,
    ) {
        let Some(permit) = self.work.try_acquire(&peer) else {
            return;
        };
        let encodings = Arc::clone(&self.encodings);
        permit.run(move || {
            if encodings.get(&key).is_some() {
                return;
            }
            let Some(lines) = lines() else {
                return;
            };
            // That a form is too long is remembered, or else each request would begin to make it.
            let encoding = compress(lines, key.coding, MAX_CACHED_ENCODING_BYTES);
            let length = encoding.as_ref().map_or(0, Bytes::len) + BYTES_PER_ENCODING;
            encodings.insert(key, &Arc::new(encoding), length);
        });
    }
}

/// Compresses lines; `None` if the result has more than `max_bytes`.
fn compress(mut lines: Slices, coding: Coding, max_bytes: usize) -> Option<Bytes> {
    let mut encoder = StreamEncoder::new(coding, CompressionLevel::Compact).ok()?;
    let mut output = Vec::new();
    while let Some(bytes) = lines.pop(STEP_BYTES) {
        encoder.write(&bytes).ok()?;
        output.append(&mut encoder.take_output());
        if output.len() > max_bytes {
            return None;
        }
    }
    output.append(&mut encoder.finish().ok()?);
    // Unused capacity would not be counted.
    (output.len() <= max_bytes).then(|| output.into_boxed_slice().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_too_long_is_given_up() {
        let mut random = fastrand::Rng::with_seed(1);
        let text: Vec<u8> = (0..300_000).map(|_| random.u8(..)).collect();
        for coding in Coding::ALL {
            let compress =
                |max_bytes| compress(Slices::whole(text.clone().into()), coding, max_bytes);
            let all = compress(usize::MAX).unwrap();
            assert_eq!(compress(all.len()), Some(all.clone()));
            assert_eq!(compress(all.len() - 1), None);
            let mut plain = Vec::new();
            coding.decompress(&*all, &mut plain).unwrap();
            assert!(plain == text);
        }
    }

    #[test]
    fn a_form_is_wanted_from_its_second_request_on_and_others_are_not() {
        let cache = EncodingCache::with_bytes(ENCODING_CACHE_BYTES);
        let key = |number, coding| EncodingKey {
            text: Digest::new([number; 32]),
            coding,
        };
        for number in 0..100 {
            assert!(!cache.is_wanted(&key(number, Coding::Gzip)));
        }
        assert!(!cache.is_wanted(&key(99, Coding::Zstd)));
        assert!(cache.is_wanted(&key(99, Coding::Zstd)));

        // One that is too long is neither made again nor sent.
        let too_long = key(99, Coding::Zstd);
        cache.encodings.insert(too_long, &Arc::new(None), 1);
        assert!(!cache.is_wanted(&too_long));
        assert_eq!(cache.get(&too_long), None);
    }
}
