//! The `OpenAPI` document against the routes that there are.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

#[test]
fn every_route_is_in_the_openapi_document_and_no_other() {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let paths: BTreeSet<_> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(paths, routes().iter().map(String::as_str).collect());
    for (path, operations) in document["paths"].as_object().unwrap() {
        let methods: Vec<_> = operations
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| *key != "parameters")
            .collect();
        assert_eq!(methods, ["get", "head"], "{path}");
    }
    assert_eq!(document["openapi"], "3.1.0");
}

#[test]
fn the_limits_in_the_openapi_document_are_those_that_hold() {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let text = document["components"]["responses"]["TooLong"]["description"]
        .as_str()
        .unwrap();
    assert_eq!(
        (MAX_TARGET_BYTES, text),
        (
            16_384,
            "The path and the query have more than 16,384 bytes."
        )
    );
}
