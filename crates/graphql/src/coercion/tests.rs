//! Variables and arguments: which values are taken, and what is said of the others.

use apollo_compiler::ast::Type;
use serde_json::{Value, json};

use super::*;
use crate::tests::fixture::{ask_with, engine};

/// What is wrong with a value for a type; nothing when it is right.
fn faults(ty: &str, value: &Value) -> Vec<String> {
    faults_with(ty, value, IntrospectionPolicy::Enabled)
}

fn faults_with(ty: &str, value: &Value, introspection: IntrospectionPolicy) -> Vec<String> {
    let schema = Schema::load();
    let limits = Limits {
        list_items: 12,
        introspection,
        ..Limits::default()
    };
    let ty = Type::parse(ty, "type").unwrap();
    let mut coercion = VariableCoercion {
        schema: &schema,
        limits: &limits,
        path: Vec::new(),
        errors: Vec::new(),
    };
    coercion.value(&ty, value);
    coercion
        .errors
        .into_iter()
        .map(|(path, message)| format!("{path}: {message}"))
        .collect()
}

/// What a value becomes.
fn coerced(ty: &str, value: &Value) -> Value {
    let schema = Schema::load();
    let limits = Limits {
        list_items: 12,
        ..Limits::default()
    };
    let ty = Type::parse(ty, "type").unwrap();
    let mut coercion = VariableCoercion {
        schema: &schema,
        limits: &limits,
        path: Vec::new(),
        errors: Vec::new(),
    };
    let coerced = coercion.value(&ty, value);
    assert_eq!(coercion.errors, []);
    coerced
}

#[test]
fn values_become_what_their_type_asks_for() {
    for (ty, value, expected) in [
        ("Int", json!(null), json!(null)),
        ("Int", json!(2_147_483_647), json!(2_147_483_647)),
        ("Int", json!(5.0), json!(5)),
        ("Float", json!(1), json!(1)),
        ("ID", json!(4), json!("4")),
        ("ID", json!(-0.0), json!("0")),
        ("ID", json!(u64::MAX), json!("18446744073709551615")),
        ("ID", json!(1e20), json!("100000000000000000000")),
        ("[Int]", json!([1, null]), json!([1, null])),
        ("[Int!]", json!(7), json!([7])),
        ("[Int]", json!(vec![0; 12]), json!(vec![0; 12])),
        ("[[String!]!]", json!("x"), json!([["x"]])),
        ("ProblemSeverity", json!("ERROR"), json!("ERROR")),
        ("CatalogRef", json!({"name": "i"}), json!({"name": "i"})),
    ] {
        assert_eq!(coerced(ty, &value), expected, "{ty} {value}");
    }
}

