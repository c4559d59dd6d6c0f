//! The history of a package: bundles and channel heads that came and went.

use fbc::Outline;
use fbc::work::Work;
use fbc_grammar::Digest;
use jiff::Timestamp;
use serde_json::{Value, json};
use serving::{CatalogMetadata, ChangeLog, Content, Served, catalogs};
use testing::fixture::catalog;

use super::fixture::{ask, data};
use crate::Engine;
use crate::limits::Limits;

const ONE: &str = "package etcd default=stable\nchannel stable: v1.0.0\npackage other default=beta";
const TWO: &str =
    "package etcd default=stable\nchannel stable: v1.0.0 <- v1.1.0\npackage other default=beta";

fn digest(number: u8) -> Digest {
    Digest::new([number; 32])
}

/// An engine over a catalog that had these contents, the last of which is served.
fn engine(texts: &[&str]) -> Engine {
    let (mut writer, reader) = catalogs();
    let outlines: Vec<_> = texts
        .iter()
        .map(|text| Outline::from_catalog(&catalog(text)))
        .collect();
    let at = |number: usize| Timestamp::from_second(number.try_into().unwrap()).unwrap();
    let number = |number: usize| u8::try_from(number).unwrap();
    let mut log = ChangeLog::default().append(digest(0), None, at(0));
    let work = Work::unlimited();
    for (at_index, pair) in outlines.windows(2).enumerate() {
        let diff = pair[0].diff(&pair[1], &work).unwrap();
        log = log.append(digest(number(at_index + 1)), Some(&diff), at(at_index + 1));
    }
    let last = texts.len() - 1;
    let content = Content::new(catalog(texts[last]), digest(number(last)));
    writer.publish(Served::new("main", content, CatalogMetadata::default()));
    writer.history().set_change_log("main", log);
    Engine::new(reader, "test", Limits::default())
}

fn history(engine: &Engine, package: &str, arguments: &str, fields: &str) -> Value {
    let query = format!(
        "{{ package(catalog: \"main\", name: \"{package}\") {{ history{arguments} {{ {fields} }} }} }}"
    );
    data(engine, &query)["package"]["history"].clone()
}

#[test]
fn a_history_has_what_came_and_went_latest_first() {
    let engine = engine(&[ONE, TWO, ONE]);
    let fields = "totalCount nodes { at kind name change fromHead toHead fromDigest toDigest }";
    let bundle = |second: u8, change: &str| {
        json!({
            "at": format!("1970-01-01T00:00:0{second}Z"), "kind": "BUNDLE", "name": "etcd.v1.1.0", "change": change,
            "fromHead": null, "toHead": null,
            "fromDigest": digest(second - 1).to_string(), "toDigest": digest(second).to_string(),
        })
    };
    let head = |second: u8, from: &str, to: &str| {
        let mut head = bundle(second, "CHANGED");
        head["kind"] = json!("CHANNEL_HEAD");
        head["name"] = json!("stable");
        head["fromHead"] = json!(from);
        head["toHead"] = json!(to);
        head
    };
    let expected = json!({"totalCount": 4, "nodes": [
        bundle(2, "REMOVED"), head(2, "etcd.v1.1.0", "etcd.v1.0.0"),
        bundle(1, "ADDED"), head(1, "etcd.v1.0.0", "etcd.v1.1.0"),
    ]});
    assert_eq!(history(&engine, "etcd", "", fields), expected);
    let none = json!({"totalCount": 0, "nodes": []});
    assert_eq!(history(&engine, "other", "", fields), none);
}

#[test]
fn pages_of_a_history_are_its_parts_in_both_directions() {
    let engine = engine(&[ONE, TWO, ONE, TWO, ONE]);
    let names = |page: &Value| -> Vec<String> {
        let edges = page["edges"].as_array().unwrap().iter();
        edges
            .map(|edge| format!("{} {}", edge["node"]["at"], edge["node"]["kind"]))
            .collect()
    };
    let fields = "edges { cursor node { at kind } } pageInfo { endCursor startCursor hasNextPage hasPreviousPage }";
    let whole = names(&history(&engine, "etcd", "", fields));
    assert_eq!(whole.len(), 8);
    for (size, cursor, arguments) in [
        (3, "endCursor", ["first", "after"]),
        (3, "startCursor", ["last", "before"]),
    ] {
        let [count, from] = arguments;
        let is_forward = count == "first";
        let mut read = Vec::new();
        let mut position = String::new();
        loop {
            let page = history(
                &engine,
                "etcd",
                &format!("({count}: {size}{position})"),
                fields,
            );
            let part = names(&page);
            read = if is_forward {
                [read, part].concat()
            } else {
                [part, read].concat()
            };
            let more = if is_forward {
                "hasNextPage"
            } else {
                "hasPreviousPage"
            };
            if page["pageInfo"][more] == false {
                break;
            }
            position = format!(", {from}: {}", page["pageInfo"][cursor]);
        }
        assert_eq!(read, whole, "{count}");
    }
}

#[test]
fn a_page_that_is_too_large_is_refused() {
    let query =
        "{ package(catalog: \"main\", name: \"etcd\") { history(first: 501) { totalCount } } }";
    let answer = ask(&engine(&[ONE]), query);
    let message = &answer["errors"][0]["message"];
    assert_eq!(message, "`first` must be from 0 to 500, and is 501");
}
