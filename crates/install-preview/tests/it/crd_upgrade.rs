//! CRD upgrade safety against findings of upstream. `testdata/crd-upgrade/README.md` says what is
//! recorded.

use std::collections::{BTreeMap, BTreeSet};

use fbc_read::json::JsonValue;
use install_preview::crd_upgrade::{
    MAX_COMPARED_DEFINITION_BYTES, MAX_COMPARED_FIELDS, MAX_DEFINITION_CHANGE_BYTES,
    MAX_DEFINITION_CHANGES,
};
use install_preview::summary::{DefinitionChange, InstallSummary};
use install_preview::{BundleManifestFile, RegistryBundle, RenderOptions, render};
use serde_json::{Value, json};
use testing::corpus::{find_catalog, inline_bundles};
use testing::golden::cases;

/// Findings that upstream repeats by chance, with its random order of names.
const REPEATED: usize = 3;

/// Folder of the recordings.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/crd-upgrade");

/// A CSV that owns no definition.
const CSV: &[u8] = br#"{"kind":"ClusterServiceVersion","metadata":{"name":"a.v1"},"spec":{"installModes":[{"type":"AllNamespaces","supported":true}]}}"#;

/// Summarizes an install of definitions.
fn summary<'a>(definitions: impl IntoIterator<Item = &'a [u8]>) -> InstallSummary {
    let files: Vec<_> = [CSV]
        .into_iter()
        .chain(definitions)
        .map(|bytes| BundleManifestFile {
            name: "file.yaml".into(),
            bytes: bytes.into(),
        })
        .collect();
    let bundle = RegistryBundle::read("a", &files).unwrap();
    let rendering = render(&bundle, &RenderOptions::default()).unwrap();
    InstallSummary::of(&rendering, "own").unwrap()
}

fn changes(old: &Value, new: &Value) -> Vec<DefinitionChange> {
    let [old, new] = [old, new].map(|definition| summary([definition.to_string().as_bytes()]));
    new.difference_from(&old).crd_changes
}

/// Refusals, in the form of the recordings.
fn findings<'a>(changes: impl IntoIterator<Item = &'a DefinitionChange>) -> BTreeSet<String> {
    let refused = changes.into_iter().filter(|change| change.is_refused());
    refused
        .map(|change| match (&change.version, &change.field) {
            (Some(version), Some(field)) => format!("{version} {field} {}", change.check),
            _ => change.check.to_owned(),
        })
        .collect()
}

/// The findings of a case. A removed field is one finding here: upstream tells each field below, and
/// that its type and the like are no longer there.
fn expected(case: &Value) -> BTreeSet<String> {
    let texts =
        |key: &str| -> BTreeSet<String> { serde_json::from_value(case[key].clone()).unwrap() };
    let removed: BTreeSet<_> = texts("removed")
        .iter()
        .map(|text| text.replacen(".^", " ^", 1))
        .collect();
    let mut findings = texts("findings");
    findings.remove("existingFieldRemoval");
    findings.retain(|finding| {
        let (place, _) = finding.rsplit_once(' ').unwrap_or_default();
        !removed.contains(place)
    });
    let has_parent = |place: &str| {
        let ends = place.match_indices(['.', '[']).map(|(at, _)| at);
        let mut parents = ends.map(|at| &place[..at]);
        parents.any(|parent| removed.contains(parent))
    };
    let tops = removed.iter().filter(|place| !has_parent(place));
    findings.extend(tops.map(|place| format!("{place} existingFieldRemoval")));
    findings
}

