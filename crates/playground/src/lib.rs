//! The playground: a page for people to ask GraphQL from, with everything that it needs in the program itself.
//!
//! `make playground` builds it and `build.rs` embeds it, each file compressed. Where it was not built, the page says how
//! to. It knows nothing of catalogs and asks the server as any other client would.

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
use http_facts::coding::{self, Coding};

include!(concat!(env!("OUT_DIR"), "/playground.rs"));

/// The files of the playground: each path below `/`, and the content, compressed by gzip. Empty where it was not built.
type Files = &'static [(&'static str, &'static [u8])];

const PAGE: &str = "index.html";

/// The page comes anew each time; what it loads has a digest in its name and never changes.
const FRESH: &str = "no-cache";
const LASTING: &str = "public, max-age=31536000, immutable";

const NOT_BUILT: &str = "catalogql answers GraphQL at /graphql; its schema is at /schema.graphql.\n\n\
     The playground, which would be here, is no part of this build.\n\
     Run `make playground` (it needs Node 20 or newer), then build catalogql again.\n";

const CLOSED: &str = "catalogql answers GraphQL at /graphql, and only documents that it was given (--trusted-only).\n\n\
     The playground, which would be here, sends documents of its own. It is there where catalogql runs without that flag.\n";

/// The page loads nothing from elsewhere and is part of no other page; the editor writes styles into the document.
const POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; \
     style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET` and `HEAD` of the page at `/`, and of what it loads.
pub fn router() -> Router {
    serving(FILES)
}

/// What is at `/` where only documents that the server was given are executed: a page that writes others is of no use.
pub fn closed() -> Router {
    Router::new().route("/", get(async || ([(CACHE_CONTROL, FRESH)], CLOSED)))
}

/// Whether the playground is part of this build.
pub fn is_built() -> bool {
    !FILES.is_empty()
}

fn serving(files: Files) -> Router {
    let page = async move |headers: HeaderMap| {
        let built = file(files, PAGE, FRESH, &headers);
        built.unwrap_or_else(|| ([(CACHE_CONTROL, FRESH)], NOT_BUILT).into_response())
    };
    let asset = async move |Path(name): Path<String>, headers: HeaderMap| {
        let known = file(files, &format!("playground/{name}"), LASTING, &headers);
        known.unwrap_or_else(|| {
            let head = [(CACHE_CONTROL, "no-store")];
            (StatusCode::NOT_FOUND, head, "the playground has no such file\n").into_response()
        })
    };
    Router::new().route("/", get(page)).route("/playground/{*name}", get(asset))
}

fn file(files: Files, path: &str, cached: &'static str, headers: &HeaderMap) -> Option<Response> {
    let (_, compressed) = files.iter().find(|(known, _)| *known == path)?;
    let head: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, media_type(path)),
        (CACHE_CONTROL, cached),
        (VARY, "accept-encoding"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    Some(if coding::parse_accept_encoding(headers).contains(&Coding::Gzip) {
        (head, [(CONTENT_ENCODING, "gzip")], *compressed).into_response()
    } else {
        (head, inflated(compressed)).into_response()
    })
}

/// By the end of a path: each kind of file that the build makes.
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

/// The file as it was: hardly any client wants it so, so that it is not kept.
fn inflated(compressed: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    GzDecoder::new(compressed).read_to_end(&mut content).expect("the build compressed the file");
    content
}

#[cfg(test)]
mod tests;
