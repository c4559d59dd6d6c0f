//! What life cycles of `OpenShift` say of the support of packages and bundles.

use fbc::work::Work;
use fbc::{BundleFilter, Catalog, Platform, VersionLifecycle, parse_date};
use serde_json::{Value, json};
use testing::fixture;

const CATALOG: &str = r#"
    package argo default=stable
    channel stable: v1.2.0 <- v1.3.0 <- v1.3.1-rc.1 <- v2.0.0
    package etcd default=stable
    channel stable: v1.2.0
    {"schema":"io.openshift.operators.lifecycles.v1alpha1","package":"argo","versions":[{"name":"1.2","phases":[{"name":"Full support","startDate":"2024-10-01","endDate":"2025-05-25"},{"name":"Maintenance support","startDate":"2025-05-26","endDate":"2026-04-01"}],"platformCompatibility":[{"name":"openshift","versions":["4.17","4.18"]},{"name":"microshift","versions":["4.20"]}]},{"name":"1.3","phases":[{"name":"Full support","startDate":"2026-04-02"},{"endDate":"soon"}]},{"name":"2.1","phases":[]}]}
    {"schema":"io.openshift.operators.lifecycles.v1alpha1","package":"argo","versions":[{"name":"2.0","phases":[]}]}
    {"schema":"io.openshift.operators.lifecycles.v1alpha1","package":"nobody","versions":[]}
    {"schema":"io.openshift.operators.lifecycles.v1beta1","package":"etcd","versions":[{"name":"1.2","phases":[]}]}
"#;

fn shown(lifecycle: &VersionLifecycle<'_>) -> Value {
    let phases = lifecycle.phases.iter().map(|phase| {
        let [start, end] = [phase.start, phase.end].map(|day| day.map(|day| day.to_string()));
        json!([phase.name.decode(), start, end])
    });
    let platforms = lifecycle.platforms.iter().map(|platform| {
        let versions: Vec<_> = platform
            .versions
            .iter()
            .map(|version| version.decode())
            .collect();
        json!([platform.name.decode(), versions])
    });
    json!({
        "version": lifecycle.version.decode(),
        "phases": phases.collect::<Vec<_>>(),
        "platforms": platforms.collect::<Vec<_>>(),
        "end": lifecycle.support_end().map(|day| day.to_string()),
    })
}

fn of_package(catalog: &Catalog, name: &str) -> Vec<Value> {
    let package = catalog.package(name).unwrap();
    package
        .lifecycle(&Work::unlimited())
        .unwrap()
        .iter()
        .map(shown)
        .collect()
}

fn of_bundle(catalog: &Catalog, package: &str, name: &str) -> Option<Value> {
    let bundle = catalog.package(package).unwrap().bundle(name).unwrap();
    bundle
        .lifecycle(&Work::unlimited())
        .unwrap()
        .as_ref()
        .map(shown)
}

#[test]
fn a_package_has_the_versions_of_its_first_blob_and_a_bundle_that_of_its_minor_version() {
    let catalog = fixture::catalog(CATALOG);
    let first = json!({
        "version": "1.2",
        "phases": [["Full support", "2024-10-01", "2025-05-25"], ["Maintenance support", "2025-05-26", "2026-04-01"]],
        "platforms": [["openshift", ["4.17", "4.18"]], ["microshift", ["4.20"]]],
        "end": "2026-04-01",
    });
    let second = json!({
        "version": "1.3",
        "phases": [["Full support", "2026-04-02", null], ["", null, null]],
        "platforms": [],
        "end": null,
    });
    let third = json!({"version": "2.1", "phases": [], "platforms": [], "end": null});
    assert_eq!(
        of_package(&catalog, "argo"),
        [first.clone(), second.clone(), third]
    );
    assert_eq!(of_package(&catalog, "etcd"), Vec::<Value>::new());
    assert_eq!(of_bundle(&catalog, "argo", "argo.v1.2.0"), Some(first));
    assert_eq!(
        of_bundle(&catalog, "argo", "argo.v1.3.0"),
        Some(second.clone())
    );
    assert_eq!(
        of_bundle(&catalog, "argo", "argo.v1.3.1-rc.1"),
        Some(second)
    );
    assert_eq!(of_bundle(&catalog, "argo", "argo.v2.0.0"), None);
    assert_eq!(of_bundle(&catalog, "etcd", "etcd.v1.2.0"), None);
    let known: Vec<_> = catalog
        .schemas()
        .iter()
        .map(|count| (&*count.schema, count.known))
        .collect();
    assert!(
        known.contains(&("io.openshift.operators.lifecycles.v1alpha1", true)),
        "{known:?}"
    );
    assert!(
        known.contains(&("io.openshift.operators.lifecycles.v1beta1", false)),
        "{known:?}"
    );
}

