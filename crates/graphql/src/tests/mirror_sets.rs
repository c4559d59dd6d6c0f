//! Mirror sets as a query; `tests/it/mirror_sets.rs` compares them with the crate `mirror`.

use serde_json::{Value, json};

use super::fixture::{ask_with, engine};
use crate::limits::Limits;

/// The mirror set of the catalog `alpha`.
fn body(selection: &str, input: &Value) -> Value {
    let document = format!(
        "query($input: MirrorSetInput!) {{ catalog(name: \"alpha\") {{ mirrorSet(input: $input) {selection} }} }}"
    );
    ask_with(
        &engine(Limits::default()),
        &document,
        &json!({ "input": input }),
    )
}

fn set(selection: &str, input: &Value) -> Value {
    let mut body = body(selection, input);
    assert_eq!(body.get("errors"), None, "{body}");
    body["data"]["catalog"]["mirrorSet"].take()
}

/// The channel `stable` of `etcd`.
fn stable() -> Value {
    json!({ "packages": [{ "name": "etcd", "channels": [{ "name": "stable" }] }] })
}

#[test]
fn a_mirror_set_has_files_for_other_tools_or_says_why_not() {
    let files = "{ imageSetConfiguration { text message }
        mapping(to: \"m.io/olm\") { text message } skopeo(to: \"m.io/olm\", maxNestedPaths: 1) { text }
        mirrorSets(to: \"olm\") { text message } }";
    let set = set(files, &stable());
    let message =
        "`quay.io/etcd@sha256:2` is not a valid image reference: invalid reference format";
    assert_eq!(
        set,
        json!({
            "imageSetConfiguration": {
                "text": "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  operators:\n  - catalog: \"alpha\"\n    packages:\n    - name: \"etcd\"\n      channels:\n      - name: \"stable\"\n",
                "message": null,
            },
            "mapping": { "text": null, "message": message },
            "skopeo": { "text": null },
            "mirrorSets": {
                "text": null,
                "message": "`olm` is not a registry to copy to: expected HOST[:PORT][/PATH], such as `mirror.example.com/olm`",
            },
        })
    );
}

#[test]
fn a_refused_configuration_says_why_and_selects_nothing() {
    let mut input = stable();
    input["packages"][0]["minVersion"] = "1".into();
    input["packages"][0]["channels"][0]["maxVersion"] = "later".into();
    let refused = set(
        "{ isRefused counts { packages channels bundles images } problems { code severity path line } }",
        &input,
    );
    let path = "input.packages[0].channels[0].maxVersion";
    assert_eq!(
        refused,
        json!({
            "isRefused": true,
            "counts": { "packages": 0, "channels": 0, "bundles": 0, "images": 0 },
            "problems": [{ "code": "CONFIG", "severity": "ERROR", "path": path, "line": null }],
        })
    );
    let blocked = json!({ "blockedImages": ["a", "("] });
    assert_eq!(
        set("{ problems { path } }", &blocked),
        json!({ "problems": [{ "path": "input.blockedImages[1]" }] })
    );
}

#[test]
fn a_configuration_excludes_packages_and_has_the_item_that_is_named() {
    let text = "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\n\
        mirror: {operators: [{catalog: a}, {catalog: b, packages: [{name: zoo}]}]}";
    let second = json!({ "configuration": text, "operator": 1 });
    let names = "{ packages { package { name } } }";
    assert_eq!(
        set(names, &second),
        json!({ "packages": [{ "package": { "name": "zoo" } }] })
    );

    let message = |input: &Value| body(names, input)["errors"][0]["message"].clone();
    assert_eq!(
        message(&json!({ "configuration": text, "operator": 2 })),
        "`operator` is 2, but the configuration has 2 items of `mirror.operators`, counted from 0"
    );
    assert_eq!(
        message(&json!({ "configuration": text, "packages": [] })),
        "`configuration` excludes `packages`, `full` and `blockedImages`"
    );
}
