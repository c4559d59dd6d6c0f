//! The listener of metrics: one path, for those whom the API server lets read it.

use std::sync::Arc;

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
use http_facts::peer::Peer;
use serving::FairSemaphore;

use super::access::credentials;
use crate::exposition::{Format, Sources};

/// The path of metrics.
const METRICS: &str = "/metrics";

/// What a scraper wants to do.
const SCRAPE: RequestedAccess<'static> = RequestedAccess::Path(PathAccess {
    verb: "get",
    path: METRICS,
});

/// Who may read metrics.
pub(super) struct Scrapers {
    pub(super) authorizer: Authorizer,
    /// `None` where only tokens say who somebody is.
    pub(super) authenticator: Option<Authenticator>,
}

/// What the page is made of, and for whom.
struct Page {
    sources: Sources,
    scrapers: Option<Scrapers>,
    /// Bounds the pages that are written at a time.
    turns: FairSemaphore<Peer>,
}

/// Returns the route of metrics. Without `scrapers` everybody may read them.
pub(super) fn routes(sources: Sources, scrapers: Option<Scrapers>) -> Router {
    let page = Page {
        sources,
        scrapers,
        turns: FairSemaphore::per_processor(),
    };
    Router::new()
        .route(METRICS, get(metrics))
        .with_state(Arc::new(page))
}

async fn metrics(State(page): State<Arc<Page>>, request: Request) -> Response {
    if let Some(scrapers) = &page.scrapers
        && let Err(denied) = scrapers
            .authorize(request.headers(), request.extensions())
            .await
    {
        return refuse(&denied);
    }
    let sources = page.sources.clone();
    let format = Format::of(request.headers());
    let turn = page.turns.acquire(&Peer::of(request.extensions())).await;
    // It reads the folder of the store.
    match turn.run(move || sources.page(format)).await {
        Ok(page) => ([(CONTENT_TYPE, format.content_type())], page).into_response(),
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
                Some(token) => RequestCredentials::Token(token.into(), Peer::of(extensions)),
                None => RequestCredentials::None,
            },
        };
        self.authorizer.authorize(&credentials, SCRAPE).await
    }
}

fn refuse(denied: &AuthError) -> Response {
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
