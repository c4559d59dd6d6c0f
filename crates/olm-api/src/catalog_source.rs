//! The fields of OLM v0's `CatalogSource` that the controller reads. It is never written.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// Spec of a `CatalogSource`: its image, and its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize)]
#[kube(
    group = "operators.coreos.com",
    version = "v1alpha1",
    kind = "CatalogSource",
    namespaced
)]
#[kube(schema = "disabled", derive = "PartialEq")]
#[serde(rename_all = "camelCase", default)]
pub struct CatalogSourceSpec {
    /// Image of the catalog; absent when the catalog is at an address or in a `ConfigMap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Name to show to people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// Publisher of the catalog.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub publisher: String,
    /// Rank among catalogs that offer the same package; the highest wins.
    pub priority: i32,
    /// Update strategy of the image; absent when the image is loaded once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
}

/// Update strategy of the image of a `CatalogSource`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateStrategy {
    /// Polls of the image's tag; absent when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_poll: Option<RegistryPoll>,
}

/// Polls of the tag of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct RegistryPoll {
    /// The interval as Go writes durations, such as `45m` or `1h30m0s`.
    pub interval: String,
}
