//! What the holder of the Lease writes to objects: one write at a time for each, and only what
//! differs.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use olm_api::conditions::{PROGRESSING, SERVING, VALID};
use olm_api::{CATALOGD_FINALIZER, ClusterCatalog, ClusterCatalogStatus, NAME_LABEL};
use serde_json::{Value, json};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::api_error::describe;
use crate::events::{event, transitions};
use crate::status::Observed;

/// Identifies this program's writes among those of others.
pub const FIELD_MANAGER: &str = "catalogql";

/// The namespace of events about objects that have none.
const EVENTS_NAMESPACE: &str = "default";

/// Maximum length of the value of a label in bytes, as Kubernetes allows it. A longer name cannot
/// be a label.
const MAX_LABEL_BYTES: usize = 63;

/// A write to one object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    /// A merge patch of the metadata.
    Metadata(Value),
    /// The conditions and other fields of the status that are this program's.
    Status(Box<ClusterCatalogStatus>),
}

/// The next write that an object needs, if any.
pub(crate) fn next_write(observed: &Observed<'_>, now: Timestamp) -> Option<Write> {
    let metadata = &observed.object.metadata;
    let name = metadata.name.as_ref()?;
    if metadata.deletion_timestamp.is_some() {
        let finalizers = metadata.finalizers.as_ref()?;
        let others: Vec<_> = finalizers
            .iter()
            .filter(|finalizer| *finalizer != CATALOGD_FINALIZER)
            .collect();
        // Not before the content is withdrawn.
        let is_due = others.len() < finalizers.len() && observed.report.is_none();
        return is_due.then(|| Write::Metadata(json!({ "finalizers": others })));
    }
    let label = metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(NAME_LABEL));
    if label != Some(name) && name.len() <= MAX_LABEL_BYTES {
        return Some(Write::Metadata(json!({ "labels": { NAME_LABEL: name } })));
    }
    let status = observed.status(now)?;
    let former = observed.object.status.as_ref();
    former
        .is_none_or(|former| !is_same(former, &status))
        .then(|| Write::Status(Box::new(status)))
}

/// Whether a status has everything that is this program's as another one has it.
fn is_same(former: &ClusterCatalogStatus, status: &ClusterCatalogStatus) -> bool {
    let ours = |of: &ClusterCatalogStatus| {
        [PROGRESSING, SERVING, VALID].map(|kind| {
            of.conditions
                .iter()
                .find(|found| found.type_ == kind)
                .cloned()
        })
    };
    let rest = |of: &ClusterCatalogStatus| {
        (
            of.resolved_source.clone(),
            of.urls.clone(),
            of.last_unpacked.clone(),
        )
    };
    ours(former) == ours(status) && rest(former) == rest(status)
}

/// Maximum time of a write, its events included.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The API server refuses it, or cannot be reached.
    #[error("{}", describe(.0))]
    Api(kube::Error),
    /// There was no answer in time.
    #[error("no answer of the API server within {} seconds", WRITE_TIMEOUT.as_secs())]
    TimedOut(#[from] Elapsed),
}

/// Writes to objects and creates events.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) client: Client,
    /// Identifies this replica in events.
    pub(crate) instance: String,
}

impl Writer {
    /// Writes to this version of an object: the API server refuses it if there is a newer one.
    /// Returns the version after the write.
    pub(crate) async fn write(
        &self,
        object: &ClusterCatalog,
        write: Write,
    ) -> Result<Option<String>, WriteError> {
        timeout(WRITE_TIMEOUT, self.write_all(object, write))
            .await?
            .map_err(WriteError::Api)
    }

    async fn write_all(
        &self,
        object: &ClusterCatalog,
        write: Write,
    ) -> Result<Option<String>, kube::Error> {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let version = &object.metadata.resource_version;
        let api = Api::<ClusterCatalog>::all(self.client.clone());
        match write {
            Write::Metadata(mut metadata) => {
                metadata["resourceVersion"] = json!(version);
                let patch = Patch::Merge(json!({ "metadata": metadata }));
                Ok(api
                    .patch(name, &merge(), &patch)
                    .await?
                    .metadata
                    .resource_version)
            }
            Write::Status(status) => {
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

    /// Creates an event for each condition that changed. An event that cannot be created is lost.
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

/// The fields that are this program's, for a server-side apply. Those of other programs stay.
fn status_patch(name: &str, version: Option<&String>, status: &ClusterCatalogStatus) -> Value {
    json!({
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": { "name": name, "resourceVersion": version },
        "status": status,
    })
}

/// A merge patch that removes what an apply leaves because another program, such as catalogd, has
/// written it before.
fn leftovers(
    written: Option<&ClusterCatalogStatus>,
    status: &ClusterCatalogStatus,
) -> Option<Value> {
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
