//! `CatalogSources` and their `ClusterCatalogs`; the search for that of an operator.

use super::super::catalog_moves::CatalogOutcome::{
    self, Create, Exists, Failed, NotMigratable, Shared, Unknown,
};
use super::*;

fn source(place: &str, image: &str) -> Value {
    let members = [
        ("/spec/sourceType", json!("grpc")),
        ("/spec/image", json!(image)),
    ];
    object("CatalogSource", place, &members)
}

fn cluster_catalog(name: &str, image: &str) -> Value {
    object(
        "ClusterCatalog",
        name,
        &[("/spec/source/image/ref", json!(image))],
    )
}

fn moves(objects: &[Value]) -> Vec<CatalogMove> {
    let mut all = MigrationObjects::default();
    for object in objects {
        all.add(object.clone());
    }
    catalog_moves(&all)
}

/// Returns places with outcomes and names of `ClusterCatalogs`.
fn outcomes(objects: &[Value]) -> Vec<(String, CatalogOutcome, String)> {
    let moves = moves(objects).into_iter();
    moves
        .map(|moved| (moved.place(), moved.outcome, moved.cluster_catalog))
        .collect()
}

fn outcome(place: &str, outcome: CatalogOutcome, name: &str) -> (String, CatalogOutcome, String) {
    (place.to_owned(), outcome, name.to_owned())
}

/// `TestMigrateCatalogsDryRunAndAdoption`.
#[test]
fn sources_of_one_name_and_several_images_are_named_after_their_namespaces() {
    let map = object(
        "CatalogSource",
        "one/cm",
        &[("/spec/sourceType", json!("configmap"))],
    );
    let objects = [
        source("one/shared", "registry/shared:1"),
        source("two/shared", "registry/shared:1"),
        source("three/shared", "registry/other:1"),
        map,
        cluster_catalog("already", "registry/covered:1"),
        source("one/covered", "registry/covered:1"),
    ];
    assert_eq!(
        outcomes(&objects),
        [
            outcome("one/cm", NotMigratable, ""),
            outcome("one/covered", Exists, "already"),
            outcome("one/shared", Create, "shared-one"),
            outcome("three/shared", Create, "shared-three"),
            // Its image has a catalog by now.
            outcome("two/shared", Shared, "shared-one"),
        ]
    );
    assert_eq!(
        outcomes(&[source("one/a", "r/i:1"), source("two/a", "r/i:1")]),
        [outcome("one/a", Create, "a"), outcome("two/a", Shared, "a")]
    );
}

#[test]
fn a_catalog_of_the_image_is_named_by_the_wanted_name_or_the_lowest() {
    let known = [cluster_catalog("z", "r/i:1"), cluster_catalog("b", "r/i:1")];
    for (name, expected) in [("z", "z"), ("a", "b")] {
        let place = format!("ns/{name}");
        let objects = [&known[..], &[source(&place, "r/i:1")]].concat();
        assert_eq!(outcomes(&objects), [outcome(&place, Exists, expected)]);
    }
    let objects = [&known[..], &[source("ns/z", "r/i:2")]].concat();
    assert_eq!(outcomes(&objects), [outcome("ns/z", Failed, "z")]);
    assert_eq!(
        moves(&objects)[0].reason,
        "ClusterCatalog `z` has another image: `r/i:1`"
    );
}

#[test]
fn only_sources_of_images_have_a_like() {
    for (kind, image, expected) in [
        ("grpc", "", "it has an address and no image"),
        (
            "configmap",
            "",
            "OLM v1 has no catalogs of type `configmap`",
        ),
        (
            "internal",
            "r/i:1",
            "OLM v1 has no catalogs of type `internal`",
        ),
    ] {
        let members = [
            ("/spec/sourceType", json!(kind)),
            ("/spec/image", json!(image)),
        ];
        let moved = moves(&[object("CatalogSource", "ns/a", &members)]).remove(0);
        assert_eq!(
            (moved.outcome, moved.reason.as_str()),
            (NotMigratable, expected)
        );
    }
    let untagged = moves(&[source("ns/a", "r:5000/i")]).remove(0);
    assert_eq!(untagged.outcome, Failed);
    assert_eq!(
        untagged.reason,
        "a ClusterCatalog needs an image with a tag or a digest: `r:5000/i`"
    );
    let mut objects = MigrationObjects::default();
    objects.add(source("ns/a", "r/i:1"));
    objects.set_unread(MigrationKind::ClusterCatalog, "forbidden".to_owned());
    assert_eq!(catalog_moves(&objects)[0].outcome, Unknown);
}

/// `TestValidatePriority`.
#[test]
fn a_priority_must_fit() {
    let with = |priority: Value| {
        let mut source = source("ns/a", "r/i:1");
        set(&mut source, "/spec/priority", priority);
        moves(&[source]).remove(0)
    };
    for priority in [7, i64::from(i32::MAX), i64::from(i32::MIN), 0] {
        let manifest = with(json!(priority)).manifest.expect("it is made");
        assert_eq!(manifest["spec"]["priority"], priority);
    }
    for priority in [i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1] {
        let moved = with(json!(priority));
        assert_eq!(moved.outcome, Failed);
        assert!(
            moved.reason.contains("--acknowledge-priority-overflow"),
            "{}",
            moved.reason
        );
    }
    let manifest = moves(&[source("ns/a", "r/i:1")]).remove(0).manifest;
    assert_eq!(manifest.expect("it is made")["spec"].get("priority"), None);
}

