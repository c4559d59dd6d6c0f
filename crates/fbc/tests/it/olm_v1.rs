//! Installability of bundles by OLM v1: each rule both ways, from metadata and from manifests.
//!
//! Cases of checks C1a, C2, C3 and C5 are those of the unit tests of upstream's migration library.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use fbc::work::{Work, WorkStopped};
use fbc::{
    Bundle, BundleFilter, Catalog, OlmV1Evidence, OlmV1Installability, OlmV1Judgement,
    PackageFilter,
};
use fbc_read::manifest::Manifests;
use serde_json::{Value, json};
use testing::fixture;

use OlmV1Installability::{No, TechPreview, Unknown, Yes};

/// A catalog with one bundle with these properties.
fn catalog(properties: &[Value]) -> Catalog {
    let mut all = vec![json!({
        "type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"},
    })];
    all.extend_from_slice(properties);
    let blobs = [
        json!({"defaultChannel": "stable", "name": "p", "schema": "olm.package"}),
        json!({"entries": [{"name": "p.v1"}], "name": "stable", "package": "p", "schema": "olm.channel"}),
        json!({"image": "a.io/p:1", "name": "p.v1", "package": "p", "properties": all, "schema": "olm.bundle"}),
    ];
    let lines: Vec<_> = blobs.iter().map(|blob| format!("{blob}\n")).collect();
    fixture::catalog_of(&lines.concat())
}

fn only_bundle(catalog: &Catalog) -> Bundle<'_> {
    catalog.bundle_at(0)
}

fn judged(properties: &[Value]) -> OlmV1Judgement {
    let catalog = catalog(properties);
    let bundle = only_bundle(&catalog);
    let judgement = bundle
        .olm_v1(&mut Manifests::default(), &Work::unlimited())
        .unwrap();
    // Twice, because the first call on manifests makes the verdict final.
    for _ in 0..2 {
        let installability = bundle.olm_v1_installability(&Work::unlimited());
        assert_eq!(
            installability,
            Ok(judgement.installability),
            "{judgement:?}"
        );
    }
    judgement
}

/// The installability with the code, whether it is hard, and the detail of each blocker.
fn shown(properties: &[Value]) -> (OlmV1Installability, Vec<(String, bool, String)>) {
    let judgement = judged(properties);
    let blockers = judgement.blockers.into_iter();
    let blockers = blockers
        .map(|blocker| (blocker.code.to_string(), blocker.is_hard, blocker.detail))
        .collect();
    (judgement.installability, blockers)
}

/// The installability with the codes of the blockers.
fn codes(properties: &[Value]) -> (OlmV1Installability, Vec<String>) {
    let (installability, blockers) = shown(properties);
    (
        installability,
        blockers.into_iter().map(|(code, ..)| code).collect(),
    )
}

fn modes(supported: &[&str]) -> Value {
    let all = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ];
    all.map(|name| json!({"type": name, "supported": supported.contains(&name)}))
        .into_iter()
        .collect()
}

fn metadata(value: &Value) -> Value {
    json!({"type": "olm.csv.metadata", "value": value})
}

fn all_namespaces() -> Value {
    metadata(&json!({"installModes": modes(&["AllNamespaces"])}))
}

fn object(manifest: &Value) -> Value {
    let data = BASE64_STANDARD.encode(manifest.to_string());
    json!({"type": "olm.bundle.object", "value": {"data": data}})
}

fn csv(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if spec.get("installModes").is_none() {
        spec["installModes"] = modes(&["AllNamespaces"]);
    }
    object(&json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": "p.v1"}, "spec": spec,
    }))
}

fn owned(values: &[(&str, bool, &str)]) -> Vec<(String, bool, String)> {
    let values = values.iter();
    values
        .map(|&(code, is_hard, detail)| (code.to_owned(), is_hard, detail.to_owned()))
        .collect()
}

#[test]
fn a_bundle_for_all_namespaces_without_dependencies_is_installable() {
    let property =
        json!({"type": "olm.gvk", "value": {"group": "a.io", "version": "v1", "kind": "A"}});
    assert_eq!(
        judged(&[all_namespaces(), property]),
        OlmV1Judgement {
            installability: Yes,
            evidence: OlmV1Evidence::Metadata,
            blockers: Vec::new(),
        }
    );
}

