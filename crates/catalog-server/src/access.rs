//! Access control of catalogs over HTTP: a layer that asks the API server, and gives views a reader
//! of the catalogs that the caller may see. Without that reader, views show nothing: a route that
//! the layer does not know is closed, not open.

use std::sync::Arc;

use admission::Peer;
use auth::{
    AuthError, Authenticator, Callers, ClientCertificate, RequestCredentials, bearer_token,
};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, Entry, VARY};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use catalogd_http::{CATALOGS, requested_catalog};
use controller::ApiServerClient;
use feeds_http::{FEEDS, FEEDS_OF_CATALOG};
use graphql_http::{ConnectionAuthorizer, ConnectionInitError, is_upgrade};
use http_server::{ErrorFormat, HttpError, Tls};
use renovate_http::RENOVATE;
use serving::{Catalogs, ICONS};

use super::background::BackgroundTasks;
use crate::args::AccessArgs;
use crate::handlers::MCP;

/// Prefixes of the paths that have the name of a catalog next.
const OF_CATALOG: [&str; 3] = [CATALOGS, RENOVATE, FEEDS_OF_CATALOG];

/// Path of GraphQL.
const GRAPHQL: &str = "/graphql";

/// Identifies callers and authorizes them. Clones share everything.
#[derive(Clone)]
pub struct AccessControl {
    pub(super) authenticator: Authenticator,
    pub(super) callers: Callers,
}

/// Catalogs that a request is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestedCatalogs {
    /// None: the response is the same for all callers.
    Public,
    /// All that the caller may see.
    Visible,
    /// The catalog of this name.
    Catalog(String),
}

/// Adds the layer to routes whose views see nothing by themselves.
pub(super) fn guard(routes: Router, access: AccessControl) -> Router {
    routes.layer(from_fn_with_state(access, authorize))
}

/// Returns the credentials of a request.
pub(super) fn credentials<'r>(
    authenticator: &Authenticator,
    headers: &'r HeaderMap,
    extensions: &Extensions,
) -> Result<RequestCredentials<'r>, AuthError> {
    authenticator.credentials(
        headers,
        extensions.get::<Arc<ClientCertificate>>(),
        Peer::from_extensions(extensions),
    )
}

async fn authorize(
    State(access): State<AccessControl>,
    mut request: Request,
    next: Next,
) -> Response {
    let requested = RequestedCatalogs::from_uri(request.uri());
    if requested == RequestedCatalogs::Public {
        return next.run(request).await;
    }
    // Browsers cannot set headers of a WebSocket's handshake.
    let is_socket = requested == RequestedCatalogs::Visible
        && request.method() == Method::GET
        && is_upgrade(request.headers());
    let headers = request.headers();
    let extensions = request.extensions();
    match access.reader(headers, extensions, &requested).await {
        Ok(reader) => drop(request.extensions_mut().insert(reader)),
        // The first message of a WebSocket may have its credentials. Until then it sees nothing.
        Err(AuthError::Unauthenticated) if is_socket && !has_credentials(headers, extensions) => {}
        Err(denied) => return http_error(&denied).respond(&ErrorFormat::from_request(&request)),
    }
    if is_socket {
        let authorizer = access.connection_authorizer(&request);
        request.extensions_mut().insert(authorizer);
    }
    let mut response = next.run(request).await;
    keep_private(response.headers_mut());
    response
}

impl AccessControl {
    /// Starts to follow the API server's authorities of client certificates. Callers see those of
    /// `catalogs` that the API server lets them read.
    pub fn start(
        api_server: &ApiServerClient,
        args: &AccessArgs,
        catalogs: &Catalogs,
        tasks: &mut BackgroundTasks,
    ) -> Self {
        let (authenticator, following) = Authenticator::new(api_server.client.clone());
        tasks.spawn("follow the authorities of clients", following);
        let callers = Callers::new(
            api_server.client.clone(),
            args.token_audience.clone(),
            catalogs.clone(),
        );
        Self {
            authenticator,
            callers,
        }
    }

    /// Lets the listeners request client certificates of the current authorities, whenever these
    /// change. It never ends.
    pub(super) async fn accept_clients(self, tls: Tls) {
        let mut authorities = self.authenticator.authorities();
        while authorities.changed().await.is_ok() {
            let current = authorities.borrow_and_update().clone();
            if let Some(current) = current {
                tls.accept_clients(current.roots());
            }
        }
    }

    /// Returns a reader of the requested catalogs that the caller may see.
    async fn reader(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
        requested: &RequestedCatalogs,
    ) -> Result<Catalogs, AuthError> {
        let credentials = credentials(&self.authenticator, headers, extensions)?;
        match requested {
            RequestedCatalogs::Catalog(name) => self.callers.reader_of(&credentials, name).await,
            RequestedCatalogs::Public | RequestedCatalogs::Visible => {
                self.callers.reader(&credentials).await
            }
        }
    }

