//! Every field of the schema is written. That each has its code is held by the compiler
//! (`fields.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use apollo_compiler::Schema;
use apollo_compiler::schema::{ExtendedType, FieldDefinition};
use serde_json::Value;

use super::fixture::{ask, delta, engine_with};
use super::installing::every_installation;
use crate::SDL;
use crate::fields::FieldId;
use crate::limits::Limits;

type Names = BTreeSet<String>;

fn schema() -> Schema {
    Schema::parse_and_validate(SDL, "schema.graphql")
        .expect("the schema is valid")
        .into_inner()
}

/// The fields of each object type.
fn fields_by_type() -> BTreeMap<String, Names> {
    let schema = schema();
    let objects = schema
        .types
        .values()
        .filter(|definition| !definition.is_built_in());
    objects
        .filter_map(ExtendedType::as_object)
        .map(|object| {
            (
                object.name.to_string(),
                object.fields.keys().map(ToString::to_string).collect(),
            )
        })
        .collect()
}

#[test]
fn each_field_has_its_arm_and_each_arm_its_field() {
    // That each value of the enums has its arm is checked by the compiler.
    let mut ids = Vec::new();
    for (type_name, fields) in fields_by_type() {
        for field in fields {
            let id = FieldId::from_names(&type_name, &field);
            assert!(
                id != FieldId::Other && !ids.contains(&id),
                "{type_name}.{field}"
            );
            assert!(
                format!("{id:?}").starts_with(&format!("{type_name}(")),
                "{type_name}.{field} is {id:?}"
            );
            ids.push(id);
        }
        assert_eq!(
            FieldId::from_names(&type_name, "__typename"),
            FieldId::Other
        );
    }
}

/// A selection of every field of a type, as deep as said.
fn everything(schema: &Schema, type_name: &str, depth: usize) -> String {
    let mut text = "{ __typename".to_owned();
    match &schema.types[type_name] {
        ExtendedType::Object(object) => {
            let fields = object.fields.iter();
            // Most bundles have no manifests, and `tests/installing.rs` asks those that have them.
            for (name, field) in fields.filter(|(name, _)| **name != "installation") {
                // What several types of an interface have may differ in type, so each has a key of
                // its own.
                select(schema, type_name, name, field, depth, &mut text);
            }
        }
        definition @ (ExtendedType::Interface(_) | ExtendedType::Union(_)) => {
            let mut possible: Vec<_> = match definition {
                ExtendedType::Union(union) => union
                    .members
                    .iter()
                    .map(|member| (**member).clone())
                    .collect(),
                _ => schema.implementers_map()[type_name]
                    .objects
                    .iter()
                    .cloned()
                    .collect(),
            };
            possible.sort();
            for name in possible {
                write!(text, " ... on {name} {}", everything(schema, &name, depth)).unwrap();
            }
        }
        _ => {}
    }
    text + " }"
}

