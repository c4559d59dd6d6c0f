//! The versions of packages over HTTP.

use axum::body::{Body, to_bytes};
use axum::http::header::{ETAG, IF_NONE_MATCH, RETRY_AFTER};
use axum::http::{HeaderMap, Request, StatusCode};
use fbc::Bundle;
use fbc::work::Work;
use fbc_grammar::Digest;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serving::{CatalogMetadata, Catalogs, Content, Served, catalogs};
use testing::{corpus, fixture};

use crate::parameters::Parameters;
use crate::{MAX_WORK, releases, router};

/// Two channels; a version that is only skipped to, one that is deprecated, and one that two
/// bundles have.
const CATALOG: &str = r#"
    package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1? range=">=0.8.0 <0.9.4"
    channel beta: v0.9.4 <- v1.0.0
    deprecated bundle v0.9.2 "it loses data"
    {"schema":"olm.bundle","package":"etcd","name":"etcd-again","image":"i","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0"}}]}
    {"schema":"olm.channel","package":"etcd","name":"again","entries":[{"name":"etcd-again"}]}
"#;

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

fn served() -> Catalogs {
    let (mut writer, catalogs) = catalogs();
    let content = Content::new(fixture::catalog(CATALOG), Digest::new([1; 32]));
    writer.publish(Served::new("main", content, CatalogMetadata::default()));
    catalogs
}

async fn get(catalogs: &Catalogs, path: &str, tag: Option<&str>) -> Answer {
    let service = TowerToHyperService::new(router(catalogs.clone(), "build", false));
    let mut request = Request::builder().uri(path);
    if let Some(tag) = tag {
        request = request.header(IF_NONE_MATCH, tag);
    }
    let request = request.body(Body::empty()).unwrap();
    let response = service.call(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    Answer {
        status: head.status,
        headers: head.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

/// Returns the body of a response with status 200.
async fn versions(path: &str) -> String {
    let answer = get(&served(), path, None).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

#[tokio::test]
async fn a_package_has_each_version_once_and_the_highest_first() {
    assert_eq!(
        versions("/renovate/main/etcd").await,
        r#"{"releases":[{"version":"1.0.0"},{"version":"0.9.4"},{"version":"0.9.2","isDeprecated":true},{"version":"0.9.0"}]}"#
    );
}

#[tokio::test]
async fn a_channel_has_its_versions_only() {
    assert_eq!(
        versions("/renovate/main/etcd?channel=beta").await,
        r#"{"releases":[{"version":"1.0.0"},{"version":"0.9.4"}]}"#
    );
}

#[tokio::test]
async fn an_installed_version_has_the_upgrades_that_the_update_graph_permits() {
    for (query, expected) in [
        // By replaces, and by a range.
        ("from=0.9.0&channel=stable", "0.9.4 0.9.2 0.9.0"),
        ("from=0.9.4&channel=stable", "0.9.4"),
        ("from=0.9.4", "1.0.0 0.9.4"),
        // No bundle has these: the first is skipped by its name, the second is in a range.
        ("from=0.9.1&channel=stable", "0.9.4"),
        ("from=0.8.1&channel=stable", "0.9.4"),
        ("from=0.7.0", ""),
        // Empty values are absent ones.
        ("from=&channel=beta", "1.0.0 0.9.4"),
    ] {
        let body = versions(&format!("/renovate/main/etcd?{query}")).await;
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let found: Vec<_> = body["releases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|release| release["version"].as_str().unwrap())
            .collect();
        assert_eq!(found.join(" "), expected, "{query}");
    }
}

#[tokio::test]
async fn an_error_says_what_there_is_not() {
    for (path, status, text) in [
        ("/renovate/none/etcd", 404, "no catalog `none` is served"),
        (
            "/renovate/main/none",
            404,
            "the catalog `main` has no package `none`",
        ),
        (
            "/renovate/main/etcd?channel=none",
            404,
            "the package `etcd` has no channel `none`",
        ),
        (
            "/renovate/main/etcd?version=1",
            400,
            "unknown parameter `version`: there are `channel` and `from`",
        ),
        (
            "/renovate/main/etcd?from=1&from=2",
            400,
            "the parameter `from` is given twice",
        ),
    ] {
        let answer = get(&served(), path, None).await;
        assert_eq!(
            (answer.status.as_u16(), answer.body),
            (status, format!("{text}\n")),
            "{path}"
        );
    }
    let answer = get(&served(), "/renovate/main/etcd?from=one", None).await;
    assert_eq!(answer.status, 400);
    assert!(
        answer.body.starts_with("`from` is no version: "),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn a_catalog_that_is_not_loaded_yet_is_asked_for_again() {
    let (writer, catalogs) = catalogs();
    writer.statuses().set_awaits_names(true);
    let answer = get(&catalogs, "/renovate/main/etcd", None).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers[RETRY_AFTER], "5");
}

#[tokio::test]
async fn an_unchanged_response_is_not_sent_again() {
    let catalogs = served();
    let path = "/renovate/main/etcd?from=0.9.0";
    let first = get(&catalogs, path, None).await;
    let tag = first.headers[ETAG].to_str().unwrap();
    let second = get(&catalogs, path, Some(tag)).await;
    assert_eq!((second.status.as_u16(), second.body), (304, String::new()));
    assert_eq!(second.headers[ETAG], *tag);

    let other = get(&catalogs, "/renovate/main/etcd?from=0.9.2", Some(tag)).await;
    assert_eq!(other.status, 200);
}

#[test]
fn the_largest_package_of_a_real_catalog_takes_less_than_a_hundredth_of_the_work_allowed() {
    let catalog = corpus::load(&corpus::community(), &[]).unwrap();
    let names: Vec<_> = catalog
        .packages()
        .map(|package| package.name().to_owned())
        .collect();
    let content = Content::new(catalog, Digest::new([1; 32]));
    let served = Served::new("main", content, CatalogMetadata::default());
    let mut most = 0;
    for name in &names {
        let package = served.content.catalog.package(name).unwrap();
        let lowest = package.bundles().filter_map(Bundle::version).next_back();
        for from in [None, lowest.map(str::to_owned)] {
            let parameters = Parameters {
                channel: None,
                from,
            };
            let work = Work::unlimited();
            releases::write(&served, name, &parameters, &work).unwrap();
            most = most.max(work.units());
        }
    }
    println!("{} packages, {most} units at most", names.len());
    assert!(!names.is_empty() && most < MAX_WORK / 100, "{most}");
}
