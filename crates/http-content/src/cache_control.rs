//! Values of `Cache-Control` (RFC 9111) that several views send.

/// Caches may store the response, and must revalidate it before each use.
pub const REVALIDATE: &str = "public, no-cache";