/// `TestConvertPollInterval`.
#[test]
fn a_poll_interval_becomes_whole_minutes() {
    let with = |image: &str, interval: &str| {
        let mut source = source("ns/a", image);
        set(
            &mut source,
            "/spec/updateStrategy/registryPoll/interval",
            json!(interval),
        );
        let moved = moves(&[source]).remove(0);
        let manifest = moved.manifest.expect("it is made");
        let minutes = manifest["spec"]["source"]["image"]["pollIntervalMinutes"].as_i64();
        (minutes, moved.notes.join("; "))
    };
    let tag = "registry.example/catalog:latest";
    let note = |text: &str| text.to_owned();
    for (image, interval, expected) in [
        (tag, "", (None, String::new())),
        (tag, "90s", (Some(1), note("poll interval: 90s as 1 min"))),
        (tag, "20s", (Some(1), note("poll interval: 20s as 1 min"))),
        (tag, "5m", (Some(5), String::new())),
        (tag, "10m0s", (Some(10), String::new())),
        (tag, "1h30m0s", (Some(90), String::new())),
        (
            tag,
            "0s",
            (
                None,
                note("left out: the poll interval `0s`, which is none"),
            ),
        ),
        (
            tag,
            "often",
            (
                None,
                note("left out: the poll interval `often`, which is none"),
            ),
        ),
        (
            "registry.example/catalog@sha256:deadbeef",
            "5m",
            (
                None,
                note("left out: the poll interval 5m, because a digest does not change"),
            ),
        ),
    ] {
        assert_eq!(with(image, interval), expected, "{image} {interval}");
    }
}

#[test]
fn a_cluster_catalog_has_what_both_have_and_says_what_is_left_out() {
    let mut source = source("olm/index", "quay.io/index:v1");
    for (pointer, value) in [
        ("/spec/secrets", json!(["s"])),
        ("/spec/grpcPodConfig/nodeSelector", json!({ "a": "b" })),
        ("/spec/displayName", json!("Index")),
        ("/spec/publisher", json!("")),
        ("/spec/icon", json!({ "base64data": "", "mediatype": "" })),
        ("/spec/priority", json!(-100)),
        ("/spec/updateStrategy/registryPoll/interval", json!("15m")),
    ] {
        set(&mut source, pointer, value);
    }
    let moved = moves(&[source]).remove(0);
    assert_eq!(
        moved.notes,
        ["left out, without a like in OLM v1: spec.secrets, spec.grpcPodConfig, spec.displayName"]
    );
    assert_eq!(
        moved.manifest,
        Some(json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
            "metadata": {
                "name": "index",
                "annotations": { "olm.operatorframework.io/migrated-from-catalogsource": "olm/index" },
            },
            "spec": {
                "source": { "type": "Image", "image": { "ref": "quay.io/index:v1", "pollIntervalMinutes": 15 } },
                "availabilityMode": "Available", "priority": -100,
            },
        }))
    );
}

/// `TestCatalogParsingAndVersion`.
#[test]
fn a_cluster_catalog_must_serve_package_version_and_channel() {
    let missing = World {
        answers: MadeAnswers {
            packages: Vec::new(),
            bundles: Vec::new(),
            ..World::healthy().answers
        },
        ..World::healthy()
    };
    assert_eq!(missing.status(), "INELIGIBLE C7!");
    assert_eq!(
        missing.message("C7"),
        "no ClusterCatalog serves package `widgets` in version `1.0.0` with channel `stable`"
    );

    let mut world = World::healthy();
    world.answers.bundles = ["0.8.0", "0.9.0", "1.0.10", "1.0.9", "2.0.0"]
        .map(|version| bundle("index", version, &["stable"], &[]))
        .to_vec();
    assert_eq!(world.status(), "INELIGIBLE C7!");
    assert_eq!(
        world.message("C7"),
        "no ClusterCatalog serves package `widgets` in version `1.0.0` with channel `stable`: ClusterCatalog `index` has \
         not this version, the nearest are 0.9.0 and 1.0.9"
    );
    let channel = World::healthy().subscription("/spec/channel", json!("gone"));
    assert_eq!(
        channel.message("C7"),
        "no ClusterCatalog serves package `widgets` in version `1.0.0` with channel `gone`: ClusterCatalog `index` has not \
         this channel, but stable"
    );
    let any = World::healthy().subscription("/spec/channel", json!(""));
    assert_eq!(any.status(), "ELIGIBLE");

    // The version is that of the property, where there is one.
    let property =
        r#"[{"type":"olm.package","value":{"packageName":"widgets","version":"3.1.4"}}]"#;
    let world = World::healthy().properties(property);
    assert_eq!(world.operator()["installed"]["version"], "3.1.4");
    assert_eq!(world.status(), "INELIGIBLE C7!");
}

