//! Mirror sets as a query; `tests/it/mirror_sets.rs` compares them with the crate `mirror`.

use serde_json::{Value, json};

use super::fixture::{ask_with, engine_of, served};
use crate::limits::Limits;

/// A package with two channels, and another one; their images have tags.
const LINES: [&str; 8] = [
    r#"{"defaultChannel":"stable","name":"etcd","schema":"olm.package"}"#,
    r#"{"entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v1.1.0","replaces":"etcd.v1.0.0"}],"name":"stable","package":"etcd","schema":"olm.channel"}"#,
    r#"{"entries":[{"name":"etcd.v1.0.0"}],"name":"beta","package":"etcd","schema":"olm.channel"}"#,
    r#"{"image":"quay.io/x/etcd:1","name":"etcd.v1.0.0","package":"etcd","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0"}}],"schema":"olm.bundle"}"#,
    r#"{"image":"quay.io/x/etcd:2","name":"etcd.v1.1.0","package":"etcd","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"1.1.0"}}],"schema":"olm.bundle"}"#,
    r#"{"defaultChannel":"stable","name":"zoo","schema":"olm.package"}"#,
    r#"{"entries":[{"name":"zoo.v1"}],"name":"stable","package":"zoo","schema":"olm.channel"}"#,
    r#"{"image":"quay.io/zoo:1","name":"zoo.v1","package":"zoo","properties":[{"type":"olm.package","value":{"packageName":"zoo","version":"1.0.0"}}],"schema":"olm.bundle"}"#,
];

/// The mirror set of the catalog `alpha`.
fn body(selection: &str, input: &Value) -> Value {
    let document = format!(
        "query($input: MirrorSetInput!) {{ catalog(name: \"alpha\") {{ mirrorSet(input: $input) {selection} }} }}"
    );
    let engine = engine_of([served("alpha", &LINES, 1)], Limits::default());
    ask_with(&engine, &document, &json!({ "input": input }))
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
        imageMirrorSets(to: \"olm\") { text message } }";
    let set = set(files, &stable());
    assert_eq!(
        set,
        json!({
            "imageSetConfiguration": {
                "text": "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  operators:\n  - catalog: \"alpha\"\n    packages:\n    - name: \"etcd\"\n      channels:\n      - name: \"stable\"\n",
                "message": null,
            },
            "mapping": {
                "text": "docker://quay.io/x/etcd:2=docker://m.io/olm/x/etcd:2\n",
                "message": null,
            },
            "skopeo": {
                "text": "skopeo copy --all docker://quay.io/x/etcd:2 docker://m.io/olm-x-etcd:2\n",
            },
            "imageMirrorSets": {
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
