//! Serves the catalogs of a Kubernetes cluster and reports their status.
//!
//! Watches of objects become a set of wanted catalogs for the [`Loader`](loading::Loader), as a
//! function of the objects; what the loader reports becomes the status of each object, as a
//! function of the object and of the last report. Every replica serves; the one that holds a Lease
//! writes status. This crate and `olm-api` alone know of Kubernetes.

mod api_error;
mod client;
mod controller;
mod events;
mod failure;
#[cfg(test)]
mod fixture;
mod lease;
mod lists;
mod metrics;
mod pull;
mod readiness;
mod remembered;
mod status;
mod wanted;
mod watches;
mod writer;

use std::path::PathBuf;
use std::time::Duration;

pub use client::{ApiServer, connect, pod_namespace, pod_service_account};
pub use controller::{Controller, MAX_WRITE_RETRY, WRITE_RETRY};
pub use lease::{LEASE, LeaseDurations};
pub use metrics::{ApiRequests, ControllerMetrics, ReconcileResult};
pub use pull::{FIRST_ANSWER, SecretName};
pub use status::{FIRST_REPORT, LISTED_PROBLEMS, MAX_MESSAGE_BYTES};
pub use wanted::MIN_POLL;
pub use writer::{FIELD_MANAGER, WRITE_TIMEOUT};

/// What the paths of the contents of catalogs begin with.
const CATALOGS_PATH: &str = "/catalogs/";

/// Who owns the status of catalogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// This program: it loads what specs ask for, and writes status.
    Manage,
    /// Another program, such as catalogd: this one loads what status says, and writes nothing.
    Follow,
}

/// How a controller works.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// Who owns the status of catalogs.
    pub mode: Mode,
    /// Whether the images of `CatalogSource` objects are served too.
    pub catalog_sources: bool,
    /// Namespace of the Lease, of the `ServiceAccount`, and of the pull secrets that catalogs name.
    pub namespace: String,
    /// Identifies this replica.
    pub identity: String,
    /// What the URLs of contents begin with, such as `http://catalogd-service.olmv1-system.svc`.
    pub base_url: String,
    /// How replicas take turns in writing status; `None` for one that is alone.
    pub lease: Option<LeaseDurations>,
    /// The `ServiceAccount` whose pull secrets are used.
    pub service_account: Option<String>,
    /// A pull secret that is used for all catalogs.
    pub global_pull_secret: Option<SecretName>,
    /// Time that a catalog has for its first attempt before the replica is ready without it.
    pub ready_after: Duration,
    /// The file that remembers the wanted catalogs.
    pub remembered: PathBuf,
}

/// Why a controller cannot work.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    /// The process runs in no cluster, and no kubeconfig is named.
    #[error(
        "cannot find a cluster: name a kubeconfig with --kubeconfig or KUBECONFIG, or run in a pod"
    )]
    NotInCluster(#[source] Box<kube::config::InClusterError>),
    /// The client cannot be created.
    #[error("cannot create a client for the API server")]
    Client(#[source] Box<kube::Error>),
    /// The settings for registries cannot be used.
    #[error("cannot use the settings for registries")]
    Registries(#[source] images::ImageError),
}
