//! Icons over HTTP: what is answered, and for how long.

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::origin::{FileOrigin, Origins};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serving::{
    CatalogMetadata, Catalogs, CatalogsWriter, Content, FORMER_ICONS, Served, Visibility, catalogs,
};
use sha2::{Digest as _, Sha256};

use crate::router;

/// A content whose only package has an SVG with this in it.
fn publish(writer: &mut CatalogsWriter, text: &str) -> String {
    let image = svg(text);
    let icon = format!(
        r#"{{"base64data":"{}","mediatype":"image/svg+xml"}}"#,
        base64(&image)
    );
    let line = format!("{{\"icon\":{icon},\"name\":\"etcd\",\"schema\":\"olm.package\"}}\n");
    let file = FileOrigin {
        path: "catalog.json".into(),
        lines: vec![1],
        ..FileOrigin::default()
    };
    let digest = Digest::new(Sha256::digest(&line).into());
    let catalog = Catalog::build(
        line.into(),
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
    )
    .unwrap();
    writer.publish(Served::new(
        "one",
        Content::new(catalog, digest),
        CatalogMetadata::default(),
    ));
    format!(
        "/icons/{}",
        Digest::new(Sha256::digest(&image).into()).hex()
    )
}

fn svg(text: &str) -> String {
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><script>{text}</script></svg>")
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// Status, headers by name, and body of the answer to a request.
async fn send(
    catalogs: &Catalogs,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, Vec<(String, String)>, String) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let service = TowerToHyperService::new(router(catalogs.clone(), "test", None));
    let response = service
        .call(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let (head, body) = response.into_parts();
    let mut headers: Vec<_> = head
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (
        head.status.as_u16(),
        headers,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[tokio::test]
async fn an_icon_is_served_for_good_and_runs_nothing() {
    let (mut writer, catalogs) = catalogs();
    let path = publish(&mut writer, "alert(1)");
    let tag = format!("\"{}\"", path.trim_start_matches("/icons/"));
    let lasting = [
        ("cache-control", "public, max-age=31536000, immutable"),
        ("content-security-policy", "sandbox; default-src 'none'"),
    ];
    let image = svg("alert(1)");
    let length = image.len().to_string();
    let mut head = owned(&lasting);
    head.extend(owned(&[
        ("content-length", &length),
        ("content-type", "image/svg+xml"),
        ("etag", &tag),
        ("x-content-type-options", "nosniff"),
    ]));
    head.sort();
    assert_eq!(
        send(&catalogs, Method::GET, &path, &[]).await,
        (200, head.clone(), image)
    );
    assert_eq!(
        send(&catalogs, Method::HEAD, &path, &[]).await,
        (200, head.clone(), String::new())
    );
    let known: Vec<_> = head
        .iter()
        .filter(|(name, _)| name != "content-type")
        .cloned()
        .collect();
    for tags in [tag.as_str(), &format!("\"x\", W/{tag}"), "*"] {
        let answer = send(&catalogs, Method::GET, &path, &[("if-none-match", tags)]).await;
        assert_eq!(answer, (304, known.clone(), String::new()), "{tags}");
    }
    assert_eq!(
        send(&catalogs, Method::GET, &path, &[("if-none-match", "\"x\"")])
            .await
            .0,
        200
    );
}

#[tokio::test]
async fn what_is_no_icon_is_not_found_and_not_kept() {
    let (mut writer, catalogs) = catalogs();
    let path = publish(&mut writer, "one");
    for other in [
        "/icons/",
        "/icons/x",
        &path.to_uppercase().replace("/ICONS", "/icons"),
        &path[..path.len() - 1],
    ] {
        assert_eq!(
            send(&catalogs, Method::GET, other, &[]).await.0,
            404,
            "{other}"
        );
    }
    let none = format!("/icons/{}", "0".repeat(64));
    let (status, headers, body) = send(&catalogs, Method::GET, &none, &[]).await;
    assert_eq!((status, body.as_str()), (404, "no catalog has this icon\n"));
    assert!(
        headers.contains(&("cache-control".to_owned(), "no-store".to_owned())),
        "{headers:?}"
    );
    assert_eq!(send(&catalogs, Method::POST, &path, &[]).await.0, 405);
}

#[tokio::test]
async fn icons_of_former_contents_can_be_had_for_a_while() {
    let (mut writer, catalogs) = catalogs();
    let paths: Vec<_> = ["a", "b", "c", "d"]
        .map(|text| publish(&mut writer, text))
        .into();
    // The same content again takes the place of none.
    publish(&mut writer, "d");
    let mut statuses = Vec::new();
    for path in &paths {
        statuses.push(send(&catalogs, Method::GET, path, &[]).await.0);
    }
    assert_eq!(statuses, [404, 200, 200, 200]);
    assert_eq!(FORMER_ICONS, 2);
    writer.withdraw("one");
    assert_eq!(send(&catalogs, Method::GET, &paths[3], &[]).await.0, 404);
}

#[tokio::test]
async fn an_icon_is_there_for_who_may_see_a_catalog_that_has_it() {
    let (mut writer, catalogs) = catalogs();
    let path = publish(&mut writer, "a");
    for (seen, expected) in [("one", 200), ("other", 404)] {
        let reader = catalogs.visible(Visibility::only([seen.to_owned()]));
        assert_eq!(send(&reader, Method::GET, &path, &[]).await.0, expected);
    }
}
