//! Which documents are accepted, and what is said of the others.

use apollo_compiler::schema::ExtendedType;

use super::*;

fn refusal(text: &str) -> (Code, String, Option<Location>) {
    let error = Schema::load()
        .parse(text, &Limits::default())
        .map(drop)
        .expect_err("the document is refused");
    (error.code, error.message, error.location)
}

#[test]
fn what_is_no_graphql_is_told_with_its_place() {
    let (code, message, location) = refusal("{\n  a(}");
    assert_eq!(code, Code::ParseFailed);
    assert!(message.starts_with("syntax error: "), "{message}");
    assert_eq!(location, Some(Location { line: 2, column: 5 }));
}

#[test]
fn what_does_not_fit_the_schema_is_told_with_its_place() {
    assert_eq!(
        refusal("{ __typename\n nothing }"),
        (
            Code::ValidationFailed,
            "type `Query` does not have a field `nothing`".to_owned(),
            Some(Location { line: 2, column: 2 })
        )
    );
}

#[test]
fn names_that_may_have_been_meant_are_told_as_graphql_js_tells_them() {
    for (document, expected) in [
        (
            "{ catalog(name: \"a\") { nam } }",
            r#". Did you mean "name"?"#,
        ),
        (
            "{ packges { totalCount } }",
            r#". Did you mean "packages" or "package"?"#,
        ),
        ("{ catalogs { CATALOG } }", ""),
        (
            "{ catalogs { names } }",
            r#". Did you mean "name" or "labels"?"#,
        ),
        ("{ catalogs { zzzzzz } }", ""),
        (
            "{ packages(fliter: {}) { totalCount } }",
            r#". Did you mean "filter" or "after"?"#,
        ),
        (
            "{ packages(filter: {serch: \"a\"}) { totalCount } }",
            r#". Did you mean "search"?"#,
        ),
        (
            "{ packages(filter: {capabilityLevels: [AUTOPILOT]}) { totalCount } }",
            r#". Did you mean the enum value "AUTO_PILOT"?"#,
        ),
        (
            "{ catalogs { ...F } } fragment F on Catlog { name }",
            r#". Did you mean "Catalog"?"#,
        ),
        (
            "{ catalogs { ... on Packge { name } } }",
            r#". Did you mean "Package"?"#,
        ),
        (
            "query($f: PackagFilter) { packages(filter: $f) { totalCount } }",
            r#". Did you mean "PackageFilter", "PackageOrder", "MetaFilter", "Package", or "PackageEdge"?"#,
        ),
        (
            "{ node(id: \"x\") { entryCount } }",
            r#". Did you mean to use an inline fragment on "Channel"?"#,
        ),
        (
            "{ node(id: \"x\") { name } }",
            r#". Did you mean to use an inline fragment on "Bundle", "Catalog", "Channel", "ChannelEntry", or "Package"?"#,
        ),
    ] {
        let message = refusal(document).1;
        let told = message
            .find(". Did you mean")
            .map_or("", |at| &message[at..]);
        assert_eq!(told, expected, "{document}: {message}");
    }
}

#[test]
fn names_are_not_told_where_the_schema_is_not() {
    let limits = Limits {
        introspection: IntrospectionPolicy::Disabled,
        ..Limits::default()
    };
    let error = Schema::load()
        .parse("{ packges { totalCount } }", &limits)
        .map(drop)
        .expect_err("there is no such field");
    assert_eq!(
        error.message,
        "type `Query` does not have a field `packges`"
    );
}

#[test]
fn the_rules_of_validation_hold() {
    for document in [
        "{ catalogs }",
        "{ __typename { x } }",
        "query($a: Int) { __typename }",
        "query($a: String) { packages(first: $a) { totalCount } }",
        "{ packages(first: \"1\") { totalCount } }",
        "{ packages(first: 2147483648) { totalCount } }",
        "{ packages(none: 1) { totalCount } }",
        "{ catalog { name } }",
        "{ a: catalogs { name } a: __typename }",
        "{ a: package(catalog: \"a\", name: \"b\") { name } a: package(catalog: \"a\", name: \"c\") { name } }",
        "{ catalogs { x: name } catalogs { x: digest } }",
        "{ catalogs { ... on Package { name } } }",
        "{ catalogs { ...f } } fragment f on None { name }",
        "fragment f on Query { __typename } { __typename }",
        "{ __typename @none }",
        "{ __typename @skip }",
        "mutation { x }",
        "subscription { x }",
        "{ __typename } type T { x: Int }",
        "{ diff(from: {digest: \"a\", name: null}, to: {name: \"b\"}) { fromDigest } }",
        "{ packages(filter: {provides: {group: \"a\"}}) { totalCount } }",
        "query($n: String = null) { catalog(name: $n) { name } }",
    ] {
        assert_eq!(refusal(document).0, Code::ValidationFailed, "{document}");
    }
}

#[test]
fn a_selection_must_not_be_empty() {
    for document in [
        "{}",
        "{ catalogs {} }",
        "{ ... {} }",
        "{ ...f } fragment f on Query {}",
    ] {
        assert_eq!(refusal(document).0, Code::ParseFailed, "{document}");
    }
}

