//! Plain HTTP over the published catalogs: whole catalogs and their blobs as catalogd serves them,
//! icons, and an `OpenAPI` document that describes these routes.
//!
//! This crate knows nothing of GraphQL.

mod body;
mod catalogd;
mod icons;
mod openapi;
mod ranges;

use axum::Router;
use axum::http::Extensions;
use axum::routing::get;

pub use catalogd::{
    CATALOGS, ENCODING_CACHE_BYTES, MAX_CACHED_ENCODING_BYTES, MAX_COMPRESSED_STREAMS,
    MAX_ENCODED_BYTES, MAX_LINE_RANGES_BYTES, MAX_TARGET_BYTES, UNCOUNTED_LINE_RANGES_BYTES,
    parse_catalog, requested_catalog,
};
pub use openapi::OPENAPI;
pub use ranges::MAX_RANGES;

use serving::{Catalogs, ICONS, ReadBarrier};

/// Path of the `OpenAPI` document.
const DESCRIPTION: &str = "/openapi.json";

/// Returns the routes of catalogs, blobs and icons, and the fallback for paths without a route. A
/// request is answered from the [`Catalogs`] in its extensions, which an authorizing layer inserts,
/// or else from these.
///
/// `build` identifies the code that decides what responses contain. It is part of entity tags, so
/// that those of another build never match. Reads of whole catalogs wait at the barrier, if there is
/// one.
pub fn router(
    catalogs: Catalogs,
    build: &'static str,
    read_barrier: Option<ReadBarrier>,
) -> Router {
    let icons = Router::new()
        .route(&icons_route(), get(icons::icon))
        .with_state(catalogs.clone());
    let description = Router::new().route(DESCRIPTION, get(openapi::openapi));
    catalogd::router(catalogs, build, read_barrier)
        .merge(icons)
        .merge(description)
}

/// Returns the paths of all routes, with parameters in braces.
pub fn routes() -> Vec<String> {
    let mut routes: Vec<_> = catalogd::ROUTES.map(str::to_owned).into();
    routes.extend([icons_route(), DESCRIPTION.to_owned()]);
    routes
}

/// Returns the catalogs from which a request is answered.
fn catalogs_of<'r>(extensions: &'r Extensions, own: &'r Catalogs) -> &'r Catalogs {
    extensions.get().unwrap_or(own)
}

fn icons_route() -> String {
    format!("{ICONS}{{digest}}")
}

#[cfg(test)]
mod tests;
