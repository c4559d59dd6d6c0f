//! The playground: a page for writing and running GraphQL operations, embedded in the program with all its files.
//!
//! `make playground` builds it and `build.rs` embeds it, each file compressed. In a build without it, the page explains
//! how to build it. The playground knows nothing of catalogs and uses the server as any other client does.

use std::io::Read;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use http_facts::coding::Coding;
use http_facts::negotiation::AcceptableCodings;

include!(concat!(env!("OUT_DIR"), "/playground.rs"));

/// The files of the playground: each path below `/` with its content, compressed by gzip. Empty if it was not built.
type Files = &'static [(&'static str, &'static [u8])];

const PAGE: &str = "index.html";

/// `Cache-Control` of the page, which is revalidated each time.
const REVALIDATE: &str = "no-cache";

/// `Cache-Control` of the files that the page loads: their names contain a digest, so that they never change.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Page of a build without the playground.
const NOT_BUILT: &str = "catalogql answers GraphQL at /graphql; its schema is at /schema.graphql.\n\n\
     The playground, which would be here, is no part of this build.\n\
     Run `make playground` (it needs Node 20 or newer), then build catalogql again.\n";

/// Page of a server that executes trusted documents only.
const TRUSTED_ONLY: &str = "catalogql answers GraphQL at /graphql, and only documents that it was given (--trusted-only).\n\n\
     The playground, which would be here, sends documents of its own. It is there where catalogql runs without that flag.\n";

/// Content security policy of the page: it loads nothing from other hosts and may not be framed. The editor writes
/// styles into the document.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; \
     style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page at `/` and of the files that it loads.
pub fn router() -> Router {
    serving(FILES)
}

/// Returns the route of a server that executes trusted documents only, for which the playground is of no use: `/`
/// explains that.
pub fn closed() -> Router {
    Router::new().route("/", get(async || ([(CACHE_CONTROL, REVALIDATE)], TRUSTED_ONLY)))
}

/// Returns whether this build contains the playground.
pub fn is_built() -> bool {
    !FILES.is_empty()
}

fn serving(files: Files) -> Router {
    let page = async move |headers: HeaderMap| {
        let built = file_response(files, PAGE, REVALIDATE, &headers);
        built.unwrap_or_else(|| ([(CACHE_CONTROL, REVALIDATE)], NOT_BUILT).into_response())
    };
    let asset = async move |Path(name): Path<String>, headers: HeaderMap| {
        let found = file_response(files, &format!("playground/{name}"), IMMUTABLE, &headers);
        found.unwrap_or_else(|| {
            let head = [(CACHE_CONTROL, "no-store")];
            (StatusCode::NOT_FOUND, head, "the playground has no such file\n").into_response()
        })
    };
    Router::new().route("/", get(page)).route("/playground/{*name}", get(asset))
}

/// Responds with a file; `None` if there is no such file.
fn file_response(files: Files, path: &str, cache_control: &'static str, headers: &HeaderMap) -> Option<Response> {
    let (_, compressed) = files.iter().find(|(name, _)| *name == path)?;
    let head: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, media_type(path)),
        (CACHE_CONTROL, cache_control),
        (VARY, "accept-encoding"),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    Some(if AcceptableCodings::from_headers(headers).contains(Coding::Gzip) {
        (head, [(CONTENT_ENCODING, "gzip")], *compressed).into_response()
    } else {
        (head, decompress(compressed)).into_response()
    })
}

/// Returns the media type of a file by its extension, for each kind of file that the build produces.
fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("ttf") => "font/ttf",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Decompresses a file. The result is not cached, because hardly any client does not accept gzip.
fn decompress(compressed: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    GzDecoder::new(compressed).read_to_end(&mut content).expect("build.rs embeds valid gzip");
    content
}

#[cfg(test)]
mod tests;
