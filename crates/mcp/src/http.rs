//! Tools over HTTP: `POST /mcp` of the transport "Streamable HTTP", without sessions and without
//! streams.
//!
//! Each request is answered with one JSON object, so that nothing of a client remains when its
//! request is answered. The listener checks the `Host` of each request, and `rmcp` its `Origin`.

use std::sync::Arc;

use admission::{Peer, PeerPermit, Permits};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::server::ToolServer;

/// Path of the tools.
pub const MCP: &str = "/mcp";

/// Maximum size in bytes of the body of a request: it is parsed on a thread that serves connections.
pub const MAX_REQUEST_BYTES: usize = 32 << 10;

/// Maximum size in bytes of a body that is read without a permit: the number of connections bounds
/// these.
pub const UNCOUNTED_REQUEST_BYTES: usize = 8 << 10;

/// Maximum number of larger bodies that are read at one time, at most half of them of one peer.
pub const READING_REQUESTS: usize = 128;

/// Maximum number of requests whose responses were not read yet, at most half of them of one peer.
pub const MAX_REQUESTS: usize = 256;

/// State shared by all requests.
struct McpState {
    service: StreamableHttpService<ToolServer, NeverSessionManager>,
    reading: Permits,
    requests: Permits,
}

/// Response with the permit of its request.
struct PermittedBytes {
    bytes: Bytes,
    /// Released with the memory.
    _permit: Arc<PeerPermit>,
}

/// Permit in the extensions of a request: its execution may go on after the client has left.
#[derive(Clone)]
struct RequestPermit(#[expect(dead_code, reason = "held")] Arc<PeerPermit>);

/// Returns the route. A request is answered from the [`Catalogs`](serving::Catalogs) in its
/// extensions, which an authorizing layer inserts, or else from those of the engine. Requests of
/// pages are accepted from these origins only; `*` is every origin.
pub fn router(server: ToolServer, origins: &[HeaderValue]) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_REQUEST_BYTES)
        // The listener rejects them for all paths.
        .disable_allowed_hosts();
    let config = if origins.iter().any(|origin| origin == "*") {
        config.disable_allowed_origins()
    } else {
        config
            .with_allowed_origins(origins.iter().filter_map(with_port))
            .enforce_origin_validation()
    };
    let sessions = Arc::new(NeverSessionManager::default());
    let state = McpState {
        service: StreamableHttpService::new(move || Ok(server.clone()), sessions, config),
        reading: Permits::new(READING_REQUESTS),
        requests: Permits::new(MAX_REQUESTS),
    };
    Router::new()
        .route(MCP, any(respond))
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(Arc::new(state))
}

/// Returns an origin with its port. Without one, `rmcp` would accept every port.
fn with_port(origin: &HeaderValue) -> Option<String> {
    let origin = origin.to_str().ok()?;
    let uri: Uri = origin.parse().ok()?;
    let default = match uri.scheme_str()? {
        "https" => 443,
        _ => 80,
    };
    Some(match uri.port_u16() {
        Some(_) => origin.to_owned(),
        None => format!("{origin}:{default}"),
    })
}

async fn respond(State(state): State<Arc<McpState>>, request: Request) -> Response {
    let peer = Peer::from_extensions(request.extensions());
    let declared = request.body().size_hint().upper();
    let is_large = declared.is_none_or(|bytes| bytes > UNCOUNTED_REQUEST_BYTES as u64);
    let reading = is_large.then(|| state.reading.try_acquire(peer, 1));
    if let Some(None) = reading {
        return overloaded();
    }
    let (mut parts, body) = request.into_parts();
    let body = Request::from_parts(parts.clone(), body);
    let body = match Bytes::from_request(body, &()).await {
        Ok(body) => body,
        Err(rejection) => return text_error(rejection.status(), &rejection.body_text()),
    };
    let Some(permit) = state.requests.try_acquire(peer, 1) else {
        return overloaded();
    };
    drop(reading);

    let permit = Arc::new(permit);
    parts.extensions.insert(RequestPermit(Arc::clone(&permit)));
    let request = Request::from_parts(parts, Body::from(body));
    let (mut parts, body) = state.service.handle(request).await.into_parts();
    parts
        .headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    // It is complete already: without streams, every response is one piece.
    match to_bytes(Body::new(body), usize::MAX).await {
        Ok(bytes) => {
            let held = PermittedBytes {
                bytes,
                _permit: permit,
            };
            Response::from_parts(parts, Body::from(Bytes::from_owner(held)))
        }
        Err(error) => text_error(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

impl AsRef<[u8]> for PermittedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns a response with a line of text.
fn text_error(status: StatusCode, text: &str) -> Response {
    (status, format!("{text}\n")).into_response()
}

fn overloaded() -> Response {
    let text = "too many requests are in progress: try again later";
    let mut response = text_error(StatusCode::SERVICE_UNAVAILABLE, text);
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests;
