//! Who may see which catalogs over HTTP: a layer that asks the API server, and gives views a reader
//! of what the caller may see. Without that reader, views show nothing: a route that the layer does
//! not know is closed, not open.

use std::sync::Arc;

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
use graphql_http::{ConnectionAuthorizer, ConnectionInitError, is_upgrade};
use http_facts::peer::Peer;
use serving::{Catalogs, ICONS};

use super::background::BackgroundTasks;
use crate::args::AccessArgs;
use crate::listen::{ErrorFormat, Refusal, Tls};

/// Path of GraphQL.
const GRAPHQL: &str = "/graphql";

/// Tells who callers are, and what they may do. Clones share everything.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) authenticator: Authenticator,
    pub(super) callers: Callers,
}

/// What a request wants to see.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// Nothing of any catalog.
    Public,
    /// What the caller may see of all catalogs.
    Visible,
    /// The catalog of this name.
    Catalog(String),
}

/// Adds the layer to routes whose views see nothing by themselves.
pub(super) fn guard(routes: Router, access: Access) -> Router {
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
        Peer::of(extensions),
    )
}

async fn authorize(State(access): State<Access>, mut request: Request, next: Next) -> Response {
    let wanted = Wanted::of(request.uri());
    if wanted == Wanted::Public {
        return next.run(request).await;
    }
    let is_socket = wanted == Wanted::Visible
        && request.method() == Method::GET
        && is_upgrade(request.headers());
    let headers = request.headers();
    let extensions = request.extensions();
    match access.reader(headers, extensions, &wanted).await {
        Ok(reader) => drop(request.extensions_mut().insert(reader)),
        // Its first message may say who it is. Until then it sees nothing.
        Err(AuthError::Unauthenticated) if is_socket && !has_credentials(headers, extensions) => {}
        Err(denied) => return refusal(&denied).respond(&ErrorFormat::of(&request)),
    }
    if is_socket {
        let authorizer = access.connection_authorizer(&request);
        request.extensions_mut().insert(authorizer);
    }
    let mut response = next.run(request).await;
    keep_private(response.headers_mut());
    response
}

impl Access {
    /// Asks this API server who callers are and which of these catalogs they may see, and begins to
    /// follow its authorities of client certificates.
    pub(super) fn start(
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

    /// Asks clients for certificates of the current authorities, whenever these change. It never
    /// ends.
    pub(super) async fn accept_clients(self, tls: Tls) {
        let mut authorities = self.authenticator.authorities();
        while authorities.changed().await.is_ok() {
            let current = authorities.borrow_and_update().clone();
            if let Some(current) = current {
                tls.accept_clients(current.roots());
            }
        }
    }

    /// Returns a reader of what the sender of a request may see of what it wants to see.
    async fn reader(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
        wanted: &Wanted,
    ) -> Result<Catalogs, AuthError> {
        let credentials = credentials(&self.authenticator, headers, extensions)?;
        match wanted {
            Wanted::Catalog(name) => self.callers.reader_of(&credentials, name).await,
            Wanted::Public | Wanted::Visible => self.callers.reader(&credentials).await,
        }
    }

    /// Returns what finds out who the client of a WebSocket is, by this handshake with the
    /// `Authorization` of its first message.
    fn connection_authorizer(&self, handshake: &Request) -> ConnectionAuthorizer {
        let access = self.clone();
        let headers = handshake.headers().clone();
        let certificate = handshake
            .extensions()
            .get::<Arc<ClientCertificate>>()
            .cloned();
        let peer = Peer::of(handshake.extensions());
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

/// Returns whether a request says anything of who sends it.
fn has_credentials(headers: &HeaderMap, extensions: &Extensions) -> bool {
    bearer_token(headers).is_some() || extensions.get::<Arc<ClientCertificate>>().is_some()
}

impl Wanted {
    fn of(uri: &Uri) -> Self {
        match uri.path() {
            GRAPHQL => Self::Visible,
            path if path.starts_with(ICONS) => Self::Visible,
            // What cannot be the name of a catalog is refused for that, whoever asks.
            path if path.starts_with(CATALOGS) => {
                requested_catalog(uri).map_or(Self::Public, Self::Catalog)
            }
            _ => Self::Public,
        }
    }
}

/// Returns the refusal of a request.
pub(super) fn refusal(denied: &AuthError) -> Refusal {
    match denied {
        AuthError::Unauthenticated => Refusal::Unauthenticated,
        AuthError::Forbidden { .. } | AuthError::Impersonation => {
            Refusal::Forbidden(denied.to_string())
        }
        AuthError::Unavailable => Refusal::Undecided(denied.to_string()),
    }
}

/// Says in a response that it is for its caller alone: shared caches do not store it.
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
        let wanted = |path: &'static str| Wanted::of(&Uri::from_static(path));
        for path in ["/graphql", "/graphql?query={a}", "/icons/00", "/icons/"] {
            assert_eq!(wanted(path), Wanted::Visible, "{path}");
        }
        for path in [
            "/catalogs/a.b/api/v1/all",
            "/catalogs/a%2eb/api/v1/metas?name=x",
            "/catalogs/a.b/x",
            "/catalogs/a.b",
        ] {
            assert_eq!(wanted(path), Wanted::Catalog("a.b".to_owned()), "{path}");
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
            assert_eq!(wanted(path), Wanted::Public, "{path}");
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
