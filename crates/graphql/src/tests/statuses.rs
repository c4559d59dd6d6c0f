//! Load status and remembered contents.

use serde_json::json;
use serving::{FailureReason, LoadFailure, LoadStatus, catalogs};

use super::fixture::{ALPHA, ALPHA_DIGEST, BETA, data, engine, served};
use crate::limits::Limits;
use crate::{Engine, SDL};

#[test]
fn the_status_of_each_catalog_says_how_its_source_was_read_last() {
    let fields =
        "name catalog { name } lastSuccess lastFailure { at reason message attempts } nextCheck";
    let query = format!(
        "{{ catalogStatuses {{ {fields} }} catalog(name: \"beta\") {{ status {{ {fields} }} }} }}"
    );
    let failure = |reason: &str| json!({"at": "2026-11-21T02:50:00Z", "reason": reason, "message": "it \"failed\"", "attempts": 2});
    let success = "2026-11-21T02:20:00Z";
    let next = "2026-11-21T03:20:00Z";
    let beta = json!({
        "name": "beta", "catalog": {"name": "beta"}, "lastSuccess": success,
        "lastFailure": failure("REGISTRY_UNAVAILABLE"), "nextCheck": next,
    });
    let statuses = json!([
        {"name": "alpha", "catalog": {"name": "alpha"}, "lastSuccess": success, "lastFailure": null, "nextCheck": next},
        beta,
        {"name": "gamma", "catalog": null, "lastSuccess": null, "lastFailure": failure("INVALID_CATALOG"), "nextCheck": next},
    ]);
    let expected = json!({"catalogStatuses": statuses, "catalog": {"status": beta}});
    assert_eq!(data(&engine(Limits::default()), &query), expected);
}

#[test]
fn contents_are_those_that_a_diff_can_compare() {
    let query = "{ catalogs { name contents { digest isServed image unpackedAt } } }";
    let content = |digest: u8, is_served: bool| {
        let digest = format!("sha256:{}", format!("{digest:02x}").repeat(32));
        json!({"digest": digest, "isServed": is_served, "image": null, "unpackedAt": null})
    };
    let mut alpha = content(1, true);
    (alpha["image"], alpha["unpackedAt"]) = (
        json!("quay.io/alpha@sha256:1"),
        json!("2026-11-21T02:20:00Z"),
    );
    let engine = engine(Limits::default());
    let expected = json!({"catalogs": [
        {"name": "beta", "contents": [content(2, true)]},
        {"name": "alpha", "contents": [alpha, content(9, false)]},
    ]});
    assert_eq!(data(&engine, query), expected);
    let remembered = &expected["catalogs"][1]["contents"][1]["digest"];
    let query = format!(
        "{{ diff(from: {{digest: {remembered}}}, to: {{name: \"beta\"}}) {{ packages {{ name }} }} }}"
    );
    assert_eq!(data(&engine, &query), json!({"diff": {"packages": []}}));
}

#[test]
fn a_status_changes_without_a_change_of_what_is_served() {
    let (mut writer, reader) = catalogs();
    writer.publish(served("a", ALPHA, 1));
    let engine = Engine::new(reader, "test", Limits::default());
    let ask = || data(&engine, "{ catalogStatuses { name nextCheck } }")["catalogStatuses"].clone();
    assert_eq!(ask(), json!([{"name": "a", "nextCheck": null}]));
    let next_check = Some("2026-11-21T03:20:00Z".parse().unwrap());
    writer.statuses().set(
        "a",
        LoadStatus {
            next_check,
            ..LoadStatus::default()
        },
    );
    assert_eq!(
        ask(),
        json!([{"name": "a", "nextCheck": "2026-11-21T03:20:00Z"}])
    );
    writer.publish(served("a", BETA, 2));
    let contents = data(
        &engine,
        "{ catalog(name: \"a\") { contents { digest isServed } } }",
    );
    let served =
        |digest: &serde_json::Value| digest["isServed"] == true && digest["digest"] != ALPHA_DIGEST;
    assert!(served(&contents["catalog"]["contents"][0]), "{contents}");
}

#[test]
fn every_reason_of_a_failure_is_in_the_schema() {
    let reasons = [
        FailureReason::SourceUnreadable,
        FailureReason::SourceUnstable,
        FailureReason::RegistryUnavailable,
        FailureReason::Unauthorized,
        FailureReason::ImageNotFound,
        FailureReason::InvalidImage,
        FailureReason::NoCatalog,
        FailureReason::InvalidCatalog,
        FailureReason::StorageFailed,
        FailureReason::Damaged,
        FailureReason::Internal,
    ];
    let (writer, reader) = catalogs();
    for (at, reason) in reasons.into_iter().enumerate() {
        let failure = LoadFailure {
            at: jiff::Timestamp::UNIX_EPOCH,
            reason,
            message: String::new(),
            attempts: 1,
        };
        let status = LoadStatus {
            last_failure: Some(failure),
            ..LoadStatus::default()
        };
        writer.statuses().set(&format!("{at:02}"), status);
    }
    let told = data(
        &Engine::new(reader, "test", Limits::default()),
        "{ catalogStatuses { lastFailure { reason } } }",
    );
    let (_, values) = SDL.split_once("enum LoadFailureReason {").unwrap();
    let values = values
        .split_once('}')
        .unwrap()
        .0
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('"'));
    let declared: Vec<_> = values
        .filter(|line| !line.is_empty())
        .map(|line| json!({"lastFailure": {"reason": line}}))
        .collect();
    assert_eq!(told["catalogStatuses"], json!(declared));
}
