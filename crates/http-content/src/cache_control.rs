//! Values of `Cache-Control` (RFC 9111) that several views send, and the keys by which shared caches
//! purge responses.

use http::{HeaderName, HeaderValue};

/// Caches may store the response, and must revalidate it before each use.
pub const REVALIDATE: &str = "public, no-cache";

/// Header with the key by which a shared cache purges a response.
pub const SURROGATE_KEY: HeaderName = HeaderName::from_static("surrogate-key");

/// Returns the key of responses that depend on this catalog alone, or else on several: `catalog/NAME`
/// or `catalogs`.
pub fn surrogate_key(only_catalog: Option<&str>) -> HeaderValue {
    let several = HeaderValue::from_static("catalogs");
    match only_catalog {
        // A name that no header can have is purged with all others.
        Some(name) => HeaderValue::try_from(format!("catalog/{name}")).unwrap_or(several),
        None => several,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_purged_with_the_only_catalog_that_it_depends_on_or_with_any() {
        assert_eq!(surrogate_key(Some("community")), "catalog/community");
        assert_eq!(surrogate_key(None), "catalogs");
        assert_eq!(surrogate_key(Some("a\nb")), "catalogs");
    }
}
