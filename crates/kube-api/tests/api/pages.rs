//! Pages, formats and entity tags, which upstream has not.

use std::io::Read as _;

use axum::http::StatusCode;
use flate2::read::GzDecoder;
use serde_json::Value;

use serving::catalogs;

use super::{Answer, Api, packages, runtime, served_fixture, source};

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn pages_together_are_the_list_in_order() {
    runtime().block_on(async {
        let api = Api::new(["crafted", "second", "team-catalog"].map(|name| source(name).served()), None);
        let all = names(&api.get("/apis/packages.operators.coreos.com/v1/packagemanifests").await.json());
        for limit in [1, 7, 100] {
            let mut pages = Vec::new();
            let mut token = String::new();
            loop {
                let path =
                    format!("/apis/packages.operators.coreos.com/v1/packagemanifests?limit={limit}&continue={token}");
                let page = api.get(&path).await.json();
                pages.extend(names(&page));
                let remaining = page["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
                assert_eq!(remaining, (all.len() - pages.len()) as u64);
                let Some(next) = page["metadata"]["continue"].as_str() else { break };
                token = next.to_owned();
            }
            assert_eq!(pages, all, "{limit}");
        }
        let some = api.get(&format!("{}?limit=1&labelSelector=catalog=second", packages("olm"))).await.json();
        assert_eq!(some["metadata"].get("remainingItemCount"), None, "a selector makes it unknown");
        assert!(some["metadata"]["continue"].is_string());
    });
}

#[test]
fn a_list_that_changed_since_its_first_page_goes_on_only_if_the_client_says_so() {
    runtime().block_on(async {
        let mut api = Api::new(
            [source("crafted").served(), source("second").served()],
            None,
        );
        let first = api
            .get(&format!("{}?limit=30", packages("olm")))
            .await
            .json();
        api.withdraw("second").await;
        let token = first["metadata"]["continue"].as_str().unwrap();
        let gone = api
            .get(&format!("{}?continue={token}", packages("olm")))
            .await;
        assert_eq!(
            (gone.status, gone.json()["reason"].as_str()),
            (StatusCode::GONE, Some("Expired"))
        );
        let resume = gone.json()["metadata"]["continue"]
            .as_str()
            .unwrap()
            .to_owned();
        let rest = api
            .get(&format!("{}?continue={resume}", packages("olm")))
            .await;
        let last = names(
            &first["items"]
                .as_array()
                .map(|items| serde_json::json!({ "items": items }))
                .unwrap(),
        );
        assert!(
            names(&rest.json()).first() > last.last(),
            "{:?}",
            names(&rest.json())
        );
    });
}

#[test]
fn a_resource_version_is_a_number_that_grows_when_something_changes() {
    runtime().block_on(async {
        let mut api = Api::new(
            [source("crafted").served(), source("second").served()],
            None,
        );
        let version = |value: &Value| {
            value["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        let first = api.get(&packages("olm")).await.json();
        let one = |list: &Value| {
            version(
                list["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|item| item["metadata"]["name"] == "arch-only")
                    .unwrap(),
            )
        };
        api.withdraw("second").await;
        let second = api.get(&packages("olm")).await.json();
        assert!(version(&second) > version(&first));
        assert_eq!(
            one(&second),
            one(&first),
            "what did not change keeps its version"
        );
        assert!(one(&first) <= version(&first));

        let exact = |version: u64| {
            format!(
                "{}?resourceVersion={version}&resourceVersionMatch=Exact",
                packages("olm")
            )
        };
        assert_eq!(api.get(&exact(version(&second))).await.status, 200);
        assert_eq!(api.get(&exact(version(&first))).await.status, 410);
        let later = format!(
            "{}?resourceVersion={}",
            packages("olm"),
            version(&second) + 1_000_000_000_000
        );
        let late = api.get(&later).await;
        assert_eq!(
            (
                late.status.as_u16(),
                late.json()["details"]["retryAfterSeconds"].as_u64()
            ),
            (504, Some(1))
        );
    });
}

#[test]
fn a_list_is_the_same_in_every_format_and_coding() {
    runtime().block_on(async {
        let api = Api::new(
            [source("crafted").served(), source("community").served()],
            None,
        );
        let plain = api.get(&packages("olm")).await;
        assert!(
            plain.body.len() > kube_api::CHUNK_BYTES,
            "{}",
            plain.body.len()
        );
        let pretty = api.get(&format!("{}?pretty=true", packages("olm"))).await;
        assert_eq!(
            (pretty.json(), pretty.body.contains(&b'\n')),
            (plain.json(), true)
        );
        let yaml = api
            .ask("GET", &packages("olm"), &[("accept", "application/yaml")])
            .await;
        let yaml: Value = serde_saphyr::from_str(std::str::from_utf8(&yaml.body).unwrap()).unwrap();
        assert_eq!(yaml, plain.json());
        let zipped = api
            .ask("GET", &packages("olm"), &[("accept-encoding", "gzip")])
            .await;
        assert_eq!(
            (zipped.header("content-encoding"), zipped.header("vary")),
            (Some("gzip"), Some("Accept-Encoding"))
        );
        let mut unzipped = Vec::new();
        GzDecoder::new(&zipped.body[..])
            .read_to_end(&mut unzipped)
            .unwrap();
        assert_eq!(unzipped, plain.body);
    });
}

#[test]
fn responses_are_the_same_where_no_manifests_are_cached() {
    runtime().block_on(async {
        let served = || ["crafted", "community"].map(|name| source(name).served());
        let (mut writer, readers) = catalogs();
        for served in served() {
            writer.publish(served);
        }
        let [cached, rendered] = [
            Api::new(served(), None),
            Api::with_files((writer, readers), None, None),
        ];
        let name = "full-metadata";
        for path in [
            packages("olm"),
            packages("elsewhere"),
            format!("{}?labelSelector=catalog=crafted", packages("olm")),
            format!("{}/{name}", packages("olm")),
            format!("{}/{name}?pretty=true", packages("olm")),
            format!("{}?watch=true&timeoutSeconds=1", packages("olm")),
            "/apis/catalogd.operatorframework.io/v1beta1/operatorpackages".to_owned(),
        ] {
            let accepts = [
                "application/json",
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            ];
            for (accept, coding) in [
                (accepts[0], "identity"),
                (accepts[1], "identity"),
                (accepts[0], "gzip"),
            ] {
                let path = format!(
                    "{path}{}includeObject=Object",
                    if path.contains('?') { '&' } else { '?' }
                );
                let headers = [("accept", accept), ("accept-encoding", coding)];
                let [cached, rendered] = [
                    cached.ask("GET", &path, &headers).await,
                    rendered.ask("GET", &path, &headers).await,
                ];
                assert_eq!(cached.status, 200, "{path}");
                let [cached, rendered] = [cached, rendered].map(|answer| without_versions(&answer));
                assert!(
                    cached == rendered,
                    "{path} {coding}: {} and {} bytes",
                    cached.len(),
                    rendered.len()
                );
            }
        }
    });
}

/// The text of a response without what depends on when the process began.
fn without_versions(answer: &Answer) -> String {
    let mut text = String::new();
    match answer.header("content-encoding") {
        Some(_) => drop(
            GzDecoder::new(&answer.body[..])
                .read_to_string(&mut text)
                .unwrap(),
        ),
        None => text.push_str(std::str::from_utf8(&answer.body).unwrap()),
    }
    let mut parts = text.split("\"resourceVersion\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part
            .trim_start_matches([' ', '"'])
            .trim_start_matches(char::is_numeric)
    })
}

#[test]
fn documents_and_icons_are_not_sent_again_to_those_who_have_them() {
    runtime().block_on(async {
        let api = Api::new([source("crafted").served()], None);
        let discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let icon = format!("{}/full-metadata/icon", packages("olm"));
        for (path, accept) in [
            ("/apis", discovery),
            ("/openapi/v3", "application/json"),
            (&*icon, "image/*"),
        ] {
            let first = api.ask("GET", path, &[("accept", accept)]).await;
            let etag = first.header("etag").unwrap();
            let again = api
                .ask("GET", path, &[("accept", accept), ("if-none-match", etag)])
                .await;
            assert_eq!(
                (again.status.as_u16(), again.body.len()),
                (304, 0),
                "{path}"
            );
            let other = api
                .ask(
                    "GET",
                    path,
                    &[("accept", accept), ("if-none-match", "\"x\"")],
                )
                .await;
            assert_eq!(
                (other.status.as_u16(), other.body == first.body),
                (200, true),
                "{path}"
            );
        }
        let index = api.get("/openapi/v3").await.json();
        let url = index["paths"]["apis/packages.operators.coreos.com/v1"]["serverRelativeURL"]
            .as_str()
            .unwrap();
        let document = api.get(url).await;
        assert!(
            document
                .header("cache-control")
                .unwrap()
                .contains("immutable")
        );
        let moved = api.get(&url.replace("hash=", "hash=0")).await;
        assert_eq!(
            (moved.status.as_u16(), moved.header("location")),
            (301, Some(url))
        );
    });
}

#[test]
fn every_schema_that_a_document_refers_to_is_in_it() {
    runtime().block_on(async {
        let api = Api::new([], None);
        let index = api.get("/openapi/v3").await.json();
        for entry in index["paths"].as_object().unwrap().values() {
            let document = api
                .get(entry["serverRelativeURL"].as_str().unwrap())
                .await
                .json();
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let text = document.to_string();
            let references = text
                .split("#/components/schemas/")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap());
            let missing: Vec<_> = references
                .filter(|name| !schemas.contains_key(*name))
                .collect();
            assert_eq!(missing, Vec::<&str>::new());
            assert!(schemas.len() > 5);
        }
    });
}

#[test]
fn what_is_too_long_for_yaml_and_line_breaks_is_refused_with_a_way_out() {
    runtime().block_on(async {
        let lines = |count: usize| {
            let blob = |at: usize| {
                format!(
                    "{{\"schema\":\"x\",\"name\":\"{at}\",\"text\":\"{}\"}}\n",
                    "y".repeat(1 << 20)
                )
            };
            (0..count).map(blob).collect::<String>()
        };
        let count = kube_api::MAX_CONVERTED_BYTES >> 20;
        let yaml = [("accept", "application/yaml")];
        let blobs = "/apis/catalogd.operatorframework.io/v1beta1/catalogmetadata";
        for (count, expected) in [(count - 1, 200), (count, 406)] {
            let api = Api::new([served_fixture("a", &lines(count))], None);
            let pretty = format!("{blobs}?pretty=true");
            for (path, headers, name) in
                [(blobs, &yaml[..], "YAML"), (&*pretty, &[][..], "`pretty`")]
            {
                let answer = api.ask("GET", path, headers).await;
                assert_eq!(answer.status.as_u16(), expected, "{path}");
                if expected == 406 {
                    let message = String::from_utf8(answer.body).unwrap();
                    let text = format!(
                        "cannot write the response as {name}: it has more than 8388608 bytes"
                    );
                    assert!(
                        message.contains(&text) && message.contains("`limit`"),
                        "{message}"
                    );
                    let page = format!(
                        "{path}{}limit=3",
                        if path.contains('?') { "&" } else { "?" }
                    );
                    assert_eq!(api.ask("GET", &page, headers).await.status, 200);
                }
            }
            assert_eq!(
                api.get(blobs).await.json()["items"]
                    .as_array()
                    .unwrap()
                    .len(),
                count,
                "plain JSON is not bounded"
            );
        }
    });
}
