//! Plain HTTP over what is served: whole catalogs and their blobs as catalogd serves them, icons, and what describes
//! these for programs.
//!
//! It knows nothing of GraphQL.

mod body;
mod catalogd;
mod icons;
mod openapi;
mod ranges;

use axum::Router;
use axum::routing::get;

pub use catalogd::{MAX_ENCODED_BYTES, MAX_TARGET_BYTES};
pub use openapi::OPENAPI;
pub use ranges::MAX_RANGES;

use serving::{Catalogs, ICONS};

/// Where this view is described for programs.
const DESCRIPTION: &str = "/openapi.json";

/// `GET` and `HEAD` of catalogs, blobs and icons; and what is said where no other route is.
///
/// `build` identifies the code that decides what responses say: entity tags of another build are never taken for this
/// one's.
pub fn router(catalogs: Catalogs, build: &'static str) -> Router {
    let icons = Router::new().route(&icons_route(), get(icons::icon)).with_state(catalogs.clone());
    let description = Router::new().route(DESCRIPTION, get(openapi::openapi));
    catalogd::router(catalogs, build).merge(icons).merge(description)
}

/// The paths of this view, with their parameters in braces.
pub fn routes() -> Vec<String> {
    let mut routes: Vec<_> = catalogd::ROUTES.map(str::to_owned).into();
    routes.extend([icons_route(), DESCRIPTION.to_owned()]);
    routes
}

fn icons_route() -> String {
    format!("{ICONS}{{digest}}")
}

#[cfg(test)]
mod tests;
