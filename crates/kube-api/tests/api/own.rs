//! The group `catalogd.operatorframework.io`, which shows what catalogs hold.

use serde_json::{Value, json};
use testing::fixture;

use super::{Api, lines, runtime, served_fixture, source};

const GROUP: &str = "/apis/catalogd.operatorframework.io/v1beta1";

const ETCD: &str = "package etcd default=stable description=Store\nchannel stable: v1.0.0 <- v1.1.0\nchannel old: v1.0.0\n\
    bundle v1.1.0 display=Etcd provider=Us\nbundle v1.0.0\ndeprecated channel old \"use stable\"\n\
    {\"schema\":\"example.com.x\",\"package\":\"etcd\",\"n\":1.50}\n{\"schema\":\"example.com.x\",\"package\":\"etcd\",\"n\":2}\n\
    {\"schema\":\"example.com.x\",\"name\":\"a/b%\"}\n";

fn api() -> Api {
    Api::new(
        [
            served_fixture("a", &fixture::lines(ETCD)),
            served_fixture("b", &fixture::lines(ETCD)),
        ],
        None,
    )
}

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_package_is_its_blob_with_its_channels() {
    runtime().block_on(async {
        let api = api();
        let list = api.get(&format!("{GROUP}/packages")).await.json();
        assert_eq!(names(&list), ["a:etcd", "b:etcd"], "one package of two catalogs");
        let package = api.get(&format!("{GROUP}/packages/b:etcd")).await.json();
        assert_eq!(package["kind"], "Package");
        assert_eq!(package["metadata"].get("namespace"), None);
        assert_eq!(package["metadata"]["labels"], json!({ "catalog": "b", "package": "etcd" }));
        let expected = json!({
            "catalog": "b", "package": "etcd", "sourceDisplayName": "", "defaultChannel": "stable", "description": "Store",
            "channels": [
                { "name": "old", "entries": [{ "name": "etcd.v1.0.0" }], "deprecation": { "message": "use stable" } },
                { "name": "stable", "entries": [
                    { "name": "etcd.v1.0.0" }, { "name": "etcd.v1.1.0", "replaces": "etcd.v1.0.0" },
                ] },
            ],
        });
        assert_eq!(package["spec"], expected);
    });
}

#[test]
fn a_bundle_and_a_blob_are_as_they_are_in_the_catalog() {
    runtime().block_on(async {
        let api = api();
        let bundle = api
            .get(&format!("{GROUP}/bundlemetadata/a:etcd.v1.0.0"))
            .await
            .json();
        let blobs = lines_of(ETCD);
        let blob = blobs
            .iter()
            .find(|blob| blob["name"] == "etcd.v1.0.0")
            .unwrap();
        let mut expected = blob.clone();
        expected["catalog"] = json!("a");
        assert_eq!(bundle["spec"], expected);

        let list = api
            .get(&format!(
                "{GROUP}/catalogmetadata?fieldSelector=spec.catalog=a"
            ))
            .await
            .json();
        let mut contents: Vec<_> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["spec"]["content"].to_string())
            .collect();
        let mut expected: Vec<_> = blobs.iter().map(Value::to_string).collect();
        contents.sort();
        expected.sort();
        assert_eq!(contents, expected);
        let others = api
            .get(&format!(
                "{GROUP}/catalogmetadata?fieldSelector=spec.catalog=a,spec.schema=example.com.x"
            ))
            .await
            .json();
        let names = names(&others);
        assert_eq!(
            names,
            [
                "a:example.com.x::a%2Fb%25",
                "a:example.com.x:etcd:",
                "a:example.com.x:etcd::2"
            ]
        );
        for name in names {
            let path = name.replace('%', "%25");
            assert_eq!(
                api.get(&format!("{GROUP}/catalogmetadata/{path}"))
                    .await
                    .json()["metadata"]["name"],
                name
            );
        }
        let text = api
            .get(&format!("{GROUP}/catalogmetadata/a:example.com.x:etcd:"))
            .await
            .body;
        assert!(
            String::from_utf8(text).unwrap().contains("\"n\":1.50"),
            "numbers are as they were written"
        );
    });
}

fn lines_of(fixture: &str) -> Vec<Value> {
    fixture::lines(fixture)
        .lines()
        .map(|line| line.parse().unwrap())
        .collect()
}

#[test]
fn tables_say_what_people_look_for() {
    runtime().block_on(async {
        let api = api();
        let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        for (resource, columns, row) in [
            (
                "packages",
                "Name Catalog Package Default-Channel Channels Age",
                "a:etcd a etcd stable old,stable <unknown>",
            ),
            (
                "bundlemetadata",
                "Name Package Version Image Age",
                "a:etcd.v1.0.0 etcd 1.0.0 quay.io/example/etcd:v1.0.0 <unknown>",
            ),
            (
                "operatorpackages",
                "Name Catalog Version Provider Age",
                "a:etcd a 1.1.0 Us <unknown>",
            ),
            (
                "catalogmetadata",
                "Name Catalog Schema Package Age",
                "a:example.com.x::a%2Fb%25 a example.com.x  <unknown>",
            ),
        ] {
            let path = format!("{GROUP}/{resource}?labelSelector=catalog%3Da&includeObject=None");
            let table = api.ask("GET", &path, &accept).await.json();
            let texts = |list: &Value, of: fn(&Value) -> &Value| {
                list.as_array()
                    .unwrap()
                    .iter()
                    .map(|value| of(value).as_str().unwrap().to_owned())
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            assert_eq!(
                texts(&table["columnDefinitions"], |column| &column["name"]),
                columns
            );
            assert_eq!(texts(&table["rows"][0]["cells"], |cell| cell), row);
        }
    });
}

#[test]
fn an_operator_package_has_the_status_of_its_manifest() {
    runtime().block_on(async {
        let api = Api::new([source("crafted").served()], None);
        let list = api.get(&format!("{GROUP}/operatorpackages")).await.json();
        let manifests = lines("manifests.jsonl.gz");
        let manifests = manifests.iter().filter(|line| line["catalog"] == "crafted");
        for line in manifests {
            let name = format!("crafted:{}", line["package"].as_str().unwrap());
            let item = list["items"]
                .as_array()
                .unwrap()
                .iter()
                .find(|item| item["metadata"]["name"] == *name);
            let mut status = item.unwrap_or_else(|| panic!("{name}"))["status"].clone();
            super::manifests::sort_images(&mut status);
            assert_eq!(status, line["manifest"]["status"], "{name}");
        }
    });
}

#[test]
fn every_blob_of_the_corpus_has_a_name_of_its_own() {
    let served = super::corpus("community", &testing::corpus::community());
    let count = served.content.catalog.meta_count();
    runtime().block_on(async {
        let api = Api::new([served], None);
        for (resource, expected) in [
            ("catalogmetadata", Some(count)),
            ("bundlemetadata", None),
            ("packages", None),
        ] {
            let accept = [(
                "accept",
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            )];
            let list = api
                .ask("GET", &format!("{GROUP}/{resource}"), &accept)
                .await
                .json();
            let names = names(&list);
            assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{resource}");
            assert!(
                expected.is_none_or(|expected| expected == names.len()),
                "{resource}: {}",
                names.len()
            );
        }
    });
}