#[test]
fn the_phase_of_a_day_includes_its_first_and_last_day() {
    let catalog = fixture::catalog(CATALOG);
    let lifecycles = catalog
        .package("argo")
        .unwrap()
        .lifecycle(&Work::unlimited())
        .unwrap();
    let phase = |version: usize, day: &str| {
        let phase = lifecycles[version].phase_on(parse_date(day).unwrap())?;
        Some(phase.name.decode().into_owned())
    };
    for (version, day, name) in [
        (0, "2024-09-30", None),
        (0, "2024-10-01", Some("Full support")),
        (0, "2025-05-25", Some("Full support")),
        (0, "2025-05-26", Some("Maintenance support")),
        (0, "2026-04-01", Some("Maintenance support")),
        (0, "2026-04-02", None),
        // Without an end it goes on; without both days it is never.
        (1, "2099-01-01", Some("Full support")),
        (1, "2026-04-01", None),
        (2, "2026-04-01", None),
    ] {
        assert_eq!(phase(version, day).as_deref(), name, "{version} {day}");
    }
}

#[test]
fn a_day_is_written_in_one_way() {
    for text in ["2026-02-28", "2024-02-29", "0001-01-01"] {
        assert_eq!(
            parse_date(text).map(|day| day.to_string()).as_deref(),
            Some(text)
        );
    }
    for text in [
        "",
        "2026-02-30",
        "20260228",
        "2026-2-28",
        "2026-02-28T00:00:00Z",
        "26-02-28",
        "+2026-02-2",
        "2026/02/28",
    ] {
        assert_eq!(parse_date(text), None, "{text}");
    }
}

#[test]
fn the_versions_of_openshift_that_a_life_cycle_lists_are_those_that_a_bundle_runs_on() {
    let catalog = fixture::catalog(CATALOG);
    let running = |openshift: &str| -> Vec<&str> {
        let platform = Platform {
            openshift: Some(openshift.parse().unwrap()),
            ..Platform::default()
        };
        let filter = BundleFilter {
            platform: Some(platform),
            packages: vec!["argo"],
            ..BundleFilter::default()
        };
        let found = catalog.find_bundles(&filter, &Work::unlimited()).unwrap();
        found
            .into_iter()
            .map(|place| catalog.bundle_at(place as usize).name())
            .collect()
    };
    let others = ["argo.v2.0.0", "argo.v1.3.1-rc.1", "argo.v1.3.0"];
    assert_eq!(running("4.16"), others);
    assert_eq!(running("4.17.9"), [&others[..], &["argo.v1.2.0"]].concat());
    assert_eq!(running("4.18"), [&others[..], &["argo.v1.2.0"]].concat());
    assert_eq!(
        running("4.20"),
        others,
        "not the versions of another platform"
    );
}

#[test]
fn what_is_malformed_in_a_life_cycle_is_left_out() {
    let of = |versions: &Value| {
        let blob = json!({"schema": "io.openshift.operators.lifecycles.v1alpha1", "package": "a", "versions": versions});
        let catalog = fixture::catalog(&format!(
            "package a default=stable\nchannel stable: v1.0.0\n{blob}"
        ));
        (
            of_package(&catalog, "a"),
            of_bundle(&catalog, "a", "a.v1.0.0"),
        )
    };
    let nothing =
        |version: &str| json!({"version": version, "phases": [], "platforms": [], "end": null});
    for versions in [
        json!(null),
        json!("1.0"),
        json!({"name": "1.0"}),
        json!([1, "1.0", null]),
    ] {
        assert_eq!(of(&versions), (vec![], None), "{versions}");
    }
    for version in [
        json!({"name": "1.0"}),
        json!({"name": "1.0", "phases": {}, "platformCompatibility": "all"}),
        json!({"name": "1.0", "phases": ["Full support", 1], "platformCompatibility": [["openshift"]]}),
    ] {
        assert_eq!(
            of(&json!([version])),
            (vec![nothing("1.0")], Some(nothing("1.0"))),
            "{version}"
        );
    }
    let odd = json!({"name": 1.0, "platformCompatibility": [{"name": 1, "versions": ["4.18", 4.19, null]}, {}]});
    let mut expected = nothing("");
    expected["platforms"] = json!([["", ["4.18"]], ["", []]]);
    assert_eq!(of(&json!([odd])), (vec![expected], None));
}
