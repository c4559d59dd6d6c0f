//! Feeds over HTTP.

use axum::body::to_bytes;
use axum::http::header::{CACHE_CONTROL, IF_NONE_MATCH, RETRY_AFTER};
use axum::http::{Method, Request};
use fbc::Outline;
use fbc_grammar::Digest;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use serving::{CatalogMetadata, CatalogsWriter, ChangeLog, Content, Visibility, catalogs};
use testing::fixture;

use super::*;

const ONE: &str = "package etcd default=stable\nchannel stable: v1.0.0";
const TWO: &str = "package etcd default=stable\nchannel stable: v1.0.0 <- v1.1.0";

const SETTINGS: FeedSettings = FeedSettings {
    has_surrogate_keys: true,
    has_explorer: true,
};

struct FeedResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

/// A published set whose catalogs get contents.
struct Published {
    writer: CatalogsWriter,
    catalogs: Catalogs,
}

impl Published {
    fn new() -> Self {
        let (writer, catalogs) = catalogs();
        Self { writer, catalogs }
    }

    /// Publishes these contents one after the other, one each second from 1970 on.
    fn publish(&mut self, name: &str, texts: &[&str]) {
        let digest = |at: usize| Digest::new([u8::try_from(at).unwrap(); 32]);
        let time = |at: usize| Timestamp::from_second(at.try_into().unwrap()).unwrap();
        let outlines: Vec<_> = texts
            .iter()
            .map(|text| Outline::from_catalog(&fixture::catalog(text)))
            .collect();
        let mut log = ChangeLog::default().append(digest(0), None, time(0));
        for (before, pair) in outlines.windows(2).enumerate() {
            let diff = pair[0].diff(&pair[1], &Work::unlimited()).unwrap();
            log = log.append(digest(before + 1), Some(&diff), time(before + 1));
        }
        let last = texts.len() - 1;
        let content = Content::new(fixture::catalog(texts[last]), digest(last));
        self.writer
            .publish(Served::new(name, content, CatalogMetadata::default()));
        self.writer.history().set_change_log(name, log);
    }
}

fn published(contents: &[(&str, &[&str])]) -> Published {
    let mut published = Published::new();
    for (name, texts) in contents {
        published.publish(name, texts);
    }
    published
}