#[test]
fn each_check_finds_what_upstream_finds() {
    let mut names = BTreeSet::new();
    for case in cases(format!("{RECORDINGS}/made-up.jsonl.gz")) {
        let found = findings(&changes(&case["old"], &case["new"]));
        assert_eq!(found, expected(&case), "{}", case["name"]);
        names.extend(found.into_iter().map(|finding| {
            let (_, check) = finding.rsplit_once(' ').unwrap_or(("", &finding));
            check.to_owned()
        }));
    }
    assert_eq!(
        Vec::from_iter(names),
        [
            "default",
            "enum",
            "existingFieldRemoval",
            "maxItems",
            "maxLength",
            "maxProperties",
            "maximum",
            "minItems",
            "minLength",
            "minProperties",
            "minimum",
            "nullable",
            "oneOf",
            "pattern",
            "required",
            "scope",
            "storedVersionRemoval",
            "type",
            "unhandled",
        ]
    );
}

fn is_definition(file: &[u8]) -> bool {
    let fields = JsonValue::new(file).fields(["apiVersion", "kind"]);
    fields.is_ok_and(|fields| {
        fields.map(|field| field.map(|field| field.raw().to_vec()))
            == [
                Some(b"\"apiextensions.k8s.io/v1\"".to_vec()),
                Some(b"\"CustomResourceDefinition\"".to_vec()),
            ]
    })
}

#[test]
fn definitions_of_consecutive_bundles_are_refused_as_by_upstream() {
    let Some(catalog) = find_catalog("community-objects") else {
        return;
    };
    let mut recorded: BTreeMap<[String; 3], Vec<Value>> = BTreeMap::new();
    for case in cases(format!("{RECORDINGS}/recorded.jsonl.gz")) {
        let key = ["package", "old", "new"].map(|key| case[key].as_str().unwrap().to_owned());
        recorded.entry(key).or_default().push(case);
    }
    let mut number = 0;
    let mut repeated = 0;
    for bundles in inline_bundles(&catalog, |_, _| true) {
        let summaries: BTreeMap<_, _> = bundles
            .iter()
            .map(|bundle| {
                let files = bundle.files.iter().map(Vec::as_slice);
                let summary = summary(files.filter(|file| is_definition(file)));
                (&*bundle.name, summary)
            })
            .collect();
        let package = &bundles[0].package;
        for ([_, old, new], cases) in recorded.iter().filter(|(key, _)| key[0] == *package) {
            let difference = summaries[&**new].difference_from(&summaries[&**old]);
            for case in cases {
                let changes = difference.crd_changes.iter();
                let found = findings(changes.filter(|change| case["definition"] == change.name));
                let mut expected = expected(case);
                // Upstream writes the names of several required fields in random order. It
                // may then not see that two served versions differed in the same way before.
                let count = expected.len();
                expected.retain(|finding| {
                    let is_required = finding.contains(" -> ") && finding.ends_with(" required");
                    !is_required || found.contains(finding)
                });
                repeated += count - expected.len();
                assert_eq!(found, expected, "{old} {new} {}", case["definition"]);
                number += 1;
            }
        }
    }
    assert_eq!((number, repeated), (1_563, REPEATED));
}

/// A definition with one version of a schema.
fn definition(api_version: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": "CustomResourceDefinition",
        "metadata": {"name": "as.example.com"},
        "spec": {"scope": "Namespaced", "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
        ]},
    })
}

const V1: &str = "apiextensions.k8s.io/v1";

fn with_field(field: &Value) -> Value {
    definition(V1, &json!({"type": "object", "properties": {"a": field}}))
}

#[test]
fn messages_name_version_field_and_values() {
    let old = with_field(
        &json!({"type": "string", "default": "x", "enum": ["x", "y"], "maxLength": 9, "format": "date"}),
    );
    let new =
        with_field(&json!({"type": "integer", "enum": ["x"], "maxLength": 5, "format": "byte"}));
    let found = changes(&old, &new);
    let messages: Vec<_> = found.iter().map(|change| &*change.message).collect();
    assert_eq!(
        messages,
        [
            "version v1 field ^.a: default is removed: \"x\"",
            "version v1 field ^.a: allowed values are removed: \"y\"",
            "version v1 field ^.a: maximum decreases from 9 to 5",
            "version v1 field ^.a: type changes from \"string\" to \"integer\"",
            "version v1 field ^.a: changes in a way that no check knows: format",
        ]
    );
}

