//! Objects in, desired catalogs out.

use serde_json::{Value, json};

use super::*;
use crate::fixture::{catalog, pinned, source};

fn client() -> Registries {
    Registries::new(images::RegistrySettings::default()).unwrap()
}

fn desired_from(
    objects: &[ClusterCatalog],
    mode: ControllerMode,
    former: &DesiredCatalogs,
) -> DesiredCatalogs {
    let catalogs: Vec<_> = objects.iter().cloned().map(Arc::new).collect();
    DesiredCatalogs::new(
        &CatalogObjectSet {
            policy_withdraws: false,
            mode,
            catalogs: &catalogs,
            catalog_sources: &[],
        },
        former,
        |_| client(),
    )
}

/// The only desired catalog.
fn only(changes: Value, mode: ControllerMode) -> Option<CatalogSpec> {
    let desired = desired_from(&[catalog(changes)], mode, &DesiredCatalogs::default());
    assert_eq!(desired.invalid, BTreeMap::new());
    desired.specs.into_values().next()
}

fn reason_of(reference: &str) -> Option<String> {
    let changes = json!({ "spec": { "source": { "image": { "ref": reference } } } });
    let desired = desired_from(
        &[catalog(changes)],
        ControllerMode::Manage,
        &DesiredCatalogs::default(),
    );
    assert_eq!(
        desired.specs.len() + desired.invalid.len(),
        1,
        "{reference}"
    );
    desired.invalid.into_values().next()
}

#[test]
fn an_object_says_what_is_loaded_and_how_it_is_shown() {
    let spec = only(
        json!({
            "metadata": {
                "labels": { "team": "x" },
                "annotations": { "catalogql.io/display-name": "A", "catalogql.io/publisher": "P", "other": "o" },
            },
            "spec": { "priority": -7, "source": { "image": { "pollIntervalMinutes": 10 } } },
        }),
        ControllerMode::Manage,
    );
    let spec = spec.unwrap();
    assert_eq!(
        (spec.name.as_str(), &spec.source.source),
        ("a", &source("quay.io/a/b:c"))
    );
    assert_eq!(spec.source.configs_dir, None);
    let labels = [
        ("olm.operatorframework.io/metadata.name", "a"),
        ("team", "x"),
    ];
    let expected = CatalogMetadata {
        priority: -7,
        display_name: Some("A".to_owned()),
        publisher: Some("P".to_owned()),
        labels: labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        image_reference: Some("quay.io/a/b:c".to_owned()),
        ..CatalogMetadata::default()
    };
    assert_eq!(spec.metadata, expected);
}

#[test]
fn the_label_with_the_name_is_there_before_it_is_set() {
    let object = catalog(json!({ "metadata": { "labels": null } }));
    let desired = desired_from(
        &[object],
        ControllerMode::Manage,
        &DesiredCatalogs::default(),
    );
    let labels: Vec<_> = desired
        .specs
        .values()
        .flat_map(|spec| &spec.metadata.labels)
        .collect();
    assert_eq!(labels, [(&NAME_LABEL.to_owned(), &"a".to_owned())]);
}

#[test]
fn a_tag_is_polled_as_often_as_the_object_says_and_otherwise_only_after_failures() {
    for (minutes, expected) in [
        (json!(null), None),
        (json!(1), Some(60)),
        (json!(i64::MAX), Some(u64::MAX)),
    ] {
        let image =
            json!({ "spec": { "source": { "image": { "pollIntervalMinutes": minutes } } } });
        let images = only(image, ControllerMode::Manage)
            .unwrap()
            .source
            .refresh
            .images;
        let expected = PollPolicy {
            interval: expected.map(Duration::from_secs),
            ..PollPolicy::default()
        };
        assert_eq!(images, Some(expected), "{minutes}");
    }
}

#[test]
fn what_is_unavailable_or_deleted_is_not_desired() {
    for changes in [
        json!({ "spec": { "availabilityMode": "Unavailable" } }),
        json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }),
    ] {
        for mode in [ControllerMode::Manage, ControllerMode::Follow] {
            assert_eq!(only(changes.clone(), mode), None, "{changes}");
        }
    }
}

