//! Changes of catalogs and packages as Atom feeds, for readers that poll them.
//!
//! A feed is made from the change logs of its catalogs. Its entries are the changes of one package
//! with one content, and keep their ids on each replica and across restarts.

mod atom;
mod error;
mod request;
mod select;

use std::sync::Arc;

use admission::{FairSemaphore, Peer};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fbc::work::{UNIT, Work};
use http_content::cache_control::{REVALIDATE, SURROGATE_KEY, surrogate_key};
use http_content::preconditions::{EmptyBody, PreconditionResult, Validators};
use serving::{Catalogs, Served, Snapshot};
use sha2::{Digest as _, Sha256};

pub use atom::{MAX_LISTED_CHANGES, MAX_SHOWN_NAME};

use atom::Feed;
use error::FeedError;
use request::FeedRequest;
use select::{FeedSource, select};

/// Path of the feed of all catalogs.
pub const FEEDS: &str = "/feeds";

/// Prefix of the paths of the feeds of a catalog, whose name follows it.
pub const FEEDS_OF_CATALOG: &str = "/feeds/";

/// Path of the feed of a catalog.
const CATALOG: &str = "/feeds/{catalog}";

/// Path of the feed of a package.
const PACKAGE: &str = "/feeds/{catalog}/{package}";

/// Maximum number of entries of a feed; later ones take the place of earlier ones.
pub const MAX_ENTRIES: usize = 200;

/// Maximum length of a feed in bytes.
pub const MAX_FEED_BYTES: usize = 1 << 20;

/// Maximum work for one feed, in units: a fifth of a second.
pub const MAX_WORK: u64 = 200_000;

/// Options of the feeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedSettings {
    /// Responses have the header `Surrogate-Key`.
    pub has_surrogate_keys: bool,
    /// The server has the explorer, to whose pages feeds link.
    pub has_explorer: bool,
}

/// State shared by all requests.
#[derive(Clone)]
struct FeedState {
    catalogs: Catalogs,
    build: &'static str,
    work: FairSemaphore<Peer>,
    settings: FeedSettings,
}

/// Returns the routes. A request is answered from the [`Catalogs`] in its extensions, which an
/// authorizing layer inserts, or else from these. `build` identifies the code and is part of entity
/// tags.
pub fn router(catalogs: Catalogs, build: &'static str, settings: FeedSettings) -> Router {
    Router::new()
        .route(FEEDS, get(feed_of_all))
        .route(CATALOG, get(feed_of_catalog))
        .route(PACKAGE, get(feed_of_package))
        .with_state(FeedState {
            catalogs,
            build,
            work: FairSemaphore::per_processor(),
            settings,
        })
}

/// Returns the paths of all routes, with parameters in braces.
pub fn routes() -> [&'static str; 3] {
    [FEEDS, CATALOG, PACKAGE]
}

async fn feed_of_all(
    State(state): State<FeedState>,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let request = FeedRequest::default().parse(&query.unwrap_or_default());
    state.respond(request, &extensions, &headers).await
}

async fn feed_of_catalog(
    State(state): State<FeedState>,
    Path(catalog): Path<String>,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let request = FeedRequest {
        catalog: Some(catalog),
        ..FeedRequest::default()
    };
    let request = request.parse(&query.unwrap_or_default());
    state.respond(request, &extensions, &headers).await
}

