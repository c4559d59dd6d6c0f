//! Answers that recorded ones cannot show: tags, codings and what a client has already.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Method, Request};
use fbc::origin::{FileOrigin, Origins};
use fbc::{Catalog, Digest};
use http_facts::coding::Coding;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serving::{CatalogMetadata, Encodings, catalogs};
use sha2::{Digest as _, Sha256};

use super::*;

const MODIFIED: &str = "Sat, 21 Nov 2026 02:20:00 GMT";

/// Bytes of a line.
const LINE_BYTES: usize = 54;

/// A catalog that is worth compressing, one that is not, and how the first one is compressed already.
fn server(encodings: Encodings) -> (Router, String) {
    server_with(encodings, 100)
}

/// The same with so many lines of [`LINE_BYTES`] in the large one.
fn server_with(encodings: Encodings, lines: u32) -> (Router, String) {
    let (mut writer, catalogs) = catalogs();
    let encodings = Arc::new(encodings);
    let mut tag = String::new();
    for (name, count) in [("small", 1), ("large", lines)] {
        let line = |number| format!("{{\"name\":\"b{number:05}\",\"package\":\"p\",\"schema\":\"olm.bundle\"}}\n");
        let lines: String = (0..count).map(line).collect();
        let digest = Digest::new(Sha256::digest(&lines).into());
        tag = digest.hex();
        let file = FileOrigin { path: "c.json".into(), lines: (1..=count).collect(), ..FileOrigin::default() };
        writer.publish(Served {
            name: name.into(),
            catalog: Catalog::build(lines.into(), &Origins { files: vec![file] }).unwrap().into(),
            digest,
            encodings: if name == "large" { Arc::clone(&encodings) } else { Arc::default() },
            image: None,
            last_unpacked: Some("2026-11-21T02:20:00.7Z".parse().unwrap()),
            metadata: CatalogMetadata::default(),
        });
    }
    (router(catalogs, "test"), tag)
}

/// Status, tag, coding, whether ranges are offered, and body.
type Seen = (u16, Option<String>, Option<String>, bool, Bytes);

