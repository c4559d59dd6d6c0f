//! How selections are merged into a plan.

use serde_json::json;

use super::*;
use crate::limits::Limits;

/// A plan as text: keys, names where they differ, arguments, and what is selected for each type.
fn shape(plan: &Plan<'_>) -> String {
    let fields = plan.fields.iter().map(|field| {
        let name = if field.key == field.name {
            String::new()
        } else {
            format!(":{}", field.name)
        };
        let value = match &field.value {
            ValuePlan::TypeName | ValuePlan::Leaf => String::new(),
            ValuePlan::Object(plan) | ValuePlan::Introspection(plan) => shape(plan),
            ValuePlan::Abstract(plans) => {
                let plans = plans
                    .iter()
                    .map(|plan| format!("{}{}", plan.type_name, shape(plan)));
                format!("[{}]", plans.collect::<Vec<_>>().join(" "))
            }
        };
        format!("{}{name}{value}", field.key)
    });
    format!("({})", fields.collect::<Vec<_>>().join(" "))
}

fn planned(query: &str, variables: &Value) -> String {
    let schema = Schema::load();
    let document = schema
        .parse(query, &Limits::default())
        .expect("a test document is valid");
    let operation = document.operation(None).unwrap();
    let plan = plan(
        &schema,
        &document,
        operation,
        variables.as_object().unwrap(),
    )
    .unwrap();
    shape(&plan)
}

#[test]
fn fields_of_one_key_are_merged_where_the_first_stands() {
    let query = "{ catalogs { name } a: catalogs { id } catalogs { digest name } ... { catalogs { packages { totalCount } } } }";
    assert_eq!(
        planned(query, &json!({})),
        "(catalogs(name digest packages(totalCount)) a:catalogs(id))"
    );
}

#[test]
fn fragments_are_resolved_for_each_concrete_type() {
    let query = "{ node(id: \"x\") { ...n ... on Package { name ...n } ... on Channel { title: name } } } \
                 fragment n on Node { id ... on Package { description } }";
    assert_eq!(
        planned(query, &json!({})).split(['[', ']']).nth(1).map(|types| {
            let mut types: Vec<_> = types.split(' ').collect();
            types.sort_unstable();
            types.join(" ")
        }),
        Some("Bundle(id) Catalog(id) Channel(id ChannelEntry(id) CsvMetadata(id) Icon(id) Package(id description name) title:name)".to_owned())
    );
}

#[test]
fn a_fragment_counts_once_in_an_object_and_again_in_the_next() {
    let query = "{ ...f ...f a: catalogs { ...g } } fragment f on Query { catalogs { ...g ...g } } fragment g on Catalog { name }";
    assert_eq!(
        planned(query, &json!({})),
        "(catalogs(name) a:catalogs(name))"
    );
}

#[test]
fn skip_and_include_decide_with_variables() {
    let query = "query($yes: Boolean!, $no: Boolean!) { a: __typename @skip(if: $yes) b: __typename @skip(if: $no) \
                 c: __typename @include(if: $yes) d: __typename @include(if: $no) e: __typename @include(if: $yes) @skip(if: $yes) \
                 ... @include(if: $no) { f: __typename } ...g @skip(if: $yes) ...g } fragment g on Query { g: __typename }";
    assert_eq!(
        planned(query, &json!({"yes": true, "no": false})),
        "(b:__typename c:__typename g:__typename)"
    );
}

#[test]
fn every_key_is_preceded_by_its_brace_or_comma() {
    let schema = Schema::load();
    let document = schema
        .parse(
            "{ a: __typename b: catalogs { c: name } }",
            &Limits::default(),
        )
        .unwrap();
    let plan = plan(
        &schema,
        &document,
        document.operation(None).unwrap(),
        &Map::new(),
    )
    .unwrap();
    let prefixes: Vec<_> = plan
        .fields
        .iter()
        .map(|field| std::str::from_utf8(&field.prefix).unwrap())
        .collect();
    assert_eq!(prefixes, ["{\"a\":", ",\"b\":"]);
}
