//! Objects of the Kubernetes API that describe catalogs: `ClusterCatalog` of OLM v1, what is read of `CatalogSource` of
//! OLM v0, and the policies of `OpenShift` for the signatures of images.
//!
//! Names, texts and rules are a wire format that other programs depend on. This crate is data: it knows no cluster and
//! no catalog.

mod catalog_source;
#[expect(unreachable_pub, reason = "structs that `KubeSchema` generates")]
#[expect(clippy::duplicated_attributes, reason = "print columns of one type")]
mod cluster_catalog;
pub mod conditions;
mod image_policy;
mod schema;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use catalog_source::{CatalogSource, CatalogSourceSpec, RegistryPoll, UpdateStrategy};
pub use cluster_catalog::{
    AvailabilityMode, CatalogSourceUnion, CatalogUrls, ClusterCatalog, ClusterCatalogSpec,
    ClusterCatalogStatus, ImageCatalogSource, ResolvedImageSource, ResolvedSource, SourceType,
};
pub use image_policy::{ClusterImagePolicy, ClusterImagePolicySpec, ImagePolicy, ImagePolicySpec};

/// The label that holds the name of a `ClusterCatalog`, so that selectors can name one.
pub const NAME_LABEL: &str = "olm.operatorframework.io/metadata.name";

/// The finalizer that catalogd sets on each `ClusterCatalog`.
pub const CATALOGD_FINALIZER: &str = "olm.operatorframework.io/delete-server-cache";

/// The annotation that names a pull secret for one catalog, in the namespace of the controller.
pub const PULL_SECRET_ANNOTATION: &str = "catalogql.io/pull-secret";

/// Annotation with the digest of the content that is served, which the controller writes.
pub const CONTENT_DIGEST_ANNOTATION: &str = "catalogql.io/content-digest";

/// The annotation that holds the name of a catalog to show to people.
pub const DISPLAY_NAME_ANNOTATION: &str = "catalogql.io/display-name";

/// The annotation that holds the publisher of a catalog.
pub const PUBLISHER_ANNOTATION: &str = "catalogql.io/publisher";

/// The label of a catalog that is served for a `CatalogSource`: its name.
pub const CATALOG_SOURCE_NAME_LABEL: &str = "catalogql.io/catalogsource-name";

/// The label of a catalog that is served for a `CatalogSource`: its namespace.
pub const CATALOG_SOURCE_NAMESPACE_LABEL: &str = "catalogql.io/catalogsource-namespace";

/// The definition of `ClusterCatalog`, interchangeable with catalogd's.
pub fn cluster_catalog_crd() -> CustomResourceDefinition {
    let mut crd = ClusterCatalog::crd();
    for version in &mut crd.spec.versions {
        let schema = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(schema) = schema {
            schema::forbid_null(schema);
            schema::require_metadata(schema);
        }
    }
    crd
}

#[cfg(test)]
mod tests;
