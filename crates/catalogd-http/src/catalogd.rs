//! The HTTP API of catalogd at the same paths: whole catalogs, and the blobs that match a filter.
//!
//! Statuses, texts and headers are catalogd's, so that its clients need no change.
//! `docs/reference/http.md` lists the differences; in each of them catalogd loses data or
//! contradicts RFC 9110.

mod clean;
mod encoding_cache;
mod lines;
mod name;
mod parameters;
mod parts;
mod resource;
mod responses;

use std::sync::Arc;

use admission::{FairSemaphore, Peer, Permits};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{HeaderName, VARY};
use axum::http::{HeaderValue, Uri};
use axum::middleware::{from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use fbc::work::{UNIT, Work, WorkStopped};
use serving::{Catalogs, ReadBarrier, Served};

use encoding_cache::{EncodingCache, EncodingKey};
use lines::PeerBudget;
use parameters::Parameters;
use resource::{Compression, Resource};
use responses::CatalogdError;

use super::body::Slices;
use super::catalogs_of;

pub use clean::MAX_TARGET_BYTES;
pub use encoding_cache::{ENCODING_CACHE_BYTES, MAX_CACHED_ENCODING_BYTES};
pub use lines::{MAX_LINE_RANGES_BYTES, UNCOUNTED_LINE_RANGES_BYTES};
pub use resource::{MAX_COMPRESSED_STREAMS, MAX_ENCODED_BYTES};

/// Prefix of the paths of catalogs and their blobs.
pub const CATALOGS: &str = "/catalogs/";

/// Header in which a follower sends its id, and gets the ids of the servers that the catalog came
/// through.
const VIA: HeaderName = HeaderName::from_static("catalogql-via");

/// Path of the whole catalog.
const ALL: &str = "/catalogs/{catalog}/api/v1/all";

/// Path of the whole catalog in the first versions of catalogd.
const LEGACY_ALL: &str = "/catalogs/{catalog}/all.json";

/// Path of the blobs that match a filter.
const METAS: &str = "/catalogs/{catalog}/api/v1/metas";

/// State shared by all requests to these routes.
#[derive(Clone)]
struct ApiState {
    catalogs: Catalogs,
    /// Identity of the build. It is part of the entity tags of filtered blobs, because the code
    /// decides which match.
    build: &'static str,
    compression: Compression,
    /// Bounds the bytes of the line ranges of filtered blobs.
    line_ranges: Permits,
    /// Lets this replica learn what the status of a catalog says before the catalog is read.
    read_barrier: Option<ReadBarrier>,
}

/// Units of work up to which blobs are found on the thread of the connection: a tenth of a
/// millisecond.
const SHORT_WORK: u64 = 100;

/// Paths of this module.
pub(super) const ROUTES: [&str; 3] = [ALL, LEGACY_ALL, METAS];

/// Returns the routes of whole catalogs and blobs, and catalogd's responses to requests that no
/// route matches.
pub(super) fn router(
    catalogs: Catalogs,
    build: &'static str,
    read_barrier: Option<ReadBarrier>,
) -> Router {
    routes(ApiState {
        catalogs,
        build,
        compression: Compression {
            streams: Permits::new(MAX_COMPRESSED_STREAMS),
            work: FairSemaphore::per_processor(),
            cache: EncodingCache::with_bytes(ENCODING_CACHE_BYTES),
        },
        line_ranges: Permits::new(MAX_LINE_RANGES_BYTES),
        read_barrier,
    })
}

fn routes(state: ApiState) -> Router {
    let vary = async |mut response: Response| {
        response
            .headers_mut()
            .insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        response
    };
    Router::new()
        .route(ALL, only_get(get(all)))
        .route(LEGACY_ALL, only_get(get(all)))
        .route(METAS, only_get(get(metas)))
        .fallback(async || responses::not_found())
        .layer(from_fn(clean::redirect))
        .layer(map_response(vary))
        .with_state(state)
}

fn only_get(methods: MethodRouter<ApiState>) -> MethodRouter<ApiState> {
    methods.fallback(async || responses::method_not_allowed())
}

async fn all(State(state): State<ApiState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let catalogs = catalogs_of(&head.extensions, &state.catalogs);
    match state.find_current(catalogs, &head.uri).await {
        Ok(served) => {
            let mut response = Resource::all(&served)
                .respond(&head, &state.compression)
                .await;
            // Other clients see the headers of catalogd alone.
            if head.headers.contains_key(VIA) {
                let snapshot = catalogs.snapshot();
                let via = HeaderValue::from_str(&snapshot.via(&served.name));
                response
                    .headers_mut()
                    .extend(via.ok().map(|via| (VIA, via)));
            }
            response
        }
        Err(error) => error.into_response(),
    }
}

async fn metas(State(state): State<ApiState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let (served, parameters) =
        match parse_request(catalogs_of(&head.extensions, &state.catalogs), &head.uri) {
            Ok((served, parameters)) => (served, Arc::new(parameters)),
            Err(error) => return error.into_response(),
        };
    let peer = Peer::from_extensions(&head.extensions);
    match state.find(&served, &parameters, peer).await {
        Some(lines) => {
            let resource = Resource::metas(&served, &parameters, state.build, lines);
            if let Some(key) = resource.missed_encoding(&head, &state.compression) {
                state.fill(key, &served, &parameters, peer);
            }
            resource.respond(&head, &state.compression).await
        }
        None => responses::overloaded(),
    }
}

impl ApiState {
    /// Finds a catalog to read it whole. Clients keep it as the content of the image that is in the
    /// status of its `ClusterCatalog`, so that it must not be an older one.
    async fn find_current(
        &self,
        catalogs: &Catalogs,
        uri: &Uri,
    ) -> Result<Arc<Served>, CatalogdError> {
        let name = name::parse_name(uri)?;
        // Names without a catalog must not cause requests to the API server.
        let is_served = catalogs.snapshot().get(&name).is_some();
        if let Some(barrier) = self.read_barrier.as_ref().filter(|_| is_served) {
            barrier.wait(&name).await;
        }
        find_catalog(catalogs, &name)
    }

    /// Finds the lines of the blobs that match a filter, with a permit of the peer if that takes
    /// long; `None` if the budget for line ranges is exhausted.
    async fn find(
        &self,
        served: &Arc<Served>,
        parameters: &Arc<Parameters>,
        peer: Peer,
    ) -> Option<Slices> {
        if let Ok(lines) = self.find_soon(served, parameters, peer) {
            return lines;
        }
        let served = Arc::clone(served);
        let parameters = Arc::clone(parameters);
        let permits = self.line_ranges.clone();
        let find = move || {
            let budget = PeerBudget {
                permits: &permits,
                peer,
            };
            find(&served, &parameters, &Work::unlimited(), Some(budget))
        };
        let found = self.compression.work.acquire(&peer).await.run(find);
        found.await.ok().and_then(Result::ok).flatten()
    }

    /// Makes a compressed form of the blobs that match a filter, for later requests.
    fn fill(
        &self,
        key: EncodingKey,
        served: &Arc<Served>,
        parameters: &Arc<Parameters>,
        peer: Peer,
    ) {
        let served = Arc::clone(served);
        let parameters = Arc::clone(parameters);
        // Without a budget: the response to this request holds the peer's share of it. One form is
        // made at a time.
        let find = move || {
            let found = find(&served, &parameters, &Work::unlimited(), None);
            found.ok().flatten()
        };
        self.compression.cache.fill(key, peer, find);
    }

    fn find_soon(
        &self,
        served: &Served,
        parameters: &Parameters,
        peer: Peer,
    ) -> Result<Option<Slices>, WorkStopped> {
        let check = |drawn: u64| (drawn <= SHORT_WORK * UNIT).then_some(0);
        let budget = PeerBudget {
            permits: &self.line_ranges,
            peer,
        };
        find(served, parameters, &Work::new(&check), Some(budget))
    }
}

fn find(
    served: &Served,
    parameters: &Parameters,
    work: &Work<'_>,
    budget: Option<PeerBudget<'_>>,
) -> Result<Option<Slices>, WorkStopped> {
    let catalog = &served.content.catalog;
    match parameters.filter() {
        _ if parameters.is_empty() => Ok(Some(Slices::whole(catalog.content().clone()))),
        Some(filter) => lines::find_lines(catalog, &filter, work, budget),
        None => Ok(Some(Slices::new(catalog.content().clone()))),
    }
}

/// Returns the catalog's name in a path below [`CATALOGS`]; `None` if no catalog can have it.
pub fn requested_catalog(uri: &Uri) -> Option<String> {
    name::parse_name(uri).ok()
}

/// Returns the catalog's name in a path below [`CATALOGS`].
///
/// # Errors
/// catalogd's response to a name that no catalog can have.
#[expect(clippy::result_large_err, reason = "it is sent at once")]
pub fn parse_catalog(uri: &Uri) -> Result<String, Response> {
    name::parse_name(uri).map_err(IntoResponse::into_response)
}

/// Finds the catalog and parses the filter of a request for blobs, in the order in which catalogd
/// reports errors.
fn parse_request(
    catalogs: &Catalogs,
    uri: &Uri,
) -> Result<(Arc<Served>, Parameters), CatalogdError> {
    let name = name::parse_name(uri)?;
    let parameters =
        Parameters::parse(uri.query().unwrap_or_default()).ok_or(CatalogdError::Query)?;
    Ok((find_catalog(catalogs, &name)?, parameters))
}

fn find_catalog(catalogs: &Catalogs, name: &str) -> Result<Arc<Served>, CatalogdError> {
    let snapshot = catalogs.snapshot();
    match snapshot.get(name) {
        Some(served) if snapshot.is_behind(served) => Err(CatalogdError::NotLoaded),
        Some(served) => Ok(Arc::clone(served)),
        None if snapshot.awaits(name) => Err(CatalogdError::NotLoaded),
        None => Err(CatalogdError::Catalog),
    }
}

#[cfg(test)]
mod tests;
