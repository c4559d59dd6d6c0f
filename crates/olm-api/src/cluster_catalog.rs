//! `ClusterCatalog` of OLM v1: fields, defaults and validation as catalogd's.
//!
//! Values of newer versions must not fail to parse, because one object would then fail the watch of all.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;

/// The desired state of a catalog.
#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, Serialize, KubeSchema)]
#[kube(
    group = "olm.operatorframework.io",
    version = "v1",
    kind = "ClusterCatalog",
    status = "ClusterCatalogStatus"
)]
#[kube(
    derive = "PartialEq",
    doc = "A catalog of operators in the file-based format, which is served to the clients of the cluster."
)]
#[kube(printcolumn(
    name = "LastUnpacked",
    type_ = "date",
    json_path = ".status.lastUnpacked"
))]
#[kube(printcolumn(
    name = "Serving",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="Serving")].status"#
))]
#[kube(printcolumn(
    name = "Age",
    type_ = "date",
    json_path = ".metadata.creationTimestamp"
))]
#[serde(rename_all = "camelCase")]
pub struct ClusterCatalogSpec {
    /// Where the content of the catalog comes from.
    pub source: CatalogSourceUnion,
    /// Rank among catalogs that offer the same package: clients prefer the highest. Catalogs of equal rank that offer
    /// the same package are ambiguous to them. The default is 0.
    #[serde(default)]
    #[schemars(schema_with = "schema::priority")]
    pub priority: i32,
    /// Whether the content is served. `Unavailable` keeps the object but withdraws the content, as if there were no such
    /// catalog. The default is `Available`.
    #[serde(default)]
    #[schemars(schema_with = "schema::availability_mode")]
    pub availability_mode: AvailabilityMode,
}

/// Availability of a catalog, set by its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum AvailabilityMode {
    /// The content is withdrawn.
    Unavailable,
    /// The content is served.
    #[default]
    Available,
    /// A value of a newer version.
    #[serde(other)]
    Unknown,
}

/// Kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum SourceType {
    /// An image in a registry.
    Image,
    /// A value of a newer version.
    #[serde(other)]
    Unknown,
}

/// Where the content of a catalog comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, KubeSchema)]
#[x_kube(validation = schema::image_matches_type())]
pub struct CatalogSourceUnion {
    /// Kind of the source. `Image` takes the content from an image in a registry; the field `image` is required then.
    #[serde(rename = "type")]
    #[schemars(schema_with = "schema::source_type")]
    pub source_type: SourceType,
    /// The image; required when the type is `Image`, and forbidden otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageCatalogSource>,
}

/// An image as the source of a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = schema::only_tags_are_polled())]
pub struct ImageCatalogSource {
    /// Reference to the image, at most 1000 characters: a domain with an optional port, a name, and a tag or a digest,
    /// such as `quay.io/operatorhubio/catalog:latest` or `registry.example.com:5000/catalog@sha256:…`. The encoded part of
    /// a digest has at least 32 hexadecimal digits, and a tag at most 127 characters.
    #[serde(rename = "ref")]
    #[schemars(schema_with = "schema::image_reference")]
    pub reference: String,
    /// Interval in minutes at which the tag is polled for a new image. Without it the image is pulled once. Not allowed
    /// for a reference with a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::poll_interval")]
    pub poll_interval_minutes: Option<i64>,
}

/// The observed state of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCatalogStatus {
    /// `Progressing` tells whether the state that the spec asks for is reached: reason `Succeeded` when it is, `Retrying`
    /// after an error that may pass, `Blocked` after one that somebody must resolve. `Serving` tells whether content is
    /// served, which after an error is the last that was read. `Valid` tells what is wrong with the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The source that the served content was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_source: Option<ResolvedSource>,
    /// URLs of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<CatalogUrls>,
    /// When the served content was unpacked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_unpacked: Option<Time>,
}

/// The source of a content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, KubeSchema)]
#[x_kube(validation = schema::image_matches_type())]
pub struct ResolvedSource {
    /// Kind of the source. With `Image`, the field `image` is set.
    #[serde(rename = "type")]
    #[schemars(schema_with = "schema::source_type")]
    pub source_type: SourceType,
    /// The image; required when the type is `Image`, and forbidden otherwise.
    // Without `default`, which the schema would take for a reason not to require it; reading is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub image: Option<ResolvedImageSource>,
}

/// The image of a content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ResolvedImageSource {
    /// Reference to the image by digest, at most 1000 characters.
    #[serde(rename = "ref")]
    #[schemars(schema_with = "schema::resolved_reference")]
    pub reference: String,
}

/// URLs of a content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct CatalogUrls {
    /// URL that the paths of the catalog's endpoints are appended to, such as `/api/v1/all`, the whole content.
    #[schemars(schema_with = "schema::base_url")]
    pub base: String,
}