#[test]
fn what_does_not_have_its_type_is_told_as_graphql_js_tells_it() {
    let one_of = "Within OneOf Input Object type \"CatalogRef\", exactly one field must be specified, and the value for \
                  that field must be non-null.";
    for (ty, value, expected) in [
        ("Int!", json!(null), ": Expected value of non-null type \"Int!\" not to be null.".to_owned()),
        ("Int", json!("1"), ": Int cannot represent non-integer value: \"1\"".to_owned()),
        ("Int", json!(1.5), ": Int cannot represent non-integer value: 1.5".to_owned()),
        (
            "Int",
            json!(2_147_483_648_i64),
            ": Int cannot represent non 32-bit signed integer value: 2147483648".to_owned(),
        ),
        ("String", json!(["a"]), ": String cannot represent a non string value: [\"a\"]".to_owned()),
        ("Boolean", json!("true"), ": Boolean cannot represent a non boolean value: \"true\"".to_owned()),
        ("ID", json!(1.5), ": ID cannot represent value: 1.5".to_owned()),
        ("Float", json!("1"), ": Float cannot represent non numeric value: \"1\"".to_owned()),
        ("[Int!]", json!([1, null]), " at [1]: Expected value of non-null type \"Int!\" not to be null.".to_owned()),
        ("[Int]", json!(vec![0; 13]), ": Expected a list of at most 12 items, found 13.".to_owned()),
        ("ProblemSeverity", json!("BAD"), ": Value \"BAD\" does not exist in \"ProblemSeverity\" enum.".to_owned()),
        ("ProblemSeverity", json!(1), ": Enum \"ProblemSeverity\" cannot represent non-string value: 1.".to_owned()),
        ("CatalogRef", json!("x"), ": Expected value of type \"CatalogRef\" to be an object, found: \"x\".".to_owned()),
        ("CatalogRef", json!({}), format!(": {one_of}")),
        ("CatalogRef", json!({"name": null}), format!(" at .name: {one_of}")),
        (
            "PackageFilter",
            json!({"provides": {"group": "g", "version": "v"}}),
            " at .provides: Expected value of type \"GroupVersionKindInput\" to include required field \"kind\", found: \
             { group: \"g\", version: \"v\" }."
                .to_owned(),
        ),
        (
            "GroupVersionKindInput",
            json!({"group": "c", "kind": "n", "x": 1}),
            ": Expected value of type \"GroupVersionKindInput\" not to include unknown field \"x\", found: \
             { group: \"c\", kind: \"n\", x: 1 }."
                .to_owned(),
        ),
    ] {
        assert_eq!(faults(ty, &value), [expected], "{ty} {value}");
    }
}

#[test]
fn names_that_may_have_been_meant_in_a_variable_are_told_as_graphql_js_tells_them() {
    for (ty, value, told, hidden) in [
        (
            "PackageFilter",
            json!({"serch": "a"}),
            ": Expected value of type \"PackageFilter\" not to include unknown field \"serch\". Did you mean \"search\"? \
             Found: { serch: \"a\" }.",
            ": Expected value of type \"PackageFilter\" not to include unknown field \"serch\", found: { serch: \"a\" }.",
        ),
        (
            "[PackageFilter]",
            json!([{"capabilityLevels": ["AUTOPILOT"]}]),
            " at [0].capabilityLevels[0]: Value \"AUTOPILOT\" does not exist in \"CapabilityLevel\" enum. Did you mean the \
             enum value \"AUTO_PILOT\"?",
            " at [0].capabilityLevels[0]: Value \"AUTOPILOT\" does not exist in \"CapabilityLevel\" enum.",
        ),
    ] {
        assert_eq!(faults(ty, &value), [told], "{ty} {value}");
        assert_eq!(
            faults_with(ty, &value, IntrospectionPolicy::Disabled),
            [hidden],
            "{ty} {value}"
        );
    }
}

