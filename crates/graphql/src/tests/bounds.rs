//! What is decided while an answer is made: each bound is passed at its value and not beyond it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use serving::Served;

use super::fixture::{ask, code, engine, engine_of, served};
use crate::Request;
use crate::limits::Limits;

const BUNDLES: &str = "{ bundles { nodes { name package { name } } } }";

/// Asks with a limit at a value that suffices, and at one that does not.
fn holds_on_both_sides(document: &str, enough: Limits, too_little: Limits, expected: &str) {
    let body = ask(&engine(enough), document);
    assert_eq!(body.get("errors"), None, "{document}");
    let body = ask(&engine(too_little), document);
    assert_eq!(
        (code(&body), body.get("data")),
        (expected, None),
        "{document}"
    );
}

#[test]
fn tokens() {
    // Two braces each way, three names, the white space between them, and the end.
    let [enough, too_little] = [14, 13].map(|tokens| Limits {
        tokens,
        ..Limits::default()
    });
    holds_on_both_sides(
        "{ catalogs { name digest } }",
        enough,
        too_little,
        "MAX_TOKENS_LIMIT",
    );
}

#[test]
fn nesting() {
    let [enough, too_little] = [3, 2].map(|nesting| Limits {
        nesting,
        ..Limits::default()
    });
    holds_on_both_sides(
        "{ packages { nodes { name } } }",
        enough,
        too_little,
        "MAX_DEPTH_LIMIT",
    );
}

#[test]
fn estimated_cost() {
    let [enough, too_little] = [101, 100].map(|cost| Limits {
        cost,
        ..Limits::default()
    });
    holds_on_both_sides(
        BUNDLES,
        enough,
        too_little.clone(),
        "COST_ESTIMATED_TOO_EXPENSIVE",
    );
    let body = ask(&engine(too_little), BUNDLES);
    let expected = json!({"code": "COST_ESTIMATED_TOO_EXPENSIVE", "cost": 101, "maximum": 100});
    assert_eq!(body["errors"][0]["extensions"], expected);
}

#[test]
fn produced_objects() {
    let [enough, too_little] = [12, 11].map(|work| Limits {
        work,
        ..Limits::default()
    });
    holds_on_both_sides(BUNDLES, enough, too_little, "COST_ACTUAL_TOO_EXPENSIVE");
}

/// A bundle with one property.
fn with_property(type_name: &str, value: &str) -> Served {
    let lines = [
        r#"{"defaultChannel":"c","name":"p","schema":"olm.package"}"#.to_owned(),
        format!(
            r#"{{"image":"i","name":"p.v1","package":"p","properties":[{{"type":"{type_name}","value":{value}}}],"schema":"olm.bundle"}}"#
        ),
    ];
    served("c", &lines, 1)
}

/// Asks for fields of that bundle: with it the root and another object, and work of ten units.
fn takes_thirteen_units(fields: &str, bundle: impl Fn() -> Served) {
    let query =
        format!("{{ bundle(catalog: \"c\", package: \"p\", name: \"p.v1\") {{ {fields} }} }}");
    let ask = |objects| {
        ask(
            &engine_of(
                [bundle()],
                Limits {
                    work: objects,
                    ..Limits::default()
                },
            ),
            &query,
        )
    };
    assert_eq!(ask(13).get("errors"), None, "{fields}");
    assert_eq!(code(&ask(12)), "COST_ACTUAL_TOO_EXPENSIVE", "{fields}");
}