#[test]
fn an_argument_has_a_value() {
    for document in [
        "{ catalog(name name: \"a\") { name } }",
        "{ catalog(name: \"a\", digest) { name } }",
        "{ catalogs(# none\n name) { name } }",
        "{ catalogs @skip(if if: true) { name } }",
        "{ packages(orderBy: {field: NAME, direction}) { totalCount } }",
        "{ packages(orderBy: {direction field: NAME}) { totalCount } }",
        "{ packages(filter: {names}) { totalCount } }",
        "query($order: PackageOrder = {field field: NAME}) { packages(orderBy: $order) { totalCount } }",
    ] {
        assert_eq!(refusal(document).0, Code::ParseFailed, "{document}");
    }
    let document = "{ packages ( # (\n first : 1 ,, orderBy : { field : NAME , # }\n } ,) @skip ( if : true ) { totalCount } }";
    assert!(Schema::load().parse(document, &Limits::default()).is_ok());
}

#[test]
fn an_error_is_where_graphql_js_shows_it() {
    let column = |document: &str| refusal(document).2.map(|location| location.column);
    assert_eq!(column("{ catalogs { } }"), Some(14));
    assert_eq!(column("{ catalog(name first: 1) { name } }"), Some(16));
    assert_eq!(
        column("query($n: String) { packages(first: $n) { totalCount } }"),
        Some(37)
    );
    assert_eq!(
        column("query($n: String) { catalog(name: $n) { name } }"),
        Some(35)
    );
    assert_eq!(
        column("query($n: Int, $n: Int) { packages(first: $n) { totalCount } }"),
        Some(17)
    );
    assert_eq!(
        column("query($n: [Integer!]) { packages(first: $n) { totalCount } }"),
        Some(12)
    );
    assert_eq!(column("{ catalogs { name { x } } }"), Some(19));
    assert_eq!(
        column("{ a: catalogs { id: name(a: {b: 1}) { x } } }"),
        Some(37)
    );
    assert_eq!(
        column("{ packages(orderBy: {field: SIZE}) { totalCount } }"),
        Some(29)
    );
    assert_eq!(column(r#"{ node(id: "{\"") { id { x } } }"#), Some(24));
    assert_eq!(
        column(r#"{ node(id: """ "{\""" """) { id { x } } }"#),
        Some(33)
    );
    assert_eq!(
        column("query($c : [Catalog]) { node(id: $c) { id } }"),
        Some(12)
    );
    assert_eq!(column("{ a : nothing }"), Some(3));
    assert_eq!(column("{ a ,: , nothing }"), Some(3));
    assert_eq!(
        column("query ($ n: Catalog) { packages(first: $n) { totalCount } }"),
        Some(13)
    );
    assert_eq!(
        column("query ($n: String) { catalog(name: $ , n) { name } }"),
        Some(36)
    );
    // Signs in comments and texts are none.
    assert_eq!(
        column(
            "query ($n: String) { package(catalog: \"$ n\" name: # $ n #$#$\n   $ n) { name } }"
        ),
        Some(4)
    );
    assert_eq!(column("{ catalogs { ... F } }"), Some(18));
    assert_eq!(
        column("{ packages(filter: { none : 1 }) { totalCount } }"),
        Some(22)
    );
}

#[test]
fn the_first_fault_is_told_also_where_the_parser_goes_on() {
    for (document, column) in [
        ("{ catalogs { } } }", 14),
        ("{ catalogs {} \"x\" }", 13),
        ("{ catalog(name name: \"a\") { name } : }", 16),
        ("{ packages(filter: {names}) { totalCount", 26),
        ("{ catalogs { name @skip(if if: true) : } }", 28),
    ] {
        let (code, _, location) = refusal(document);
        assert_eq!(
            (code, location),
            (Code::ParseFailed, Some(Location { line: 1, column })),
            "{document}"
        );
    }
    for document in [
        "{ catalog(name: ) { name } }",
        "{ catalog(name: \"a\" ]) { name } }",
        "{ catalog(]) { name } }",
    ] {
        let (code, message, _) = refusal(document);
        assert_eq!(code, Code::ParseFailed);
        assert!(!message.contains("behind a name"), "{document}: {message}");
    }
}

#[test]
fn a_text_that_breaks_off_is_no_document() {
    for document in [
        "query ($n: Int\"x\"",
        "{ __typename } query ($n: Int\"x\"",
        "query ($n: Int \"\"\"x\"\"\" # }",
    ] {
        assert_eq!(refusal(document).0, Code::ParseFailed, "{document}");
    }
    let document = ", { __typename } # }\n , \u{feff} fragment F on Query { __typename } # }";
    assert_eq!(refusal(document).0, Code::ValidationFailed);
}

#[test]
fn fields_merge_only_when_their_lists_are_equal() {
    let both = |one: &str, other: &str| {
        format!(
            "{{ a: packages({one}) {{ totalCount }} a: packages({other}) {{ nodes {{ name }} }} }}"
        )
    };
    for (one, other) in [
        (r#"catalogs: ["a"]"#, r#"catalogs: ["a", "b"]"#),
        (r#"catalogs: ["a", "b"]"#, r#"catalogs: ["a"]"#),
        ("catalogs: []", r#"catalogs: ["a"]"#),
        (
            r#"filter: {names: ["a"]}"#,
            r#"filter: {names: ["a", "a"]}"#,
        ),
        (r#"catalogs: "a""#, r#"catalogs: ["a"]"#),
        (r#"catalogs: ["a", "b"]"#, r#"catalogs: ["b", "a"]"#),
    ] {
        let (code, _, location) = refusal(&both(one, other));
        assert_eq!(
            (code, location.is_some()),
            (Code::ValidationFailed, true),
            "{one} and {other}"
        );
    }
    for (one, other) in [
        (
            r#"catalogs: ["a"], filter: {names: []}"#,
            r#"filter: {names: []}, catalogs: ["a"]"#,
        ),
        (
            r#"catalogs: ["a", "b"], filter: {names: ["c"]}"#,
            r#"catalogs: ["a" "b"], filter: {names: ["c"]}"#,
        ),
    ] {
        assert_eq!(
            Schema::load()
                .parse(&both(one, other), &Limits::default())
                .map(drop),
            Ok(()),
            "{one}"
        );
    }
}

#[test]
fn a_comma_means_nothing_anywhere() {
    for document in [
        "{ ,a,,:,catalogs,{,...,F,...,on,Catalog,{,id,},...,@skip(if: true),{,id,},},},fragment,F,on,Catalog,{,name,},",
        "query,Q,(,$n,:,[,String,!,],=,[,\"a\",],),{,packages,(,catalogs,:,$n,),@,skip,(,if,:,true,),{,totalCount,},}",
    ] {
        assert_eq!(
            Schema::load().parse(document, &Limits::default()).map(drop),
            Ok(()),
            "{document}"
        );
    }
    assert_eq!(
        refusal("{ a, : catalogs { name: , } }").2,
        Some(Location {
            line: 1,
            column: 27
        })
    );
}

#[test]
fn a_subscription_has_one_root_field_that_may_be_written_twice() {
    for document in [
        "subscription { catalogChanged { name } catalogChanged { fromDigest } }",
        "subscription { x: catalogChanged { name } ...F } fragment F on Subscription { ... { x: catalogChanged { name } } }",
    ] {
        assert_eq!(
            Schema::load().parse(document, &Limits::default()).map(drop),
            Ok(()),
            "{document}"
        );
    }
    for document in [
        "subscription { catalogChanged { name } x: catalogChanged { name } }",
        "subscription A { catalogChanged { name } catalogChanged { name } } subscription B { x: catalogChanged { name } y: catalogChanged { name } }",
        "subscription { catalogChanged { name } catalogChanged { nothing } }",
        "subscription { catalogChanged(names: \"a\") { name } catalogChanged { name } }",
    ] {
        assert_eq!(refusal(document).0, Code::ValidationFailed, "{document}");
    }
}

#[test]
fn a_fault_of_a_fragment_is_told_and_not_that_of_its_spread() {
    assert_eq!(
        refusal("{ catalogs { ...F } } fragment F on Operator { name }").1,
        "type condition `Operator` of fragment `F` is not a type defined in the schema"
    );
    assert_eq!(
        refusal("{ catalogs { ...F } } fragment F on String { name }").1,
        "fragment `F` must have a composite type in its type condition"
    );
    assert_eq!(
        refusal("{ catalogs { ...G } }").1,
        "cannot find fragment `G` in this document"
    );
}

#[test]
fn an_input_object_has_each_field_once() {
    for document in [
        "{ diff(from: {name: \"a\", name: \"b\"}, to: {name: \"c\"}) { fromDigest } }",
        "query($from: CatalogRef! = {name: \"a\", name: \"b\"}) { diff(from: $from, to: {name: \"c\"}) { fromDigest } }",
    ] {
        let (code, message, location) = refusal(document);
        assert_eq!(code, Code::ValidationFailed);
        assert_eq!(message, "There can be only one input field named \"name\".");
        assert!(location.is_some());
    }
}

#[test]
fn no_argument_or_input_field_takes_a_scalar_of_our_own_but_json() {
    let schema = Schema::load();
    let allowed = ["Int", "Float", "String", "Boolean", "ID", "JSON"];
    let mut inputs = Vec::new();
    for definition in schema
        .valid
        .types
        .values()
        .filter(|definition| !definition.is_built_in())
    {
        match definition {
            ExtendedType::Object(object) => {
                inputs.extend(
                    object
                        .fields
                        .values()
                        .flat_map(|field| &field.arguments)
                        .map(|input| input.ty.clone()),
                );
            }
            ExtendedType::InputObject(object) => {
                inputs.extend(object.fields.values().map(|input| input.ty.clone()));
            }
            _ => {}
        }
    }
    assert!(!inputs.is_empty());
    for ty in inputs {
        let name = ty.inner_named_type();
        let is_scalar = schema
            .type_definition(name)
            .is_none_or(ExtendedType::is_scalar);
        assert!(!is_scalar || allowed.contains(&name.as_str()), "{name}");
    }
}
