//! Kubernetes Events: one for each condition whose status or reason changes.
//!
//! An attempt that changes no condition creates no Event. kube's `Recorder` is not used: it patches
//! former Events and keeps their old text.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime};
use kube::Resource;
use kube::api::ObjectMeta;
use olm_api::conditions::{self, progressing, serving, valid, verified};
use olm_api::{ClusterCatalog, ClusterCatalogStatus};

use crate::FIELD_MANAGER;

/// Maximum length of the note of an event in bytes. The API server rejects longer ones.
const MAX_NOTE_BYTES: usize = 1024;

/// Maximum length of `reportingInstance` in bytes. The API server rejects longer ones.
const MAX_INSTANCE_BYTES: usize = 128;

/// Maximum length in bytes of the object's name within the name of an event. The whole name has at
/// most 253 bytes.
const MAX_NAME_BYTES: usize = 200;

/// Returns the conditions in `status` that differ from `former` and deserve an event.
pub(crate) fn transitions<'a>(
    former: &'a ClusterCatalogStatus,
    status: &'a ClusterCatalogStatus,
) -> impl Iterator<Item = &'a Condition> {
    let find = |kind: &str| {
        former
            .conditions
            .iter()
            .find(|condition| condition.type_ == kind)
    };
    let is_changed = move |condition: &&Condition| match find(&condition.type_) {
        Some(former) => former.status != condition.status || former.reason != condition.reason,
        // A new catalog without errors needs no event: `Serving` already has one.
        None => condition.reason != valid::NO_ERRORS,
    };
    let ours = [
        conditions::PROGRESSING,
        conditions::SERVING,
        conditions::VALID,
        conditions::VERIFIED,
    ];
    status
        .conditions
        .iter()
        .filter(move |condition| ours.contains(&condition.type_.as_str()))
        .filter(is_changed)
}

/// Creates the event of a condition that changed. `instance` is the replica that reports it.
pub(crate) fn event(
    object: &ClusterCatalog,
    condition: &Condition,
    instance: &str,
    now: Timestamp,
) -> Event {
    // Each label of a DNS subdomain must end with a letter or a digit.
    let name = cut(
        object.metadata.name.as_deref().unwrap_or_default(),
        MAX_NAME_BYTES,
    )
    .trim_end_matches(['-', '.']);
    let warnings = [
        progressing::RETRYING,
        progressing::BLOCKED,
        serving::UNAVAILABLE,
    ];
    let warnings = [
        &warnings[..],
        &[valid::ERRORS_FOUND, valid::UNREADABLE, verified::REFUSED],
    ]
    .concat();
    let is_warning = warnings.contains(&condition.reason.as_str());
    let note = if condition.message.is_empty() {
        &condition.reason
    } else {
        &condition.message
    };
    Event {
        metadata: ObjectMeta {
            // Unique: one replica writes, and one condition of an object changes once at a time.
            name: Some(format!(
                "{name}.{}.{:x}",
                condition.type_.to_ascii_lowercase(),
                now.as_nanosecond()
            )),
            ..ObjectMeta::default()
        },
        regarding: Some(ObjectReference {
            namespace: None,
            ..object.object_ref(&())
        }),
        type_: Some(if is_warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(condition.reason.clone()),
        action: Some(condition.type_.clone()),
        note: Some(cut(note, MAX_NOTE_BYTES).to_owned()),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(FIELD_MANAGER.to_owned()),
        reporting_instance: Some(cut(instance, MAX_INSTANCE_BYTES).to_owned()),
        ..Event::default()
    }
}

/// Returns the longest prefix of a text that has at most this many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=text.len().min(bytes))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
