//! Versions of packages as a [custom datasource] of Renovate, so that it proposes the upgrades that
//! the update graph of a package has.
//!
//! [custom datasource]: https://docs.renovatebot.com/modules/datasource/custom/

mod error;
mod parameters;
mod releases;

use std::sync::Arc;

use admission::{FairSemaphore, Peer};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fbc::work::{UNIT, Work};
use http_content::cache_control::{REVALIDATE, SURROGATE_KEY, surrogate_key};
use http_content::preconditions::{EmptyBody, PreconditionResult, Validators};
use serving::{Catalogs, Served};
use sha2::{Digest as _, Sha256};

use error::DatasourceError;
use parameters::Parameters;

/// Prefix of the paths of this view. The name of a catalog follows it.
pub const RENOVATE: &str = "/renovate/";

/// Path of the versions of a package.
const ROUTE: &str = "/renovate/{catalog}/{package}";

/// Maximum work for one response, in units: a tenth of a second. The largest package of the
/// catalogs on operatorhub.io takes less than a hundredth of it.
pub const MAX_WORK: u64 = 100_000;

/// State shared by all requests.
#[derive(Clone)]
struct DatasourceState {
    catalogs: Catalogs,
    build: &'static str,
    work: FairSemaphore<Peer>,
    has_surrogate_keys: bool,
}

/// Returns the route. A request is answered from the [`Catalogs`] in its extensions, which an
/// authorizing layer inserts, or else from these. `build` identifies the code and is part of entity
/// tags. With `has_surrogate_keys`, responses have the header `Surrogate-Key`.
pub fn router(catalogs: Catalogs, build: &'static str, has_surrogate_keys: bool) -> Router {
    Router::new()
        .route(ROUTE, get(versions))
        .with_state(DatasourceState {
            catalogs,
            build,
            work: FairSemaphore::per_processor(),
            has_surrogate_keys,
        })
}

/// Returns the paths of all routes, with parameters in braces.
pub fn routes() -> [&'static str; 1] {
    [ROUTE]
}

async fn versions(
    State(state): State<DatasourceState>,
    Path((catalog, package)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let found = Parameters::parse(&query).and_then(|parameters| {
        let catalogs = extensions.get().unwrap_or(&state.catalogs);
        Ok((parameters, find(catalogs, catalog)?))
    });
    let (parameters, served) = match found {
        Ok(found) => found,
        Err(error) => return error.into_response(),
    };

    let validators = Validators::new(&state.etag(&served, &package, &query), None);
    let head = state.head(&served, &validators);
    // A client has the tag from a response of the same content, so that the package is in it.
    if validators.evaluate(&headers) == PreconditionResult::NotModified {
        return (StatusCode::NOT_MODIFIED, head, Body::new(EmptyBody)).into_response();
    }

    let peer = Peer::from_extensions(&extensions);
    let write = move || {
        let check = |drawn: u64| (drawn <= MAX_WORK * UNIT).then_some(0);
        releases::write(&served, &package, &parameters, &Work::new(&check))
    };
    let written = state.work.acquire(&peer).await.run(write).await;
    match written.unwrap_or(Err(DatasourceError::Failed)) {
        Ok(json) => (head, json).into_response(),
        Err(error) => error.into_response(),
    }
}

impl DatasourceState {
    /// Returns the headers of a response about a package of this catalog.
    fn head(&self, served: &Served, validators: &Validators) -> HeaderMap {
        let mut head = HeaderMap::new();
        // Always succeeds: a tag has only hexadecimal digits.
        if let Ok(etag) = HeaderValue::from_str(&validators.etag) {
            head.insert(ETAG, etag);
        }
        head.insert(CACHE_CONTROL, HeaderValue::from_static(REVALIDATE));
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.has_surrogate_keys {
            head.insert(SURROGATE_KEY, surrogate_key(Some(&served.name)));
        }
        head
    }

    /// Returns the opaque part of the entity tag of a response.
    fn etag(&self, served: &Served, package: &str, query: &str) -> String {
        let mut hash = Sha256::new();
        for part in [self.build, &served.content.digest.hex(), package, query] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        fbc_grammar::Digest::new(hash.finalize().into()).hex()
    }
}

fn find(catalogs: &Catalogs, name: String) -> Result<Arc<Served>, DatasourceError> {
    let snapshot = catalogs.snapshot();
    match snapshot.get(&name) {
        Some(served) => Ok(Arc::clone(served)),
        None if snapshot.awaits(&name) => Err(DatasourceError::NotLoaded { catalog: name }),
        None => Err(DatasourceError::Catalog { catalog: name }),
    }
}

#[cfg(test)]
mod tests;
