//! Limits of objects in a shared store, and its time-outs.

use std::time::Duration;

/// Maximum length of a record or a lease in bytes.
pub const MAX_RECORD_BYTES: u64 = 4 << 10;

/// Maximum length of an analysis in bytes, which is held in memory.
pub const MAX_ANALYSIS_BYTES: u64 = 64 << 20;

/// Maximum length of the compressed lines of a content in bytes. Longer ones are not uploaded: a
/// single request uploads an object.
pub const MAX_COMPRESSED_BYTES: u64 = 1 << 30;

/// Maximum length of the lines of a content in bytes. The quota of the store applies, too.
pub const MAX_CONTENT_BYTES: u64 = 4 << 30;

/// Maximum ratio of the length of lines to that of their compressed form.
pub const MAX_COMPRESSION: u64 = 500;

/// Time-out of a small request, and of the first bytes of a response.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Time-out of the next bytes of a response.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Minimum average rate of a download in bytes per second. A pull is usually faster than a store
/// that is slower than this.
pub const MIN_DOWNLOAD_RATE: u64 = 1 << 20;

/// Maximum time of the download of a content.
pub const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(2);

/// Maximum number of contents that are downloaded, or wait on the disk and in memory until they are
/// verified.
pub const MAX_CONCURRENT_DOWNLOADS: usize = 4;

/// Minimum average rate of an upload in bytes per second.
pub const MIN_UPLOAD_RATE: u64 = 256 << 10;

/// Time for which a store that failed is not asked; it doubles with each further failure.
pub const BREAKER_BACKOFF: Duration = Duration::from_secs(10);

/// Maximum time for which a store that failed is not asked.
pub const MAX_BREAKER_BACKOFF: Duration = Duration::from_mins(5);

/// Maximum time that a replica waits for another one that pulls the same revision.
pub const WAIT_FOR_REPLICA: Duration = Duration::from_mins(2);

/// Time after which a lease expires that is not renewed. It is renewed three times as often. The other
/// replicas serve the former content for this time after the holder of a lease died, so it is little
/// more than a delayed renewal takes: a third of it and [`REQUEST_TIMEOUT`].
pub const LEASE_DURATION: Duration = Duration::from_secs(15);

/// Maximum time for which a lease is renewed.
pub const MAX_LEASE: Duration = Duration::from_mins(10);

/// Maximum number of contents that wait for their upload, or are being uploaded. One is uploaded at
/// a time.
pub const MAX_PENDING_UPLOADS: usize = 16;

/// Number of attempts to upload a content.
pub const UPLOAD_ATTEMPTS: u32 = 5;

/// Upper bound of the delay before the second attempt of an upload; it doubles with each further
/// attempt.
pub const UPLOAD_BACKOFF: Duration = Duration::from_secs(5);