#[test]
fn what_catalogd_resolved_is_followed_while_it_serves_it() {
    let resolved = json!({ "type": "Image", "image": { "ref": pinned() } });
    let serving = |status: &str| {
        let time = "2026-01-01T00:00:00Z";
        json!([{ "type": "Serving", "status": status, "reason": "x", "message": "", "lastTransitionTime": time }])
    };
    let of = |status: Value| {
        only(json!({ "status": status }), ControllerMode::Follow).map(|spec| spec.source.source)
    };
    let expected = Some(source(&pinned()));
    assert_eq!(
        of(json!({ "resolvedSource": resolved, "conditions": serving("True") })),
        expected
    );
    assert_eq!(of(json!({ "resolvedSource": resolved })), expected);
    assert_eq!(
        of(json!({ "resolvedSource": resolved, "conditions": serving("False") })),
        None
    );
    assert_eq!(of(json!({ "conditions": serving("True") })), None);
}

#[test]
fn a_reference_must_name_its_registry_and_parse() {
    let digest = "@sha256:";
    for good in ["quay.io/a/b:c", "localhost/b:c", "r:5000/b:c", &pinned()] {
        assert_eq!(reason_of(good), None, "{good}");
    }
    let unqualified = "source catalog content: error parsing image reference \"a/b:c\": it does not name its registry: \
                       write docker.io/a/b:c if you mean that";
    assert_eq!(reason_of("a/b:c").as_deref(), Some(unqualified));
    for bad in [
        format!("quay.io/a/b{digest}{}", "1".repeat(40)),
        "quay.io/A/b:c".to_owned(),
        "quay.io/a/b:".to_owned(),
    ] {
        let expected = format!("source catalog content: error parsing image reference {bad:?}: ");
        let reason = reason_of(&bad).unwrap_or_else(|| panic!("{bad} is accepted"));
        assert!(reason.starts_with(&expected), "{reason}");
    }
}

#[test]
fn a_source_that_cannot_be_used_leaves_the_one_before() {
    let before = desired_from(
        &[catalog(json!({}))],
        ControllerMode::Manage,
        &DesiredCatalogs::default(),
    );
    let broken = json!({ "spec": { "source": { "image": { "ref": "b:c" } } } });
    let after = desired_from(&[catalog(broken.clone())], ControllerMode::Manage, &before);
    let sources: Vec<_> = after
        .specs
        .values()
        .map(|spec| &spec.source.source)
        .collect();
    assert_eq!(
        (sources, after.invalid.len()),
        (vec![&source("quay.io/a/b:c")], 1)
    );

    // After a restart it is the one that status names.
    let mut object = catalog(broken);
    let status = json!({ "resolvedSource": { "type": "Image", "image": { "ref": pinned() } } });
    object.status = serde_json::from_value(status).unwrap();
    let after = desired_from(
        &[object],
        ControllerMode::Manage,
        &DesiredCatalogs::default(),
    );
    let sources: Vec<_> = after
        .specs
        .values()
        .map(|spec| &spec.source.source)
        .collect();
    assert_eq!(
        (sources, after.invalid.len()),
        (vec![&source(&pinned())], 1)
    );
}

#[test]
fn a_catalog_without_a_source_of_its_own_or_a_former_one_cannot_be_loaded() {
    let broken = catalog(json!({ "spec": { "source": { "image": { "ref": "b:c" } } } }));
    let other = catalog(json!({ "metadata": { "name": "b" } }));
    let first = desired_from(
        &[broken.clone(), other],
        ControllerMode::Manage,
        &DesiredCatalogs::default(),
    );
    assert_eq!(
        first.without_source(),
        BTreeSet::from([CatalogName::new("a").unwrap()])
    );

    let before = desired_from(
        &[catalog(json!({}))],
        ControllerMode::Manage,
        &DesiredCatalogs::default(),
    );
    let after = desired_from(&[broken], ControllerMode::Manage, &before);
    assert_eq!(after.without_source(), BTreeSet::new());
}

