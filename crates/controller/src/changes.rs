//! Changes of the cluster, which watches send to the controller.

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};

use crate::image_policies::PolicyList;
use crate::secret_name::SecretName;

/// A change in the cluster.
#[derive(Clone, Debug)]
pub(crate) enum ClusterChange {
    /// A `ClusterCatalog` changed, or the initial list is complete.
    ClusterCatalogs,
    /// A `CatalogSource` changed, or the initial list is complete.
    CatalogSources,
    /// An object with requirements for images changed, or the list of its kind.
    ImagePolicies(PolicyList),
    ServiceAccount(Option<ServiceAccount>),
    Secret(SecretName, Option<Secret>),
    /// A watch has panicked: changes of its objects are not received any more.
    WatchPanicked,
}
