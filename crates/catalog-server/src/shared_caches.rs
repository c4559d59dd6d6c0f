//! The time for which shared caches, such as nginx, Varnish or a CDN, may reuse responses.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::middleware::Next;
use axum::response::Response;
use http_content::cache_control::REVALIDATE;
use http_server::{ErrorFormat, HttpError, ServerReadiness};

/// Lets shared caches reuse responses that they would have to revalidate.
///
/// Private caches, such as those of browsers, still revalidate. Responses that depend on the rights
/// of a caller are `private`, and not affected.
///
/// Until the server is ready, responses that shared caches would reuse are replaced by an error: they
/// lack the catalogs that are still loading, and a cache would serve them to many readers.
#[derive(Clone)]
pub(crate) struct SharedCaches {
    control: HeaderValue,
    ready: ServerReadiness,
}

impl SharedCaches {
    /// `max_age` is the time for which a response may be reused, rounded up to seconds; `None` if it
    /// is zero.
    pub(crate) fn new(max_age: Duration, ready: ServerReadiness) -> Option<Self> {
        let seconds = max_age.as_secs() + u64::from(max_age.subsec_nanos() > 0);
        if seconds == 0 {
            return None;
        }
        // While a cache asks, it may go on for as long again: no reader waits for the server.
        let control =
            format!("public, max-age=0, s-maxage={seconds}, stale-while-revalidate={seconds}");
        // Always succeeds: the value is ASCII.
        let control = HeaderValue::from_str(&control).ok()?;
        Some(Self { control, ready })
    }

    /// Runs a request, and inserts the time into the response.
    pub(crate) async fn run(State(caches): State<Self>, request: Request, next: Next) -> Response {
        // Read first: the last catalog may be loaded while the response is written.
        let was_ready = caches.ready.is_ready();
        let format = ErrorFormat::from_request(&request);
        let response = next.run(request).await;
        caches.apply(response, was_ready, &format)
    }

    /// Inserts the time into a response, or responds with an error in its place if the server was not
    /// ready.
    fn apply(&self, mut response: Response, was_ready: bool, format: &ErrorFormat) -> Response {
        let Some(control) = response.headers_mut().get_mut(CACHE_CONTROL) else {
            return response;
        };
        if control != REVALIDATE {
            return response;
        }
        if !was_ready {
            return HttpError::NotReady.respond(format);
        }
        *control = self.control.clone();
        response
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::http::header::RETRY_AFTER;
    use axum::response::IntoResponse;

    use super::*;

    /// Values of `Cache-Control` that shared caches handle as they are.
    const OTHERS: [&str; 3] = [
        "no-store",
        "private, no-cache",
        "public, max-age=86400, immutable",
    ];

    fn caches(max_age: Duration) -> Option<SharedCaches> {
        SharedCaches::new(max_age, ServerReadiness::default())
    }

    fn applied(response: impl IntoResponse, was_ready: bool) -> Response {
        let caches = caches(Duration::from_secs(5)).unwrap();
        let format = ErrorFormat::from_request(&Request::new(Body::empty()));
        caches.apply(response.into_response(), was_ready, &format)
    }

    #[test]
    fn shared_caches_may_reuse_what_they_would_revalidate_and_nothing_else() {
        let response = applied([(CACHE_CONTROL, "public, no-cache")], true);
        assert_eq!(
            response.headers()[CACHE_CONTROL],
            "public, max-age=0, s-maxage=5, stale-while-revalidate=5"
        );
        for other in OTHERS {
            let response = applied([(CACHE_CONTROL, other)], true);
            assert_eq!(response.headers()[CACHE_CONTROL], other);
        }
        assert!(!applied((), true).headers().contains_key(CACHE_CONTROL));
        assert!(caches(Duration::ZERO).is_none());
        assert_eq!(
            caches(Duration::from_millis(1_001)).unwrap().control,
            "public, max-age=0, s-maxage=2, stale-while-revalidate=2"
        );
    }

    #[test]
    fn a_server_that_is_not_ready_gives_shared_caches_nothing_to_reuse() {
        let response = applied([(CACHE_CONTROL, "public, no-cache")], false);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        for other in OTHERS {
            let response = applied([(CACHE_CONTROL, other)], false);
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(response.headers()[CACHE_CONTROL], other);
        }
        assert_eq!(applied((), false).status(), StatusCode::OK);
    }
}
