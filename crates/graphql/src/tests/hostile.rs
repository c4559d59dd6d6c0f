//! Documents made to hurt: each is refused with its code, quickly, and the process lives.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::fixture::{ask, ask_with, code, engine, engine_of, served};
use crate::Engine;
use crate::limits::Limits;

/// Processor time that one refusal may take.
const QUICK: Duration = Duration::from_millis(50);

/// Processor time of this thread, in steps of the scheduler's tick.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat")
        .expect("Linux tells the time of a thread");
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[track_caller]
fn refuses(engine: &Engine, document: &str, expected: &str) {
    let beginning: String = document.chars().take(60).collect();
    let attempt = || {
        let before = processor_time();
        let body = ask(engine, document);
        let taken = processor_time().saturating_sub(before);
        assert_eq!(code(&body), expected, "{beginning}");
        assert_eq!(body.get("data"), None, "{beginning}");
        taken
    };
    // The least of three: on a busy machine memory that is touched for the first time takes its
    // time.
    let taken = (0..3).map(|_| attempt()).min().expect("three attempts");
    assert!(taken < QUICK, "{beginning} took {taken:?}");
}

/// Fragments of which each spreads the next twice, and a last one.
fn doubling(count: usize, each: impl Fn(usize) -> String, last: &str) -> String {
    repeated(count, |at| format!("fragment f{at} on {} ", each(at + 1)))
        + &format!("fragment f{count} on {last}")
}

fn repeated(count: usize, each: impl Fn(usize) -> String) -> String {
    (0..count).map(each).collect::<Vec<_>>().concat()
}

#[test]
fn fragments_in_a_circle_are_refused() {
    let engine = engine(Limits::default());
    let two = "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }";
    refuses(&engine, two, "GRAPHQL_VALIDATION_FAILED");
    refuses(
        &engine,
        "{ ...a } fragment a on Query { ...a }",
        "GRAPHQL_VALIDATION_FAILED",
    );
    let deep =
        "{ catalogs { ...a } } fragment a on Catalog { packages { nodes { catalog { ...a } } } }";
    refuses(&engine, deep, "GRAPHQL_VALIDATION_FAILED");
    let long = repeated(300, |at| {
        format!("fragment f{at} on Query {{ ...f{} }}", (at + 1) % 300)
    });
    refuses(&engine, &format!("{{ ...f0 }} {long}"), "MAX_TOKENS_LIMIT");
    let fewer = repeated(150, |at| {
        format!("fragment f{at} on Query{{...f{}}}", (at + 1) % 150)
    });
    refuses(
        &engine,
        &format!("{{...f0}}{fewer}"),
        "GRAPHQL_VALIDATION_FAILED",
    );
}

#[test]
fn fragments_that_double_are_refused() {
    let engine = engine(Limits::default());
    let root = doubling(
        30,
        |next| format!("Query {{ ...f{next} ...f{next} }}"),
        "Query { __typename }",
    );
    refuses(
        &engine,
        &format!("{{ ...f0 }} {root}"),
        "MAX_ROOT_FIELDS_LIMIT",
    );
    let same = doubling(
        30,
        |next| format!("Catalog {{ ...f{next} ...f{next} }}"),
        "Catalog { name }",
    );
    refuses(
        &engine,
        &format!("{{ catalogs {{ ...f0 }} }} {same}"),
        "COST_ESTIMATED_TOO_EXPENSIVE",
    );
    let wide = doubling(
        7,
        |next| {
            format!(
                "Package {{ catalog {{ package(name: \"a\") {{ ...f{next} }} }} defaultChannel {{ package {{ ...f{next} }} }} }}"
            )
        },
        "Package { name }",
    );
    refuses(
        &engine,
        &format!("{{ packages {{ nodes {{ ...f0 }} }} }} {wide}"),
        "MAX_DEPTH_LIMIT",
    );
    let aliased = doubling(
        30,
        |next| format!("__Type {{ a: ofType {{ ...f{next} }} b: ofType {{ ...f{next} }} }}"),
        "__Type { name }",
    );
    refuses(
        &engine,
        &format!("{{ __type(name: \"Int\") {{ ...f0 }} }} {aliased}"),
        "MAX_ALIASES_LIMIT",
    );
}

