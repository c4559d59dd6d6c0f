//! Writes to `ClusterCatalog` objects, by the holder of the Lease: labels, annotations, finalizers,
//! status, and the events of conditions that changed. An object that is up to date is not written.
//! The status write queue of the controller decides when to write, with a backoff after failures.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use olm_api::conditions::{PROGRESSING, SERVING, VALID, VERIFIED};
use olm_api::{
    CATALOGD_FINALIZER, CONTENT_DIGEST_ANNOTATION, ClusterCatalog, ClusterCatalogStatus, NAME_LABEL,
};
use serde_json::{Value, json};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::FIELD_MANAGER;
use crate::api_error::describe;
use crate::events::{event, transitions};
use crate::status::Observed;

/// Namespace of events about cluster-scoped objects.
const EVENTS_NAMESPACE: &str = "default";

/// Maximum length of the value of a label in bytes, set by Kubernetes. An object with a longer name
/// gets no label.
const MAX_LABEL_BYTES: usize = 63;

/// A write that an object needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ObjectWrite {
    /// A merge patch of the metadata.
    Metadata(Value),
    /// A server-side apply of the fields of the status that this program owns.
    Status(Box<ClusterCatalogStatus>),
}

/// Returns the next write that an object needs, or `None` if it is up to date.
pub(crate) fn next_write(observed: &Observed<'_>, now: Timestamp) -> Option<ObjectWrite> {
    let metadata = &observed.object.metadata;
    let name = metadata.name.as_ref()?;
    if metadata.deletion_timestamp.is_some() {
        let finalizers = metadata.finalizers.as_ref()?;
        let others: Vec<_> = finalizers
            .iter()
            .filter(|finalizer| *finalizer != CATALOGD_FINALIZER)
            .collect();
        // catalogd's finalizer would let the deletion hang while catalogd is not running. It is
        // removed once the content is withdrawn.
        let is_due = others.len() < finalizers.len() && observed.report.is_none();
        return is_due.then(|| ObjectWrite::Metadata(json!({ "finalizers": others })));
    }
    let label = metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(NAME_LABEL));
    if label != Some(name) && name.len() <= MAX_LABEL_BYTES {
        return Some(ObjectWrite::Metadata(
            json!({ "labels": { NAME_LABEL: name } }),
        ));
    }
    let status = observed.status(now)?;
    let former = observed.object.status.as_ref();
    if former.is_none_or(|former| !is_same(former, &status)) {
        return Some(ObjectWrite::Status(Box::new(status)));
    }
    digest_annotation(observed)
}

/// Returns the write of the annotation with the digest of the served content, if it differs. It comes
/// after the status, so that controllers that watch the annotation find the status of that content.
fn digest_annotation(observed: &Observed<'_>) -> Option<ObjectWrite> {
    let annotations = observed.object.metadata.annotations.as_ref();
    let former = annotations.and_then(|annotations| annotations.get(CONTENT_DIGEST_ANNOTATION));
    let digest = observed.content().map(|content| content.digest.to_string());
    (former != digest.as_ref()).then(|| {
        ObjectWrite::Metadata(json!({ "annotations": { CONTENT_DIGEST_ANNOTATION: digest } }))
    })
}

/// Returns whether two statuses agree in all fields that this program owns.
fn is_same(former: &ClusterCatalogStatus, status: &ClusterCatalogStatus) -> bool {
    let find = |status: &'_ ClusterCatalogStatus, kind| {
        let mut conditions = status.conditions.iter();
        conditions
            .find(|condition| condition.type_ == kind)
            .cloned()
    };
    let has_same_conditions = [PROGRESSING, SERVING, VALID, VERIFIED]
        .into_iter()
        .all(|kind| find(former, kind) == find(status, kind));

    has_same_conditions
        && former.resolved_source == status.resolved_source
        && former.urls == status.urls
        && former.last_unpacked == status.last_unpacked
}

