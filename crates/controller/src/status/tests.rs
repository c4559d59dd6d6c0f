//! An object and what was loaded for it in, its status out.

use images::ImageError;
use images::unpack::UnpackError;
use loading::LoadError;
use serde_json::{Value, json};

use super::*;
use crate::fixture::{TAG, catalog, content, failed, not_found, pinned, report, verification};

const NOW: &str = "2026-05-06T07:08:09Z";
const BEFORE: &str = "2026-01-01T00:00:00Z";

const CATALOG: &str = "package etcd default=stable\nchannel stable: v0.9.0 <- v0.9.4";

/// A condition as it was written before.
fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": message,
            "observedGeneration": 2, "lastTransitionTime": BEFORE })
}

fn status_of(
    object: &ClusterCatalog,
    invalid: Option<&str>,
    report: Option<&Report>,
) -> Option<Value> {
    let observed = Observed {
        object,
        invalid,
        report,
        is_late: false,
        base_url: "http://catalogs.olm.svc",
    };
    Some(serde_json::to_value(observed.status(NOW.parse().unwrap())?).unwrap())
}

/// The conditions of a status: type, status, reason, message, and whether it changed now.
fn conditions_of(status: &Value) -> Vec<(String, String, String, String, bool)> {
    let text = |condition: &Value, name: &str| condition[name].as_str().unwrap().to_owned();
    let row = |condition: &Value| {
        let [kind, status, reason, message] =
            ["type", "status", "reason", "message"].map(|name| text(condition, name));
        assert_eq!(condition["observedGeneration"], 3);
        (
            kind,
            status,
            reason,
            message,
            condition["lastTransitionTime"] == NOW,
        )
    };
    status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(row)
        .collect()
}

fn row(
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    is_new: bool,
) -> (String, String, String, String, bool) {
    let [kind, status, reason, message] = [kind, status, reason, message].map(str::to_owned);
    (kind, status, reason, message, is_new)
}

#[test]
fn a_loaded_catalog_is_served_from_its_resolved_source() {
    let object = catalog(json!({}));
    let status = status_of(
        &object,
        None,
        Some(&report(TAG, Some(content(CATALOG)), SyncStatus::Synced)),
    )
    .unwrap();
    assert_eq!(
        conditions_of(&status),
        [
            row(
                "Progressing",
                "True",
                "Succeeded",
                progressing::UNPACKED,
                true
            ),
            row(
                "Serving",
                "True",
                "Available",
                serving::SERVING_DESIRED,
                true
            ),
            row("Valid", "True", "NoErrors", "0 errors and 0 warnings", true),
        ]
    );
    assert_eq!(
        status["resolvedSource"],
        json!({ "type": "Image", "image": { "ref": pinned() } })
    );
    assert_eq!(
        status["urls"],
        json!({ "base": "http://catalogs.olm.svc/catalogs/a" })
    );
    assert_eq!(status["lastUnpacked"], "2026-01-02T03:04:05Z");
}

#[test]
fn a_status_that_is_true_stays_as_it_is() {
    let former = json!({
        "conditions": [
            condition("Serving", "True", "Available", serving::SERVING_DESIRED),
            condition("Progressing", "True", "Succeeded", progressing::UNPACKED),
        ],
        "resolvedSource": { "type": "Image", "image": { "ref": pinned() } },
        // Of another replica.
        "lastUnpacked": BEFORE,
    });
    let object = catalog(json!({ "status": former }));
    let status = status_of(
        &object,
        None,
        Some(&report(TAG, Some(content(CATALOG)), SyncStatus::Synced)),
    )
    .unwrap();
    let changed: Vec<_> = conditions_of(&status)
        .into_iter()
        .filter(|(.., is_new)| *is_new)
        .map(|(kind, ..)| kind)
        .collect();
    assert_eq!(
        (changed, &status["lastUnpacked"]),
        (vec!["Valid".to_owned()], &json!(BEFORE))
    );
}

