//! The route of edits: opens the directories that can be edited, and authorizes callers.

use auth::{AuthError, RequestCredentials, ResourceAccess};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use catalogd_http::requested_catalog;
use edit_http::{EditableCatalogs, EditableDirectory};
use http_server::ErrorFormat;
use loading::Refresher;
use serving::Catalogs;

use super::access::{self, AccessControl, credentials};
use crate::args::EditableArg;

/// Returns the route of edits. The layer of `access` guards it where callers are told apart.
pub(super) fn routes(
    editable: &[EditableArg],
    access: Option<AccessControl>,
    catalogs: Catalogs,
    refresher: Refresher,
) -> anyhow::Result<Router> {
    let directories = editable.iter().map(|argument| EditableDirectory {
        name: argument.name.clone(),
        path: argument.directory.clone(),
    });
    let editable = EditableCatalogs::open(directories, catalogs, refresher)?;
    let routes = edit_http::router(editable);
    Ok(match access {
        Some(access) => routes.layer(from_fn_with_state(access, authorize)),
        None => routes,
    })
}

/// Passes requests on whose callers may `update` the content of the catalog.
async fn authorize(State(access): State<AccessControl>, request: Request, next: Next) -> Response {
    let credentials = credentials(
        &access.authenticator,
        request.headers(),
        request.extensions(),
    );
    let credentials = credentials.map(RequestCredentials::into_owned);
    let name = requested_catalog(request.uri());
    match may_update(&access, credentials, name).await {
        Ok(()) => next.run(request).await,
        Err(denied) => access::http_error(&denied).respond(&ErrorFormat::from_request(&request)),
    }
}

async fn may_update(
    access: &AccessControl,
    credentials: Result<RequestCredentials<'static>, AuthError>,
    name: Option<String>,
) -> Result<(), AuthError> {
    let required = ResourceAccess {
        verb: "update",
        group: "olm.operatorframework.io",
        resource: "clustercatalogs",
        subresource: Some("content"),
        name: name.as_deref(),
        ..ResourceAccess::default()
    };
    access
        .callers
        .authorize(&credentials?, auth::RequestedAccess::Resource(required))
        .await
}
