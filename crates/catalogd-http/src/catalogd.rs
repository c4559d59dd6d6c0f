//! What catalogd serves over HTTP, at the same paths: a whole catalog, and the blobs that meet conditions.
//!
//! Statuses, texts and headers are catalogd's, so that its clients need no change. Where it differs, which is told in
//! `docs/reference/http.md`, catalogd loses data or contradicts RFC 9110.

mod clean;
mod name;
mod parameters;
mod parts;
mod resource;
mod texts;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::VARY;
use axum::http::{HeaderValue, Uri};
use axum::middleware::{from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use serving::{Catalogs, Served};

use parameters::Parameters;
use resource::Resource;
use texts::Refusal;

pub use clean::MAX_TARGET_BYTES;
pub use resource::MAX_ENCODED_BYTES;

/// The whole catalog.
const ALL: &str = "/catalogs/{catalog}/api/v1/all";

/// The whole catalog, where the first versions of catalogd had it.
const ALL_BEFORE: &str = "/catalogs/{catalog}/all.json";

/// The blobs that meet conditions.
const METAS: &str = "/catalogs/{catalog}/api/v1/metas";

/// State shared by all requests.
#[derive(Clone)]
struct Server {
    catalogs: Catalogs,
    /// Part of the entity tags of filtered blobs: which blobs match is decided by this build's code.
    build: &'static str,
}

/// Every route of this module.
pub(super) const ROUTES: [&str; 3] = [ALL, ALL_BEFORE, METAS];

/// `GET` and `HEAD` of whole catalogs and of blobs, and what catalogd says to everything else.
pub(super) fn router(catalogs: Catalogs, build: &'static str) -> Router {
    let vary = async |mut response: Response| {
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        response
    };
    Router::new()
        .route(ALL, only_get(get(all)))
        .route(ALL_BEFORE, only_get(get(all)))
        .route(METAS, only_get(get(metas)))
        .fallback(async || texts::not_found())
        .layer(from_fn(clean::redirect))
        .layer(map_response(vary))
        .with_state(Server { catalogs, build })
}

fn only_get(methods: MethodRouter<Server>) -> MethodRouter<Server> {
    methods.fallback(async || texts::method_not_allowed())
}

async fn all(State(server): State<Server>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    match name::of(&head.uri).and_then(|name| find(&server.catalogs, &name)) {
        Ok(catalog) => Resource::all(&catalog).answer(&head),
        Err(refusal) => refusal.into_response(),
    }
}

async fn metas(State(server): State<Server>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    match asked(&server.catalogs, &head.uri) {
        Ok((catalog, parameters)) => Resource::metas(&catalog, &parameters, server.build).answer(&head),
        Err(refusal) => refusal.into_response(),
    }
}

/// The catalog and the conditions of a request for blobs; catalogd looks at them in this order too.
fn asked(catalogs: &Catalogs, uri: &Uri) -> Result<(Arc<Served>, Parameters), Refusal> {
    let name = name::of(uri)?;
    let parameters = Parameters::parse(uri.query().unwrap_or_default()).ok_or(Refusal::Query)?;
    Ok((find(catalogs, &name)?, parameters))
}

fn find(catalogs: &Catalogs, name: &str) -> Result<Arc<Served>, Refusal> {
    catalogs.snapshot().get(name).cloned().ok_or(Refusal::Catalog)
}

#[cfg(test)]
mod tests;
