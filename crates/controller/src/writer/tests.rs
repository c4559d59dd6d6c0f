//! Writes to objects, and their events.

use loading::{Report, SyncStatus};
use serde_json::json;
use serving::VerificationState;

use super::*;
use crate::fixture::{TAG, catalog, content, failed, not_found, report, verification};

const NOW: &str = "2026-05-06T07:08:09Z";

fn write_to(object: &ClusterCatalog, report: Option<&Report>) -> Option<ObjectWrite> {
    let observed = Observed {
        object,
        invalid: None,
        report,
        is_late: false,
        base_url: "http://catalogs.olm.svc",
    };
    next_write(&observed, NOW.parse().unwrap())
}

fn loaded() -> Report {
    report(
        TAG,
        Some(content(
            "package etcd default=stable\nchannel stable: v0.9.0",
        )),
        SyncStatus::Synced,
    )
}

/// The digest of the content that [`loaded`] has.
fn digest() -> String {
    format!("sha256:{}", "22".repeat(32))
}

/// An object whose annotation names the content that [`loaded`] has.
fn annotated() -> ClusterCatalog {
    catalog(json!({ "metadata": { "annotations": { CONTENT_DIGEST_ANNOTATION: digest() } } }))
}

fn status_of(write: Option<ObjectWrite>) -> ClusterCatalogStatus {
    match write {
        Some(ObjectWrite::Status(status)) => *status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_status_is_written_once() {
    let mut object = annotated();
    object.status = Some(status_of(write_to(&object, Some(&loaded()))));
    assert_eq!(write_to(&object, Some(&loaded())), None);
    object.metadata.generation = Some(4);
    let generations = |status: ClusterCatalogStatus| -> Vec<_> {
        status
            .conditions
            .iter()
            .map(|condition| condition.observed_generation)
            .collect()
    };
    assert_eq!(
        generations(status_of(write_to(&object, Some(&loaded())))),
        [Some(4); 3]
    );
}

#[test]
fn what_others_wrote_to_the_status_is_no_reason_to_write() {
    let mut object = annotated();
    let mut status = status_of(write_to(&object, Some(&loaded())));
    let mut other = status.conditions[0].clone();
    "example.com/Scanned".clone_into(&mut other.type_);
    status.conditions.insert(0, other);
    object.status = Some(status);
    assert_eq!(write_to(&object, Some(&loaded())), None);
}

#[test]
fn the_label_with_the_name_comes_first() {
    for labels in [json!(null), json!({ NAME_LABEL: "b" })] {
        let object = catalog(json!({ "metadata": { "labels": labels } }));
        let expected = ObjectWrite::Metadata(json!({ "labels": { NAME_LABEL: "a" } }));
        assert_eq!(write_to(&object, Some(&loaded())), Some(expected));
    }
}

#[test]
fn the_digest_of_the_content_is_annotated_after_the_status_and_when_it_changes() {
    let annotation = |digest: Option<String>| {
        let annotations = json!({ CONTENT_DIGEST_ANNOTATION: digest });
        Some(ObjectWrite::Metadata(json!({ "annotations": annotations })))
    };
    let with_status = |mut object: ClusterCatalog, report: &Report| {
        object.status = Some(status_of(write_to(&object, Some(report))));
        write_to(&object, Some(report))
    };
    let other = json!({ CONTENT_DIGEST_ANNOTATION: "sha256:0", "example.com/other": "x" });
    let other = catalog(json!({ "metadata": { "annotations": other } }));
    assert_eq!(
        with_status(catalog(json!({})), &loaded()),
        annotation(Some(digest()))
    );
    assert_eq!(with_status(other, &loaded()), annotation(Some(digest())));
    assert_eq!(with_status(annotated(), &loaded()), None);

    let failed = report(TAG, None, failed(not_found()));
    assert_eq!(with_status(annotated(), &failed), annotation(None));
    assert_eq!(with_status(catalog(json!({})), &failed), None);
}

#[test]
fn a_decision_of_the_policy_is_written_and_reported_by_an_event() {
    let mut object = annotated();
    object.status = Some(status_of(write_to(&object, Some(&loaded()))));
    let refused = Report {
        verification: Some(verification(
            VerificationState::Refused,
            Some("POLICY_REJECTS"),
        )),
        ..loaded()
    };
    let status = status_of(write_to(&object, Some(&refused)));
    let former = object.status.clone().unwrap();
    let changed: Vec<_> = transitions(&former, &status).collect();
    let [condition] = &changed[..] else {
        panic!("{changed:?}")
    };
    assert_eq!(condition.reason, "Refused");
    let event = event(&object, condition, "pod-1", NOW.parse().unwrap());
    assert_eq!(event.type_.as_deref(), Some("Warning"));

    object.status = Some(status);
    assert_eq!(write_to(&object, Some(&refused)), None);
    // Without a policy, the condition goes.
    assert_eq!(status_of(write_to(&object, Some(&loaded()))), former);
}

#[test]
fn the_finalizer_of_catalogd_is_removed_once_the_content_is_withdrawn() {
    let deleted = |finalizers: serde_json::Value| {
        catalog(json!({ "metadata": { "deletionTimestamp": NOW, "finalizers": finalizers } }))
    };
    let object = deleted(json!(["example.com/other", CATALOGD_FINALIZER]));
    assert_eq!(write_to(&object, Some(&loaded())), None);
    let expected = ObjectWrite::Metadata(json!({ "finalizers": ["example.com/other"] }));
    assert_eq!(write_to(&object, None), Some(expected));
    assert_eq!(write_to(&deleted(json!(["example.com/other"])), None), None);
    // Of an object that stays it is none of our business.
    let mut object = annotated();
    object.metadata.finalizers = Some(vec![CATALOGD_FINALIZER.to_owned()]);
    object.status = Some(status_of(write_to(&object, Some(&loaded()))));
    assert_eq!(write_to(&object, Some(&loaded())), None);
}

#[test]
fn what_another_program_wrote_is_removed_when_it_is_not_true_any_more() {
    let served = status_of(write_to(&catalog(json!({})), Some(&loaded())));
    let failed = status_of(write_to(
        &catalog(json!({})),
        Some(&report(TAG, None, failed(not_found()))),
    ));
    assert_eq!(leftovers(Some(&served), &served), None);
    assert_eq!(leftovers(None, &failed), None);
    let expected =
        json!({ "status": { "resolvedSource": null, "urls": null, "lastUnpacked": null } });
    assert_eq!(leftovers(Some(&served), &failed), Some(expected));
}

#[test]
fn events_tell_of_conditions_that_change_and_of_nothing_else() {
    let object = catalog(json!({}));
    let reasons = |former: &ClusterCatalogStatus, status: &ClusterCatalogStatus| -> Vec<String> {
        transitions(former, status)
            .map(|condition| condition.reason.clone())
            .collect()
    };
    let nothing = ClusterCatalogStatus::default();
    let served = status_of(write_to(&object, Some(&loaded())));
    let failed = status_of(write_to(
        &object,
        Some(&report(TAG, None, failed(not_found()))),
    ));
    assert_eq!(reasons(&nothing, &served), ["Succeeded", "Available"]);
    assert_eq!(reasons(&served, &served), Vec::<String>::new());
    assert_eq!(reasons(&served, &failed), ["Retrying", "Unavailable"]);

    let mut again = failed.clone();
    again.conditions[0].message.push_str(" again");
    assert_eq!(reasons(&failed, &again), Vec::<String>::new());
}

#[test]
fn an_event_names_the_object_and_what_happened() {
    let object = catalog(json!({ "metadata": { "uid": "u" } }));
    let failed = status_of(write_to(
        &object,
        Some(&report(TAG, None, failed(not_found()))),
    ));
    let event = event(
        &object,
        &failed.conditions[0],
        "pod-1",
        NOW.parse().unwrap(),
    );
    let event = serde_json::to_value(event).unwrap();
    let of = |field: &str| event[field].as_str().map(str::to_owned);
    let expected = ["Warning", "Retrying", "Progressing", "catalogql", "pod-1"];
    let fields = [
        "type",
        "reason",
        "action",
        "reportingController",
        "reportingInstance",
    ];
    assert_eq!(fields.map(|field| of(field).unwrap()), expected);
    assert_eq!(of("note"), Some(failed.conditions[0].message.clone()));
    let regarding = json!({ "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "name": "a", "uid": "u" });
    assert_eq!(event["regarding"], regarding);
}

#[test]
fn an_event_keeps_the_limits_of_the_api_server_whatever_its_object_is_called() {
    let name = format!("{}-{}", "a".repeat(199), "b".repeat(53));
    let object = catalog(json!({ "metadata": { "name": name } }));
    let mut condition = status_of(write_to(&catalog(json!({})), Some(&loaded())))
        .conditions
        .remove(0);
    condition.message = "ä".repeat(1000);
    let event = event(&object, &condition, &"p".repeat(253), NOW.parse().unwrap());
    let name = event.metadata.name.unwrap();
    assert!(
        name.len() <= 253 && name.starts_with(&format!("{}.progressing.", "a".repeat(199))),
        "{name}"
    );
    assert_eq!(
        (
            event.note.unwrap().len(),
            event.reporting_instance.unwrap().len()
        ),
        (1024, 128)
    );
}
