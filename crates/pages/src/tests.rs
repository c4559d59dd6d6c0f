//! The pages over HTTP: what is answered, in which encoding, and for how long.

use std::io::Write;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::{
    EXPLORER_DISABLED, EXPLORER_NOT_BUILT, EXPLORER_POLICY, Files, IMMUTABLE, PLAYGROUND_DISABLED,
    PLAYGROUND_NOT_BUILT, PLAYGROUND_POLICY, PageState, Pages, REVALIDATE, TRUSTED_ONLY,
};

const EXPLORER: &str = "<!doctype html><title>Explorer</title>";
const PLAYGROUND: &str = "<!doctype html><title>Playground</title>";
const SCRIPT: &str = "console.log('page')";

const ALL: Pages = Pages {
    explorer: PageState::Served,
    playground: PageState::Served,
};

/// A page and a script.
fn built(page: &str) -> Files {
    let file = |path, text: &str| (path, &*gzip(text).leak());
    Box::leak(Box::new([
        file("index.html", page),
        file("assets/main-x.js", SCRIPT),
    ]))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    /// By name.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// The header of that name.
fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer
        .headers
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, value)| value.as_str())
}

/// The answer without its entity tag, which a document must have.
fn untagged(mut answer: Answer) -> Answer {
    assert!(
        header(&answer, "etag").is_some_and(|tag| tag.starts_with('"')),
        "{:?}",
        answer.headers
    );
    answer.headers.retain(|(name, _)| name != "etag");
    answer
}

/// Asks a server that has both pages.
async fn send(method: Method, path: &str, encodings: Option<&str>) -> Answer {
    send_to(
        ALL,
        (built(EXPLORER), built(PLAYGROUND)),
        method,
        path,
        encodings,
    )
    .await
}

async fn send_to(
    pages: Pages,
    (explorer, playground): (Files, Files),
    method: Method,
    path: &str,
    encodings: Option<&str>,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(encodings) = encodings {
        request = request.header("accept-encoding", encodings);
    }
    respond(
        pages,
        (explorer, playground),
        request.body(Body::empty()).unwrap(),
    )
    .await
}

async fn respond(
    pages: Pages,
    (explorer, playground): (Files, Files),
    request: Request<Body>,
) -> Answer {
    let service = TowerToHyperService::new(pages.serving(explorer, playground));
    let (head, body) = service.call(request).await.unwrap().into_parts();
    let owned = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let mut headers: Vec<_> = head.headers.iter().map(owned).collect();
    headers.sort();
    Answer {
        status: head.status.as_u16(),
        headers,
        body: to_bytes(body, usize::MAX).await.unwrap().to_vec(),
    }
}

/// The text that stands at a URL of a server.
async fn text(pages: Pages, files: (Files, Files), path: &str) -> String {
    let answer = send_to(pages, files, Method::GET, path, Some("gzip")).await;
    assert_eq!(answer.status, 200, "{path}");
    let revalidated = ("cache-control".to_owned(), "no-cache".to_owned());
    assert!(
        answer.headers.contains(&revalidated),
        "{:?}",
        answer.headers
    );
    String::from_utf8(answer.body).unwrap()
}

fn found(
    (media_type, policy): (&str, &str),
    cached: &str,
    encoding: Option<&str>,
    body: &[u8],
) -> Answer {
    let length = body.len().to_string();
    let mut headers = vec![
        ("cache-control", cached),
        ("content-length", &length),
        ("content-security-policy", policy),
        ("content-type", media_type),
        ("referrer-policy", "no-referrer"),
        ("vary", "accept-encoding"),
        ("x-content-type-options", "nosniff"),
    ];
    headers.extend(encoding.map(|encoding| ("content-encoding", encoding)));
    headers.sort_unstable();
    let headers = headers
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Answer {
        status: 200,
        headers,
        body: body.to_vec(),
    }
}

#[tokio::test]
async fn each_page_comes_anew_and_what_it_loads_stays() {
    for (url, text, policy) in [
        ("/", EXPLORER, EXPLORER_POLICY),
        ("/playground/", PLAYGROUND, PLAYGROUND_POLICY),
    ] {
        let page = send(Method::GET, url, Some("gzip, deflate, br")).await;
        let head = send(Method::HEAD, url, Some("gzip")).await;
        assert_eq!(
            head,
            Answer {
                body: Vec::new(),
                ..page.clone()
            }
        );
        assert_eq!(
            untagged(page),
            found(
                ("text/html; charset=utf-8", policy),
                REVALIDATE,
                Some("gzip"),
                &gzip(text)
            )
        );
        let script = send(
            Method::GET,
            &format!("{url}assets/main-x.js"),
            Some("gzip, deflate, br"),
        )
        .await;
        let kind = ("text/javascript; charset=utf-8", policy);
        assert_eq!(script, found(kind, IMMUTABLE, Some("gzip"), &gzip(SCRIPT)));
    }
}

