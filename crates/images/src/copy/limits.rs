//! Limits of copies.

/// Maximum number of images that are copied from one registry at the same time.
pub const MAX_COPIES_PER_REGISTRY: usize = 4;

/// Maximum number of images that are copied at the same time.
pub const MAX_CONCURRENT_COPIES: usize = 12;

/// Maximum length in bytes of the manifests of all images that are copied together, which are held
/// in memory.
pub const MAX_PLANNED_MANIFEST_BYTES: u64 = 512 << 20;

/// Maximum number of images that are copied together.
pub const MAX_COPIED_IMAGES: usize = 50_000;
