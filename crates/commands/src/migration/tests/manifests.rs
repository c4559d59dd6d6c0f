//! Manifests of a move.

use super::super::manifests::{catalog_manifest, list, stream};
use super::*;

fn config(world: &World) -> Value {
    let manifest = world.manifest(None);
    manifest
        .object
        .map_or(Value::Null, |object| object["spec"]["config"].clone())
}

#[test]
fn the_manifest_of_an_operator_says_what_was_decided() {
    let world = World::healthy().group("/spec/targetNamespaces", json!(["target"]));
    let text = world.judged(|report| {
        let catalogs = report.moves.iter().map(catalog_manifest);
        let extension = extension_manifest(&report.judgements[0], report.moves, None);
        stream(&catalogs.chain([extension]).collect::<Vec<_>>())
    });
    let expected = "\
# Manifests for OLM v1 of what OLM v0 has installed. Nothing was changed.
# While a Subscription is there, OLM v1 does not take over the objects of its operator: upstream's tool, whose commands
# follow each operator, deletes the Subscription and keeps the objects.
---
# CatalogSource olm/index: EXISTS, ClusterCatalog `index` has its image
---
# Subscription ns/sub, package widgets 1.0.0: INELIGIBLE
# C1 (--acknowledge-watch-scope-change): the OperatorGroup `group` targets namespaces: target
# then it would stay, as the newest
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata:
  name: sub
spec:
  namespace: ns
  source:
    catalog:
      channels:
      - stable
      packageName: widgets
      selector:
        matchLabels:
          olm.operatorframework.io/metadata.name: index
    sourceType: Catalog
# migrate-operators-v0-to-v1 check sub -n ns
# migrate-operators-v0-to-v1 convert sub -n ns --acknowledge-watch-scope-change --dry-run
# migrate-operators-v0-to-v1 convert sub -n ns --acknowledge-watch-scope-change
";
    assert_eq!(text, expected);
}

/// `TestClusterExtensionCatalogAndBackupFieldMappings`, without the annotations that mark what the tool
/// has moved.
#[test]
fn an_extension_has_the_fields_of_the_subscription() {
    let manual = World::healthy().subscription("/spec/installPlanApproval", json!("Manual"));
    let object = manual.manifest(None).object.expect("it is made");
    assert_eq!(
        object,
        json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
            "metadata": { "name": "sub" },
            "spec": {
                "namespace": "ns",
                "source": { "sourceType": "Catalog", "catalog": {
                    "packageName": "widgets", "channels": ["stable"], "version": "1.0.0",
                    "selector": { "matchLabels": { "olm.operatorframework.io/metadata.name": "index" } },
                } },
            },
        })
    );
    for approval in ["Automatic", ""] {
        let world = World::healthy().subscription("/spec/installPlanApproval", json!(approval));
        let object = world.manifest(None).object.expect("it is made");
        assert_eq!(
            object["spec"]["source"]["catalog"].get("version"),
            None,
            "{approval}"
        );
    }
    let named = World::healthy().with(&[object_of_the_name()]);
    assert_eq!(named.manifest(None).object, None);
    let manifest = named.manifest(Some("other"));
    assert_eq!(
        manifest.after[1],
        "migrate-operators-v0-to-v1 convert sub -n ns --ce-name other --dry-run"
    );
    assert_eq!(
        manifest.object.expect("it is made")["metadata"]["name"],
        "other"
    );

    // The channel that OLM v0 follows is written.
    let empty = World::healthy().subscription("/spec/channel", json!(""));
    let manifest = empty.manifest(None);
    assert_eq!(
        manifest.before[1],
        "channel: the default channel `stable`, which OLM v0 follows because the Subscription names none"
    );
    let object = manifest.object.expect("it is made");
    assert_eq!(
        object["spec"]["source"]["catalog"]["channels"],
        json!(["stable"])
    );
}

fn object_of_the_name() -> Value {
    object("ClusterExtension", "sub", &[])
}

/// `TestGetBundleInfoDropsSelectorButKeepsDeploymentConfig`.
#[test]
fn the_configuration_is_kept_without_its_selector() {
    let kept = json!({
        "nodeSelector": { "kubernetes.io/os": "linux" },
        "tolerations": [{ "key": "tier", "operator": "Equal", "value": "infra", "effect": "NoSchedule" }],
        "env": [{ "name": "EXAMPLE", "value": "value" }],
        "annotations": { "example.com/configured": "true" },
    });
    let mut given = kept.clone();
    given["selector"] = json!({ "matchLabels": { "app": "widgets" } });
    let world = World::healthy().subscription("/spec/config", given);
    assert_eq!(
        config(&world),
        json!({ "configType": "Inline", "inline": { "deploymentConfig": kept } })
    );
    let manifest = world.manifest(None);
    assert_eq!(
        manifest.before[1],
        "config: `spec.config` of the Subscription, which needs the feature gate DeploymentConfig (alpha) and the \
         experimental definition of ClusterExtension"
    );
    for nothing in [json!({}), json!({ "selector": {} })] {
        let world = World::healthy().subscription("/spec/config", nothing);
        assert_eq!(config(&world), Value::Null);
    }
}

