//! The time for which shared caches, such as nginx, Varnish or a CDN, may reuse responses.

use std::time::Duration;

use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::Response;
use http_content::cache_control::REVALIDATE;

/// Lets shared caches reuse responses that they would have to revalidate.
///
/// Private caches, such as those of browsers, still revalidate. Responses that depend on the rights
/// of a caller are `private`, and not affected.
#[derive(Clone)]
pub(crate) struct SharedCaches {
    control: HeaderValue,
}

impl SharedCaches {
    /// `max_age` is the time for which a response may be reused, rounded up to seconds; `None` if it
    /// is zero.
    pub(crate) fn new(max_age: Duration) -> Option<Self> {
        let seconds = max_age.as_secs() + u64::from(max_age.subsec_nanos() > 0);
        if seconds == 0 {
            return None;
        }
        // While a cache asks, it may go on for as long again: no reader waits for the server.
        let control =
            format!("public, max-age=0, s-maxage={seconds}, stale-while-revalidate={seconds}");
        // Always succeeds: the value is ASCII.
        let control = HeaderValue::from_str(&control).ok()?;
        Some(Self { control })
    }

    /// Inserts the time into a response.
    pub(crate) fn apply(&self, mut response: Response) -> Response {
        if let Some(control) = response.headers_mut().get_mut(CACHE_CONTROL)
            && control == REVALIDATE
        {
            *control = self.control.clone();
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;

    use super::*;

    #[test]
    fn shared_caches_may_reuse_what_they_would_revalidate_and_nothing_else() {
        let caches = SharedCaches::new(Duration::from_secs(5)).unwrap();
        let control = |before: &'static str| {
            let response = [(CACHE_CONTROL, before)].into_response();
            let headers = caches.apply(response).headers().clone();
            headers[CACHE_CONTROL].to_str().unwrap().to_owned()
        };
        assert_eq!(
            control("public, no-cache"),
            "public, max-age=0, s-maxage=5, stale-while-revalidate=5"
        );
        for other in [
            "no-store",
            "private, no-cache",
            "public, max-age=86400, immutable",
        ] {
            assert_eq!(control(other), other);
        }
        let without = caches.apply(().into_response());
        assert!(!without.headers().contains_key(CACHE_CONTROL));
        assert!(SharedCaches::new(Duration::ZERO).is_none());
        let rounded = SharedCaches::new(Duration::from_millis(1_001)).unwrap();
        assert_eq!(
            rounded.control,
            "public, max-age=0, s-maxage=2, stale-while-revalidate=2"
        );
    }
}
