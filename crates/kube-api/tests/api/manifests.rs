//! Every manifest and icon that was recorded.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use serving::Served;
use sha2::{Digest as _, Sha256};

use super::{Api, corpus, lines, packages, runtime, source, sources};

/// SHA-256 of upstream's icon for packages without one.
const DEFAULT_ICON: &str = "a43b81d9c7a9acaee3935789813a5b6f0bdaa73488e113f60bdfd463e8acb7c8";

/// The items of the packages of a namespace, by catalog and name, as upstream has them.
async fn items(api: &Api, namespace: &str) -> BTreeMap<(String, String), Value> {
    let list = api.get(&packages(namespace)).await.json();
    let items = list["items"].as_array().unwrap().iter().map(|item| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let key = (
            text(&item["status"]["catalogSource"]),
            text(&item["metadata"]["name"]),
        );
        (key, upstreams(item.clone()))
    });
    items.collect()
}

/// An item without what upstream has not: it is in all objects and tells nothing of the package.
pub(super) fn upstreams(mut item: Value) -> Value {
    if let Some(metadata) = item["metadata"].as_object_mut() {
        let is_number = |text: &Value| {
            text.as_str()
                .is_some_and(|text| text.parse::<u64>().is_ok())
        };
        assert!(
            metadata
                .remove("resourceVersion")
                .is_some_and(|version| is_number(&version)),
            "{metadata:?}"
        );
        assert_eq!(
            metadata
                .remove("uid")
                .and_then(|uid| uid.as_str().map(str::len)),
            Some(36)
        );
        restore_labels(metadata);
    }
    if let Some(status) = item.get_mut("status") {
        sort_images(status);
    }
    item
}

/// Sorts the images of each channel, which upstream does not.
pub(super) fn sort_images(status: &mut Value) {
    for channel in status
        .get_mut("channels")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let images = channel.pointer_mut("/currentCSVDesc/relatedImages");
        if let Some(images) = images.and_then(Value::as_array_mut) {
            images.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
    }
}

/// Gives labels the values that packages declare for them, as upstream does: console selects
/// packages by these labels, so that a package could appear to be from another catalog.
fn restore_labels(metadata: &mut serde_json::Map<String, Value>) {
    let declared = [
        ("catalog", "catalogql.io/declared-catalog"),
        (
            "catalog-namespace",
            "catalogql.io/declared-catalog-namespace",
        ),
    ];
    for (label, annotation) in declared {
        let Some(value) = metadata
            .get_mut("annotations")
            .and_then(|all| all.as_object_mut()?.remove(annotation))
        else {
            continue;
        };
        assert_ne!(metadata["labels"][label], value);
        metadata["labels"][label] = value;
    }
    if metadata.get("annotations") == Some(&json!({})) {
        metadata.remove("annotations");
    }
}

#[test]
fn every_recorded_manifest_is_made_as_upstream_makes_it() {
    runtime().block_on(async {
        let api = Api::new(sources().iter().map(super::Source::served), None);
        let mut ours = items(&api, "olm").await;
        let team = items(&api, "team-a").await;
        ours.extend(
            team.into_iter()
                .filter(|((catalog, _), _)| catalog == "team-catalog"),
        );
        let recorded = lines("manifests.jsonl.gz");
        assert_eq!(recorded.len(), 66);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        for line in recorded {
            let key = (text(&line["catalog"]), text(&line["package"]));
            assert_eq!(
                ours.remove(&key).as_ref(),
                Some(&line["manifest"]),
                "{key:?}"
            );
        }
        // Those that answers to other requests show.
        assert_eq!(ours.len(), 8, "{:?}", ours.keys());
    });
}

#[test]
fn every_manifest_and_icon_of_the_corpus_is_what_upstream_serves() {
    let recorded = lines("corpus-hashes.jsonl.gz");
    for (name, directory) in [
        ("community", "community"),
        ("community-v418", "community-v4.18-yaml"),
        ("objects", "community-objects"),
    ] {
        // Of `community`, a part lies in this repository.
        let directory = match testing::corpus::folder().join(directory) {
            whole if whole.is_dir() => whole,
            _ if name == "community" => testing::corpus::part_of_community(),
            _ => continue,
        };
        let recorded: Vec<_> = recorded
            .iter()
            .filter(|line| line["catalog"] == name)
            .filter(|line| directory.join(line["package"].as_str().unwrap()).is_dir())
            .collect();
        assert!(recorded.len() >= 5, "{name}: {}", recorded.len());
        compare_corpus(corpus(name, &directory), &recorded);
    }
}

/// Compares the manifests of a catalog by their hashes, and their icons by their bytes.
fn compare_corpus(served: Served, recorded: &[&Value]) {
    let name = served.name.clone();
    runtime().block_on(async {
        let api = Api::new([served], None);
        let ours = items(&api, "olm").await;
        for line in recorded {
            let package = line["package"].as_str().unwrap();
            let item = ours
                .get(&(name.clone(), package.to_owned()))
                .unwrap_or_else(|| panic!("{name} {package}"));
            let hash = hex(item.to_string().as_bytes());
            assert_eq!(
                hash,
                line["sha256"].as_str().unwrap(),
                "{name} {package}: {item}"
            );
            let icon = api
                .get(&format!("{}/{package}/icon", packages("olm")))
                .await;
            assert_eq!(icon.status, 200, "{name} {package}");
            let expected = line["icon"]["sha256"].as_str().unwrap();
            assert!(
                expected == DEFAULT_ICON || hex(&icon.body) == expected,
                "{name} {package}"
            );
            assert!(
                icon.header("content-type")
                    .is_some_and(|kind| kind.starts_with("image/")),
                "{name} {package}"
            );
        }
    });
}

pub(super) fn hex(bytes: &[u8]) -> String {
    fbc_grammar::Digest::new(Sha256::digest(bytes).into())
        .to_string()
        .replace("sha256:", "")
}

#[test]
fn a_manifest_without_an_install_strategy_is_served_beside_all_others() {
    runtime().block_on(async {
        let crash = super::Source {
            file: "catalogs/crash.jsonl".to_owned(),
            ..source("second")
        };
        let api = Api::new([crash.served()], None);
        let names: Vec<_> = items(&api, "olm")
            .await
            .into_keys()
            .map(|(_, name)| name)
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
    });
}
