//! Cross-origin resource sharing (CORS): pages of other origins that may read responses.

use std::time::Duration;

use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_RANGE, RANGE, RETRY_AFTER,
};
use axum::http::{HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Time for which browsers may cache the response to a preflight request.
const MAX_AGE: Duration = Duration::from_hours(1);

/// Request headers that pages may set. `traceparent` and `tracestate` are those of W3C Trace
/// Context, and those that begin with `mcp` of the Model Context Protocol.
const REQUEST_HEADERS: [HeaderName; 14] = [
    ACCEPT,
    AUTHORIZATION,
    CONTENT_TYPE,
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    RANGE,
    HeaderName::from_static("catalogql-minimum-revision"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];

/// Response headers that pages may read, in addition to those that browsers show by themselves.
const RESPONSE_HEADERS: [HeaderName; 4] = [
    CONTENT_RANGE,
    ETAG,
    RETRY_AFTER,
    HeaderName::from_static("catalogql-revision"),
];

/// Creates the layer that lets pages of these origins read responses; `*` is every origin. Requests
/// change nothing and carry no cookies, so that an origin which is not named can neither do harm
/// nor see anything.
pub fn cors(origins: &[HeaderValue]) -> CorsLayer {
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().cloned())
    };
    let cors = CorsLayer::new().allow_origin(allowed).allow_methods([
        Method::GET,
        Method::HEAD,
        Method::POST,
    ]);
    cors.allow_headers(REQUEST_HEADERS)
        .expose_headers(RESPONSE_HEADERS)
        .max_age(MAX_AGE)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::routing::get;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    /// Status, allowed origin and allowed headers that a page of the console gets.
    async fn allowed(
        origins: &[&'static str],
        method: Method,
    ) -> (u16, Option<String>, Option<String>) {
        let origins: Vec<_> = origins
            .iter()
            .map(|origin| HeaderValue::from_static(origin))
            .collect();
        let request = Request::builder()
            .method(method)
            .header("origin", "https://console.example.com")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type,traceparent");
        let routes = Router::new().route("/", get("")).layer(cors(&origins));
        let service = TowerToHyperService::new(routes);
        let response = service
            .call(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        let header = |name| {
            response
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        (
            response.status().as_u16(),
            header("access-control-allow-origin"),
            header("access-control-allow-headers"),
        )
    }

    #[tokio::test]
    async fn only_pages_of_named_origins_may_read_answers() {
        let own = Some("https://console.example.com".to_owned());
        let headers = "accept,authorization,content-type,if-match,if-modified-since,if-none-match,if-range,range,\
                       catalogql-minimum-revision,mcp-method,mcp-name,mcp-protocol-version,traceparent,tracestate";
        let headers = Some(headers.to_owned());
        let one = ["https://other.example.com", "https://console.example.com"];
        assert_eq!(
            allowed(&one, Method::OPTIONS).await,
            (200, own.clone(), headers.clone())
        );
        assert_eq!(allowed(&one, Method::GET).await, (200, own, None));
        assert_eq!(
            allowed(&["*"], Method::OPTIONS).await,
            (200, Some("*".to_owned()), headers)
        );
        assert_eq!(
            allowed(&["https://other.example.com"], Method::GET).await,
            (200, None, None)
        );
    }
}
