//! `Query.diff`.

use serde_json::json;
use serving::catalogs;

use super::fixture::{ALPHA, ALPHA_DIGEST, BETA, data, engine, served};
use crate::Engine;
use crate::limits::Limits;

#[test]
fn two_catalogs_are_compared_by_name_and_by_digest() {
    let engine = engine(Limits::default());
    let query = format!(
        r#"{{ diff(from: {{digest: "{ALPHA_DIGEST}"}}, to: {{name: "beta"}}) {{
            fromDigest bundlesAdded bundlesRemoved bundlesChanged packages {{
                name change fields fromDefaultChannel toDefaultChannel
                channels {{ name change fromHead toHead entriesAdded entriesRemoved entriesChanged }}
                bundles {{ name change fields }}
            }}
        }} }}"#
    );
    let channel = |name: &str, change: &str, heads: [Option<&str>; 2], entries: [&[&str]; 3]| {
        json!({
            "name": name, "change": change, "fromHead": heads[0], "toHead": heads[1],
            "entriesAdded": entries[0], "entriesRemoved": entries[1], "entriesChanged": entries[2],
        })
    };
    let bundle = |name: &str, change: &str, fields: &[&str]| json!({"name": name, "change": change, "fields": fields});
    let package = |name: &str,
                   change: &str,
                   fields: &[&str],
                   default: [Option<&str>; 2],
                   channels,
                   bundles| {
        json!({
            "name": name, "change": change, "fields": fields,
            "fromDefaultChannel": default[0], "toDefaultChannel": default[1],
            "channels": channels, "bundles": bundles,
        })
    };
    let v1 = "etcd.v1.0.0";
    let v11 = "etcd.v1.1.0";
    let packages = [
        package(
            "etcd",
            "CHANGED",
            &["DESCRIPTION", "ICON", "PROPERTIES", "DEPRECATION", "OTHER"],
            [Some("stable"); 2],
            json!([
                channel("beta", "REMOVED", [None, None], [&[], &[v1, v11], &[]]),
                channel("stable", "CHANGED", [Some(v11); 2], [&[], &[v1], &[v11]]),
            ]),
            json!([
                bundle(v1, "REMOVED", &[]),
                bundle(v11, "CHANGED", &["VERSION"])
            ]),
        ),
        package(
            "minio",
            "ADDED",
            &[],
            [None, Some("stable")],
            json!([channel(
                "stable",
                "ADDED",
                [None, Some("minio.v1")],
                [&["minio.v1"], &[], &[]]
            )]),
            json!([bundle("minio.v1", "ADDED", &[])]),
        ),
        package(
            "zoo",
            "REMOVED",
            &[],
            [Some("stable"), None],
            json!([channel(
                "stable",
                "REMOVED",
                [Some("zoo.v1"), None],
                [&[], &["zoo.v1"], &[]]
            )]),
            json!([bundle("zoo.v1", "REMOVED", &[])]),
        ),
    ];
    let expected = json!({
        "fromDigest": ALPHA_DIGEST, "bundlesAdded": 1, "bundlesRemoved": 2, "bundlesChanged": 1, "packages": packages,
    });
    assert_eq!(data(&engine, &query)["diff"], expected);
    let only = r#"{ diff(from: {name: "alpha"}, to: {name: "beta"}) {
        bundlesAdded packages(names: ["zoo", "none", "minio"]) { name } all: packages(names: []) { name }
    } }"#;
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| json!({"name": name}))
            .collect::<Vec<_>>()
    };
    let expected = json!({"bundlesAdded": 1, "packages": names(&["minio", "zoo"]), "all": names(&["etcd", "minio", "zoo"])});
    assert_eq!(data(&engine, only)["diff"], expected);
}

#[test]
fn a_content_that_is_gone_can_be_compared_while_it_is_remembered() {
    let (mut writer, reader) = catalogs();
    writer.publish(served("a", ALPHA, 1));
    let engine = Engine::new(reader, "test", Limits::default());
    let diff = |from: &str| {
        let query = format!(
            r#"{{ diff(from: {{digest: "{from}"}}, to: {{name: "a"}}) {{ packages {{ name }} }} }}"#
        );
        data(&engine, &query)["diff"].clone()
    };
    assert_eq!(diff(ALPHA_DIGEST), json!({"packages": []}));
    writer.publish(served("a", BETA, 2));
    assert_eq!(
        diff(ALPHA_DIGEST),
        json!({"packages": [{"name": "etcd"}, {"name": "minio"}, {"name": "zoo"}]})
    );
    writer.withdraw("a");
    writer.publish(served("a", BETA, 2));
    assert_eq!(diff(ALPHA_DIGEST), json!(null));
    assert_eq!(diff("what is no digest"), json!(null));
}
