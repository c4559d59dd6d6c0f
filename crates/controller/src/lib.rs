//! Serves the catalogs of a Kubernetes cluster and reports their status.
//!
//! The desired catalogs of the [`Loader`](loading::Loader) are a pure function of the watched
//! objects. The status of an object is a pure function of the object and of the loader's last report
//! about it. Every replica serves; the one that holds the Lease writes status.

mod api_error;
mod changes;
mod client;
mod controller;
mod desired;
mod desired_file;
mod events;
mod failure;
#[cfg(test)]
mod fixture;
mod image_policies;
mod initial_lists;
mod lease;
mod metrics;
mod pull;
mod readiness;
mod secret_name;
mod status;
mod status_reads;
mod watches;
mod writer;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use client::{ApiServerClient, connect, pod_namespace, pod_service_account};
pub use controller::{Controller, MAX_WRITE_RETRY, WRITE_RETRY};
pub use desired::MIN_POLL;
pub use lease::{LEASE, LeaseDurations};
pub use metrics::{ApiRequests, ControllerMetrics, ReconcileResult};
pub use pull::FIRST_RESPONSE_TIMEOUT;
pub use secret_name::SecretName;
pub use status::{FIRST_REPORT, MAX_MESSAGE_BYTES, MAX_QUOTED_PROBLEM_BYTES};
pub use status_reads::{MAX_STATUS_READS, STATUS_READ_BACKOFF, STATUS_READ_TIMEOUT};
pub use writer::WRITE_TIMEOUT;

/// Field manager of this program's server-side applies and patches.
pub const FIELD_MANAGER: &str = "catalogql";

/// Prefix of the URL paths at which the content of catalogs is served.
const CATALOGS_PATH: &str = "/catalogs/";

/// Relation of the controller to the status of `ClusterCatalog` objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerMode {
    /// The controller owns the status: it loads the source in the spec, and writes status.
    Manage,
    /// Another program, such as catalogd, owns the status: the controller loads the resolved source
    /// in it, and writes nothing.
    Follow,
}

/// Configuration of a [`Controller`].
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// Relation of the controller to the status of `ClusterCatalog` objects.
    pub mode: ControllerMode,
    /// Serve the images of `CatalogSource` objects too.
    pub catalog_sources: bool,
    /// Add the requirements of `ClusterImagePolicy` objects, and of `ImagePolicy` objects in the
    /// namespace, to the signature policy.
    pub image_policies: bool,
    /// Namespace of the Lease, of the `ServiceAccount`, and of the pull secrets that catalogs name.
    pub namespace: String,
    /// Identity of this replica, the `holderIdentity` of its Lease.
    pub identity: String,
    /// Base of the URLs of contents, such as `http://catalogd-service.olmv1-system.svc`.
    pub base_url: String,
    /// Timing of leader election; `None` disables it, for a replica that is alone.
    pub lease: Option<LeaseDurations>,
    /// The `ServiceAccount` whose pull secrets are used.
    pub service_account: Option<String>,
    /// Pull secret that is used for all catalogs.
    pub global_pull_secret: Option<SecretName>,
    /// Withdraw catalogs whose images the signature policy refuses.
    pub policy_withdraws: bool,
    /// Time after which the replica becomes ready without a catalog that it has not loaded yet.
    pub ready_after: Duration,
    /// Path of the file in which the objects behind the desired catalogs are kept.
    pub desired_catalogs_file: PathBuf,
}

/// An error that keeps a controller from starting.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The kubeconfig cannot be read.
    #[error("cannot read the kubeconfig `{}`", path.display())]
    ReadKubeconfig {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
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
