//! What the signature policy decides about catalogs.

use serde_json::json;
use serving::{LoadStatus, catalogs};

use super::fixture::{BETA, data, engine, refused, served, verified};
use crate::Engine;
use crate::limits::Limits;

const FIELDS: &str = "{ state scope requirement signer signed verifiedAt reason { code message } }";

#[test]
fn the_decision_of_the_policy_is_shown_with_its_reasons() {
    let engine = engine(Limits::default());
    let refused = json!({
        "state": "REFUSED", "scope": "docker:quay.io", "requirement": "sigstoreSigned, sigstoreSigned",
        "signer": null, "signed": null, "verifiedAt": "2026-11-21T02:30:00Z",
        "reason": { "code": "SIGNATURE_MISSING", "message": "no \"signature\"" },
    });
    let verified = json!({
        "state": "VERIFIED", "scope": "docker:quay.io", "requirement": "sigstoreSigned, sigstoreSigned",
        "signer": "key sha256:1, us@example.com", "signed": "INDEX", "verifiedAt": "2026-11-21T02:30:00Z",
        "reason": null,
    });
    let query = format!("{{ catalogs {{ name verification {FIELDS} }} }}");
    let expected = json!({ "catalogs": [
        { "name": "beta", "verification": verified }, { "name": "alpha", "verification": refused },
    ] });
    assert_eq!(data(&engine, &query), expected);

    // No policy has decided about the last loads of these.
    let query = format!("{{ catalogStatuses {{ verification {FIELDS} }} }}");
    let none = json!({ "verification": {
        "state": "NONE", "scope": null, "requirement": null, "signer": null, "signed": null,
        "verifiedAt": null, "reason": null,
    } });
    let expected = json!({ "catalogStatuses": [none, none, none] });
    assert_eq!(data(&engine, &query), expected);
}

#[test]
fn a_withdrawn_catalog_has_its_decision_in_its_status() {
    let (writer, reader) = catalogs();
    let status = LoadStatus {
        verification: Some(refused()),
        ..LoadStatus::default()
    };
    writer.statuses().set("a", status);
    let engine = Engine::new(reader, "test", Limits::default());
    let query =
        "{ catalogStatuses { name catalog { name } verification { state reason { code } } } }";
    let expected = json!({ "catalogStatuses": [{
        "name": "a", "catalog": null,
        "verification": { "state": "REFUSED", "reason": { "code": "SIGNATURE_MISSING" } },
    }] });
    assert_eq!(data(&engine, query), expected);
}

#[test]
fn catalogs_are_filtered_by_the_decision_about_them() {
    let engine = engine(Limits::default());
    let names = |states: &str| {
        let found = data(
            &engine,
            &format!("{{ catalogs(verification: {states}) {{ name }} }}"),
        );
        let catalogs = found["catalogs"].as_array().unwrap().iter();
        catalogs
            .map(|catalog| catalog["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("[VERIFIED]"), ["beta"]);
    assert_eq!(names("[REFUSED, VERIFIED]"), ["beta", "alpha"]);
    assert_eq!(names("[NONE, ACCEPTED]"), Vec::<String>::new());
    assert_eq!(names("[]"), ["beta", "alpha"]);
    assert_eq!(names("null"), ["beta", "alpha"]);
}

#[test]
fn a_resolution_that_requires_verified_catalogs_considers_no_others() {
    let engine = engine(Limits::default());
    let resolve = |package: &str| {
        let request = format!("{{ packageName: \"{package}\", requireVerified: true }}");
        let fields = "... on Resolution { bundle { name catalog { name } } } ... on ResolutionFailure { code message }";
        let resolved = data(
            &engine,
            &format!("{{ resolve(request: {request}) {{ {fields} }} }}"),
        );
        resolved["resolve"].clone()
    };
    let found = json!({ "bundle": { "name": "etcd.v1.1.0", "catalog": { "name": "beta" } } });
    assert_eq!(resolve("etcd"), found);
    let message = "verified catalogs are required, and only catalogs that are not have the package `zoo`: `alpha`";
    let refused = json!({ "code": "CATALOG_NOT_VERIFIED", "message": message });
    assert_eq!(resolve("zoo"), refused);
    assert_eq!(resolve("none")["code"], "PACKAGE_NOT_FOUND");
}

#[test]
fn a_decision_changes_the_revision_of_its_catalog() {
    let (mut writer, reader) = catalogs();
    let mut revisions = Vec::new();
    for verification in [None, Some(verified()), Some(refused())] {
        writer.publish(served("a", BETA, 2).with_verification(verification));
        revisions.push(reader.snapshot().revision_of("a"));
    }
    writer.publish(served("a", BETA, 2));
    assert_eq!(reader.snapshot().revision_of("a"), revisions[0]);
    revisions.dedup();
    assert_eq!(revisions.len(), 3);
}
