//! Answers that recorded ones cannot show: tags, codings and what a client has already.

use axum::Router;
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::{HeaderValue, Method, Request};
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::origin::{FileOrigin, Origins};
use http_content::coding::Coding;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serving::{
    CatalogMetadata, Content, Encodings, LoadStatus, Visibility, catalogs, read_barrier,
};
use sha2::{Digest as _, Sha256};

use super::*;

const MODIFIED: &str = "Sat, 21 Nov 2026 02:20:00 GMT";

/// Bytes of a line.
const LINE_BYTES: usize = 54;

/// A catalog that is worth compressing, one that is not, and how the first one is compressed
/// already.
fn server(encodings: Encodings) -> (Router, String) {
    server_with(encodings, 100)
}

/// The same with so many lines of [`LINE_BYTES`] in the large one.
fn server_with(encodings: Encodings, lines: u32) -> (Router, String) {
    let (catalogs, tag) = catalogs_with(encodings, lines);
    (router(catalogs, "test", None), tag)
}

fn catalogs_with(encodings: Encodings, lines: u32) -> (Catalogs, String) {
    let (mut writer, catalogs) = catalogs();
    let encodings = Arc::new(encodings);
    let mut tag = String::new();
    for (name, count) in [("small", 1), ("large", lines)] {
        let line = |number| {
            format!("{{\"name\":\"b{number:05}\",\"package\":\"p\",\"schema\":\"olm.bundle\"}}\n")
        };
        let lines: String = (0..count).map(line).collect();
        let digest = Digest::new(Sha256::digest(&lines).into());
        tag = digest.hex();
        let file = FileOrigin {
            path: "c.json".into(),
            lines: (1..=count).collect(),
            ..FileOrigin::default()
        };
        let catalog = Catalog::build(
            lines.into(),
            &Origins {
                files: vec![file],
                ..Origins::default()
            },
        )
        .unwrap();
        let content = Content {
            encodings: if name == "large" {
                Arc::clone(&encodings)
            } else {
                Arc::default()
            },
            last_unpacked: Some("2026-11-21T02:20:00.7Z".parse().unwrap()),
            ..Content::new(catalog, digest)
        };
        writer.publish(Served::new(name, content, CatalogMetadata::default()));
    }
    (catalogs, tag)
}

/// Status, tag, coding, whether ranges are offered, and body.
type Seen = (u16, Option<String>, Option<String>, bool, Bytes);

