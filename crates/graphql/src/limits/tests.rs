//! Each static limit from both sides, and documents that are made to be expensive.

use std::fmt::Write as _;

use super::*;

fn refusal(document: &str, limits: &Limits) -> Option<Code> {
    let document = ast::Document::parse(document, "document").expect("a test document parses");
    check(&document, limits).err().map(|error| error.code)
}

/// Checks that a document with `count` of something passes when just as many are allowed, and not
/// when one fewer is.
fn holds_on_both_sides(document: &str, count: u64, code: Code, set: impl Fn(&mut Limits, u64)) {
    let mut limits = Limits::default();
    set(&mut limits, count);
    assert_eq!(refusal(document, &limits), None, "{document}");
    set(&mut limits, count - 1);
    assert_eq!(refusal(document, &limits), Some(code), "{document}");
}

#[test]
fn depth_counts_fields_through_fragments_but_not_introspection() {
    let set = |limits: &mut Limits, value| limits.depth = value;
    holds_on_both_sides("{ a { b { c } } x }", 3, Code::MaxDepth, set);
    holds_on_both_sides(
        "{ a { ... { b { ...f } } } } fragment f on T { c { d } }",
        4,
        Code::MaxDepth,
        set,
    );
    let deep = "{ __type(name: \"T\") { ofType { ofType { ofType { ofType { name } } } } } }";
    assert_eq!(
        refusal(
            deep,
            &Limits {
                depth: 1,
                ..Limits::default()
            }
        ),
        None
    );
}

#[test]
fn the_default_depth_is_fifteen() {
    let nested = |depth: usize| format!("{}{}", "{ a ".repeat(depth), "}".repeat(depth));
    assert_eq!(refusal(&nested(15), &Limits::default()), None);
    assert_eq!(
        refusal(&nested(16), &Limits::default()),
        Some(Code::MaxDepth)
    );
}

#[test]
fn aliases_count_wherever_their_fragment_is_spread() {
    let set = |limits: &mut Limits, value| limits.aliases = value;
    holds_on_both_sides("{ a: x b: x }", 2, Code::MaxAliases, set);
    holds_on_both_sides(
        "{ ...f y { ...f } } fragment f on T { a: x b: x }",
        4,
        Code::MaxAliases,
        set,
    );
}

#[test]
fn root_fields_count_through_fragments() {
    let set = |limits: &mut Limits, value| limits.root_fields = value;
    holds_on_both_sides(
        "{ a { x y z } b ...f } fragment f on T { c ... { d } }",
        4,
        Code::MaxRootFields,
        set,
    );
}

#[test]
fn directives_count_everywhere() {
    let document =
        "query($v: Int @d) @d { a @d @d ... @d { b } ...f @d } fragment f on T @d { c @d }";
    holds_on_both_sides(document, 8, Code::MaxDirectives, |limits, value| {
        limits.directives = value;
    });
}

#[test]
fn fields_count_wherever_their_fragment_is_spread() {
    let set = |limits: &mut Limits, value| limits.fields = value;
    holds_on_both_sides(
        "{ a { ...f } b { ...f } } fragment f on T { x y }",
        6,
        Code::CostEstimated,
        set,
    );
}

#[test]
fn lists_of_introspection_count_only_there() {
    let set = |limits: &mut Limits, value| limits.introspection_lists = value;
    let document = "{ __schema { types { fields { type { ...t } } } } } fragment t on __Type { fields { name } }";
    holds_on_both_sides(document, 2, Code::MaxDepth, set);
    let elsewhere = "{ fields { fields { fields { fields } } } }";
    assert_eq!(refusal(elsewhere, &Limits::default()), None);
}

#[test]
fn the_largest_operation_decides() {
    let document = "query small { a } query large { a b c }";
    holds_on_both_sides(document, 3, Code::MaxRootFields, |limits, value| {
        limits.root_fields = value;
    });
}

#[test]
fn doubling_fragments_are_counted_without_being_walked() {
    let mut document = "{ ...f0 } fragment f30 on T { x }".to_owned();
    for at in 0..30 {
        write!(
            document,
            " fragment f{at} on T {{ y {{ ...f{} }} z {{ ...f{} }} }}",
            at + 1,
            at + 1
        )
        .unwrap();
    }
    let limits = Limits {
        depth: 99,
        ..Limits::default()
    };
    assert_eq!(refusal(&document, &limits), Some(Code::CostEstimated));
}

#[test]
fn fragments_in_a_circle_end_the_walk() {
    let document = "{ ...a } fragment a on T { x ...b } fragment b on T { y ...a }";
    assert_eq!(refusal(document, &Limits::default()), None);
}
