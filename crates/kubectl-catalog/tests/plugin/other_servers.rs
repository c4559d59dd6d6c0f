//! Servers that are older or newer than the plugin.

use serde_json::Value;

use crate::support::{Output, example};

#[test]
fn what_an_older_server_does_not_know_is_left_out_and_named() {
    let server = example();
    let whole = server.run(&["heads", "quillstore"]);
    assert_eq!(whole.status, Some(0), "{whole:?}");
    // A field in a list of other fields, and one with fields of its own.
    server.lack(&["deprecation", "createdAt"]);
    let hint =
        "the server does not know these fields, which are left out: deprecation, createdAt\n";
    let expected = Output {
        stderr: hint.to_owned(),
        ..whole
    };
    let found = server.run(&["heads", "quillstore"]);
    // Only the column of the field differs, which nothing is known of.
    assert_eq!(
        (found.status, &found.stdout),
        (Some(0), &expected.stdout),
        "{found:?}"
    );
    assert!(found.stderr.contains("deprecation"), "{found:?}");
    let wide = server.run(&["get", "packages", "-o", "wide"]);
    assert!(wide.status == Some(0) && wide.stderr == hint, "{wide:?}");
    // A variable that only such a field used, and a fragment.
    server.lack(&["passedOver"]);
    let solved = server.run(&["solve", "--want", "nightjar", "--explain"]);
    assert!(
        solved.status == Some(0) && solved.stderr.contains("passedOver"),
        "{solved:?}"
    );
    assert!(solved.stdout.contains("nightjar is wanted"), "{solved:?}");
    // Nothing is left without the field: the server's own words.
    server.lack(&["upgradePath"]);
    let refused = server.run(&[
        "query",
        "{ bundle(catalog: \"a\", package: \"b\", name: \"c\") { upgradePath { toName } } }",
    ]);
    assert!(
        refused.status == Some(6) && refused.stderr.contains("GRAPHQL_VALIDATION_FAILED"),
        "{refused:?}"
    );
    server.lack(&["solve"]);
    let refused = server.run(&["solve", "--want", "nightjar"]);
    assert!(
        refused.status == Some(6) && refused.stderr.contains("hint: "),
        "{refused:?}"
    );
}

#[test]
fn what_a_newer_server_says_beside_is_passed_over() {
    let server = example();
    let answer = |body: &str| {
        server.refuse_next(
            200,
            &[("content-type", "application/graphql-response+json")],
            body,
        );
    };
    // A kind of result, a kind of constraint, a rejection and a field that this version does not
    // know.
    answer(r#"{"data": {"solve": {"__typename": "Postponed", "until": "tomorrow"}}}"#);
    let found = server.run(&["solve", "--want", "a"]);
    let message = "error: the server answers in a way that this version does not know\n";
    assert!(
        found.status == Some(6) && found.stderr.starts_with(message),
        "{found:?}"
    );
    answer(
        r#"{"data": {"solve": {"__typename": "SolveConflict", "message": "m", "severity": "high", "relaxations": [],
            "constraints": [{"kind": "ONE_OF_ZONE", "text": "only one per zone", "candidates": []}]}}}"#,
    );
    let found = server.run(&["solve", "--want", "b"]);
    assert!(
        found.status == Some(1) && found.stdout.ends_with("  - only one per zone\n"),
        "{found:?}"
    );
    answer(
        r#"{"data": {"resolve": {"__typename": "Resolution", "deprecations": [], "bundle": {"name": "a.v1"}, "considered": [
            {"rejection": "TOO_LATE", "bundle": {"name": "a.v2", "version": "2", "catalog": {"name": "c"}}}]}},
            "extensions": {"weather": {}}}"#,
    );
    let found = server.run(&["resolve", "a"]);
    assert!(
        found.status == Some(0) && found.stdout.contains("TOO_LATE"),
        "{found:?}"
    );
    let version: Value =
        serde_json::from_str(&server.run(&["version", "-o", "json"]).stdout).expect("it is JSON");
    assert!(version["server"]["schemaDigest"].is_string(), "{version}");
}