async fn send(router: &Router, method: Method, path: &str, headers: &[(&str, &str)]) -> Seen {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let service = TowerToHyperService::new(router.clone());
    let response = service
        .call(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let (head, body) = response.into_parts();
    assert_eq!(head.headers["vary"], "Accept-Encoding");
    if head.status.as_u16() < 400 || head.status == 412 {
        assert_eq!(head.headers["last-modified"], MODIFIED);
    }
    let text = |name: &str| {
        head.headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (
        head.status.as_u16(),
        text("etag"),
        text("content-encoding"),
        text("accept-ranges").is_some(),
        body,
    )
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
    for path in [
        ALL_OF_LARGE,
        "/catalogs/large/all.json",
        "/catalogs/large/api/v1/metas",
    ] {
        for (accepted, coding) in [("gzip", "gzip"), ("gzip, zstd", "zstd")] {
            let (status, seen, encoding, ranges, body) =
                send(&router, Method::GET, path, &[("accept-encoding", accepted)]).await;
            assert_eq!(
                (status, encoding.as_deref(), ranges, &*body),
                (200, Some(coding), false, coding.as_bytes())
            );
            let expected = format!("\"{tag}-{coding}\"");
            assert_eq!(
                seen.unwrap() == expected,
                !path.ends_with("metas"),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn heads_ranges_and_small_answers_are_not_compressed() {
    let (router, tag) = server(kept());
    let plain = Some(format!("\"{tag}\""));
    let gzip = ("accept-encoding", "gzip");
    let (status, seen, coding, ranges, _) =
        send(&router, Method::HEAD, ALL_OF_LARGE, &[gzip]).await;
    assert_eq!((status, &seen, coding, ranges), (200, &plain, None, true));
    let (status, seen, coding, _, body) = send(
        &router,
        Method::GET,
        ALL_OF_LARGE,
        &[gzip, ("range", "bytes=2-5")],
    )
    .await;
    assert_eq!(
        (status, &seen, coding, &*body),
        (206, &plain, None, b"name".as_slice())
    );
    let (_, _, coding, ranges, _) =
        send(&router, Method::GET, "/catalogs/small/api/v1/all", &[gzip]).await;
    assert_eq!((coding, ranges), (None, true));
}

#[tokio::test]
async fn until_a_form_is_kept_only_what_is_small_is_compressed() {
    let (router, _) = server(Encodings::default());
    for path in [ALL_OF_LARGE, "/catalogs/large/api/v1/metas?package=p"] {
        let plain = send(&router, Method::GET, path, &[]).await.4;
        let (_, _, coding, _, body) =
            send(&router, Method::GET, path, &[("accept-encoding", "zstd")]).await;
        assert_eq!(
            (coding.as_deref(), zstd::decode_all(&*body).unwrap()),
            (Some("zstd"), plain.to_vec())
        );
    }
}

#[tokio::test]
async fn what_a_client_has_in_any_coding_is_not_sent_again() {
    let (router, tag) = server(kept());
    for had in ["", "-gzip", "-zstd"] {
        let known = format!("\"{tag}{had}\"");
        let asked = [
            ("accept-encoding", "gzip, zstd"),
            ("if-none-match", &*known),
        ];
        let (status, seen, ..) = send(&router, Method::GET, ALL_OF_LARGE, &asked).await;
        assert_eq!((status, seen), (304, Some(known)));
    }
    let asked = [
        ("accept-encoding", "gzip"),
        ("if-none-match", &*format!("\"{tag}-zstd\"")),
    ];
    assert_eq!(
        send(&router, Method::GET, ALL_OF_LARGE, &asked).await.0,
        200,
        "it no longer accepts what it has"
    );
}

#[tokio::test]
async fn tags_of_blobs_are_of_the_content_and_of_what_is_asked() {
    let (router, _) = server(Encodings::default());
    let mut tags = Vec::new();
    for query in [
        "",
        "?schema=p",
        "?package=p",
        "?name=p",
        "?schema=p&name=p",
        "?schema=pp",
        "?schema=p&package=p",
    ] {
        tags.push(
            send(
                &router,
                Method::GET,
                &format!("/catalogs/large/api/v1/metas{query}"),
                &[],
            )
            .await
            .1
            .unwrap(),
        );
    }
    let same = send(
        &router,
        Method::GET,
        "/catalogs/large/api/v1/metas?name=p&schema=%70&name=x",
        &[],
    )
    .await
    .1;
    assert_eq!(
        same.as_ref(),
        Some(&tags[4]),
        "the order and the spelling of parameters do not count"
    );
    tags.push(
        send(
            &router,
            Method::GET,
            "/catalogs/small/api/v1/metas?schema=p",
            &[],
        )
        .await
        .1
        .unwrap(),
    );
    let count = tags.len();
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), count);
}

/// The response to a `GET`: its headers, and its body, which is not read yet.
async fn get_unread(router: &Router, path: &str, accepted: &str) -> (axum::http::HeaderMap, Body) {
    get_unread_from(Peer::default(), router, path, accepted).await
}

async fn get_unread_from(
    peer: Peer,
    router: &Router,
    path: &str,
    accepted: &str,
) -> (axum::http::HeaderMap, Body) {
    let request = Request::builder()
        .uri(path)
        .header("accept-encoding", accepted)
        .extension(peer);
    let request = request.body(Body::empty()).unwrap();
    let (head, body) = TowerToHyperService::new(router.clone())
        .call(request)
        .await
        .unwrap()
        .into_parts();
    (head.headers, body)
}

const METAS_OF_LARGE: &str = "/catalogs/large/api/v1/metas?package=p";

#[tokio::test]
async fn blobs_are_compressed_at_once_up_to_their_limit_and_while_they_are_sent_beyond_it() {
    for (more, has_length) in [(0, true), (1, false)] {
        let lines = MAX_ENCODED_BYTES / LINE_BYTES + more;
        let (router, _) = server_with(Encodings::default(), u32::try_from(lines).unwrap());
        let plain = send(&router, Method::GET, METAS_OF_LARGE, &[]).await;
        assert_eq!((plain.2, plain.4.len()), (None, lines * LINE_BYTES));
        for coding in ["gzip", "zstd"] {
            let (headers, body) = get_unread(&router, METAS_OF_LARGE, coding).await;
            assert_eq!(
                body.size_hint().exact().is_some(),
                has_length,
                "{lines} lines, {coding}"
            );
            let compressed = to_bytes(body, usize::MAX).await.unwrap();
            let mut decoded = Vec::new();
            match coding {
                "gzip" => std::io::Read::read_to_end(
                    &mut flate2::read::GzDecoder::new(&*compressed),
                    &mut decoded,
                ),
                _ => std::io::Read::read_to_end(
                    &mut zstd::Decoder::new(&*compressed).unwrap(),
                    &mut decoded,
                ),
            }
            .unwrap();
            assert!(decoded == plain.4, "{lines} lines, {coding}");
            assert!(
                compressed.len() < plain.4.len() / 10,
                "{lines} lines, {coding}"
            );
            let etag = plain.1.as_deref().unwrap().trim_end_matches('"').to_owned();
            assert_eq!(
                headers["etag"],
                format!("W/{etag}-{coding}\""),
                "{lines} lines"
            );
            assert_eq!(headers["content-encoding"], coding, "{lines} lines");
        }
    }
}

#[tokio::test]
async fn long_blobs_are_described_by_head_and_revalidated_as_short_ones_are() {
    let (router, _) = server_with(Encodings::default(), 10_000);
    let gzip = ("accept-encoding", "gzip");
    let plain = send(&router, Method::GET, METAS_OF_LARGE, &[]).await.1;
    let head = send(&router, Method::HEAD, METAS_OF_LARGE, &[gzip]).await;
    assert_eq!((head.0, &head.1, head.2), (200, &plain, None));
    let etag = send(&router, Method::GET, METAS_OF_LARGE, &[gzip])
        .await
        .1
        .unwrap();
    for stored in [&etag, plain.as_ref().unwrap()] {
        let (status, seen, ..) = send(
            &router,
            Method::GET,
            METAS_OF_LARGE,
            &[gzip, ("if-none-match", stored)],
        )
        .await;
        assert_eq!((status, seen.as_ref()), (304, Some(stored)));
    }
    assert_eq!(
        send(
            &router,
            Method::GET,
            METAS_OF_LARGE,
            &[gzip, ("if-match", "\"x\"")]
        )
        .await
        .0,
        412
    );
}

#[tokio::test]
async fn as_many_responses_are_compressed_while_they_are_sent_as_the_limit_says_and_more_are_plain()
{
    let (catalogs, _) = catalogs_with(Encodings::default(), 10_000);
    let router = routes(ApiState {
        catalogs,
        build: "test",
        compression: Compression {
            streams: Permits::new(MAX_COMPRESSED_STREAMS),
            work: FairSemaphore::per_processor(),
            // Nothing is cached, so that each response is compressed.
            cache: EncodingCache::with_bytes(0),
        },
        line_ranges: Permits::new(MAX_LINE_RANGES_BYTES),
        read_barrier: None,
    });
    let mut bodies = Vec::new();
    let others = Peer::new([192, 0, 2, 1].into());
    for peer in [Peer::default(), others] {
        for at in 0..=MAX_COMPRESSED_STREAMS / 2 {
            let (headers, body) = get_unread_from(peer, &router, METAS_OF_LARGE, "zstd").await;
            let is_compressed = headers.contains_key("content-encoding");
            assert_eq!(
                is_compressed,
                at < MAX_COMPRESSED_STREAMS / 2,
                "one peer has half of them"
            );
            bodies.extend(is_compressed.then_some(body));
        }
    }
    let (headers, body) = get_unread(&router, METAS_OF_LARGE, "zstd").await;
    assert_eq!(
        (headers.get("content-encoding"), body.size_hint().exact()),
        (None, Some(10_000 * LINE_BYTES as u64))
    );
    assert_eq!(
        Some(headers["etag"].to_str().unwrap()),
        send(&router, Method::GET, METAS_OF_LARGE, &[])
            .await
            .1
            .as_deref()
    );
    bodies.pop();
    assert!(
        get_unread_from(others, &router, METAS_OF_LARGE, "zstd")
            .await
            .0
            .contains_key("content-encoding")
    );
}

#[tokio::test]
async fn a_target_has_bytes_up_to_its_limit() {
    let (router, _) = server(Encodings::default());
    let target = |length: usize| {
        let path = "/catalogs/large/api/v1/metas?name=";
        format!("{path}{}", "x".repeat(length - path.len()))
    };
    assert_eq!(
        send(&router, Method::GET, &target(MAX_TARGET_BYTES), &[])
            .await
            .0,
        200
    );
    assert_eq!(
        send(&router, Method::GET, &target(MAX_TARGET_BYTES + 1), &[])
            .await
            .0,
        414
    );
}

#[tokio::test]
async fn a_catalog_that_is_not_loaded_yet_is_unavailable_and_one_that_is_not_configured_not_found()
{
    let (writer, catalogs) = catalogs();
    let router = router(catalogs, "test", None);
    let all = "/catalogs/a/api/v1/all";
    writer.statuses().set_awaits_names(true);
    let request = Request::get(all).body(Body::empty()).unwrap();
    let service = TowerToHyperService::new(router.clone());
    let response = service.call(request).await.unwrap();
    assert_eq!(
        (
            response.status().as_u16(),
            &response.headers()["retry-after"]
        ),
        (503, &HeaderValue::from_static("1"))
    );

    writer.statuses().set_awaits_names(false);
    assert_eq!(send(&router, Method::GET, all, &[]).await.0, 404);
    writer.statuses().set("a", LoadStatus::default());
    assert_eq!(send(&router, Method::GET, all, &[]).await.0, 503);
    writer.statuses().forget("a");
    assert_eq!(send(&router, Method::GET, all, &[]).await.0, 404);
}

#[tokio::test]
async fn a_replica_that_is_behind_another_one_does_not_pass_its_content_for_the_new_one() {
    let (mut writer, catalogs) = catalogs();
    let service = TowerToHyperService::new(router(catalogs, "test", None));
    let status = async || {
        let request = Request::get("/catalogs/a/api/v1/all");
        let request = request.body(Body::empty()).unwrap();
        service.call(request).await.unwrap().status().as_u16()
    };
    let catalog = Catalog::build(Bytes::new(), &Origins::default()).unwrap();
    let content = Content {
        image: Some("example.com/a@sha256:01".into()),
        ..Content::new(catalog, Digest::new([1; 32]))
    };
    writer.publish(Served::new("a", content, CatalogMetadata::default()));
    for (image, expected) in [
        ("example.com/a@sha256:01", 200),
        ("example.com/a@sha256:02", 503),
    ] {
        writer.statuses().set_expected_image("a", image.into());
        assert_eq!(status().await, expected, "{image}");
    }
    writer.statuses().set_polled("a");
    assert_eq!(status().await, 200);
}

#[tokio::test]
async fn a_catalog_is_read_once_the_replica_knows_the_image_in_its_status() {
    let (mut writer, catalogs) = catalogs();
    let catalog = Catalog::build(Bytes::new(), &Origins::default()).unwrap();
    let content = Content {
        image: Some("example.com/a@sha256:01".into()),
        ..Content::new(catalog, Digest::new([1; 32]))
    };
    writer.publish(Served::new("a", content, CatalogMetadata::default()));
    let (barrier, mut reads) = read_barrier();
    let service = TowerToHyperService::new(router(catalogs, "test", Some(barrier)));
    let status = async |name: &str| {
        let request = Request::get(format!("/catalogs/{name}/api/v1/all"));
        let request = request.body(Body::empty()).unwrap();
        service.call(request).await.unwrap().status().as_u16()
    };

    for (image, expected) in [
        ("example.com/a@sha256:01", 200),
        ("example.com/a@sha256:02", 503),
    ] {
        let answer = async {
            let read = reads.recv().await.unwrap();
            assert_eq!(read.catalog, "a");
            writer.statuses().set_expected_image("a", image.into());
            drop(read);
        };
        assert_eq!(tokio::join!(status("a"), answer).0, expected, "{image}");
    }
    // A name without a catalog does not wait.
    assert_eq!(status("b").await, 404);
    // Nothing waits once no status is read any more.
    drop(reads);
    writer.statuses().set_polled("a");
    assert_eq!(status("a").await, 200);
}

#[tokio::test]
async fn a_request_is_answered_from_what_its_caller_may_see() {
    let (mut writer, catalogs) = catalogs();
    let catalog = Catalog::build(Bytes::new(), &Origins::default()).unwrap();
    writer.publish(Served::new(
        "a",
        Content::new(catalog, Digest::new([1; 32])),
        CatalogMetadata::default(),
    ));
    let service =
        TowerToHyperService::new(router(catalogs.visible(Visibility::none()), "test", None));
    for (seen, expected) in [
        (None, 404),
        (Some(&["a"][..]), 200),
        (Some(&["b"]), 404),
        (Some(&[]), 404),
    ] {
        for path in [
            "api/v1/all",
            "all.json",
            "api/v1/metas",
            "api/v1/metas?name=x",
        ] {
            let mut request = Request::get(format!("/catalogs/a/{path}"))
                .body(Body::empty())
                .unwrap();
            let seen =
                seen.map(|names| Visibility::only(names.iter().map(|&name| name.to_owned())));
            if let Some(seen) = seen {
                request.extensions_mut().insert(catalogs.visible(seen));
            }
            let response = service.call(request).await.unwrap();
            assert_eq!(response.status().as_u16(), expected, "{path}");
        }
    }
}

/// A request for filtered blobs in this coding, whose compressed form may have been made before.
async fn filtered(router: &Router, coding: &str) -> (Option<u64>, Bytes) {
    let request = Request::get("/catalogs/large/api/v1/metas?schema=olm.bundle")
        .header("accept-encoding", coding)
        .body(Body::empty())
        .unwrap();
    let response = TowerToHyperService::new(router.clone())
        .call(request)
        .await
        .unwrap();
    assert_eq!(response.headers()["content-encoding"], coding);
    let length = response.body().size_hint().exact();
    (
        length,
        to_bytes(response.into_body(), usize::MAX).await.unwrap(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn filtered_blobs_that_are_requested_again_are_compressed_once_for_all_later_requests() {
    let (router, _) = server_with(Encodings::default(), 10_000);
    let whole = send(&router, Method::GET, ALL_OF_LARGE, &[]).await.4;
    for coding in Coding::ALL {
        let plain = |compressed: Bytes| {
            let mut plain = Vec::new();
            coding.decompress(&*compressed, &mut plain).unwrap();
            plain
        };
        // While there is no compressed form, the length is not known.
        let (length, body) = filtered(&router, coding.name()).await;
        assert_eq!(length, None);
        assert!(plain(body) == whole);

        let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
        let body = loop {
            let (length, body) = filtered(&router, coding.name()).await;
            if length.is_some() {
                break body;
            }
            assert!(plain(body) == whole);
            assert!(std::time::Instant::now() < deadline, "no form was cached");
            tokio::task::yield_now().await;
        };
        let (length, again) = filtered(&router, coding.name()).await;
        assert_eq!((length, &again), (Some(body.len() as u64), &body));
        assert!(plain(body) == whole);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filtered_blobs_that_are_requested_once_are_not_cached() {
    let (router, _) = server_with(Encodings::default(), 10_000);
    for name in 0..50 {
        let path = format!("/catalogs/large/api/v1/metas?package=p&name=b{name:05}");
        send(&router, Method::GET, &path, &[("accept-encoding", "gzip")]).await;
    }
    let (length, _) = filtered(&router, "gzip").await;
    assert_eq!(length, None);
    let head = [("accept-encoding", "gzip")];
    let path = "/catalogs/large/api/v1/metas?schema=olm.bundle";
    let (_, tag, ..) = send(&router, Method::GET, path, &head).await;
    // Neither a client that has the response nor one that asks for the head alone needs the form.
    let tag = tag.unwrap();
    let known = [("accept-encoding", "gzip"), ("if-none-match", &*tag)];
    for _ in 0..3 {
        assert_eq!(send(&router, Method::GET, path, &known).await.0, 304);
        send(&router, Method::HEAD, path, &head).await;
    }
}
