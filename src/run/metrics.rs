//! The listener of metrics: one path, for those whom the API server lets read it.

use std::sync::Arc;

use auth::{Authorizer, Denied, PathAccess};
use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::task::spawn_blocking;

use super::access::bearer_token;
use crate::exposition::{Format, Sources};

/// The path of metrics.
const METRICS: &str = "/metrics";

/// What a scraper wants to do.
const SCRAPE: PathAccess = PathAccess { verb: "get", path: METRICS };

/// Returns the route of metrics. Without an authorizer everybody may read them.
pub(super) fn routes(sources: Sources, authorizer: Option<Authorizer>) -> Router {
    Router::new().route(METRICS, get(metrics)).with_state(Arc::new((sources, authorizer)))
}

async fn metrics(State(state): State<Arc<(Sources, Option<Authorizer>)>>, headers: HeaderMap) -> Response {
    let (sources, authorizer) = &*state;
    if let Some(authorizer) = authorizer
        && let Err(denied) = authorizer.authorize(bearer_token(&headers), SCRAPE).await
    {
        return refuse(&denied);
    }
    let (sources, format) = (sources.clone(), Format::of(&headers));
    // It reads the folder of the store.
    match spawn_blocking(move || sources.page(format)).await {
        Ok(page) => ([(CONTENT_TYPE, format.content_type())], page).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot write the page of metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn refuse(denied: &Denied) -> Response {
    let status = match denied {
        Denied::Unauthenticated => StatusCode::UNAUTHORIZED,
        Denied::Forbidden { .. } => StatusCode::FORBIDDEN,
        Denied::Unavailable => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut response = (status, format!("{denied}\n")).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
