//! Objects and reports for tests.

use std::sync::Arc;
use std::time::Duration;

use fbc_grammar::Digest;
use images::{ImageError, RegistryReference};
use loading::{LoadError, Report, Source, SyncStatus};
use olm_api::ClusterCatalog;
use serde_json::{Value, json};
use serving::{CatalogName, Content, Verification, VerificationReason, VerificationState};

pub(crate) const TAG: &str = "quay.io/a/b:c";

/// A `ClusterCatalog` named `a` with an image, and these fields in place of its own, by JSON merge.
pub(crate) fn catalog(changes: Value) -> ClusterCatalog {
    let mut object = json!({
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": { "name": "a", "generation": 3, "labels": { olm_api::NAME_LABEL: "a" } },
        "spec": { "source": { "type": "Image", "image": { "ref": TAG } }, "priority": 0, "availabilityMode": "Available" },
    });
    merge(&mut object, changes);
    serde_json::from_value(object).unwrap()
}

fn merge(object: &mut Value, changes: Value) {
    match (object, changes) {
        (Value::Object(object), Value::Object(changes)) => {
            for (name, change) in changes {
                merge(object.entry(name).or_insert(Value::Null), change);
            }
        }
        (object, change) => *object = change,
    }
}

pub(crate) fn source(reference: &str) -> Source {
    RegistryReference::parse(reference).unwrap().into()
}

/// A content of this fixture, from the image with the digest `11…`.
pub(crate) fn content(fixture: &str) -> Content {
    let mut content = Content::new(testing::fixture::catalog(fixture), Digest::new([0x22; 32]));
    content.image = Some(pinned().into());
    content.last_unpacked = Some("2026-01-02T03:04:05.678Z".parse().unwrap());
    content
}

pub(crate) fn pinned() -> String {
    format!("quay.io/a/b@sha256:{}", "11".repeat(32))
}

/// A report about the catalog `a`.
pub(crate) fn report(reference: &str, content: Option<Content>, status: SyncStatus) -> Report {
    let name = CatalogName::new("a").unwrap();
    Report {
        name,
        source: Arc::new(source(reference)),
        content,
        verification: None,
        status,
        duration: Duration::from_secs(1),
    }
}

pub(crate) fn failed(error: impl Into<LoadError>) -> SyncStatus {
    SyncStatus::Failed(Arc::new(error.into()))
}

pub(crate) fn not_found() -> ImageError {
    ImageError::NotFound {
        resource: "the manifest `c`".to_owned(),
        location: "quay.io/a/b".to_owned(),
    }
}

/// A decision about an image of `quay.io/a`.
pub(crate) fn verification(
    state: VerificationState,
    code: Option<&'static str>,
) -> Arc<Verification> {
    Arc::new(Verification {
        state,
        scope: Some("docker:quay.io/a".to_owned()),
        requirements: vec!["sigstoreSigned".to_owned()],
        signers: vec!["key sha256:1".to_owned()],
        signed: None,
        policy: String::new(),
        verified_at: jiff::Timestamp::UNIX_EPOCH,
        reason: code.map(|code| VerificationReason {
            code,
            message: "no signature".to_owned(),
            is_unreadable: false,
        }),
    })
}