fn select(
    schema: &Schema,
    type_name: &str,
    name: &str,
    field: &FieldDefinition,
    depth: usize,
    text: &mut String,
) {
    let arguments = match (type_name, name) {
        ("Query", "catalog") => r#"(name: "alpha")"#,
        ("Query", "package") => r#"(catalog: "alpha", name: "etcd")"#,
        ("Query", "bundle") => r#"(catalog: "alpha", package: "etcd", name: "etcd.v1.0.0")"#,
        ("Query", "channel") => r#"(catalog: "alpha", package: "etcd", name: "stable")"#,
        ("Query", "suggest") => r#"(text: "e")"#,
        ("Query", "node") => r#"(id: "UAVldGNk")"#,
        ("Query", "nodes") => r#"(ids: ["UAVldGNk"])"#,
        ("Catalog", "package") => r#"(name: "etcd")"#,
        ("Query", "resolve") => r#"(request: {packageName: "zoo"})"#,
        ("Query", "solve") => SOLVED,
        ("Query", "platformUpgrade") => {
            r#"(input: {steps: [{platform: {openshift: "4.18"}, catalogs: ["alpha"]},
                {platform: {openshift: "4.19"}, catalogs: ["alpha"]}], installed: [
                {packageName: "etcd", name: "etcd.v1.0.0", channels: ["stable"]},
                {packageName: "zoo", name: "zoo.v1", properties: [{type: "olm.maxOpenShiftVersion", value: "4.18"}]}]})"#
        }
        ("Catalog", "mirrorSet") => {
            r#"(input: {packages: [{name: "etcd", channels: [{name: "stable"}]}], full: true, rules: OC_MIRROR})"#
        }
        ("MirrorSet", "mapping" | "skopeo" | "imageMirrorSets") => r#"(to: "mirror.example.com")"#,
        ("Query", "platformMatrix") => r#"(catalogs: ["alpha", "beta"])"#,
        ("Package", "successors") => r#"(of: {name: "etcd.v1.0.0", version: "1.0.0"})"#,
        ("Query", "availableUpgrades") => {
            r#"(installed: [{packageName: "etcd", bundle: {name: "etcd.v1.0.0", version: "1.0.0"}}])"#
        }
        ("Package", "bundle") => r#"(name: "etcd.v1.0.0")"#,
        ("CsvMetadata", "label") => r#"(key: "operatorframework.io/arch.arm64")"#,
        ("CsvMetadata", "annotation") => r#"(key: "capabilities")"#,
        ("VersionLifecycle", "phase") => r#"(on: "2026-11-21")"#,
        ("Package", "channel") => r#"(name: "stable")"#,
        ("Query", "diff") => r#"(from: {name: "alpha"}, to: {name: "beta"})"#,
        _ => "",
    };
    let inner = field.ty.inner_named_type();
    let is_leaf = schema.types[inner].is_leaf();
    if is_leaf || depth > 0 {
        let selection = if is_leaf {
            String::new()
        } else {
            everything(schema, inner, depth - 1)
        };
        write!(text, " {type_name}_{name}: {name}{arguments} {selection}").unwrap();
    }
}

fn type_names(value: &Value, into: &mut Names) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| type_names(item, into)),
        Value::Object(fields) => {
            into.extend(
                fields
                    .get("__typename")
                    .and_then(Value::as_str)
                    .map(ToOwned::to_owned),
            );
            fields.values().for_each(|value| type_names(value, into));
        }
        _ => {}
    }
}

/// A request whose solution passes over `etcd`, because another one of its bundles is installed.
const SOLVED: &str = r#"(request: {catalogs: ["beta"], wanted: [], installed: [
    {name: "old", version: "0.1.0", packageName: "etcd"},
    {name: "needy", version: "1.0.0", properties: [{type: "olm.constraint", value: {any: {constraints: [
        {package: {packageName: "etcd", versionRange: ">=1.0.0"}},
        {package: {packageName: "minio", versionRange: ">=1.0.0"}}]}}}]}]})"#;

/// Requests without a solution: one that is refused, one that nothing fits, and one for a package
/// that does not exist.
const UNSOLVED: &str = r#"
    refused: solve(request: {wanted: [{packageName: "etcd", catalog: "none"}]}) { __typename }
    conflict: solve(request: {wanted: [{packageName: "none"}]}) { __typename ... on SolveConflict {
        constraints { __typename } relaxations { __typename } } }
    unmirrored: catalog(name: "alpha") { mirrorSet(input: {packages: [{name: "none"}]}) { problems { __typename } } }"#;

#[test]
fn every_field_of_every_type_is_written() {
    let limits = Limits {
        tokens: usize::MAX,
        aliases: u64::MAX,
        root_fields: u64::MAX,
        fields: u64::MAX,
        cost: u64::MAX,
        work: u64::MAX,
        ..Limits::default()
    };
    let schema = schema();
    let failed = r#"failed: resolve(request: {packageName: "none"}) { __typename }"#;
    let selection =
        everything(&schema, "Query", 5).replacen('{', &format!("{{ {failed} {UNSOLVED}"), 1);
    let body = ask(&engine_with(Some(delta()), limits), &selection);
    assert_eq!(body.get("errors"), None);
    let mut seen = Names::new();
    type_names(&body["data"], &mut seen);
    for installation in every_installation() {
        type_names(&installation, &mut seen);
    }
    // What it is to be told a change, `subscription/tests.rs` says.
    seen.extend(["CatalogChange", "Subscription"].map(str::to_owned));
    assert_eq!(seen, fields_by_type().into_keys().collect());
}
