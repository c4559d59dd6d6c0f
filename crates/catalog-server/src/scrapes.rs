//! The route of metrics, for scrapers that the API server authorizes.

use std::sync::Arc;

use admission::{FairSemaphore, Peer};
use auth::{
    AuthError, Authenticator, Authorizer, PathAccess, RequestCredentials, RequestedAccess,
    bearer_token,
};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http_server::MetricsFormat;
use server_metrics::ServerMetrics;

use super::access::credentials;

/// The path of metrics.
const METRICS: &str = "/metrics";

/// Permission that a scraper needs.
const SCRAPE: RequestedAccess<'static> = RequestedAccess::Path(PathAccess {
    verb: "get",
    path: METRICS,
});

/// Authorization of scrapers.
pub(super) struct Scrapers {
    pub(super) authorizer: Authorizer,
    /// Identifies callers by client certificates, too; `None` accepts tokens alone.
    pub(super) authenticator: Option<Authenticator>,
}

/// State of the route.
struct MetricsEndpoint {
    metrics: ServerMetrics,
    scrapers: Option<Scrapers>,
    /// Bounds the concurrent scrapes.
    scrapes: FairSemaphore<Peer>,
}

/// Returns the route of metrics. Without `scrapers`, every caller may read them.
pub(super) fn routes(metrics: ServerMetrics, scrapers: Option<Scrapers>) -> Router {
    let endpoint = MetricsEndpoint {
        metrics,
        scrapers,
        scrapes: FairSemaphore::per_processor(),
    };
    Router::new()
        .route(METRICS, get(scrape))
        .with_state(Arc::new(endpoint))
}

async fn scrape(State(endpoint): State<Arc<MetricsEndpoint>>, request: Request) -> Response {
    if let Some(scrapers) = &endpoint.scrapers
        && let Err(denied) = scrapers
            .authorize(request.headers(), request.extensions())
            .await
    {
        return denied_response(&denied);
    }
    let metrics = endpoint.metrics.clone();
    let format = MetricsFormat::negotiate(request.headers());
    let peer = Peer::from_extensions(request.extensions());
    let permit = endpoint.scrapes.acquire(&peer).await;
    // It reads the folder of the store, and must not block a thread that serves connections.
    match permit.run(move || metrics.render(format)).await {
        Ok(text) => ([(CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot write the page of metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

impl Scrapers {
    async fn authorize(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<(), AuthError> {
        let credentials = match &self.authenticator {
            Some(authenticator) => credentials(authenticator, headers, extensions)?,
            None => match bearer_token(headers) {
                Some(token) => {
                    RequestCredentials::Token(token.into(), Peer::from_extensions(extensions))
                }
                None => RequestCredentials::None,
            },
        };
        self.authorizer.authorize(&credentials, SCRAPE).await
    }
}

fn denied_response(denied: &AuthError) -> Response {
    let status = match denied {
        AuthError::Unauthenticated => StatusCode::UNAUTHORIZED,
        AuthError::Forbidden { .. } | AuthError::Impersonation => StatusCode::FORBIDDEN,
        AuthError::Unavailable => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut response = (status, format!("{denied}\n")).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
