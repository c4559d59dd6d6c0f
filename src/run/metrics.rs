//! The listener of metrics: one path, for those whom the API server lets read it.

use std::sync::Arc;

use auth::{Authorizer, Denied, PathAccess};
use axum::Router;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::task::spawn_blocking;

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

/// Returns the token of a request (RFC 6750 §2.1).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_of_a_token_may_be_in_any_case_and_others_are_none() {
        let token = |value: &'static str| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(value))]);
            bearer_token(&headers).map(str::to_owned)
        };
        for value in ["Bearer abc", "bearer abc", "BEARER  abc "] {
            assert_eq!(token(value).as_deref(), Some("abc"), "{value}");
        }
        for value in ["Basic abc", "abc", "Bearerabc"] {
            assert_eq!(token(value), None, "{value}");
        }
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