async fn send(router: &Router, method: Method, path: &str, headers: &[(&str, &str)]) -> Seen {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let service = TowerToHyperService::new(router.clone());
    let response = service.call(request.body(Body::empty()).unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    assert_eq!(head.headers["vary"], "Accept-Encoding");
    if head.status.as_u16() < 400 || head.status == 412 {
        assert_eq!(head.headers["last-modified"], MODIFIED);
    }
    let text = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (head.status.as_u16(), text("etag"), text("content-encoding"), text("accept-ranges").is_some(), body)
}

fn kept() -> Encodings {
    let encodings = Encodings::default();
    encodings.set(Coding::Zstd, Bytes::from_static(b"zstd"));
    encodings.set(Coding::Gzip, Bytes::from_static(b"gzip"));
    encodings
}

const ALL_OF_LARGE: &str = "/catalogs/large/api/v1/all";

#[tokio::test]
async fn a_whole_catalog_comes_in_the_form_that_is_kept() {
    let (router, tag) = server(kept());
    for path in [ALL_OF_LARGE, "/catalogs/large/all.json", "/catalogs/large/api/v1/metas"] {
        for (accepted, coding) in [("gzip", "gzip"), ("gzip, zstd", "zstd")] {
            let (status, seen, encoding, ranges, body) =
                send(&router, Method::GET, path, &[("accept-encoding", accepted)]).await;
            assert_eq!((status, encoding.as_deref(), ranges, &*body), (200, Some(coding), false, coding.as_bytes()));
            let expected = format!("\"{tag}-{coding}\"");
            assert_eq!(seen.unwrap() == expected, !path.ends_with("metas"), "{path}");
        }
    }
}

#[tokio::test]
async fn heads_ranges_and_small_answers_are_not_compressed() {
    let (router, tag) = server(kept());
    let plain = Some(format!("\"{tag}\""));
    let gzip = ("accept-encoding", "gzip");
    let (status, seen, coding, ranges, _) = send(&router, Method::HEAD, ALL_OF_LARGE, &[gzip]).await;
    assert_eq!((status, &seen, coding, ranges), (200, &plain, None, true));
    let (status, seen, coding, _, body) =
        send(&router, Method::GET, ALL_OF_LARGE, &[gzip, ("range", "bytes=2-5")]).await;
    assert_eq!((status, &seen, coding, &*body), (206, &plain, None, b"name".as_slice()));
    let (_, _, coding, ranges, _) = send(&router, Method::GET, "/catalogs/small/api/v1/all", &[gzip]).await;
    assert_eq!((coding, ranges), (None, true));
}

#[tokio::test]
async fn until_a_form_is_kept_only_what_is_small_is_compressed() {
    let (router, _) = server(Encodings::default());
    for path in [ALL_OF_LARGE, "/catalogs/large/api/v1/metas?package=p"] {
        let plain = send(&router, Method::GET, path, &[]).await.4;
        let (_, _, coding, _, body) = send(&router, Method::GET, path, &[("accept-encoding", "zstd")]).await;
        assert_eq!((coding.as_deref(), zstd::decode_all(&*body).unwrap()), (Some("zstd"), plain.to_vec()));
    }
}

#[tokio::test]
async fn what_a_client_has_in_any_coding_is_not_sent_again() {
    let (router, tag) = server(kept());
    for had in ["", "-gzip", "-zstd"] {
        let known = format!("\"{tag}{had}\"");
        let asked = [("accept-encoding", "gzip, zstd"), ("if-none-match", &*known)];
        let (status, seen, ..) = send(&router, Method::GET, ALL_OF_LARGE, &asked).await;
        assert_eq!((status, seen), (304, Some(known)));
    }
    let asked = [("accept-encoding", "gzip"), ("if-none-match", &*format!("\"{tag}-zstd\""))];
    assert_eq!(send(&router, Method::GET, ALL_OF_LARGE, &asked).await.0, 200, "it no longer accepts what it has");
}

#[tokio::test]
async fn tags_of_blobs_are_of_the_content_and_of_what_is_asked() {
    let (router, _) = server(Encodings::default());
    let mut tags = Vec::new();
    for query in ["", "?schema=p", "?package=p", "?name=p", "?schema=p&name=p", "?schema=pp", "?schema=p&package=p"] {
        tags.push(send(&router, Method::GET, &format!("/catalogs/large/api/v1/metas{query}"), &[]).await.1.unwrap());
    }
    let same = send(&router, Method::GET, "/catalogs/large/api/v1/metas?name=p&schema=%70&name=x", &[]).await.1;
    assert_eq!(same.as_ref(), Some(&tags[4]), "the order and the spelling of parameters do not count");
    tags.push(send(&router, Method::GET, "/catalogs/small/api/v1/metas?schema=p", &[]).await.1.unwrap());
    let count = tags.len();
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), count);
}

#[tokio::test]
async fn blobs_are_compressed_up_to_their_limit() {
    let path = "/catalogs/large/api/v1/metas?package=p";
    for (more, coded) in [(0, true), (1, false)] {
        let lines = MAX_ENCODED_BYTES / LINE_BYTES + more;
        let (router, _) = server_with(Encodings::default(), u32::try_from(lines).unwrap());
        assert_eq!(send(&router, Method::GET, path, &[]).await.4.len(), lines * LINE_BYTES);
        let coding = send(&router, Method::GET, path, &[("accept-encoding", "gzip")]).await.2;
        assert_eq!(coding.is_some(), coded, "{lines} lines");
    }
}

#[tokio::test]
async fn a_target_has_bytes_up_to_its_limit() {
    let (router, _) = server(Encodings::default());
    let target = |length: usize| {
        let path = "/catalogs/large/api/v1/metas?name=";
        format!("{path}{}", "x".repeat(length - path.len()))
    };
    assert_eq!(send(&router, Method::GET, &target(MAX_TARGET_BYTES), &[]).await.0, 200);
    assert_eq!(send(&router, Method::GET, &target(MAX_TARGET_BYTES + 1), &[]).await.0, 414);
}
