//! Plain HTTP over what is served: icons.
//!
//! It knows nothing of GraphQL.

mod icons;

use axum::Router;
use axum::routing::get;

use super::ICONS;
use crate::catalogs::Catalogs;

/// `GET` and `HEAD` of icons.
pub fn router(catalogs: Catalogs) -> Router {
    Router::new().route(&format!("{ICONS}{{digest}}"), get(icons::icon)).with_state(catalogs)
}