#[test]
fn each_dependency_is_a_hard_blocker() {
    let required = [
        json!({"type": "olm.package.required", "value": {"packageName": "q", "versionRange": ">=1.0.0"}}),
        json!({"type": "olm.gvk.required", "value": {"group": "a.io", "version": "v1", "kind": "A"}}),
        json!({"type": "olm.constraint", "value": {"failureMessage": "no", "all": {"constraints": []}}}),
    ];
    let [package, api, constraint] = required;
    assert_eq!(
        shown(&[package, all_namespaces(), api, constraint]),
        (
            No,
            owned(&[
                (
                    "DEPENDENCY",
                    true,
                    "requires package `q` in version `>=1.0.0`"
                ),
                ("DEPENDENCY", true, "requires the API `a.io/v1`, kind `A`"),
                ("DEPENDENCY", true, "has a property `olm.constraint`"),
            ])
        )
    );
    // What cannot be decoded is a dependency nevertheless.
    let malformed = json!({"type": "olm.package.required", "value": 1});
    assert_eq!(codes(&[malformed]), (No, vec!["DEPENDENCY".to_owned()]));
    let label = json!({"type": "olm.label.required", "value": {"label": "x"}});
    assert_eq!(codes(&[label, all_namespaces()]), (Yes, vec![]));
}

#[test]
fn install_modes_decide_between_yes_technology_preview_and_no() {
    let none: &[&str] = &[];
    for (supported, expected) in [
        (&["AllNamespaces"][..], Yes),
        (&["AllNamespaces", "OwnNamespace", "MultiNamespace"], Yes),
        (&["OwnNamespace"], TechPreview),
        (&["SingleNamespace"], TechPreview),
        (
            &["OwnNamespace", "SingleNamespace", "MultiNamespace"],
            TechPreview,
        ),
        (&["MultiNamespace"], No),
        (none, No),
    ] {
        let value = json!({"installModes": modes(supported)});
        let blocker = (expected != Yes).then(|| "NO_ALL_NAMESPACES".to_owned());
        let expected = (expected, Vec::from_iter(blocker));
        assert_eq!(codes(&[metadata(&value)]), expected, "{supported:?}");
        assert_eq!(codes(&[csv(&value)]), expected, "{supported:?}");
    }
    let value = json!({"installModes": modes(&["OwnNamespace", "SingleNamespace"])});
    let detail = "supports OwnNamespace, SingleNamespace and not AllNamespaces: needs the feature gate SingleOwnNamespaceInstallSupport and `spec.config.inline.watchNamespace`";
    assert_eq!(
        shown(&[metadata(&value)]).1,
        owned(&[("NO_ALL_NAMESPACES", false, detail)])
    );
    let value = json!({"installModes": modes(&["MultiNamespace"])});
    let detail = "supports MultiNamespace and not AllNamespaces";
    assert_eq!(
        shown(&[metadata(&value)]).1,
        owned(&[("NO_ALL_NAMESPACES", true, detail)])
    );
    let value = json!({"installModes": modes(none)});
    let detail = "supports no install mode and not AllNamespaces";
    assert_eq!(
        shown(&[metadata(&value)]).1,
        owned(&[("NO_ALL_NAMESPACES", true, detail)])
    );
}

#[test]
fn without_install_modes_nothing_is_known_but_hard_blockers() {
    assert_eq!(codes(&[]), (Unknown, vec![]));
    assert_eq!(codes(&[metadata(&json!({}))]), (Unknown, vec![]));
    assert_eq!(
        codes(&[metadata(&json!({"installModes": "all"}))]),
        (Unknown, vec![])
    );
    let required = json!({"type": "olm.gvk.required", "value": {}});
    assert_eq!(codes(&[required]), (No, vec!["DEPENDENCY".to_owned()]));
}

#[test]
fn an_aggregated_api_is_a_hard_blocker_and_a_required_one_is_not() {
    let service = json!([{"name": "v1.m.io", "group": "m.io", "version": "v1", "kind": "M", "deploymentName": "d"}]);
    let blocked = (
        No,
        owned(&[(
            "API_SERVICE",
            true,
            "provides the aggregated API `m.io/v1`, kind `M`",
        )]),
    );
    let modes = modes(&["AllNamespaces"]);
    let value = json!({"installModes": modes, "apiServiceDefinitions": {"owned": service}});
    assert_eq!(shown(&[metadata(&value)]), blocked);
    let value = json!({"installModes": modes, "apiServiceDefinitions": {"required": service}});
    assert_eq!(codes(&[metadata(&value)]), (Yes, vec![]));
    let value = json!({"apiservicedefinitions": {"owned": service}});
    assert_eq!(shown(&[csv(&value)]), blocked);
}

