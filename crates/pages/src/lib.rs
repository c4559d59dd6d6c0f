//! The pages for people, embedded in the program with all their files: at `/` the catalog explorer,
//! and at `/playground/` a page for writing and running GraphQL operations.
//!
//! `make pages` builds both and `build.rs` embeds them, each file compressed. In a build without a
//! page, its URL explains how to build it. The pages know nothing of catalogs and use the server as
//! any other client does.

use std::io::Read;

use admission::{FairSemaphore, Peer};
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use http_content::coding::Coding;
use http_content::negotiation::AcceptableCodings;
use http_content::preconditions::{EmptyBody, PreconditionResult, Validators};
use sha2::{Digest, Sha256};

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The files of a page: each path below its URL with its content, compressed by gzip. Empty if it
/// was not built.
type Files = &'static [(&'static str, &'static [u8])];

/// The document of each page.
const PAGE: &str = "index.html";

/// `Cache-Control` of the pages, which are revalidated each time.
const REVALIDATE: &str = "no-cache";

/// `Cache-Control` of the files that pages load: their names contain a digest, so that they never
/// change.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Text at the URL of the explorer in a build without it.
const EXPLORER_NOT_BUILT: &str = "catalogql answers GraphQL at /graphql; its schema is at /schema.graphql.\n\n\
     The catalog explorer, which would be here, is no part of this build.\n\
     Run `make pages` (it needs Node 20 or newer), then build catalogql again.\n";

/// Text at the URL of the explorer if it is turned off.
const EXPLORER_DISABLED: &str = "catalogql answers GraphQL at /graphql; its schema is at /schema.graphql.\n\n\
     The catalog explorer, which would be here, is turned off (--no-explorer).\n";

/// Text at the URL of the playground in a build without it.
const PLAYGROUND_NOT_BUILT: &str = "catalogql answers GraphQL at /graphql; its schema is at /schema.graphql.\n\n\
     The playground, which would be here, is no part of this build.\n\
     Run `make pages` (it needs Node 20 or newer), then build catalogql again.\n";

/// Text at the URL of the playground if it is turned off.
const PLAYGROUND_DISABLED: &str = "catalogql answers GraphQL at /graphql; its schema is at /schema.graphql.\n\n\
     The playground, which would be here, is turned off (--no-playground).\n";

/// Text at the URL of the playground on a server that executes trusted documents only.
const TRUSTED_ONLY: &str = "catalogql answers GraphQL at /graphql, and only documents that it was given (--trusted-only).\n\n\
     The playground, which would be here, sends documents of its own. It is there where catalogql runs without that flag.\n";

/// Content security policy of the explorer: it loads nothing from other hosts, may not be framed,
/// and no text becomes markup or script. Icons that are fetched with a token are shown from memory
/// (`blob:`).
const EXPLORER_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// Content security policy of the playground. Its editors write styles with small pictures into
/// the document.
const PLAYGROUND_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
     style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// State of a page: served, or the reason why it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// The page is served, if this build contains it.
    Served,
    /// A flag turned it off.
    Disabled,
    /// The server executes trusted documents only, for which the page is of no use.
    TrustedOnly,
}

/// The pages of a server.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// The catalog explorer, whose documents are in [`explorer_documents`].
    pub explorer: PageState,
    /// The playground.
    pub playground: PageState,
}

/// Returns the documents that the explorer sends, as a JSON object by their digests; an empty one
/// without the explorer.
pub fn explorer_documents() -> &'static str {
    EXPLORER_DOCUMENTS
}

impl Pages {
    /// Returns the routes of the pages and of the files that they load. The URL of a page that is
    /// not served says why.
    pub fn router(self) -> Router {
        self.serving(EXPLORER, PLAYGROUND)
    }

    /// Returns whether the explorer is served and this build contains it.
    pub fn has_explorer(self) -> bool {
        self.explorer == PageState::Served && !EXPLORER.is_empty()
    }

    /// Returns whether the playground is served and this build contains it.
    pub fn has_playground(self) -> bool {
        self.playground == PageState::Served && !PLAYGROUND.is_empty()
    }

