//! Which catalogs are asked for, in every way of asking.

use serde_json::json;

use super::*;
use crate::limits::Limits;
use crate::schema::Schema;

/// The catalogs that a document with one operation asks for, as text.
fn catalogs(text: &str, variables: Value) -> String {
    let document = Schema::load()
        .parse(text, &Limits::default())
        .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let Value::Object(variables) = variables else {
        panic!("variables are an object")
    };
    match document
        .dependencies(None)
        .expect("there is one operation")
        .catalogs(&variables)
    {
        None => "more".to_owned(),
        Some(ScopedCatalogs::Every) => "all".to_owned(),
        Some(ScopedCatalogs::Named(names)) => names.join(" "),
    }
}

#[test]
fn names_are_found_wherever_they_are_written() {
    for (text, expected) in [
        ("{ __typename }", ""),
        ("{ server { version limits { name } } }", ""),
        ("{ server { version } catalog(name: \"a\") { name } }", "a"),
        (
            "{ __schema { description } __type(name: \"Int\") { name } }",
            "",
        ),
        ("{ catalog(name: \"a\") { name } }", "a"),
        ("{ catalog(name: \"a\", digest: \"d\") { name } }", "a"),
        ("{ package(catalog: \"a\", name: \"p\") { name } }", "a"),
        (
            "{ packages(catalogs: [\"a\", \"b\"]) { totalCount } }",
            "a b",
        ),
        ("{ packages(catalogs: \"a\") { totalCount } }", "a"),
        ("{ bundles(catalogs: [\"a\"]) { totalCount } }", "a"),
        ("{ metas(catalogs: [\"a\"]) { totalCount } }", "a"),
        (
            "{ bundle(catalog: \"a\", package: \"p\", name: \"b\") { name } }",
            "a",
        ),
        (
            "{ channel(catalog: \"a\", package: \"p\", name: \"b\") { name } }",
            "a",
        ),
        (
            "{ resolve(request: {packageName: \"p\", catalogs: [\"a\"]}) { __typename } }",
            "a",
        ),
        (
            "{ x: catalog(name: \"a\") { name } y: catalog(name: \"b\") { name } __typename }",
            "a b",
        ),
        (
            "{ ... { ...f } } fragment f on Query { catalog(name: \"a\") { name } }",
            "a",
        ),
        (
            "{ catalog(name: \"a\") { name } catalog(name: \"a\") @skip(if: true) { name } }",
            "a a",
        ),
        (
            "{ catalog(name: \"a\") { packages { facets { catalogs { count } } } } }",
            "a",
        ),
    ] {
        assert_eq!(catalogs(text, json!({})), expected, "{text}");
    }
}

#[test]
fn what_changes_beside_the_snapshot_depends_on_more_wherever_it_is_selected() {
    for text in [
        "{ catalogStatuses { name } }",
        "{ catalog(name: \"a\") { status { lastSuccess } } }",
        "{ catalog(name: \"a\") { contents { digest } } catalogs { name } }",
        "{ packages { nodes { catalog { ...f } } } } fragment f on Catalog { contents { digest } }",
        "{ catalog(name: \"a\") { verification { state verifiedAt } } }",
        "{ diff(from: {name: \"a\"}, to: {name: \"b\"}) { fromDigest } }",
    ] {
        assert_eq!(catalogs(text, json!({})), "more", "{text}");
    }
}

#[test]
fn what_names_no_catalogs_asks_for_all() {
    for text in [
        "{ catalogs { name } }",
        "{ packages { totalCount } }",
        "{ packages(catalogs: null) { totalCount } }",
        "{ packages(catalogs: []) { totalCount } }",
        "{ bundles { totalCount } }",
        "{ metas { totalCount } }",
        "{ resolve(request: {packageName: \"p\"}) { __typename } }",
        "{ node(id: \"x\") { id } }",
        "{ nodes(ids: [\"x\"]) { id } }",
        "{ catalog(name: \"a\") { name } catalogs { name } }",
        "{ catalogs { name } catalog(name: \"a\") { name } }",
        // It counts the packages of the others too.
        "{ packages(catalogs: [\"a\"]) { facets { catalogs { count } } } }",
        "{ packages(catalogs: [\"a\"]) { facets { ...f } } } fragment f on PackageFacets { catalogs { count } }",
    ] {
        assert_eq!(catalogs(text, json!({})), "all", "{text}");
    }
}