#[test]
fn failures_are_blocked_or_retried_by_their_cause_and_what_was_served_stays() {
    let digest = pinned();
    let sqlite = || UnpackError::SqliteIndex {
        database: "/index.db".to_owned(),
    };
    let forbidden = || ImageError::Forbidden {
        resource: "the manifest `c`".to_owned(),
        location: "quay.io/a/b".to_owned(),
        credentials: "nobody".to_owned(),
        error_body: String::new(),
    };
    let grown = || LoadError::Grown {
        file_bytes: 1,
        max: 2,
    };
    let cases: [(&str, SyncStatus, &str, &str); 7] = [
        (
            TAG,
            failed(not_found()),
            "Retrying",
            "source catalog content: cannot read the source: cannot find ",
        ),
        (
            &digest,
            failed(not_found()),
            "Blocked",
            "source catalog content: cannot read the source: cannot find ",
        ),
        (
            TAG,
            failed(UnpackError::NoRoot),
            "Blocked",
            "source catalog content: cannot unpack the image: the image has no label",
        ),
        (
            TAG,
            failed(sqlite()),
            "Blocked",
            "source catalog content: cannot unpack the image: the image is an SQLite index",
        ),
        (
            TAG,
            failed(forbidden()),
            "Retrying",
            "source catalog content: cannot read the source: cannot get ",
        ),
        (
            TAG,
            failed(grown()),
            "Retrying",
            "error storing fbc: cannot read the source: ",
        ),
        (
            TAG,
            failed(LoadError::Panicked("x".to_owned())),
            "Retrying",
            "error storing fbc: cannot read the content: internal error: x",
        ),
    ];
    for (reference, failure, reason, message) in cases {
        let object = catalog(json!({ "spec": { "source": { "image": { "ref": reference } } } }));
        for served in [None, Some(content(CATALOG))] {
            let status = status_of(
                &object,
                None,
                Some(&report(reference, served.clone(), failure.clone())),
            )
            .unwrap();
            let conditions = conditions_of(&status);
            let (kind, state, found, text, _) = &conditions[0];
            let expected = if reason == "Blocked" { "False" } else { "True" };
            assert_eq!(
                (kind.as_str(), state.as_str(), found.as_str()),
                ("Progressing", expected, reason),
                "{message}"
            );
            assert!(text.starts_with(message), "{text}");
            let serving = match served {
                Some(_) => row(
                    "Serving",
                    "True",
                    "Available",
                    serving::SERVING_DESIRED,
                    true,
                ),
                None => row("Serving", "False", "Unavailable", "", true),
            };
            assert_eq!(conditions[1], serving);
            assert_eq!(status["urls"].is_null(), served.is_none());
        }
    }
}

#[test]
fn content_that_cannot_be_read_is_not_valid_and_the_former_one_is_served() {
    let object = catalog(json!({}));
    let failure = failed(LoadError::Grown {
        file_bytes: 1,
        max: 2,
    });
    let status = status_of(
        &object,
        None,
        Some(&report(TAG, Some(content(CATALOG)), failure)),
    )
    .unwrap();
    let conditions = conditions_of(&status);
    assert_eq!(
        (conditions[1].2.as_str(), conditions[2].2.as_str()),
        ("Available", "Unreadable")
    );
    assert_eq!(conditions[0].3, conditions[2].3);
}

#[test]
fn problems_are_counted_and_the_first_of_the_most_severe_is_quoted() {
    let object = catalog(json!({}));
    let content = content(
        "package etcd default=missing\nchannel stable: v0.9.0\nchannel alpha: v0.9.0 <- v0.9.0",
    );
    let errors = content
        .catalog
        .all_problems()
        .counts
        .of_severity(Severity::Error);
    assert!(errors > 0, "the fixture has errors");
    let status = status_of(
        &object,
        None,
        Some(&report(TAG, Some(content), SyncStatus::Synced)),
    )
    .unwrap();
    let (kind, state, reason, message, _) = conditions_of(&status).pop().unwrap();
    assert_eq!(
        (kind.as_str(), state.as_str(), reason.as_str()),
        ("Valid", "False", "ErrorsFound")
    );
    assert_eq!(
        message,
        format!(
            "{} and 0 warnings, the first: channel must contain at least one bundle; `catalogql validate {TAG}` lists all",
            counted(errors, "error")
        )
    );
}

#[test]
fn a_retry_that_fails_alike_changes_nothing() {
    let failure = |downloaded| {
        let resource = "the blob".to_owned();
        let location = "quay.io/a/b".to_owned();
        failed(ImageError::Interrupted {
            resource,
            location,
            downloaded,
            bytes: 900,
            source: None,
        })
    };
    let first = status_of(
        &catalog(json!({})),
        None,
        Some(&report(TAG, None, failure(12))),
    )
    .unwrap();
    let mut former = first.clone();
    former["conditions"][0]["lastTransitionTime"] = json!(BEFORE);
    former["conditions"][1]["lastTransitionTime"] = json!(BEFORE);
    let second = status_of(
        &catalog(json!({ "status": former })),
        None,
        Some(&report(TAG, None, failure(800))),
    )
    .unwrap();
    assert_eq!(second, former);
}

#[test]
fn a_report_for_another_source_says_nothing_of_this_one() {
    let object = catalog(json!({}));
    assert_eq!(status_of(&object, None, None), None);
    let other = report(
        "quay.io/a/b:before",
        Some(content(CATALOG)),
        SyncStatus::Synced,
    );
    assert_eq!(status_of(&object, None, Some(&other)), None);
}

#[test]
fn what_was_said_of_progress_stands_while_the_source_is_contacted() {
    let pending = report(TAG, Some(content(CATALOG)), SyncStatus::Pending);
    let kinds = |status: Value| -> Vec<_> {
        status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["type"].clone())
            .collect()
    };
    let status = status_of(&catalog(json!({})), None, Some(&pending)).unwrap();
    assert_eq!(kinds(status), ["Serving", "Valid"]);
    let former = condition("Progressing", "True", "Retrying", "x");
    let status = status_of(
        &catalog(json!({ "status": { "conditions": [former] } })),
        None,
        Some(&pending),
    )
    .unwrap();
    assert_eq!(status["conditions"][0], former);
    assert_eq!(kinds(status), ["Progressing", "Serving", "Valid"]);
}