#[tokio::test]
async fn a_document_that_the_client_has_is_not_sent_again_and_its_policy_is() {
    let conditional = async |explorer, encoding: &'static str, tag: &str| {
        let request = Request::builder()
            .uri("/")
            .header("accept-encoding", encoding)
            .header("if-none-match", tag);
        respond(
            ALL,
            (explorer, built(PLAYGROUND)),
            request.body(Body::empty()).unwrap(),
        )
        .await
    };
    let mut tags = Vec::new();
    for encoding in ["gzip", "identity"] {
        let answer = send(Method::GET, "/", Some(encoding)).await;
        let tag = header(&answer, "etag").unwrap().to_owned();
        let known = conditional(built(EXPLORER), encoding, &format!("\"other\", W/{tag}")).await;
        assert_eq!(
            (known.status, known.body.len(), header(&known, "etag")),
            (304, 0, Some(tag.as_str()))
        );
        assert_eq!(
            header(&known, "content-security-policy"),
            Some(EXPLORER_POLICY)
        );
        assert_eq!(header(&known, "cache-control"), Some(REVALIDATE));
        // Another build has another document.
        assert_eq!(
            conditional(built("<title>Other</title>"), encoding, &tag)
                .await
                .status,
            200
        );
        tags.push(tag);
    }
    assert_ne!(tags[0], tags[1], "one tag for two representations");
    assert_eq!(
        conditional(built(EXPLORER), "identity", &tags[0])
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_client_that_takes_no_gzip_gets_the_file_as_it_was() {
    let kind = ("text/html; charset=utf-8", EXPLORER_POLICY);
    let plain = found(kind, REVALIDATE, None, EXPLORER.as_bytes());
    for encodings in [
        None,
        Some("identity"),
        Some("br, gzip;q=0"),
        Some("*, gzip;q=0.0"),
        Some("*"),
    ] {
        assert_eq!(
            untagged(send(Method::GET, "/", encodings).await),
            plain,
            "{encodings:?}"
        );
    }
    let gzip = found(kind, REVALIDATE, Some("gzip"), &gzip(EXPLORER));
    for encodings in ["br;q=1, GZIP;q=0.5", "identity, gzip;q=0.1", "zstd, gzip"] {
        assert_eq!(
            untagged(send(Method::GET, "/", Some(encodings)).await),
            gzip,
            "{encodings}"
        );
    }
}

#[tokio::test]
async fn a_build_without_the_pages_says_how_to_get_them() {
    assert_eq!(text(ALL, (&[], &[]), "/").await, EXPLORER_NOT_BUILT);
    assert_eq!(
        text(ALL, (&[], &[]), "/playground/").await,
        PLAYGROUND_NOT_BUILT
    );
    for text in [EXPLORER_NOT_BUILT, PLAYGROUND_NOT_BUILT] {
        assert!(text.contains("`make pages`"));
    }
}

#[tokio::test]
async fn a_page_that_is_not_served_says_which_flag_is_the_reason() {
    let files = (built(EXPLORER), built(PLAYGROUND));
    let none = Pages {
        explorer: PageState::Disabled,
        playground: PageState::Disabled,
    };
    assert_eq!(text(none, files, "/").await, EXPLORER_DISABLED);
    assert_eq!(text(none, files, "/playground/").await, PLAYGROUND_DISABLED);
    let trusted = Pages {
        explorer: PageState::Served,
        playground: PageState::TrustedOnly,
    };
    assert_eq!(text(trusted, files, "/playground/").await, TRUSTED_ONLY);
    for (text, flag) in [
        (EXPLORER_DISABLED, "--no-explorer"),
        (PLAYGROUND_DISABLED, "--no-playground"),
        (TRUSTED_ONLY, "--trusted-only"),
    ] {
        assert!(text.contains(flag), "{flag}");
    }
    for asset in ["/assets/main-x.js", "/playground/assets/main-x.js"] {
        assert_eq!(
            send_to(none, files, Method::GET, asset, None).await.status,
            404,
            "{asset}"
        );
    }
}

#[tokio::test]
async fn what_is_no_file_of_a_page_is_not_found_and_not_kept() {
    for path in [
        "/assets/",
        "/assets/x.js",
        "/assets/../index.html",
        "/playground/x.js",
        "/playground/index.html",
        "/x",
    ] {
        assert_eq!(send(Method::GET, path, None).await.status, 404, "{path}");
    }
    let answer = send(Method::GET, "/assets/x.js", None).await;
    let kept = ("cache-control".to_owned(), "no-store".to_owned());
    assert!(answer.headers.contains(&kept), "{:?}", answer.headers);
    assert_eq!(send(Method::POST, "/", None).await.status, 405);
}

#[tokio::test]
async fn the_playground_without_its_slash_is_found_below_any_prefix() {
    let answer = send(Method::GET, "/playground", None).await;
    let to = ("location".to_owned(), "playground/".to_owned());
    assert_eq!(
        (answer.status, answer.headers.contains(&to)),
        (308, true),
        "{:?}",
        answer.headers
    );
}