#[test]
fn names_are_found_in_variables() {
    let one = "query($n: String!) { catalog(name: $n) { name } }";
    let many = "query($n: [String!]) { packages(catalogs: $n) { totalCount } }";
    let element = "query($n: String!) { packages(catalogs: [\"a\", $n]) { totalCount } }";
    let default = "query($n: [String!] = [\"d\", \"e\"]) { packages(catalogs: $n) { totalCount } }";
    let catalog =
        "query($n: String!) { bundle(catalog: $n, package: \"p\", name: \"b\") { name } }";
    let request = "query($n: ResolveRequest!) { resolve(request: $n) { __typename } }";
    for (text, value, expected) in [
        (one, json!("a"), "a"),
        (one, json!(null), "all"),
        (one, json!(1), "all"),
        (many, json!(["a", "b"]), "a b"),
        (many, json!("a"), "a"),
        (many, json!([]), "all"),
        (many, json!(null), "all"),
        (many, json!(["a", null]), "all"),
        (element, json!("b"), "a b"),
        (element, json!(null), "all"),
        (default, json!(["a"]), "a"),
        (default, json!(null), "all"),
        (catalog, json!("a"), "a"),
        (request, json!({"packageName": "p", "catalogs": ["a"]}), "a"),
        (request, json!({"packageName": "p"}), "all"),
    ] {
        assert_eq!(
            catalogs(text, json!({ "n": value })),
            expected,
            "{text} {value}"
        );
    }
    assert_eq!(catalogs(one, json!({})), "all");
    assert_eq!(catalogs(many, json!({})), "all");
    assert_eq!(catalogs(default, json!({})), "d e");
}

#[test]
fn each_operation_of_a_document_asks_for_itself() {
    let text = "query A { catalog(name: \"a\") { name } } query B { catalogs { name } }";
    let document = Schema::load().parse(text, &Limits::default()).unwrap();
    let none = Map::new();
    let catalogs = |name| {
        document
            .dependencies(name)
            .map(|found| found.catalogs(&none))
    };
    assert_eq!(
        catalogs(Some("A")),
        Some(Some(ScopedCatalogs::Named(vec!["a"])))
    );
    assert_eq!(catalogs(Some("B")), Some(Some(ScopedCatalogs::Every)));
    assert_eq!((catalogs(Some("C")), catalogs(None)), (None, None));
}

#[test]
fn one_condition_of_filters_depends_on_more_than_the_content() {
    let schema = apollo_compiler::Schema::parse_and_validate(crate::SDL, "schema.graphql")
        .expect("the schema is valid");
    let inputs = schema
        .types
        .values()
        .filter_map(|definition| definition.as_input_object());
    let scoped = inputs
        .flat_map(|input| input.fields.values())
        .filter(|field| field.directives.has("cacheScope"));
    assert_eq!(
        scoped.map(|field| field.name.as_str()).collect::<Vec<_>>(),
        METADATA_CONDITION
    );
}

#[test]
fn a_filter_by_problems_is_given_in_a_literal_or_in_a_variable() {
    let text = |arguments: &str, filter: &str| {
        format!(
            "query{arguments} {{ catalog(name: \"a\", digest: \"d\") {{ packages(filter: {filter}) {{ totalCount }} }} }}"
        )
    };
    let whole = text("($f: PackageFilter)", "$f");
    let part = text("($f: ProblemSeverity)", "{problemSeverity: $f}");
    let default = text("($f: ProblemSeverity = ERROR)", "{problemSeverity: $f}");
    for (text, variables, expected) in [
        (text("", "{problemSeverity: ERROR}"), json!({}), true),
        (text("", "{names: [\"x\"]}"), json!({}), false),
        (
            whole.clone(),
            json!({"f": {"problemSeverity": "ERROR"}}),
            true,
        ),
        (
            whole.clone(),
            json!({"f": {"problemSeverity": null}}),
            false,
        ),
        (whole, json!({}), false),
        (part.clone(), json!({"f": "ERROR"}), true),
        (part, json!({}), false),
        (default.clone(), json!({}), true),
        (default, json!({"f": null}), false),
    ] {
        let document = Schema::load()
            .parse(&text, &Limits::default())
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let dependencies = document.dependencies(None).expect("there is one operation");
        let Value::Object(variables) = variables else {
            panic!("variables are an object")
        };
        let is_given = dependencies
            .conditions
            .iter()
            .any(|condition| condition.is_given(&variables));
        assert_eq!(is_given, expected, "{text} {variables:?}");
    }
}
