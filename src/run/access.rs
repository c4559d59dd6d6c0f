//! Who may see which catalogs over HTTP: a layer that asks the API server, and gives views a reader of what the caller may
//! see. Without that reader, views show nothing: a route that the layer does not know is closed, not open.

use auth::{Callers, Denied};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, Entry, VARY};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use catalogd_http::{CATALOGS, requested_catalog};
use serving::ICONS;

use crate::listen::{ErrorFormat, Refusal};

/// What the names of headers begin with that ask to act as somebody else. A front proxy evaluates them; here nobody may.
const IMPERSONATE: &str = "impersonate-";

/// Path of GraphQL.
const GRAPHQL: &str = "/graphql";

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
pub(super) fn guard(routes: Router, callers: Callers) -> Router {
    routes.layer(from_fn_with_state(callers, authorize))
}

async fn authorize(State(callers): State<Callers>, mut request: Request, next: Next) -> Response {
    let wanted = Wanted::of(request.uri());
    if wanted == Wanted::Public {
        return next.run(request).await;
    }
    let headers = request.headers();
    if headers.keys().any(|name| name.as_str().starts_with(IMPERSONATE)) {
        let reason = "Impersonation is not supported".to_owned();
        return Refusal::Forbidden(reason).respond(&ErrorFormat::of(&request));
    }
    let token = bearer_token(headers);
    let reader = match &wanted {
        Wanted::Catalog(name) => callers.reader_of(token, name).await,
        Wanted::Public | Wanted::Visible => callers.reader(token).await,
    };
    match reader {
        Ok(reader) => request.extensions_mut().insert(reader),
        Err(denied) => return refusal(&denied).respond(&ErrorFormat::of(&request)),
    };
    let mut response = next.run(request).await;
    keep_private(response.headers_mut());
    response
}

impl Wanted {
    fn of(uri: &Uri) -> Self {
        match uri.path() {
            GRAPHQL => Self::Visible,
            path if path.starts_with(ICONS) => Self::Visible,
            // What cannot be the name of a catalog is refused for that, whoever asks.
            path if path.starts_with(CATALOGS) => requested_catalog(uri).map_or(Self::Public, Self::Catalog),
            _ => Self::Public,
        }
    }
}

/// Returns the token of a request (RFC 6750 §2.1); `None` without one, or with other credentials.
pub(super) fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at(value.iter().position(|byte| *byte == b' ')?);
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
}

fn refusal(denied: &Denied) -> Refusal {
    match denied {
        Denied::Unauthenticated => Refusal::Unauthenticated,
        Denied::Forbidden { .. } => Refusal::Forbidden(denied.to_string()),
        Denied::Unavailable => Refusal::Undecided(denied.to_string()),
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
    fn the_scheme_of_a_token_may_be_in_any_case_and_others_are_none() {
        let token = |value: &'static str| bearer_token(&with(AUTHORIZATION, value)).map(<[u8]>::to_owned);
        for value in ["Bearer abc", "bearer abc", "BEARER  abc "] {
            assert_eq!(token(value).as_deref(), Some(&b"abc"[..]), "{value}");
        }
        for value in ["Basic abc", "abc", "Bearerabc", "Bearer", "Bearer  "] {
            assert_eq!(token(value), None, "{value}");
        }
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }

    #[test]
    fn a_path_says_what_is_to_be_authorized() {
        let wanted = |path: &'static str| Wanted::of(&Uri::from_static(path));
        for path in ["/graphql", "/graphql?query={a}", "/icons/00", "/icons/"] {
            assert_eq!(wanted(path), Wanted::Visible, "{path}");
        }
        for path in
            ["/catalogs/a.b/api/v1/all", "/catalogs/a%2eb/api/v1/metas?name=x", "/catalogs/a.b/x", "/catalogs/a.b"]
        {
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
            ("public, max-age=31536000, immutable", "private, max-age=31536000, immutable"),
            ("no-store", "no-store"),
        ] {
            let mut headers = with(CACHE_CONTROL, before);
            keep_private(&mut headers);
            assert_eq!([&headers[CACHE_CONTROL], &headers[VARY]], [after, "authorization"]);
        }
        let mut headers = with(VARY, "accept");
        keep_private(&mut headers);
        assert_eq!(headers[CACHE_CONTROL], "private");
        assert_eq!(headers.get_all(VARY).iter().count(), 2);
    }
}