async fn send(catalogs: &Catalogs, request: Request<Body>) -> FeedResponse {
    let service = TowerToHyperService::new(router(catalogs.clone(), "build", SETTINGS));
    let response = service.call(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    FeedResponse {
        status: head.status,
        headers: head.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

async fn get(catalogs: &Catalogs, path: &str) -> FeedResponse {
    send(catalogs, Request::get(path).body(Body::empty()).unwrap()).await
}

/// Returns the body of a feed with status 200.
async fn feed(published: &Published, path: &str) -> String {
    let answer = get(&published.catalogs, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

/// Returns the texts of all elements of a name, without their escapes.
fn texts(xml: &str, name: &str) -> Vec<String> {
    let begin = format!("<{name}>");
    let parts = xml.split(&begin).skip(1);
    let texts = parts.map(|part| part.split("</").next().unwrap());
    texts
        .map(|text| quick_xml::escape::unescape(text).unwrap().into_owned())
        .collect()
}

/// Returns the titles of the entries of a feed.
fn entries(xml: &str) -> Vec<String> {
    texts(xml, "title").split_off(1)
}

#[tokio::test]
async fn a_feed_of_a_package_is_an_atom_document_of_its_changes() {
    let published = published(&[("main", &[ONE, TWO])]);
    let xml = feed(&published, "/feeds/main/etcd").await;
    let ids = texts(&xml, "id");
    let expected = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><feed xmlns=\"http://www.w3.org/2005/Atom\">\
         <id>{}</id><title>Changes of etcd in main</title><updated>1970-01-01T00:00:01.000Z</updated>\
         <author><name>main</name></author><generator>catalogql</generator>\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"./etcd\"/>\
         <link rel=\"alternate\" type=\"text/html\" href=\"../../?catalog=main&amp;package=etcd\"/>\
         <entry><id>{}</id><title>etcd: added etcd.v1.1.0, head of stable is etcd.v1.1.0</title>\
         <updated>1970-01-01T00:00:01.000Z</updated><published>1970-01-01T00:00:01.000Z</published>\
         <category term=\"etcd\"/>\
         <link rel=\"alternate\" type=\"text/html\" href=\"../../?catalog=main&amp;package=etcd\"/>\
         <content type=\"html\">&lt;ul&gt;&lt;li&gt;head of stable is etcd.v1.1.0&lt;/li&gt;\
         &lt;li&gt;Added: etcd.v1.1.0&lt;/li&gt;&lt;/ul&gt;</content></entry></feed>",
        ids[0], ids[1]
    );
    assert_eq!(xml, expected);
}

#[tokio::test]
async fn ids_are_those_of_every_replica_and_build() {
    let xml = feed(&published(&[("main", &[ONE, TWO])]), "/feeds/main/etcd").await;
    assert_eq!(
        texts(&xml, "id"),
        [
            "urn:uuid:da1ef5b8-8ccf-8e3d-9fc7-22badf2aed14",
            "urn:uuid:f96b8a59-5d69-82b9-9684-99dd63a4589c",
        ]
    );
}

#[tokio::test]
async fn an_entry_has_one_id_in_each_feed_and_a_change_that_comes_again_has_another() {
    let published = published(&[("main", &[ONE, TWO, ONE])]);
    let of_package = texts(&feed(&published, "/feeds/main/etcd").await, "id");
    let of_catalog = texts(&feed(&published, "/feeds/main").await, "id");
    let of_all = texts(&feed(&published, "/feeds").await, "id");
    let of_search = texts(&feed(&published, "/feeds?search=etcd").await, "id");
    assert_eq!(of_package.len(), 3);
    for other in [&of_catalog, &of_all, &of_search] {
        assert_eq!(other[1..], of_package[1..]);
        assert_ne!(other[0], of_package[0]);
    }
    assert_ne!(of_package[1], of_package[2]);
}

#[tokio::test]
async fn a_feed_of_several_catalogs_has_the_changes_of_all_latest_first() {
    let other = "package argo default=stable\nchannel stable: v2.0.0";
    let published = published(&[("b", &[ONE, TWO]), ("a", &[ONE, ONE, other])]);
    let xml = feed(&published, "/feeds").await;
    let expected = [
        "argo: added argo.v2.0.0, head of stable is argo.v2.0.0 (a)",
        "etcd: removed etcd.v1.0.0, stable has no head any more (a)",
        "etcd: added etcd.v1.1.0, head of stable is etcd.v1.1.0 (b)",
    ];
    assert_eq!(entries(&xml), expected);
    let xml = feed(&published, "/feeds?search=argo").await;
    assert_eq!(entries(&xml), expected[..1]);
    let xml = feed(&published, "/feeds/b?search=argo").await;
    assert_eq!(entries(&xml), [""; 0]);
    // The package is gone, and its feed says so.
    let xml = feed(&published, "/feeds/a/etcd").await;
    assert_eq!(
        entries(&xml),
        ["etcd: removed etcd.v1.0.0, stable has no head any more"]
    );
}

#[tokio::test]
async fn a_feed_without_changes_has_the_time_of_the_first_content() {
    let published = published(&[("main", &[ONE])]);
    let xml = feed(&published, "/feeds/main").await;
    assert_eq!(texts(&xml, "updated"), ["1970-01-01T00:00:00.000Z"]);
    assert_eq!(entries(&xml), [""; 0]);
}

#[tokio::test]
async fn an_unchanged_feed_is_not_sent_again() {
    let mut published = published(&[("main", &[ONE, TWO])]);
    let path = "/feeds/main/etcd";
    let first = get(&published.catalogs, path).await;
    let tag = first.headers[ETAG].clone();
    assert_eq!(first.headers[CACHE_CONTROL], REVALIDATE);
    assert_eq!(
        first.headers[CONTENT_TYPE],
        "application/atom+xml; charset=utf-8"
    );
    assert_eq!(first.headers[SURROGATE_KEY], "catalog/main");
    let again = |method: Method, path: &str| {
        let request = Request::builder().method(method).uri(path);
        let request = request.header(IF_NONE_MATCH, tag.clone());
        request.body(Body::empty()).unwrap()
    };
    for method in [Method::GET, Method::HEAD] {
        let second = send(&published.catalogs, again(method, path)).await;
        assert_eq!((second.status.as_u16(), second.body), (304, String::new()));
        assert_eq!(second.headers[ETAG], tag);
    }
    let other = send(&published.catalogs, again(Method::GET, "/feeds/main")).await;
    assert_eq!(other.status, 200);
    published.publish("main", &[ONE, TWO, ONE]);
    let changed = send(&published.catalogs, again(Method::GET, path)).await;
    assert_eq!(changed.status, 200);
}

#[tokio::test]
async fn an_error_says_what_there_is_not() {
    let published = published(&[("main", &[ONE])]);
    for (path, status, text) in [
        ("/feeds/none", 404, "no catalog `none` is served"),
        ("/feeds/none/etcd", 404, "no catalog `none` is served"),
        (
            "/feeds/main/none",
            404,
            "the catalog `main` has no package `none`, and had none",
        ),
        (
            "/feeds?words=x",
            400,
            "unknown parameter `words`: there is `search`, for feeds of more than one package",
        ),
        (
            "/feeds/main/etcd?search=x",
            400,
            "unknown parameter `search`: there is `search`, for feeds of more than one package",
        ),
        (
            "/feeds?search=x&search=y",
            400,
            "the parameter `search` is given twice",
        ),
    ] {
        let answer = get(&published.catalogs, path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.body),
            (status, format!("{text}\n")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_catalog_that_is_not_loaded_yet_is_asked_for_again() {
    let (writer, catalogs) = catalogs();
    writer.statuses().set_awaits_names(true);
    let answer = get(&catalogs, "/feeds/main").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers[RETRY_AFTER], "5");
}

#[tokio::test]
async fn a_caller_gets_the_feeds_of_the_catalogs_that_it_may_see() {
    let published = published(&[("open", &[ONE, TWO]), ("secret", &[ONE, TWO])]);
    let visible = published
        .catalogs
        .visible(Visibility::only(["open".to_owned()]));
    let ask = async |path: &str| {
        let mut request = Request::get(path).body(Body::empty()).unwrap();
        request.extensions_mut().insert(visible.clone());
        send(&published.catalogs, request).await
    };
    let all = ask("/feeds").await;
    assert_eq!(entries(&all.body).len(), 1);
    assert!(!all.body.contains("secret"));
    let hidden = ask("/feeds/secret").await;
    let missing = ask("/feeds/absent").await;
    assert_eq!(hidden.status, 404);
    assert_eq!(hidden.body.replace("secret", "absent"), missing.body);
}

/// A catalog of one bundle, whose package, channel and bundle have this name.
fn hostile(name: &str) -> String {
    let quoted = serde_json::to_string(name).unwrap();
    [
        format!(r#"{{"schema":"olm.package","name":{quoted},"defaultChannel":{quoted},"description":{quoted}}}"#),
        format!(r#"{{"schema":"olm.channel","package":{quoted},"name":{quoted},"entries":[{{"name":{quoted}}}]}}"#),
        format!(r#"{{"schema":"olm.bundle","package":{quoted},"name":{quoted},"image":"i","properties":[{{"type":"olm.package","value":{{"packageName":{quoted},"version":"1.0.0"}}}}]}}"#),
    ]
    .join("\n")
}

#[tokio::test]
async fn hostile_names_are_text_in_a_well_formed_document() {
    for name in [
        "<script>alert(1)</script>",
        "]]></content></entry><entry>",
        "a&b\"c'd",
        "a\u{0}b\u{8}c\u{1b}[31m\u{7f}\u{85}",
        "\u{fffe}\u{ffff}",
        "a:b/../?x#y z",
        "\u{202e}abc\u{1f600}",
    ] {
        let published = published(&[("main", &[ONE, &hostile(name)])]);
        for path in ["/feeds", "/feeds/main"] {
            let xml = feed(&published, path).await;
            let is_text = |letter: char| matches!(letter, '\u{9}' | '\u{a}' | '\u{d}' | '\u{20}'..='\u{fffd}' | '\u{10000}'..);
            assert!(xml.chars().all(is_text), "{name:?}");
            let mut reader = quick_xml::Reader::from_str(&xml);
            let mut depth = 0;
            let mut entries = 0;
            loop {
                use quick_xml::events::Event;
                match reader.read_event().unwrap() {
                    Event::Start(start) => {
                        depth += 1;
                        entries += usize::from(start.name().as_ref() == b"entry");
                    }
                    Event::End(_) => depth -= 1,
                    Event::Eof => break,
                    _ => {}
                }
            }
            assert_eq!((depth, entries), (0, 2), "{name:?}");
            for html in texts(
                &xml.replace("<content type=\"html\">", "<content>"),
                "content",
            ) {
                let tags = ["<ul>", "</ul>", "<li>", "</li>"];
                let text = tags.iter().fold(html, |text, tag| text.replace(tag, ""));
                assert!(!text.contains('<'), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn huge_names_and_lists_are_shortened() {
    let name = "<".repeat(100_000);
    let published = published(&[("main", &[ONE, &hostile(&name)])]);
    let xml = feed(&published, "/feeds/main").await;
    assert!(xml.len() < 50_000, "{}", xml.len());
    assert!(xml.contains('…'));
}

#[tokio::test]
async fn a_feed_has_as_many_entries_as_the_limit_says_and_the_latest_of_them() {
    let contents: Vec<&str> = (0..MAX_ENTRIES + 2)
        .map(|number| if number % 2 == 0 { ONE } else { TWO })
        .collect();
    let published = published(&[("main", &contents)]);
    for path in [
        "/feeds",
        "/feeds/main",
        "/feeds/main/etcd",
        "/feeds?search=etcd",
    ] {
        let xml = feed(&published, path).await;
        let times = texts(&xml, "published");
        assert_eq!(times.len(), MAX_ENTRIES, "{path}");
        assert_eq!(times[0], "1970-01-01T00:03:21.000Z");
        assert!(xml.len() < MAX_FEED_BYTES);
    }
}

#[tokio::test]
async fn a_feed_is_no_longer_than_the_limit_and_stays_whole() {
    // Packages whose names become nine times as long in HTML within XML.
    let name = |number: usize| format!("{}{number}", "&".repeat(150));
    let mut many = Vec::new();
    for number in 0..150 {
        let package = name(number);
        let line =
            serde_json::json!({"schema": "olm.package", "name": package, "defaultChannel": ""});
        many.push(line.to_string());
        for bundle in 0..40 {
            let line = serde_json::json!({
                "schema": "olm.bundle", "package": package, "name": format!("{package}.{bundle}"), "image": "i",
                "properties": [{"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}}],
            });
            many.push(line.to_string());
        }
    }
    let many = many.join("\n");
    let published = published(&[("main", &["", &many])]);
    let xml = feed(&published, "/feeds/main").await;
    assert!(xml.len() <= MAX_FEED_BYTES, "{}", xml.len());
    assert!(xml.ends_with("</entry></feed>"));
}

#[tokio::test]
async fn what_takes_too_much_work_is_refused() {
    let check = |_| None;
    let published = published(&[("main", &[ONE, TWO])]);
    let snapshot = published.catalogs.snapshot();
    for search in [None, Some("etcd".to_owned())] {
        let request = FeedRequest {
            search,
            ..FeedRequest::default()
        };
        let sources = sources(&snapshot, &request).unwrap();
        let refused = select(&sources, &request, &Work::new(&check));
        assert!(matches!(refused, Err(FeedError::TooLarge)));
    }
}