#[test]
fn errors_of_variables_are_listed_up_to_their_limit() {
    let query =
        "query($a: PackageFilter, $b: Int) { packages(filter: $a, first: $b) { totalCount } }";
    let errors = |unknown: usize, b: Value| {
        let members: Map<_, _> = (0..unknown)
            .map(|at| (format!("unknown{at}"), json!(1)))
            .collect();
        run(query, &json!({"a": members, "b": b}))
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(errors(MAX_VARIABLE_ERRORS, json!(1)), MAX_VARIABLE_ERRORS);
    for (unknown, b) in [
        (MAX_VARIABLE_ERRORS, json!("x")),
        (MAX_VARIABLE_ERRORS + 1, json!(1)),
        (7_000, json!("x")),
    ] {
        assert_eq!(
            errors(unknown, b),
            MAX_VARIABLE_ERRORS + 1,
            "the last one says that there are more"
        );
    }
}

/// The answer's messages, or else its data.
fn run(query: &str, variables: &Value) -> Value {
    let mut body = ask_with(&engine(Limits::default()), query, variables);
    match body.get("errors") {
        Some(Value::Array(errors)) => errors
            .iter()
            .map(|error| error["message"].clone())
            .collect(),
        _ => body["data"].take(),
    }
}

#[test]
fn every_variable_that_is_wrong_is_told() {
    let query = "query($a: Int!, $b: [ID!], $c: String = \"x\") { packages(first: $a) { totalCount } nodes(ids: $b) { id } \
                 catalog(name: $c) { name } }";
    assert_eq!(
        run(query, &json!({"b": ["x", null], "c": 1}))
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let query = "query($a: Int!, $b: [ID!]!, $c: String! = \"x\") { packages(first: $a) { totalCount } nodes(ids: $b) { id } \
                 catalog(name: $c) { name } }";
    assert_eq!(
        run(query, &json!({"b": ["x", null], "c": 1})),
        json!([
            "Variable \"$a\" has invalid value: Expected a value of non-null type \"Int!\" to be provided.",
            "Variable \"$b\" has invalid value at [1]: Expected value of non-null type \"ID!\" not to be null.",
            "Variable \"$c\" has invalid value: String cannot represent a non string value: 1",
        ])
    );
}

#[test]
fn defaults_stand_in_for_what_is_absent_and_not_for_null() {
    let query = "query($first: Int = 1) { packages(first: $first) { nodes { name } } }";
    let count = |variables: Value| {
        run(query, &variables)["packages"]["nodes"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count(json!({})), 1);
    assert_eq!(count(json!({"first": 2})), 2);
    assert_eq!(count(json!({"first": null})), 4);
    let query = "query($first: Int) { packages(first: $first) { nodes { name } } }";
    assert_eq!(
        run(query, &json!({}))["packages"]["nodes"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

#[test]
fn variables_are_put_into_literals() {
    let query = "query($p: String!, $list: [String!], $i: String) { bundle(catalog: \"alpha\", package: $p, \
                 name: \"etcd.v1.0.0\") { name } bundles(packages: $list) { totalCount } packages(catalogs: [\"alpha\"]) \
                 { totalCount } catalog(name: \"beta\", digest: $i) { name } }";
    let expected = json!({
        "bundle": {"name": "etcd.v1.0.0"}, "bundles": {"totalCount": 1}, "packages": {"totalCount": 2},
        "catalog": {"name": "beta"},
    });
    assert_eq!(run(query, &json!({"p": "etcd", "list": "zoo"})), expected);
}

#[test]
fn a_variable_that_is_null_where_a_value_must_be_is_an_error_of_its_field() {
    let query = "query($name: String = \"alpha\") { catalog(name: $name) { name } }";
    assert_eq!(
        run(query, &json!({})),
        json!({"catalog": {"name": "alpha"}})
    );
    assert_eq!(
        run(query, &json!({"name": null})),
        json!([
            "Argument \"Query.catalog(name:)\" has invalid value: Expected variable \"$name\" provided to non-null \
                type \"String!\" not to be null."
        ])
    );
    let query = "query($on: Boolean = true) { __typename @include(if: $on) }";
    assert_eq!(run(query, &json!({"on": false})), json!({}));
    assert_eq!(
        run(query, &json!({"on": null})),
        json!([
            "Argument \"@include(if:)\" has invalid value: Expected variable \"$on\" provided to non-null type \
                \"Boolean!\" not to be null."
        ])
    );
}

#[test]
fn one_of_takes_exactly_one_value_from_a_literal() {
    let query = "query($name: String!) { diff(from: {name: $name}, to: {name: \"alpha\"}) { packages { name } } }";
    assert_eq!(
        run(query, &json!({"name": "alpha"})),
        json!({"diff": {"packages": []}})
    );
    for literal in ["{}", "{name: null}", "{digest: \"a\", name: null}"] {
        let query =
            format!("{{ diff(from: {literal}, to: {{name: \"alpha\"}}) {{ fromDigest }} }}");
        assert!(run(&query, &json!({})).is_array(), "{literal}");
    }
}