#[test]
fn values_in_messages_are_cut() {
    let long = "é".repeat(1_000);
    let old = with_field(&json!({"type": "string", "enum": (0..20).collect::<Vec<_>>()}));
    let new = with_field(&json!({"type": "string", "enum": [0], "default": long}));
    let messages: Vec<_> = changes(&old, &new)
        .into_iter()
        .map(|change| change.message)
        .collect();
    assert_eq!(
        messages,
        [
            format!("version v1 field ^.a: default is added: \"{}…", "é".repeat(49)),
            "version v1 field ^.a: allowed values are removed: 1, 10, 11, 12, 13, 14, 15, 16, 17, 18, … (19 in all)".to_owned(),
        ]
    );
}

#[test]
fn upstream_checks_definitions_of_v1_alone() {
    let string = json!({"type": "string"});
    let beta = "apiextensions.k8s.io/v1beta1";
    let [old, new] = [&string, &json!({"type": "integer"})];
    assert_eq!(changes(&definition(V1, old), &definition(beta, new)), []);
    assert_eq!(
        changes(&definition(beta, old), &definition(V1, new)).len(),
        1
    );
}

/// True if the comparison of two definitions ends at a limit.
fn is_too_large(old: &Value, new: &Value) -> bool {
    changes(old, new)
        .iter()
        .any(|change| change.check == "tooLarge")
}

#[test]
fn definitions_are_compared_up_to_the_limits() {
    // Fields below a change of the whole.
    let fields = |count: usize, kind: &str| {
        let field = |at: usize| (format!("f{at}"), json!({}));
        let properties: serde_json::Map<_, _> = (0..count).map(field).collect();
        definition(V1, &json!({"type": kind, "properties": properties}))
    };
    // Each version is compared with each: a small definition causes much work.
    let versions = |count: usize| {
        let mut object = fields(0, "object");
        let version = |at: usize| json!({"name": format!("v{at}"), "served": true, "storage": at == 1, "schema": {"openAPIV3Schema": {"type": "object"}}});
        object["spec"]["versions"] = (1..=count).map(version).collect();
        object
    };
    let pairs = |count: usize| count * (count - 1) / 2;
    assert!(2 * pairs(900) < MAX_COMPARED_FIELDS && pairs(1_500) > MAX_COMPARED_FIELDS);
    assert!(!is_too_large(&fields(0, "object"), &versions(900)));
    assert!(is_too_large(&fields(0, "object"), &versions(1_500)));

    let changed = |count: usize, kind: &str| {
        let field = |at: usize| (format!("f{at}"), json!({"type": kind}));
        let properties: serde_json::Map<_, _> = (0..count).map(field).collect();
        definition(V1, &json!({"properties": properties}))
    };
    let count = MAX_DEFINITION_CHANGES;
    assert!(!is_too_large(&changed(count, "a"), &changed(count, "b")));
    assert!(is_too_large(
        &changed(count + 1, "a"),
        &changed(count + 1, "b")
    ));

    let long = |bytes: usize, kind: &str| {
        definition(V1, &json!({"type": kind, "description": "x".repeat(bytes)}))
    };
    let most = MAX_COMPARED_DEFINITION_BYTES;
    assert!(!is_too_large(&long(most - 1_000, "a"), &long(0, "b")));
    assert!(is_too_large(&long(most, "a"), &long(0, "b")));

    // A long name is in the path of each field below it.
    let below = |count: usize, kind: &str| {
        let field = |at: usize| (format!("f{at}"), json!({"type": kind}));
        let properties: serde_json::Map<_, _> = (0..count).map(field).collect();
        let long = "x".repeat(1 << 20);
        definition(
            V1,
            &json!({"properties": {long: {"properties": properties}}}),
        )
    };
    assert_eq!(MAX_DEFINITION_CHANGE_BYTES, 4 << 20);
    assert!(!is_too_large(&below(3, "a"), &below(3, "b")));
    assert!(is_too_large(&below(4, "a"), &below(4, "b")));
}