    /// Returns the authorizer of a WebSocket, which identifies the client by this handshake and the
    /// `Authorization` of its first message.
    fn connection_authorizer(&self, handshake: &Request) -> ConnectionAuthorizer {
        let access = self.clone();
        let headers = handshake.headers().clone();
        let certificate = handshake
            .extensions()
            .get::<Arc<ClientCertificate>>()
            .cloned();
        let peer = Peer::from_extensions(handshake.extensions());
        ConnectionAuthorizer::new(move |authorization| {
            let access = access.clone();
            let mut headers = headers.clone();
            let certificate = certificate.clone();
            Box::pin(async move {
                let is_named = authorization.is_some();
                if let Some(value) = authorization {
                    headers.insert(AUTHORIZATION, value);
                }
                let credentials =
                    access
                        .authenticator
                        .credentials(&headers, certificate.as_ref(), peer);
                let reader = match credentials {
                    Ok(credentials) => access.callers.reader(&credentials).await,
                    Err(denied) => Err(denied),
                };
                reader.map_err(|denied| match denied {
                    AuthError::Unauthenticated if !is_named => ConnectionInitError::Unauthenticated,
                    AuthError::Unavailable => ConnectionInitError::Undecided,
                    _ => ConnectionInitError::Forbidden,
                })
            })
        })
    }
}

/// Returns whether a request has a token or a client certificate.
fn has_credentials(headers: &HeaderMap, extensions: &Extensions) -> bool {
    bearer_token(headers).is_some() || extensions.get::<Arc<ClientCertificate>>().is_some()
}

impl RequestedCatalogs {
    /// Returns the name of the catalog, if it is a single one.
    pub(super) fn into_catalog(self) -> Option<String> {
        match self {
            Self::Catalog(name) => Some(name),
            Self::Public | Self::Visible => None,
        }
    }

    pub(super) fn from_uri(uri: &Uri) -> Self {
        match uri.path() {
            FEEDS | GRAPHQL | MCP => Self::Visible,
            path if path.starts_with(ICONS) => Self::Visible,
            // Without a valid name, the view responds with the same error to all callers.
            path if OF_CATALOG.iter().any(|prefix| path.starts_with(prefix)) => {
                requested_catalog(uri).map_or(Self::Public, Self::Catalog)
            }
            _ => Self::Public,
        }
    }
}

/// Returns the error that a denied request is answered with.
pub(super) fn http_error(denied: &AuthError) -> HttpError {
    match denied {
        AuthError::Unauthenticated => HttpError::Unauthenticated,
        AuthError::Forbidden { .. } | AuthError::Impersonation => {
            HttpError::Forbidden(denied.to_string())
        }
        AuthError::Unavailable => HttpError::Undecided(denied.to_string()),
    }
}

/// Marks a response as private to its caller: shared caches do not store it.
fn keep_private(headers: &mut HeaderMap) {
    match headers.entry(CACHE_CONTROL) {
        Entry::Vacant(entry) => drop(entry.insert(HeaderValue::from_static("private"))),
        Entry::Occupied(mut entry) => {
            let rest = entry.get().as_bytes().strip_prefix(b"public");
            let value = rest.map(|rest| HeaderValue::from_bytes(&[b"private", rest].concat()));
            if let Some(Ok(value)) = value {
                entry.insert(value);
            }
        }
    }
    headers.append(VARY, HeaderValue::from_static("authorization"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: axum::http::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_path_says_what_is_to_be_authorized() {
        let requested = |path: &'static str| RequestedCatalogs::from_uri(&Uri::from_static(path));
        for path in [
            "/graphql",
            "/graphql?query={a}",
            "/mcp",
            "/icons/00",
            "/icons/",
            "/feeds",
            "/feeds?search=x",
        ] {
            assert_eq!(requested(path), RequestedCatalogs::Visible, "{path}");
        }
        for path in [
            "/catalogs/a.b/api/v1/all",
            "/catalogs/a%2eb/api/v1/metas?name=x",
            "/catalogs/a.b/x",
            "/catalogs/a.b",
            "/renovate/a.b/etcd?from=1.0.0",
            "/renovate/a%2eb/etcd",
            "/feeds/a.b",
            "/feeds/a%2eb?search=x",
            "/feeds/a.b/etcd",
        ] {
            assert_eq!(
                requested(path),
                RequestedCatalogs::Catalog("a.b".to_owned()),
                "{path}"
            );
        }
        for path in [
            "/",
            "/schema.graphql",
            "/openapi.json",
            "/version",
            "/assets/a.js",
            "/playground/",
            "/catalogs/A/api/v1/all",
        ] {
            assert_eq!(requested(path), RequestedCatalogs::Public, "{path}");
        }
    }

    #[test]
    fn responses_are_for_their_caller_alone() {
        for (before, after) in [
            ("public, no-cache", "private, no-cache"),
            (
                "public, max-age=31536000, immutable",
                "private, max-age=31536000, immutable",
            ),
            ("no-store", "no-store"),
        ] {
            let mut headers = with(CACHE_CONTROL, before);
            keep_private(&mut headers);
            assert_eq!(
                [&headers[CACHE_CONTROL], &headers[VARY]],
                [after, "authorization"]
            );
        }
        let mut headers = with(VARY, "accept");
        keep_private(&mut headers);
        assert_eq!(headers[CACHE_CONTROL], "private");
        assert_eq!(headers.get_all(VARY).iter().count(), 2);
    }
}