#[test]
fn a_source_of_a_newer_version_is_named_and_harms_no_other() {
    let newer = catalog(json!({ "spec": { "source": { "type": "Git", "image": null } } }));
    let other = catalog(json!({ "metadata": { "name": "b" } }));
    let desired = desired_from(
        &[newer, other],
        ControllerMode::Manage,
        &DesiredCatalogs::default(),
    );
    let names: Vec<_> = desired.specs.keys().map(CatalogName::as_str).collect();
    let invalid: Vec<_> = desired
        .invalid
        .iter()
        .map(|(name, reason)| (name.as_str(), reason.as_str()))
        .collect();
    assert_eq!(
        (names, invalid),
        (
            vec!["b"],
            vec![("a", "unknown source type: only Image is supported")]
        )
    );
}

#[test]
fn a_catalog_source_with_an_image_is_served_under_its_namespace_and_name() {
    let object = |name: &str, spec: Value| -> Arc<CatalogSource> {
        let object = json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "CatalogSource",
            "metadata": { "name": name, "namespace": "olm", "labels": { "team": "x" } },
            "spec": spec,
        });
        Arc::new(serde_json::from_value(object).unwrap())
    };
    let poll = json!({ "registryPoll": { "interval": "45m" } });
    let objects = [
        object(
            "image",
            json!({ "image": "quay.io/a/b", "publisher": "P", "priority": 2, "updateStrategy": poll }),
        ),
        object(
            "address",
            json!({ "sourceType": "grpc", "address": "a:50051" }),
        ),
        object("broken", json!({ "image": "quay.io/A" })),
    ];
    let all = CatalogObjectSet {
        policy_withdraws: false,
        mode: ControllerMode::Manage,
        catalogs: &[],
        catalog_sources: &objects,
    };
    let desired = DesiredCatalogs::new(&all, &DesiredCatalogs::default(), |_| client());
    let invalid: Vec<_> = desired.invalid.keys().map(CatalogName::as_str).collect();
    assert_eq!(invalid, ["olm.broken"]);
    let [(name, spec)] = &desired.specs.iter().collect::<Vec<_>>()[..] else {
        panic!("{desired:?}")
    };
    assert_eq!(
        (name.as_str(), &spec.source.source),
        ("olm.image", &source("quay.io/a/b:latest"))
    );
    let images = spec.source.refresh.images.unwrap();
    assert_eq!(images.interval, Some(Duration::from_mins(45)));
    let labels: Vec<_> = spec
        .metadata
        .labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let expected = [
        ("catalogql.io/catalogsource-name", "image"),
        ("catalogql.io/catalogsource-namespace", "olm"),
    ];
    assert_eq!(labels, [&expected[..], &[("team", "x")]].concat());
    assert_eq!(
        (
            spec.metadata.publisher.as_deref(),
            spec.metadata.display_name.as_deref()
        ),
        (Some("P"), None)
    );
    assert_eq!(spec.metadata.priority, 2);
}

#[test]
fn a_cluster_catalog_takes_the_place_of_a_catalog_source_of_its_name() {
    let other = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
        "metadata": { "name": "b", "namespace": "a" }, "spec": { "image": "quay.io/other/catalog:latest" },
    });
    let sources = [Arc::new(serde_json::from_value(other).unwrap())];
    let catalogs = [Arc::new(catalog(json!({ "metadata": { "name": "a.b" } })))];
    let all = CatalogObjectSet {
        policy_withdraws: false,
        mode: ControllerMode::Manage,
        catalogs: &catalogs,
        catalog_sources: &sources,
    };
    let desired = DesiredCatalogs::new(&all, &DesiredCatalogs::default(), |_| client());
    assert!(desired.invalid.is_empty());
    let [(name, spec)] = &desired.specs.iter().collect::<Vec<_>>()[..] else {
        panic!("{desired:?}")
    };
    let of_cluster_catalog = DesiredCatalogs::new(
        &CatalogObjectSet {
            catalog_sources: &[],
            ..all
        },
        &DesiredCatalogs::default(),
        |_| client(),
    );
    assert_eq!(name.as_str(), "a.b");
    assert_eq!(
        spec.source.source,
        of_cluster_catalog.specs[*name].source.source
    );
}

#[test]
fn intervals_are_durations_of_go_and_at_least_a_minute() {
    for (text, seconds) in [
        ("45m", Some(2700)),
        ("1h30m0s", Some(5400)),
        ("10s", Some(60)),
        ("", None),
        ("soon", None),
    ] {
        assert_eq!(
            parse_interval(text),
            seconds.map(Duration::from_secs),
            "{text}"
        );
    }
}