#[test]
fn too_much_of_anything_is_refused() {
    let engine = engine(Limits::default());
    let aliases = |count| {
        format!(
            "{{ {} }}",
            repeated(count, |at| format!("a{at}:__typename "))
        )
    };
    refuses(&engine, &aliases(10_000), "MAX_TOKENS_LIMIT");
    refuses(&engine, &aliases(31), "MAX_ALIASES_LIMIT");
    refuses(&engine, &"{".repeat(100_000), "MAX_TOKENS_LIMIT");
    refuses(&engine, &"[".repeat(100_000), "MAX_TOKENS_LIMIT");
    refuses(&engine, &"{a".repeat(300), "MAX_DEPTH_LIMIT");
    refuses(
        &engine,
        &format!("{{ a(b: {}", "[".repeat(300)),
        "MAX_DEPTH_LIMIT",
    );
    refuses(
        &engine,
        &format!("query($a: {}", "[".repeat(300)),
        "MAX_DEPTH_LIMIT",
    );
    refuses(
        &engine,
        &format!("{}{}", "{a".repeat(10_000), "}".repeat(10_000)),
        "MAX_TOKENS_LIMIT",
    );
    refuses(
        &engine,
        &format!("{{ __typename {} }}", "@skip(if: false)".repeat(60)),
        "MAX_DIRECTIVES_LIMIT",
    );
    refuses(
        &engine,
        &format!("# {}\n{{", "x".repeat(90_000)),
        "GRAPHQL_PARSE_FAILED",
    );
    refuses(&engine, &"\u{0}".repeat(90_000), "MAX_TOKENS_LIMIT");
    refuses(&engine, &"\"".repeat(90_000), "MAX_TOKENS_LIMIT");
}

#[test]
fn many_fields_that_could_conflict_are_refused_or_answered_quickly() {
    let engine = engine(Limits::default());
    let fields = "catalogs{name digest image packages{totalCount}}".repeat(60);
    let before = processor_time();
    let body = ask(
        &engine,
        &format!("{{__typename ...f}} fragment f on Query {{{fields}}}"),
    );
    assert_eq!(code(&body), "MAX_ROOT_FIELDS_LIMIT");
    let body = ask(
        &engine,
        &format!(
            "{{packages{{nodes{{{}}}}}}}",
            "catalog{name id digest}".repeat(200)
        ),
    );
    assert_eq!(body.get("errors"), None);
    assert!(processor_time().saturating_sub(before) < 2 * QUICK);
}

#[test]
fn long_lists_in_arguments_are_read_once_however_often_their_fragment_is_spread() {
    let engine = engine(Limits::default());
    let spread = doubling(
        5,
        |next| {
            format!(
                "Package {{ properties(types: $t) {{ type }} catalog {{ package(name: \"etcd\") {{ ...f{next} }} }} \
                 defaultChannel {{ package {{ ...f{next} }} }} }}"
            )
        },
        "Package { bundles { nodes { properties(types: $t) { type } } } }",
    );
    let query = format!(
        "query($t: [String!]) {{ package(catalog: \"alpha\", name: \"etcd\") {{ ...f0 }} }} {spread}"
    );
    let types: Vec<String> = (0..1_000).map(|at| format!("type{at}")).collect();
    let before = processor_time();
    let body = ask_with(&engine, &query, &json!({ "t": types }));
    let taken = processor_time().saturating_sub(before);
    assert_eq!(body.get("errors"), None);
    assert!(taken < QUICK, "{taken:?}");
}

fn accepts(engine: &Engine, document: &str) {
    let body = ask(engine, document);
    assert_eq!(body.get("errors"), None, "{document}");
    assert!(body["data"].is_object(), "{document}");
}

#[test]
fn nested_lists_are_refused_by_their_cost_and_shorter_ones_accepted() {
    let engine = engine(Limits::default());
    let nested = |first: usize| {
        format!(
            "{{ packages(first: {first}) {{ nodes {{ channels {{ entries {{ bundle {{ properties {{ type }} }} }} }} \
             }} }} }}"
        )
    };
    refuses(&engine, &nested(500), "COST_ESTIMATED_TOO_EXPENSIVE");
    accepts(&engine, &nested(5));

    let connections = |first: usize| {
        format!(
            "{{ catalogs {{ packages(first: {first}) {{ nodes {{ bundles(first: {first}) {{ nodes {{ name }} }} }} \
             }} }} }}"
        )
    };
    refuses(&engine, &connections(500), "COST_ESTIMATED_TOO_EXPENSIVE");
    accepts(&engine, &connections(20));

    let schema = "{ __schema { types { fields { args { type { name } } type { fields { type { fields { name } } } } } } } }";
    refuses(&engine, schema, "MAX_DEPTH_LIMIT");
    let field = "fields { args { type { ofType { ofType { ofType { name } } } } } }";
    let schema = format!(
        "{{ __schema {{ types {{ possibleTypes {{ {field} }} interfaces {{ {field} }} }} }} }}"
    );
    refuses(&engine, &schema, "COST_ESTIMATED_TOO_EXPENSIVE");
}

#[test]
fn an_answer_of_large_values_is_abandoned() {
    let value = "x".repeat(1 << 20);
    let bundle = |at: usize| {
        format!(
            r#"{{"image":"i","name":"p.v{at}","package":"p","properties":[{{"type":"big","value":"{value}"}}],"schema":"olm.bundle"}}"#
        )
    };
    let mut lines = vec![r#"{"defaultChannel":"c","name":"p","schema":"olm.package"}"#.to_owned()];
    lines.extend((0..4).map(bundle));
    let engine = engine_of([served("big", &lines, 1)], Limits::default());
    let pages = repeated(20, |at| {
        format!("p{at}: bundles(first: 100) {{ nodes {{ properties {{ value }} }} }} ")
    });
    refuses(&engine, &format!("{{ {pages} }}"), "RESPONSE_TOO_LARGE");
}