async fn feed_of_package(
    State(state): State<FeedState>,
    Path((catalog, package)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let request = FeedRequest {
        catalog: Some(catalog),
        package: Some(package),
        search: None,
    };
    let request = request.parse(&query.unwrap_or_default());
    state.respond(request, &extensions, &headers).await
}

impl FeedState {
    async fn respond(
        &self,
        request: Result<FeedRequest, FeedError>,
        extensions: &Extensions,
        headers: &HeaderMap,
    ) -> Response {
        let snapshot = extensions.get().unwrap_or(&self.catalogs).snapshot();
        let found = request.and_then(|request| {
            let sources = sources(&snapshot, &request)?;
            Ok((request, sources))
        });
        let (request, sources) = match found {
            Ok(found) => found,
            Err(error) => return error.into_response(),
        };

        let validators = Validators::new(&self.etag(&request, &sources), None);
        let head = self.head(&request, &validators);
        // A client has the tag from a response of the same changes, so that the package was there.
        match validators.evaluate(headers) {
            PreconditionResult::Satisfied => {}
            PreconditionResult::NotModified => {
                return (StatusCode::NOT_MODIFIED, head, Body::new(EmptyBody)).into_response();
            }
            PreconditionResult::Failed => {
                return (StatusCode::PRECONDITION_FAILED, head).into_response();
            }
        }

        let peer = Peer::from_extensions(extensions);
        let has_explorer = self.settings.has_explorer;
        let write = move || write(&sources, &request, has_explorer);
        let written = self.work.acquire(&peer).await.run(write).await;
        match written.unwrap_or(Err(FeedError::Failed)) {
            Ok(xml) => (head, xml).into_response(),
            Err(error) => error.into_response(),
        }
    }

    /// Returns the headers of a feed.
    fn head(&self, request: &FeedRequest, validators: &Validators) -> HeaderMap {
        let mut head = HeaderMap::new();
        // Always succeeds: a tag has only hexadecimal digits.
        if let Ok(etag) = validators.etag_header() {
            head.insert(ETAG, etag);
        }
        let kind = HeaderValue::from_static("application/atom+xml; charset=utf-8");
        head.insert(CONTENT_TYPE, kind);
        head.insert(CACHE_CONTROL, HeaderValue::from_static(REVALIDATE));
        let no_sniffing = HeaderValue::from_static("nosniff");
        head.insert(X_CONTENT_TYPE_OPTIONS, no_sniffing);
        if self.settings.has_surrogate_keys {
            head.insert(SURROGATE_KEY, surrogate_key(request.catalog.as_deref()));
        }
        head
    }

    /// Returns the opaque part of the entity tag of a feed.
    fn etag(&self, request: &FeedRequest, sources: &[FeedSource]) -> String {
        let mut hash = Sha256::new();
        // `Debug` quotes texts, so that no two requests are the same text.
        let explorer = self.settings.has_explorer;
        hash.update(format!("{} {explorer} {request:?}", self.build));
        for FeedSource { served, log } in sources {
            hash.update(served.revision().as_bytes());
            hash.update((log.checksum().len() as u64).to_le_bytes());
            hash.update(log.checksum());
        }
        fbc_grammar::Digest::new(hash.finalize().into()).hex()
    }
}

fn write(
    sources: &[FeedSource],
    request: &FeedRequest,
    has_explorer: bool,
) -> Result<Vec<u8>, FeedError> {
    let check = |drawn: u64| (drawn <= MAX_WORK * UNIT).then_some(0);
    let entries = select(sources, request, &Work::new(&check))?;
    let feed = Feed {
        request,
        sources,
        entries: &entries,
        has_explorer,
    };
    // Writing to memory does not fail.
    feed.write().map_err(|_| FeedError::Failed)
}

/// Returns the catalogs of a feed, with their change logs.
fn sources(snapshot: &Snapshot, request: &FeedRequest) -> Result<Vec<FeedSource>, FeedError> {
    let source = |served: &Arc<Served>| FeedSource {
        served: Arc::clone(served),
        log: snapshot.change_log(served),
    };
    let Some(name) = &request.catalog else {
        return Ok(snapshot.by_name().map(source).collect());
    };
    match snapshot.get(name) {
        Some(served) => Ok(vec![source(served)]),
        None if snapshot.awaits(name) => Err(FeedError::NotLoaded {
            catalog: name.clone(),
        }),
        None => Err(FeedError::Catalog {
            catalog: name.clone(),
        }),
    }
}

#[cfg(test)]
mod tests;