#[test]
fn only_catalogs_that_serve_count_and_the_one_of_the_highest_priority_is_chosen() {
    let hidden = World::healthy().cluster_catalog("/spec/availabilityMode", json!("Unavailable"));
    assert_eq!(hidden.status(), "INELIGIBLE C7!");
    assert!(
        hidden
            .message("C7")
            .ends_with(": ClusterCatalog `index` is unavailable")
    );
    let progressing = World::healthy().cluster_catalog("/status/conditions", json!([]));
    assert!(
        progressing
            .message("C7")
            .ends_with("`index` does not serve its content yet")
    );

    let serving = json!([{ "type": "Serving", "status": "True" }]);
    let second = |name: &str, priority: i64| {
        let members = [
            ("/spec/source/image/ref", json!("quay.io/second:v1")),
            ("/spec/priority", json!(priority)),
            ("/status/conditions", serving.clone()),
        ];
        object("ClusterCatalog", name, &members)
    };
    let mut world = World::healthy();
    world
        .answers
        .catalogs
        .push(("second", "sha256:b", "quay.io/second:v1"));
    world
        .answers
        .packages
        .push(package("second", "stable", &["stable"]));
    world
        .answers
        .bundles
        .push(bundle("second", "1.0.0", &["stable"], &[]));
    let higher = world.clone().with(&[second("other", 1)]);
    assert_eq!(higher.operator()["clusterCatalog"], "other");
    assert_eq!(
        higher.warnings(),
        ["the ClusterCatalog `other` has another content than the CatalogSource `olm/index`"]
    );
    let lower = world.clone().with(&[second("other", -1)]);
    assert_eq!(lower.operator()["clusterCatalog"], "index");
    assert_eq!(lower.warnings(), [] as [String; 0]);
    let tied = world.with(&[second("other", 0)]);
    assert_eq!(tied.operator()["clusterCatalog"], "index");
    assert_eq!(
        tied.warnings(),
        [
            "ClusterCatalogs of one priority have it: `index` is the first, and OLM v1 without a selector would refuse the choice; the others: other"
        ]
    );
}

#[test]
fn nothing_is_guessed_of_catalogs_that_are_not_served() {
    let mut world = World::healthy();
    world.answers.catalogs = vec![("index", "sha256:a", "quay.io/elsewhere:v1")];
    assert_eq!(world.status(), "UNKNOWN C7?");
    assert_eq!(
        world.message("C7"),
        "no ClusterCatalog serves package `widgets` in version `1.0.0` with channel `stable`, and catalogql does not serve \
         these ClusterCatalogs: index"
    );
    // A directory has no image, and the name decides.
    world.answers.catalogs = vec![("index", "sha256:a", "")];
    assert_eq!(world.status(), "ELIGIBLE");
    // The image decides where names differ.
    let mut world = World::healthy();
    world.answers.catalogs = vec![("renamed", "sha256:a", "quay.io/index:v1")];
    world.answers.packages = vec![package("renamed", "stable", &["stable"])];
    world.answers.bundles = vec![bundle("renamed", "1.0.0", &["stable"], &[])];
    assert_eq!(world.status(), "ELIGIBLE");
    world.answers.catalogs = Vec::new();
    assert_eq!(world.status(), "UNKNOWN C7?");
}

#[test]
fn a_bundle_that_olm_v1_refuses_for_another_reason_is_not_eligible() {
    let mut world = World::healthy();
    let blockers = [
        ("WEBHOOK_WITH_OTHER_MODES", true),
        ("NEEDS_CERTIFICATES", false),
    ];
    world.answers.bundles = vec![bundle("index", "1.0.0", &["stable"], &blockers)];
    assert_eq!(world.status(), "INELIGIBLE OLM_V1!");
    assert_eq!(world.message("OLM_V1"), "WEBHOOK_WITH_OTHER_MODES: why");
    // What a letter of upstream says is not said twice.
    world.answers.bundles = vec![bundle(
        "index",
        "1.0.0",
        &["stable"],
        &[("DEPENDENCY", true)],
    )];
    assert_eq!(world.status(), "INELIGIBLE OLM_V1!");
    let known = world.properties(r#"[{"type":"olm.gvk.required","value":{}}]"#);
    assert_eq!(known.status(), "INELIGIBLE C2!");
}

#[test]
fn installed_bundles_are_judged_from_their_images_if_that_is_asked_for() {
    let mut world = World::healthy();
    let blocker = json!({ "code": "RENDERER:UNSUPPORTED_KIND", "detail": "why", "hard": true });
    let judgement = json!({ "installable": "NO", "blockers": [blocker] });
    world.answers.image_judgements = vec![("widgets.v1.0.0", judgement)];
    assert_eq!(world.status(), "ELIGIBLE", "by its metadata");
    world.bundle_images = true;
    assert_eq!(world.status(), "INELIGIBLE OLM_V1!");
    assert_eq!(world.message("OLM_V1"), "RENDERER:UNSUPPORTED_KIND: why");
    world.answers.image_judgements.clear();
    assert_eq!(
        world.status(),
        "ELIGIBLE",
        "an image that cannot be read changes nothing"
    );
}