/// A CSV with cluster permissions for these groups and resources.
fn permitted(rules: &[(&[&str], &[&str])]) -> Value {
    let rules: Vec<_> = rules
        .iter()
        .map(|(groups, resources)| json!({"apiGroups": groups, "resources": resources, "verbs": ["get"]}))
        .collect();
    csv(&json!({"install": {"strategy": "deployment", "spec": {
        "clusterPermissions": [{"serviceAccountName": "s", "rules": rules}],
    }}}))
}

#[test]
fn rights_on_apis_of_olm_v0_are_told_unless_there_are_some_on_those_of_olm_v1() {
    let v0 = "operators.coreos.com";
    let v1 = "olm.operatorframework.io";
    let blocked = (Yes, vec!["OLM_V0_API".to_owned()]);
    let free = (Yes, vec![]);
    for resource in [
        "subscriptions",
        "installplans",
        "clusterserviceversions",
        "catalogsources",
        "*",
    ] {
        assert_eq!(
            codes(&[permitted(&[(&[v0], &[resource])])]),
            blocked,
            "{resource}"
        );
    }
    assert_eq!(
        codes(&[permitted(&[(&[v0], &["operatorconditions"])])]),
        free
    );
    assert_eq!(codes(&[permitted(&[(&["*"], &["subscriptions"])])]), free);
    assert_eq!(codes(&[permitted(&[(&["apps"], &["*"])])]), free);
    let both: &[(&[&str], &[&str])] =
        &[(&[v0], &["subscriptions"]), (&[v1], &["clusterextensions"])];
    assert_eq!(codes(&[permitted(both)]), free);
    assert_eq!(
        shown(&[permitted(&[
            (&[v0], &["subscriptions", "catalogsources"]),
            (&[v0], &["subscriptions"])
        ])])
        .1,
        owned(&[(
            "OLM_V0_API",
            false,
            "has rights on catalogsources, subscriptions of `operators.coreos.com` and none on `olm.operatorframework.io`"
        )])
    );
    // Rights in the namespaces that it watches do not count.
    let rule = json!({"apiGroups": [v0], "resources": ["*"], "verbs": ["get"]});
    let namespaced = csv(
        &json!({"install": {"spec": {"permissions": [{"serviceAccountName": "s", "rules": [rule]}]}}}),
    );
    assert_eq!(codes(&[namespaced]), free);
}

/// The spec of a CSV with a webhook of a type.
fn with_webhook(kind: &str, modes: &Value) -> Value {
    json!({
        "installModes": modes,
        "customresourcedefinitions": {"owned": [{"name": "as.a.io", "version": "v1", "kind": "A"}]},
        "install": {"spec": {"deployments": [{"name": "d", "spec": {}}]}},
        "webhookdefinitions": [{
            "type": kind, "generateName": "w.a.io", "deploymentName": "d", "conversionCRDs": ["as.a.io"],
            "containerPort": 443, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    })
}

fn definition(preserves: bool) -> Value {
    object(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "as.a.io"},
        "spec": {"group": "a.io", "preserveUnknownFields": preserves},
    }))
}

#[test]
fn webhooks_need_certificates_and_conversions_only_all_namespaces() {
    let note = "NEEDS_CERTIFICATES".to_owned();
    let all = modes(&["AllNamespaces"]);
    let more = modes(&["AllNamespaces", "OwnNamespace"]);
    for (kind, modes, expected) in [
        ("ConversionWebhook", &all, (Yes, vec![note.clone()])),
        (
            "ConversionWebhook",
            &more,
            (
                No,
                vec![note.clone(), "WEBHOOK_WITH_OTHER_MODES".to_owned()],
            ),
        ),
        (
            "ValidatingAdmissionWebhook",
            &more,
            (Yes, vec![note.clone()]),
        ),
    ] {
        let properties = [csv(&with_webhook(kind, modes)), definition(false)];
        assert_eq!(codes(&properties), expected, "{kind} {modes}");
    }
}

