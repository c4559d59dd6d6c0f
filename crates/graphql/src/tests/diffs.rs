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
            fromDigest packages {{ name change channels {{ name change fromHead toHead }} bundles {{ name change }} }}
        }} }}"#
    );
    let channel = |name: &str, change: &str, heads: [Option<&str>; 2]| json!({"name": name, "change": change, "fromHead": heads[0], "toHead": heads[1]});
    let bundle = |name: &str, change: &str| json!({"name": name, "change": change});
    let packages = json!([
        {
            "name": "etcd",
            "change": "CHANGED",
            "channels": [
                channel("beta", "REMOVED", [None, None]),
                channel("stable", "CHANGED", [Some("etcd.v1.1.0"), Some("etcd.v1.1.0")]),
            ],
            "bundles": [bundle("etcd.v1.0.0", "REMOVED"), bundle("etcd.v1.1.0", "CHANGED")],
        },
        {
            "name": "minio",
            "change": "ADDED",
            "channels": [channel("stable", "ADDED", [None, Some("minio.v1")])],
            "bundles": [bundle("minio.v1", "ADDED")],
        },
        {
            "name": "zoo",
            "change": "REMOVED",
            "channels": [channel("stable", "REMOVED", [Some("zoo.v1"), None])],
            "bundles": [bundle("zoo.v1", "REMOVED")],
        },
    ]);
    assert_eq!(data(&engine, &query)["diff"], json!({"fromDigest": ALPHA_DIGEST, "packages": packages}));
}

#[test]
fn a_content_that_is_gone_can_be_compared_while_it_is_remembered() {
    let (mut writer, reader) = catalogs();
    writer.publish(served("a", ALPHA, 1));
    let engine = Engine::new(reader, "test", Limits::default());
    let diff = |from: &str| {
        let query = format!(r#"{{ diff(from: {{digest: "{from}"}}, to: {{name: "a"}}) {{ packages {{ name }} }} }}"#);
        data(&engine, &query)["diff"].clone()
    };
    assert_eq!(diff(ALPHA_DIGEST), json!({"packages": []}));
    writer.publish(served("a", BETA, 2));
    assert_eq!(diff(ALPHA_DIGEST), json!({"packages": [{"name": "etcd"}, {"name": "minio"}, {"name": "zoo"}]}));
    writer.withdraw("a");
    writer.publish(served("a", BETA, 2));
    assert_eq!(diff(ALPHA_DIGEST), json!(null));
    assert_eq!(diff("what is no digest"), json!(null));
}
