//! What a batch may change, on both sides of each limit.

use edit::bundle::RenderedBundle;
use edit::error::MAX_REASONS;
use edit::operation::Packages;
use edit::{BatchError, CatalogBlobs, EditError, EditLimits, Operation, apply_within};
use serde_json::json;

/// A package with one channel of two entries, the second of which skips one.
fn content() -> CatalogBlobs {
    let entries =
        json!([{ "name": "a.v1" }, { "name": "a.v2", "replaces": "a.v1", "skips": ["a.v0"] }]);
    let bundle = |name: &str, version: &str| {
        let package =
            json!({ "type": "olm.package", "value": { "packageName": "a", "version": version } });
        json!({ "image": name, "name": name, "package": "a", "properties": [package], "schema": "olm.bundle" })
    };
    let blobs = [
        json!({ "defaultChannel": "x", "name": "a", "schema": "olm.package" }),
        json!({ "entries": entries, "name": "x", "package": "a", "schema": "olm.channel" }),
        bundle("a.v1", "1.0.0"),
        bundle("a.v2", "2.0.0"),
    ];
    CatalogBlobs::from_lines(blobs.map(|blob| blob.to_string()))
}

fn operation(value: serde_json::Value) -> Operation<RenderedBundle> {
    let operation: Operation<String> = serde_json::from_value(value).unwrap();
    operation.try_map(|_| Err(())).unwrap()
}

#[test]
fn packages_that_change_have_as_many_entries_and_bytes_as_they_may() {
    let content = content();
    let bytes = content.blobs().iter().map(|blob| blob.line.len()).sum();
    let describe = [operation(
        json!({ "op": "set-package", "package": "a", "description": "b" }),
    )];
    let within =
        |edges, bytes| apply_within(&content, &describe, EditLimits { edges, bytes }).map(drop);
    assert_eq!(within(3, bytes), Ok(()));
    assert_eq!(
        within(2, bytes),
        Err(BatchError(vec![EditError::TooManyEdges(2)]))
    );
    assert_eq!(
        within(3, bytes - 1),
        Err(BatchError(vec![EditError::TooManyBytes(bytes - 1)]))
    );
    // What is removed is not read.
    let remove = [operation(json!({ "op": "rm", "packages": ["a"] }))];
    assert!(apply_within(&content, &remove, EditLimits { edges: 0, bytes: 0 }).is_ok());
}

#[test]
fn a_refusal_tells_as_many_reasons_as_it_may() {
    let refused = |unknown: usize| {
        let packages = (0..unknown).map(|number| format!("b{number}")).collect();
        let remove = [Operation::Rm(Packages {
            packages,
            ..Packages::default()
        })];
        edit::apply(&content(), &remove).unwrap_err().to_string()
    };
    let told = |text: &str| text.matches(": no package found for packagename b").count();
    let all = refused(MAX_REASONS);
    let more = refused(MAX_REASONS + 2);
    assert_eq!(
        (told(&all), all.ends_with(", and 2 more]")),
        (MAX_REASONS, false)
    );
    assert_eq!(
        (told(&more), more.ends_with(", and 2 more]")),
        (MAX_REASONS, true)
    );
}

#[test]
fn every_name_that_an_operation_lists_counts() {
    let names = |value: serde_json::Value| operation(value).names();
    assert_eq!(names(json!({ "op": "rm", "packages": ["a,b", "c"] })), 3);
    assert_eq!(names(json!({ "op": "prune", "packages": ["a", "b"] })), 2);
    assert_eq!(
        names(json!({ "op": "deprecate-truncate", "images": ["a", "b"] })),
        2
    );
    let entries = json!([{ "name": "a", "skips": ["b", "c"] }, { "name": "d" }]);
    for op in ["add-channel", "set-entry"] {
        assert_eq!(
            names(json!({ "op": op, "package": "a", "channel": "b", "entries": entries })),
            4
        );
    }
    let reference = json!({ "schema": "olm.package" });
    let message = json!({ "reference": reference, "message": "m" });
    assert_eq!(
        names(json!({ "op": "deprecate", "package": "a", "entries": [message, message] })),
        2
    );
    assert_eq!(
        names(json!({ "op": "undeprecate", "package": "a", "references": [reference] })),
        1
    );
}
