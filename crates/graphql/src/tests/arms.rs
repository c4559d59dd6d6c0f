//! The schema and the writer agree: each field has its arm, each arm its field, and all of them write something.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use apollo_compiler::Schema;
use apollo_compiler::schema::{ExtendedType, FieldDefinition};
use serde_json::Value;

use super::fixture::{ask, engine};
use crate::SDL;
use crate::limits::Limits;

type Names = BTreeSet<String>;

fn schema() -> Schema {
    Schema::parse_and_validate(SDL, "schema.graphql").expect("the schema is valid").into_inner()
}

/// The fields of each object type.
fn fields_by_type() -> BTreeMap<String, Names> {
    let schema = schema();
    let objects = schema.types.values().filter(|definition| !definition.is_built_in());
    objects
        .filter_map(ExtendedType::as_object)
        .map(|object| (object.name.to_string(), object.fields.keys().map(ToString::to_string).collect()))
        .collect()
}

/// The arms of each implementation of `Object`, with the types that it is for, and whether it leaves the other fields
/// to another one.
fn arms() -> Vec<(Names, Names, bool)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/write");
    let mut arms = Vec::new();
    for file in fs::read_dir(folder).expect("the writer is there") {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for block in text.split("\nimpl").filter(|block| block.lines().next().unwrap().contains(" Object<'a> for ")) {
            let block = &block[..block.find("\n}\n").unwrap()];
            let (types, write) = block.split_once("fn write(").unwrap();
            arms.push((types_of(types), arms_of(write), write.contains("=> metadata.write(field, to)")));
        }
    }
    arms
}

/// The types that a `type_name` may say.
fn types_of(text: &str) -> Names {
    let all = fields_by_type().into_keys();
    if text.contains("T::CONNECTION") {
        return all.filter(|name| name.ends_with("Connection")).collect();
    }
    if text.contains("T::EDGE") {
        return all.filter(|name| name.ends_with("Edge") && name != "UpdateEdge").collect();
    }
    quoted(text)
}

/// The names in the patterns of a `write`.
fn arms_of(text: &str) -> Names {
    let mut pieces: Vec<&str> = text.split("=>").collect();
    pieces.pop();
    let patterns = pieces.iter().map(|piece| {
        let ends = [",\n", "{\n", "}\n", ";\n"].iter().filter_map(|end| piece.rfind(end));
        &piece[ends.max().unwrap_or(0)..]
    });
    patterns.flat_map(quoted).collect()
}

fn quoted(text: &str) -> Names {
    text.split('"').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

#[test]
fn each_field_has_its_arm_and_each_arm_its_field() {
    let fields = fields_by_type();
    let mut written = Names::new();
    for (types, arms, leaves_others) in arms() {
        let expected: Names = types.iter().flat_map(|name| fields[name].iter().cloned()).collect();
        let expected = if leaves_others { expected.intersection(&arms).cloned().collect() } else { expected };
        assert_eq!(arms, expected, "{types:?}");
        written.extend(types);
    }
    assert_eq!(written, fields.into_keys().collect());
}

/// A selection of every field of a type, as deep as said.
fn everything(schema: &Schema, type_name: &str, depth: usize) -> String {
    let mut text = "{ __typename".to_owned();
    match &schema.types[type_name] {
        ExtendedType::Object(object) => {
            for (name, field) in &object.fields {
                // What several types of an interface have may differ in type, so each has a key of its own.
                select(schema, type_name, name, field, depth, &mut text);
            }
        }
        definition @ (ExtendedType::Interface(_) | ExtendedType::Union(_)) => {
            let mut possible: Vec<_> = match definition {
                ExtendedType::Union(union) => union.members.iter().map(|member| (**member).clone()).collect(),
                _ => schema.implementers_map()[type_name].objects.iter().cloned().collect(),
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

fn select(schema: &Schema, type_name: &str, name: &str, field: &FieldDefinition, depth: usize, text: &mut String) {
    let arguments = match (type_name, name) {
        ("Query", "catalog") => r#"(name: "alpha")"#,
        ("Query", "package") => r#"(catalog: "alpha", name: "etcd")"#,
        ("Query", "bundle") => r#"(by: {name: {catalog: "alpha", package: "etcd", name: "etcd.v1.0.0"}})"#,
        ("Query", "node") => r#"(id: "UAVldGNk")"#,
        ("Query", "nodes") => r#"(ids: ["UAVldGNk"])"#,
        ("Catalog", "package") => r#"(name: "etcd")"#,
        ("Query", "resolve") => r#"(request: {packageName: "zoo"})"#,
        ("Package", "successors") => r#"(of: {name: "etcd.v1.0.0", version: "1.0.0"})"#,
        ("Package", "channel") => r#"(name: "stable")"#,
        ("Query", "diff") => r#"(from: {name: "alpha"}, to: {name: "beta"})"#,
        _ => "",
    };
    let inner = field.ty.inner_named_type();
    let is_leaf = schema.types[inner].is_leaf();
    if is_leaf || depth > 0 {
        let selection = if is_leaf { String::new() } else { everything(schema, inner, depth - 1) };
        write!(text, " {type_name}_{name}: {name}{arguments} {selection}").unwrap();
    }
}

fn type_names(value: &Value, into: &mut Names) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| type_names(item, into)),
        Value::Object(fields) => {
            into.extend(fields.get("__typename").and_then(Value::as_str).map(ToOwned::to_owned));
            fields.values().for_each(|value| type_names(value, into));
        }
        _ => {}
    }
}

#[test]
fn every_field_of_every_type_is_written() {
    let limits = Limits {
        tokens: usize::MAX,
        aliases: u64::MAX,
        root_fields: u64::MAX,
        fields: u64::MAX,
        cost: u64::MAX,
        objects: u64::MAX,
        ..Limits::default()
    };
    let schema = schema();
    let failed = r#"failed: resolve(request: {packageName: "none"}) { __typename }"#;
    let selection = everything(&schema, "Query", 6).replacen('{', &format!("{{ {failed}"), 1);
    let body = ask(&engine(limits), &selection);
    assert_eq!(body.get("errors"), None);
    let mut seen = Names::new();
    type_names(&body["data"], &mut seen);
    // What it is to be told a change, `subscription/tests.rs` says.
    seen.extend(["CatalogChange", "Subscription"].map(str::to_owned));
    assert_eq!(seen, fields_by_type().into_keys().collect());
}