/// Timeout of a write, including its events.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Error of a write to an object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StatusWriteError {
    /// The API server rejected the write, or cannot be reached.
    #[error("{}", describe(.0))]
    Api(kube::Error),
    /// The API server did not respond within [`WRITE_TIMEOUT`].
    #[error("the API server did not respond within {} seconds", WRITE_TIMEOUT.as_secs())]
    TimedOut(#[from] Elapsed),
}

/// Writes to objects and creates events.
#[derive(Clone)]
pub(crate) struct StatusWriter {
    pub(crate) client: Client,
    /// Identity of this replica, the `reportingInstance` of events.
    pub(crate) instance: String,
}

impl StatusWriter {
    /// Writes to this version of an object. Returns its resource version after the write.
    ///
    /// Every write has the resource version as a precondition: a status that was computed from an
    /// old generation is never written to a new one.
    pub(crate) async fn write(
        &self,
        object: &ClusterCatalog,
        write: ObjectWrite,
    ) -> Result<Option<String>, StatusWriteError> {
        timeout(WRITE_TIMEOUT, self.write_all(object, write))
            .await?
            .map_err(StatusWriteError::Api)
    }

    async fn write_all(
        &self,
        object: &ClusterCatalog,
        write: ObjectWrite,
    ) -> Result<Option<String>, kube::Error> {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let version = &object.metadata.resource_version;
        let api = Api::<ClusterCatalog>::all(self.client.clone());
        match write {
            ObjectWrite::Metadata(mut metadata) => {
                metadata["resourceVersion"] = json!(version);
                let patch = Patch::Merge(json!({ "metadata": metadata }));
                Ok(api
                    .patch(name, &merge(), &patch)
                    .await?
                    .metadata
                    .resource_version)
            }
            ObjectWrite::Status(status) => {
                let patch = status_patch(name, version.as_ref(), &status);
                let params = PatchParams::apply(FIELD_MANAGER).force();
                let mut written = api
                    .patch_status(name, &params, &Patch::Apply(patch))
                    .await?;
                if let Some(patch) = leftovers(written.status.as_ref(), &status) {
                    written = api
                        .patch_status(name, &merge(), &Patch::Merge(patch))
                        .await?;
                }
                self.publish_events(object, &status).await;
                Ok(written.metadata.resource_version)
            }
        }
    }

    /// Creates an event for each condition that changed. Failures are logged and not retried.
    async fn publish_events(&self, object: &ClusterCatalog, status: &ClusterCatalogStatus) {
        let api = Api::<Event>::namespaced(self.client.clone(), EVENTS_NAMESPACE);
        let former = object.status.clone().unwrap_or_default();
        for condition in transitions(&former, status) {
            let event = event(object, condition, &self.instance, Timestamp::now());
            if let Err(error) = api.create(&PostParams::default(), &event).await {
                tracing::warn!(
                    error = describe(&error),
                    reason = condition.reason,
                    "cannot create an event"
                );
            }
        }
    }
}

fn merge() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Returns the server-side apply of the fields that this program owns. Fields of other managers are
/// left alone.
fn status_patch(name: &str, version: Option<&String>, status: &ClusterCatalogStatus) -> Value {
    json!({
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": { "name": name, "resourceVersion": version },
        "status": status,
    })
}

/// Returns a merge patch that removes fields of another field manager that are not true any more.
fn leftovers(
    written: Option<&ClusterCatalogStatus>,
    status: &ClusterCatalogStatus,
) -> Option<Value> {
    // An apply cannot remove a field that another manager owns, such as catalogd before this
    // program took its place.
    let written = written?;
    let fields = [
        (
            "resolvedSource",
            written.resolved_source.is_some() && status.resolved_source.is_none(),
        ),
        ("urls", written.urls.is_some() && status.urls.is_none()),
        (
            "lastUnpacked",
            written.last_unpacked.is_some() && status.last_unpacked.is_none(),
        ),
    ];
    let left: serde_json::Map<_, _> = fields
        .iter()
        .filter(|(_, is_left)| *is_left)
        .map(|(field, _)| ((*field).to_owned(), Value::Null))
        .collect();
    (!left.is_empty()).then(|| json!({ "status": left }))
}

#[cfg(test)]
mod tests;