#[test]
fn the_renderers_reasons_are_hard_blockers_with_its_messages() {
    let owned_only = json!({"customresourcedefinitions": {"owned": [{"name": "as.a.io", "version": "v1", "kind": "A"}]}});
    let missing = "cluster service definition references owned custom resource definition 'as.a.io' not found in bundle";
    assert_eq!(
        shown(&[csv(&owned_only)]),
        (No, owned(&[("RENDERER:MISSING_DEFINITION", true, missing)]))
    );
    assert_eq!(codes(&[csv(&owned_only), definition(false)]), (Yes, vec![]));
    let job = object(&json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}));
    assert_eq!(
        codes(&[csv(&json!({})), job]),
        (No, vec!["RENDERER:UNSUPPORTED_KIND".to_owned()])
    );
    let preserving = [
        csv(&with_webhook(
            "ConversionWebhook",
            &modes(&["AllNamespaces"]),
        )),
        definition(true),
    ];
    assert_eq!(
        codes(&preserving),
        (
            No,
            vec![
                "NEEDS_CERTIFICATES".to_owned(),
                "RENDERER:PRESERVES_UNKNOWN_FIELDS".to_owned()
            ]
        )
    );
}

#[test]
fn manifests_say_more_than_metadata_if_the_csv_is_among_them() {
    let service =
        object(&json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}));
    let judgement = judged(&[all_namespaces(), service.clone()]);
    assert_eq!(judgement.evidence, OlmV1Evidence::Metadata);
    assert_eq!(judgement.installability, Yes);
    let judgement = judged(&[
        all_namespaces(),
        csv(&json!({"installModes": modes(&["MultiNamespace"])})),
        service,
    ]);
    assert_eq!(judgement.evidence, OlmV1Evidence::Manifests);
    assert_eq!(judgement.installability, No);
}

#[test]
fn a_bundle_that_is_too_large_to_be_rendered_is_unknown() {
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let with_rules = |count: usize| {
        csv(&json!({"install": {"spec": {"permissions": [
            {"serviceAccountName": "s", "rules": vec![rule.clone(); count]},
        ]}}}))
    };
    let most = install_preview::bundle::MAX_BUNDLE_RULES;
    assert_eq!(codes(&[with_rules(most)]), (Yes, vec![]));
    assert_eq!(
        codes(&[with_rules(most + 1)]),
        (Unknown, vec!["RENDERER:TOO_LARGE".to_owned()])
    );
}

#[test]
fn manifests_are_rendered_once_and_the_work_is_charged() {
    let catalog = catalog(&[csv(&json!({})), definition(false)]);
    let bundle = only_bundle(&catalog);
    let refusing = Work::new(&|drawn| (drawn < 1_000).then_some(1_000));
    assert_eq!(bundle.olm_v1_installability(&refusing), Err(WorkStopped));
    let first = Work::unlimited();
    assert_eq!(bundle.olm_v1_installability(&first), Ok(Yes));
    assert!(first.units() > 0);
    let again = Work::new(&|drawn| (drawn < 1_000).then_some(1_000));
    assert_eq!(bundle.olm_v1_installability(&again), Ok(Yes));
}

#[test]
fn filters_select_what_olm_v1_can_install() {
    let catalog = fixture::catalog(
        "
        package free default=stable
        channel stable: v1.0.0 <- v2.0.0
        bundle v1.0.0 modes=OwnNamespace
        bundle v2.0.0 modes=AllNamespaces
        package tied default=stable
        channel stable: v1.0.0
        bundle v1.0.0 modes=AllNamespaces needs=free@>=1.0.0
        package vague default=stable
        channel stable: v1.0.0",
    );
    for (wanted, bundles, packages) in [
        (vec![Yes], &["free.v2.0.0"][..], &["free"][..]),
        (vec![TechPreview], &["free.v1.0.0"], &[]),
        (
            vec![No, Unknown],
            &["tied.v1.0.0", "vague.v1.0.0"],
            &["tied", "vague"],
        ),
    ] {
        let filter = BundleFilter {
            olm_v1: wanted.clone(),
            ..BundleFilter::default()
        };
        let found = catalog.find_bundles(&filter, &Work::unlimited()).unwrap();
        let found: Vec<_> = found
            .into_iter()
            .map(|at| catalog.bundle_at(at as usize).name())
            .collect();
        assert_eq!(found, bundles, "{wanted:?}");
        let filter = PackageFilter {
            olm_v1: wanted.clone(),
            ..PackageFilter::default()
        };
        let found = catalog.find_packages(&filter, &Work::unlimited()).unwrap();
        let found: Vec<_> = found
            .matches()
            .map(|(at, _)| catalog.package_at(at as usize).name())
            .collect();
        assert_eq!(found, packages, "{wanted:?}");
    }
}