#[test]
fn manifests_count_by_the_bytes_that_are_decoded() {
    let start = r#"{"kind":"ClusterServiceVersion","spec":{"maturity":""#;
    let manifest = format!("{start}{}\"}}}}", "x".repeat(4_550 - start.len() - 3));
    let bundle = || {
        with_property(
            "olm.bundle.object",
            &format!(r#"{{"data":"{}"}}"#, STANDARD.encode(&manifest)),
        )
    };
    takes_thirteen_units(
        "properties { ... on BundleObjectProperty { object } }",
        bundle,
    );
    takes_thirteen_units("metadata { maturity }", bundle);
}

#[test]
fn versions_that_are_installed_count_by_their_bytes() {
    let version = format!("1.0.0-{}", "a".repeat(10 * 64 - 6));
    let of = format!("{{name: \"x\", version: \"{version}\"}}");
    let document = format!(
        "{{ catalog(name: \"c\") {{ package(name: \"p\") {{ successors(of: {of}) {{ toName }} }} }} }}"
    );
    let ask = |objects| {
        let limits = Limits {
            work: objects,
            ..Limits::default()
        };
        ask(
            &engine_of([with_property("custom", "1")], limits),
            &document,
        )
    };
    assert_eq!(ask(13).get("errors"), None, "{document}");
    assert_eq!(code(&ask(12)), "COST_ACTUAL_TOO_EXPENSIVE");
}

#[test]
fn pointers_count_by_the_bytes_that_they_lead_into_and_by_their_own() {
    let long = || with_property("custom", &format!(r#""{}""#, "x".repeat(9_950)));
    takes_thirteen_units("properties { value(pointer: \"/x\") }", long);
    let short = || with_property("custom", "1");
    takes_thirteen_units(
        &format!(
            "properties {{ value(pointer: \"{}\") }}",
            "/abc".repeat(166)
        ),
        short,
    );
}

#[test]
fn response_bytes() {
    let document = "{ metas(first: 1) { nodes { blob } } }";
    let whole = engine(Limits::default()).execute(&Request {
        query: Some(document.into()),
        ..Request::default()
    });
    // The limit is looked at before the blob is copied; what closes the answer comes after.
    let until_blob = whole.body.len() - "}]}}}".len();
    let [enough, too_little] = [until_blob, until_blob - 1].map(|response_bytes| Limits {
        response_bytes,
        ..Limits::default()
    });
    holds_on_both_sides(document, enough, too_little, "RESPONSE_TOO_LARGE");
}

#[test]
fn time() {
    let document = "{ bundle(catalog: \"alpha\", package: \"etcd\", name: \"etcd.v1.0.0\") \
                    { properties { ... on BundleObjectProperty { object } } } }";
    let [enough, too_little] = [Duration::from_hours(1), Duration::ZERO].map(|time| Limits {
        time,
        ..Limits::default()
    });
    holds_on_both_sides(document, enough, too_little, "TIMEOUT");
}

#[test]
fn ids_of_nodes() {
    let document = "{ nodes(ids: [\"a\", \"b\"]) { id } }";
    let ask_with = |node_ids| {
        ask(
            &engine(Limits {
                node_ids,
                ..Limits::default()
            }),
            document,
        )
    };
    assert_eq!(ask_with(2), json!({"data": {"nodes": [null, null]}}));
    let body = ask_with(1);
    assert_eq!(
        (code(&body), &body["data"]),
        ("BAD_USER_INPUT", &json!(null))
    );
}

#[test]
fn page_size() {
    let limits = || Limits {
        page_size: 3,
        default_page_size: 2,
        ..Limits::default()
    };
    let count = |arguments: &str| {
        let body = ask(
            &engine(limits()),
            &format!("{{ bundles{arguments} {{ nodes {{ name }} }} }}"),
        );
        body["data"]["bundles"]["nodes"]
            .as_array()
            .map(Vec::len)
            .ok_or_else(|| code(&body).to_owned())
    };
    assert_eq!(count(""), Ok(2));
    for side in ["first", "last"] {
        assert_eq!(count(&format!("({side}: 0)")), Ok(0));
        assert_eq!(count(&format!("({side}: 3)")), Ok(3));
        assert_eq!(
            count(&format!("({side}: 4)")),
            Err("BAD_USER_INPUT".to_owned())
        );
        assert_eq!(
            count(&format!("({side}: -1)")),
            Err("BAD_USER_INPUT".to_owned())
        );
    }
}

#[test]
fn the_cost_is_told_to_those_who_ask() {
    let extensions = json!({"cost": true}).as_object().cloned();
    let request = Request {
        query: Some("{ catalogs { name } }".into()),
        extensions,
        ..Request::default()
    };
    let answer = engine(Limits::default()).execute(&request);
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        body["extensions"],
        json!({"cost": {"requestedQueryCost": 10, "actualQueryCost": 3}})
    );
}
