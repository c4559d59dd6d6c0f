//! What selections cost before they are executed.

use serde_json::json;

use crate::limits::Limits;
use crate::plan::plan;
use crate::schema::Schema;

use super::*;

fn with_plan<T>(query: &str, variables: &serde_json::Value, see: impl FnOnce(&Plan<'_>) -> T) -> T {
    let schema = Schema::load();
    let document = schema
        .parse(query, &Limits::default())
        .expect("a test document is valid");
    let operation = document.operation(None).unwrap();
    see(&plan(
        &schema,
        &document,
        operation,
        variables.as_object().unwrap(),
    )
    .unwrap())
}

fn cost_of(query: &str) -> u64 {
    with_plan(query, &json!({}), |plan| cost(plan, &Limits::default()))
}

#[test]
fn an_object_costs_one_and_a_scalar_nothing() {
    assert_eq!(cost_of("{ __typename }"), 0);
    assert_eq!(
        cost_of("{ package(catalog: \"a\", name: \"b\") { name description } }"),
        1
    );
    assert_eq!(
        cost_of(
            "{ package(catalog: \"a\", name: \"b\") { defaultChannel { head { name skips } } } }"
        ),
        3
    );
}

#[test]
fn the_items_of_a_page_cost_as_many_as_it_may_have() {
    assert_eq!(cost_of("{ packages { totalCount } }"), 1);
    assert_eq!(cost_of("{ packages { nodes { name } } }"), 1 + 50);
    assert_eq!(
        cost_of("{ packages(first: 500) { edges { node { name } } pageInfo { endCursor } } }"),
        1 + 1000 + 1
    );
    assert_eq!(
        cost_of("{ packages(last: 7) { nodes { bundles(first: 3) { nodes { name } } } } }"),
        1 + 7 * (1 + 1 + 3)
    );
    assert_eq!(
        cost_of("{ packages(first: 9000) { nodes { name } } }"),
        1 + 500
    );
    let size = |variables| {
        with_plan(
            "query($n: Int = 4) { metas(first: $n) { nodes { name } } }",
            &variables,
            |plan| cost(plan, &Limits::default()),
        )
    };
    assert_eq!((size(json!({"n": 4})), size(json!({"n": 20}))), (5, 21));
}

#[test]
fn plain_lists_cost_as_many_as_they_usually_have() {
    let within = |selection: &str| {
        cost_of(&format!(
            "{{ package(catalog: \"a\", name: \"b\") {{ {selection} }} }}"
        )) - 1
    };
    assert_eq!(within("channels { name }"), 15);
    assert_eq!(within("channels { entries { name } }"), 15 * (1 + 40));
    assert_eq!(within("properties { type }"), 30);
    assert_eq!(
        within("bundles(first: 1) { nodes { relatedImages { name } providedApis { kind } } }"),
        1 + 1 + 30 + 30
    );
    assert_eq!(
        cost_of("{ nodes(ids: [\"a\", \"b\"]) { id ... on Channel { entries { name } } } }"),
        2 * 41
    );
}

#[test]
fn a_diff_costs_as_much_as_one_of_two_versions_usually_has_and_a_subscription_what_one_change_does()
{
    let sides = "from: {name: \"a\"}, to: {name: \"b\"}";
    assert_eq!(
        cost_of(&format!("{{ diff({sides}) {{ toDigest }} }}")),
        1 + 1_000
    );
    let packages = "packages { channels { name } bundles { name } }";
    let expected = 1 + 1_000 + 200 * (1 + 5 + 20);
    assert_eq!(
        cost_of(&format!("{{ diff({sides}) {{ {packages} }} }}")),
        expected
    );
    assert_eq!(
        cost_of(&format!(
            "subscription {{ catalogChanged {{ diff {{ {packages} }} }} }}"
        )),
        1 + expected
    );
}

#[test]
fn what_takes_work_costs_more_than_its_objects() {
    let package = |selection: &str| {
        cost_of(&format!(
            "{{ package(catalog: \"a\", name: \"b\") {{ {selection} }} }}"
        )) - 1
    };
    assert_eq!(package("updateGraph { __typename }"), 100 + 1);
    assert_eq!(
        package("updateGraph { nodes { name } replaces { from { name } } }"),
        100 + 1 + 240 + 250 * 2
    );
    assert_eq!(
        package("successors(of: {name: \"a\", version: \"1.0.0\"}) { toName }"),
        50 + 50
    );
    let bundles =
        |selection: &str| package(&format!("bundles(first: 1) {{ nodes {{ {selection} }} }}")) - 2;
    assert_eq!(bundles("successors { toName }"), 50 + 50);
    assert_eq!(bundles("upgradePath { toName }"), 500 + 20);
    let resolve = |selection: &str| {
        cost_of(&format!(
            "{{ resolve(request: {{packageName: \"a\"}}) {{ {selection} }} }}"
        ))
    };
    assert_eq!(
        resolve("... on ResolutionFailure { message considered { rejection } }"),
        200 + 1 + 80
    );
}

#[test]
fn the_dearest_type_of_an_interface_counts() {
    assert_eq!(
        cost_of(
            "{ node(id: \"a\") { id ... on Package { channels { name } } ... on Bundle { package { name } } } }"
        ),
        16
    );
}

#[test]
fn the_usual_introspection_is_allowed_once() {
    let of_type = (0..9).fold("kind name".to_owned(), |inner, _| {
        format!("kind name ofType {{ {inner} }}")
    });
    let input = format!("name type {{ {of_type} }} defaultValue");
    let whole = format!(
        "types {{ kind name fields(includeDeprecated: true) {{ name args(includeDeprecated: true) {{ {input} }} type {{ {of_type} }} }} \
         inputFields(includeDeprecated: true) {{ {input} }} interfaces {{ {of_type} }} enumValues {{ name }} possibleTypes {{ {of_type} }} }} \
         directives {{ name args {{ {input} }} }}"
    );
    let cost = cost_of(&format!("{{ __schema {{ {whole} }} }}"));
    assert!((50_000..100_000).contains(&cost), "{cost}");
}

#[test]
fn raw_json_is_noticed() {
    let copies = |query: &str| with_plan(query, &json!({}), copies_json);
    assert!(copies("{ metas { nodes { blob } } }"));
    assert!(copies(
        "{ bundles { nodes { properties { ... on BundleObjectProperty { object } } } } }"
    ));
    assert!(!copies("{ bundles { nodes { name } } }"));
}
