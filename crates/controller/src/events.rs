//! Events: one for each condition whose status or reason changes, none for attempts that change
//! nothing.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime};
use kube::Resource;
use kube::api::ObjectMeta;
use olm_api::conditions::{self, progressing, serving, valid};
use olm_api::{ClusterCatalog, ClusterCatalogStatus};

use crate::FIELD_MANAGER;

/// Maximum length in bytes of the note of an event, which the API server checks.
const MAX_NOTE_BYTES: usize = 1024;

/// Maximum length in bytes of the text that says which replica reports an event, which the API
/// server checks.
const MAX_INSTANCE_BYTES: usize = 128;

/// Maximum length in bytes of the part of an event's name that is the object's. A name has at most
/// 253.
const MAX_NAME_BYTES: usize = 200;

/// The changes between two states of an object that its owner should hear of.
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
    let is_news = move |condition: &&Condition| match find(&condition.type_) {
        Some(former) => former.status != condition.status || former.reason != condition.reason,
        // A content without errors is no news.
        None => condition.reason != valid::NO_ERRORS,
    };
    let ours = [
        conditions::PROGRESSING,
        conditions::SERVING,
        conditions::VALID,
    ];
    status
        .conditions
        .iter()
        .filter(move |condition| ours.contains(&condition.type_.as_str()))
        .filter(is_news)
}

/// The event of a condition that changed. `instance` is the replica that reports it.
pub(crate) fn event(
    object: &ClusterCatalog,
    condition: &Condition,
    instance: &str,
    now: Timestamp,
) -> Event {
    // A part of a name ends with a letter or a digit.
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
    let warnings = [&warnings[..], &[valid::ERRORS_FOUND, valid::UNREADABLE]].concat();
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

/// The beginning of a text, up to this many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=text.len().min(bytes))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