#[test]
fn an_operator_of_one_namespace_keeps_watching_it_with_a_feature_gate() {
    let modes = |modes: &[&str]| {
        let modes = modes.iter();
        let modes = modes.map(|mode| json!({ "type": mode, "supported": true }));
        modes.collect::<Value>()
    };
    for (supported, targets, expected) in [
        (&["OwnNamespace"][..], json!(["ns"]), Some("ns")),
        (&["SingleNamespace"], json!(["other"]), Some("other")),
        (&["OwnNamespace"], json!(["other"]), None),
        (&["SingleNamespace"], json!(["ns"]), None),
        (&["MultiNamespace"], json!(["a", "b"]), None),
        (&["OwnNamespace"], json!([]), None),
    ] {
        let world = World::healthy()
            .csv("/spec/installModes", modes(supported))
            .group("/spec/targetNamespaces", targets.clone());
        let expected = expected.map_or(Value::Null, |namespace| {
            json!({ "configType": "Inline", "inline": { "watchNamespace": namespace } })
        });
        assert_eq!(config(&world), expected, "{supported:?} {targets}");
    }
    let world = World::healthy()
        .csv("/spec/installModes", modes(&["OwnNamespace"]))
        .group("/spec/targetNamespaces", json!(["ns"]));
    assert_eq!(
        world.manifest(None).after,
        ["migrate-operators-v0-to-v1 refuses it as long as it fails C1a"]
    );
}

#[test]
fn operators_that_cannot_be_moved_have_reasons_and_no_manifest() {
    let dependency =
        r#"[{"type":"olm.package.required","value":{"packageName":"dep","versionRange":"1"}}]"#;
    let world = World::healthy().properties(dependency);
    assert_eq!(
        world.manifest(None),
        CommentedManifest {
            before: vec![
                "Subscription ns/sub, package widgets 1.0.0: INELIGIBLE".to_owned(),
                "C2: requires package `dep` in version `1`".to_owned(),
                "no manifest: no flag overrides C2".to_owned(),
            ],
            ..CommentedManifest::default()
        }
    );
    let mut unknown = World::healthy();
    unknown
        .objects
        .set_unread(MigrationKind::OperatorCondition, "forbidden".to_owned());
    let manifest = unknown.manifest(None);
    assert_eq!(manifest.object, None);
    assert_eq!(
        manifest.before[2],
        "no manifest: not everything could be read"
    );
}

#[test]
fn a_catalog_that_is_to_be_made_is_named_by_the_extension() {
    let mut world = World::healthy();
    let mut objects = MigrationObjects::default();
    for kind in MigrationKind::ALL {
        for object in world.objects.known(kind) {
            if kind != MigrationKind::ClusterCatalog {
                objects.add(object.clone());
            }
        }
    }
    world.objects = objects;
    assert_eq!(world.status(), "INELIGIBLE C7!");
    let manifest = world.manifest(None);
    assert_eq!(
        manifest.before[2],
        "catalog: `index`, which is to be made first from the CatalogSource"
    );
    let object = manifest.object.expect("it is made");
    assert_eq!(
        object["spec"]["source"]["catalog"]["selector"]["matchLabels"],
        json!({ "olm.operatorframework.io/metadata.name": "index" })
    );
    assert_eq!(
        manifest.after,
        [
            "migrate-operators-v0-to-v1 refuses it as long as it fails C7",
            "after the ClusterCatalog serves its content:",
            "migrate-operators-v0-to-v1 check sub -n ns",
            "migrate-operators-v0-to-v1 convert sub -n ns --dry-run",
            "migrate-operators-v0-to-v1 convert sub -n ns",
        ]
    );
    let kinds = world.judged(|report| {
        let catalogs = report.moves.iter().map(catalog_manifest);
        let extension = extension_manifest(&report.judgements[0], report.moves, None);
        let list = list(&catalogs.chain([extension]).collect::<Vec<_>>());
        let items = list["items"].as_array().expect("it is a list");
        items
            .iter()
            .map(|item| text(item, "/kind"))
            .collect::<Vec<_>>()
    });
    assert_eq!(kinds, ["ClusterCatalog", "ClusterExtension"]);
}

#[test]
fn no_text_of_others_leaves_its_comment() {
    let evil = "a\nkind: Pod\r---\u{85}x\u{2028}y\u{2029}z";
    let mut world = World::healthy().group("/spec/serviceAccountName", json!(evil));
    let mut bundle = bundle("index", "1.1.0", &["stable"], &[("DEPENDENCY", true)]);
    bundle["olmV1"]["blockers"][0]["detail"] = json!(evil);
    world.answers.bundles.push(bundle);
    world.answers.successors = vec![("widgets.v1.0.0", "stable", vec!["widgets.v1.1.0"])];
    let text = stream(&[world.manifest(None)]);
    assert_eq!(text.matches("a kind: Pod --- x y z").count(), 2, "{text}");
    let objects = text.lines().filter(|line| !line.starts_with("# "));
    let objects: Vec<_> = objects.collect();
    assert!(!objects.join("\n").contains("Pod"), "{text}");
}

#[test]
fn a_channel_that_an_extension_cannot_name_is_said() {
    let with = |channel: &str| {
        let channel = channel.to_owned();
        let mut world = World::healthy().subscription("/spec/channel", json!(channel));
        world.answers.packages[0]["channels"] = json!([{ "name": channel }]);
        world.answers.bundles[0]["channelNames"] = json!([channel]);
        world.manifest(None)
    };
    let most = "a".repeat(253);
    for channel in ["stable", "4.x", "stable-v1.2", "1", most.as_str()] {
        assert!(with(channel).object.is_some(), "{channel}");
    }
    let longer = "a".repeat(254);
    for channel in ["Stable", "a_b", "-a", "a-", "a..b", "a b", longer.as_str()] {
        let manifest = with(channel);
        assert_eq!(manifest.object, None, "{channel}");
        let expected =
            format!("no manifest: a ClusterExtension cannot name the channel `{channel}`:");
        assert!(manifest.before[1].starts_with(&expected), "{manifest:?}");
    }
}
