//! The `OpenAPI` document against the limits that hold.

use serde_json::Value;

use super::*;

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
