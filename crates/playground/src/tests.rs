//! The playground over HTTP: what is answered, in which encoding, and for how long.

use std::io::Write;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::{CONTENT_POLICY, Files, IMMUTABLE, NOT_BUILT, REVALIDATE, TRUSTED_ONLY, closed, serving};

const PAGE: &str = "<!doctype html><title>Playground</title>";
const SCRIPT: &str = "console.log('playground')";

/// A playground of a page and a script.
fn built() -> Files {
    let file = |path, text: &str| (path, &*gzip(text).leak());
    Box::leak(Box::new([file("index.html", PAGE), file("playground/main-x.js", SCRIPT)]))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// What is answered to a request.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    /// By name.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

async fn send(files: Files, method: Method, path: &str, encodings: Option<&str>) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(encodings) = encodings {
        request = request.header("accept-encoding", encodings);
    }
    let service = TowerToHyperService::new(serving(files));
    let (head, body) = service.call(request.body(Body::empty()).unwrap()).await.unwrap().into_parts();
    let owned = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let mut headers: Vec<_> = head.headers.iter().map(owned).collect();
    headers.sort();
    Answer { status: head.status.as_u16(), headers, body: to_bytes(body, usize::MAX).await.unwrap().to_vec() }
}

fn found(media_type: &str, cached: &str, encoding: Option<&str>, body: &[u8]) -> Answer {
    let length = body.len().to_string();
    let mut headers = vec![
        ("cache-control", cached),
        ("content-length", &length),
        ("content-security-policy", CONTENT_POLICY),
        ("content-type", media_type),
        ("referrer-policy", "no-referrer"),
        ("vary", "accept-encoding"),
        ("x-content-type-options", "nosniff"),
    ];
    headers.extend(encoding.map(|encoding| ("content-encoding", encoding)));
    headers.sort_unstable();
    let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Answer { status: 200, headers, body: body.to_vec() }
}

#[tokio::test]
async fn the_page_comes_anew_and_what_it_loads_stays() {
    let files = built();
    let page = send(files, Method::GET, "/", Some("gzip, deflate, br")).await;
    assert_eq!(page, found("text/html; charset=utf-8", REVALIDATE, Some("gzip"), &gzip(PAGE)));
    let script = send(files, Method::GET, "/playground/main-x.js", Some("gzip, deflate, br")).await;
    assert_eq!(script, found("text/javascript; charset=utf-8", IMMUTABLE, Some("gzip"), &gzip(SCRIPT)));
    let head = send(files, Method::HEAD, "/", Some("gzip")).await;
    assert_eq!(head, Answer { body: Vec::new(), ..page });
}

#[tokio::test]
async fn a_client_that_takes_no_gzip_gets_the_file_as_it_was() {
    let files = built();
    let plain = found("text/html; charset=utf-8", REVALIDATE, None, PAGE.as_bytes());
    for encodings in [None, Some("identity"), Some("br, gzip;q=0"), Some("*, gzip;q=0.0"), Some("*")] {
        assert_eq!(send(files, Method::GET, "/", encodings).await, plain, "{encodings:?}");
    }
    let gzip = found("text/html; charset=utf-8", REVALIDATE, Some("gzip"), &gzip(PAGE));
    for encodings in ["br;q=1, GZIP;q=0.5", "identity, gzip;q=0.1", "zstd, gzip"] {
        assert_eq!(send(files, Method::GET, "/", Some(encodings)).await, gzip, "{encodings}");
    }
}

#[tokio::test]
async fn a_build_without_the_playground_says_how_to_get_it() {
    let answer = send(&[], Method::GET, "/", Some("gzip")).await;
    assert_eq!((answer.status, String::from_utf8(answer.body).unwrap().as_str()), (200, NOT_BUILT));
    assert!(NOT_BUILT.contains("`make playground`"));
    let kept = ("cache-control".to_owned(), "no-cache".to_owned());
    assert!(answer.headers.contains(&kept), "{:?}", answer.headers);
}

#[tokio::test]
async fn where_only_trusted_documents_are_executed_the_page_says_so() {
    let request = || Request::builder().uri("/").body(Body::empty()).unwrap();
    let response = TowerToHyperService::new(closed()).call(request()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(to_bytes(response.into_body(), usize::MAX).await.unwrap(), TRUSTED_ONLY);
    assert!(TRUSTED_ONLY.contains("--trusted-only"));
}

#[tokio::test]
async fn what_is_no_file_of_it_is_not_found_and_not_kept() {
    for path in ["/playground/", "/playground/x.js", "/playground/../index.html", "/playground/index.html", "/x"] {
        assert_eq!(send(built(), Method::GET, path, None).await.status, 404, "{path}");
    }
    let answer = send(built(), Method::GET, "/playground/x.js", None).await;
    let kept = ("cache-control".to_owned(), "no-store".to_owned());
    assert!(answer.headers.contains(&kept), "{:?}", answer.headers);
    assert_eq!(send(built(), Method::POST, "/", None).await.status, 405);
}