#[test]
fn a_catalog_that_takes_long_to_load_is_not_said_to_be_served() {
    let status_of = |former: &[Value], is_late| {
        let object = catalog(json!({ "status": { "conditions": former } }));
        let observed = Observed {
            object: &object,
            invalid: None,
            report: None,
            is_late,
            base_url: "http://a",
        };
        Some(serde_json::to_value(observed.status(NOW.parse().unwrap())?).unwrap())
    };
    let served = [
        condition("Progressing", "True", "Succeeded", progressing::UNPACKED),
        condition("Serving", "True", "Available", serving::SERVING_DESIRED),
    ];
    assert_eq!(status_of(&served, false), None);
    let status = status_of(&served, true).unwrap();
    assert_eq!(status["conditions"][0], served[0]);
    assert_eq!(
        (&status["conditions"][1]["status"], &status["urls"]),
        (&json!("False"), &Value::Null)
    );
    // Nobody was told that it is served.
    assert_eq!(status_of(&[], true), None);
}

#[test]
fn an_unavailable_catalog_says_so_once_it_is_withdrawn() {
    let object = catalog(json!({ "spec": { "availabilityMode": "Unavailable" } }));
    let served = report(TAG, Some(content(CATALOG)), SyncStatus::Synced);
    assert_eq!(status_of(&object, None, Some(&served)), None);
    let status = status_of(&object, None, None).unwrap();
    assert_eq!(
        conditions_of(&status),
        [
            row(
                "Progressing",
                "True",
                "Succeeded",
                serving::SET_UNAVAILABLE,
                true
            ),
            row(
                "Serving",
                "False",
                "UserSpecifiedUnavailable",
                serving::SET_UNAVAILABLE,
                true
            ),
        ]
    );
    assert_eq!(
        status.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["conditions"]
    );
}

#[test]
fn a_source_that_cannot_be_used_blocks_and_leaves_what_is_served() {
    let object = catalog(json!({}));
    let former = report(
        "quay.io/a/b:before",
        Some(content(CATALOG)),
        SyncStatus::Synced,
    );
    for (served, expected) in [(None, "Unavailable"), (Some(&former), "Available")] {
        let conditions = conditions_of(&status_of(&object, Some("no reference"), served).unwrap());
        assert_eq!(
            conditions[0],
            row("Progressing", "False", "Blocked", "no reference", true)
        );
        assert_eq!(conditions[1].2, expected);
    }
}

#[test]
fn nothing_is_said_of_an_object_that_is_being_deleted() {
    let object = catalog(json!({ "metadata": { "deletionTimestamp": BEFORE } }));
    assert_eq!(status_of(&object, None, None), None);
    assert_eq!(status_of(&object, Some("no reference"), None), None);
}

#[test]
fn a_long_message_is_cut_at_a_character() {
    let short = "ä".repeat(MAX_MESSAGE_BYTES / 2);
    assert_eq!(shorten(&short, MAX_MESSAGE_BYTES), short);
    let cut = shorten(&format!("x{short}"), MAX_MESSAGE_BYTES);
    assert!(
        cut.len() <= MAX_MESSAGE_BYTES && cut.ends_with('…'),
        "{} bytes",
        cut.len()
    );
}

#[test]
fn the_decision_of_a_policy_is_a_condition_where_signatures_are_required() {
    let object = catalog(json!({}));
    let verified = |state, code, content| {
        let judged = Report {
            verification: Some(verification(state, code)),
            ..report(TAG, content, SyncStatus::Synced)
        };
        let status = status_of(&object, None, Some(&judged)).unwrap();
        let mut conditions = conditions_of(&status);
        conditions.retain(|(kind, ..)| kind == conditions::VERIFIED);
        conditions
    };
    let served = || Some(content(CATALOG));
    assert_eq!(verified(VerificationState::Accepted, None, served()), []);
    let accepted = "Signed as the scope docker:quay.io/a requires: key sha256:1";
    assert_eq!(
        verified(VerificationState::Verified, None, served()),
        [row(
            "Verified",
            "True",
            "SignaturesAccepted",
            accepted,
            true
        )]
    );
    let refused = "The signature policy refuses the content, and it is still served: SIGNATURE_MISSING: no signature";
    let code = Some("SIGNATURE_MISSING");
    assert_eq!(
        verified(VerificationState::Refused, code, served()),
        [row("Verified", "False", "Refused", refused, true)]
    );
    let withdrawn = "The signature policy refuses the content, and it is not served: SIGNATURE_MISSING: no signature";
    assert_eq!(
        verified(VerificationState::Refused, code, None),
        [row("Verified", "False", "Refused", withdrawn, true)]
    );
}