    fn serving(self, explorer: Files, playground: Files) -> Router {
        let explorer = match self.explorer {
            PageState::Served => Site {
                files: explorer,
                policy: EXPLORER_POLICY,
                instead: EXPLORER_NOT_BUILT,
            },
            _ => Site {
                files: &[],
                policy: EXPLORER_POLICY,
                instead: EXPLORER_DISABLED,
            },
        };
        let instead = match self.playground {
            PageState::Served => PLAYGROUND_NOT_BUILT,
            PageState::Disabled => PLAYGROUND_DISABLED,
            PageState::TrustedOnly => TRUSTED_ONLY,
        };
        let files = if self.playground == PageState::Served {
            playground
        } else {
            &[]
        };
        let playground = Site {
            files,
            policy: PLAYGROUND_POLICY,
            instead,
        };
        let decompressions = FairSemaphore::per_processor();
        let client = move |extensions: &Extensions, headers: HeaderMap| PageClient {
            headers,
            peer: Peer::from_extensions(extensions),
            decompressions: decompressions.clone(),
        };
        let page = |site: Site| {
            let client = client.clone();
            get(async move |extensions: Extensions, headers: HeaderMap| {
                site.page(&client(&extensions, headers)).await
            })
        };
        let assets = |site: Site| {
            let client = client.clone();
            get(
                async move |Path(name): Path<String>,
                            extensions: Extensions,
                            headers: HeaderMap| {
                    site.asset(&name, &client(&extensions, headers)).await
                },
            )
        };
        Router::new()
            .route("/", page(explorer))
            .route("/assets/{*name}", assets(explorer))
            .route(
                "/playground",
                get(async || Redirect::permanent("playground/")),
            )
            .route("/playground/", page(playground))
            .route("/playground/assets/{*name}", assets(playground))
    }
}

/// A page with the files that it loads.
#[derive(Clone, Copy)]
struct Site {
    files: Files,
    /// Content security policy.
    policy: &'static str,
    /// Text in place of a page that is not served.
    instead: &'static str,
}

/// A request for a file, as far as files depend on it.
struct PageClient {
    headers: HeaderMap,
    peer: Peer,
    /// Bounds concurrent decompressions, of which one peer has half.
    decompressions: FairSemaphore<Peer>,
}

/// A file of a page.
#[derive(Clone, Copy)]
struct PageFile<'p> {
    path: &'p str,
    /// Content compressed by gzip.
    compressed: &'static [u8],
    cache_control: &'static str,
}

impl Site {
    /// Responds with the document of the page, or with 304 where the client has it.
    async fn page(self, client: &PageClient) -> Response {
        let headers = &client.headers;
        let Some(compressed) = self.find(PAGE) else {
            return ([(CACHE_CONTROL, REVALIDATE)], self.instead).into_response();
        };
        let validators = validators(compressed, accepts_gzip(headers));
        let tag = [(ETAG, validators.etag.clone())];
        if validators.evaluate(headers) == PreconditionResult::NotModified {
            // With the policy of this build, which replaces the one that the client stored.
            let head = [
                (CACHE_CONTROL, REVALIDATE),
                (VARY, "accept-encoding"),
                (CONTENT_SECURITY_POLICY, self.policy),
            ];
            return (StatusCode::NOT_MODIFIED, tag, head, Body::new(EmptyBody)).into_response();
        }
        let file = PageFile {
            path: PAGE,
            compressed,
            cache_control: REVALIDATE,
        };
        (tag, self.respond(file, client).await).into_response()
    }

    async fn asset(self, name: &str, client: &PageClient) -> Response {
        let path = format!("assets/{name}");
        if let Some(compressed) = self.find(&path) {
            let file = PageFile {
                path: &path,
                compressed,
                cache_control: IMMUTABLE,
            };
            return self.respond(file, client).await;
        }
        let head = [(CACHE_CONTROL, "no-store")];
        (StatusCode::NOT_FOUND, head, "the page has no such file\n").into_response()
    }

    /// Returns a file by its path, compressed; `None` if there is no such file.
    fn find(self, path: &str) -> Option<&'static [u8]> {
        self.files
            .iter()
            .find(|(name, _)| *name == path)
            .map(|(_, compressed)| *compressed)
    }

    /// Responds with a file, which is decompressed with a permit if the client does not accept
    /// gzip.
    async fn respond(self, file: PageFile<'_>, client: &PageClient) -> Response {
        let PageFile {
            path,
            compressed,
            cache_control,
        } = file;
        let head: [(HeaderName, &'static str); 6] = [
            (CONTENT_TYPE, media_type(path)),
            (CACHE_CONTROL, cache_control),
            (VARY, "accept-encoding"),
            (CONTENT_SECURITY_POLICY, self.policy),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
        ];
        if accepts_gzip(&client.headers) {
            return (head, [(CONTENT_ENCODING, "gzip")], compressed).into_response();
        }
        let permit = client.decompressions.acquire(&client.peer).await;
        match permit.run(|| decompress(compressed)).await {
            Ok(content) => (head, content).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    AcceptableCodings::from_headers(headers).contains(Coding::Gzip)
}

/// Returns the validators of a document, which has an entity tag for each of its two content
/// codings.
fn validators(compressed: &[u8], is_gzip: bool) -> Validators {
    let digest = Sha256::digest(compressed);
    let (tag, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
    let tag = u128::from_be_bytes(*tag);
    Validators::new(
        &format!("{tag:032x}{}", if is_gzip { "-gzip" } else { "" }),
        None,
    )
}

/// Returns the media type of a file by its extension, for each kind of file that the builds
/// produce.
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
    GzDecoder::new(compressed)
        .read_to_end(&mut content)
        .expect("build.rs embeds valid gzip");
    content
}

#[cfg(test)]
mod tests;
