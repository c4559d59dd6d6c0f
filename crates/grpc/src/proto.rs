//! Protobuf messages of the files in `proto`, as prost encodes them. A test compares each with its
//! descriptor.
//!
//! Fields with JSON text are strings in the descriptors and `Bytes` here, which have the same
//! encoding: a manifest may have megabytes and appears in two fields, which share it.

#![expect(
    clippy::struct_field_names,
    reason = "fields are named as in the descriptors"
)]

use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PackageNameMessage {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PackageMessage {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) channels: Vec<ChannelMessage>,
    #[prost(string, tag = "3")]
    pub(crate) default_channel_name: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) deprecation: Option<DeprecationMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ChannelMessage {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// Name of the channel head.
    #[prost(string, tag = "2")]
    pub(crate) csv_name: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) deprecation: Option<DeprecationMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DeprecationMessage {
    #[prost(string, tag = "1")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct BundleMessage {
    /// Name of the bundle.
    #[prost(string, tag = "1")]
    pub(crate) csv_name: String,
    #[prost(string, tag = "2")]
    pub(crate) package_name: String,
    #[prost(string, tag = "3")]
    pub(crate) channel_name: String,
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) csv_json: Bytes,
    /// Manifests, as JSON.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub(crate) object: Vec<Bytes>,
    /// Image of the bundle.
    #[prost(string, tag = "6")]
    pub(crate) bundle_path: String,
    #[prost(message, repeated, tag = "7")]
    pub(crate) provided_apis: Vec<ApiMessage>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) required_apis: Vec<ApiMessage>,
    #[prost(string, tag = "9")]
    pub(crate) version: String,
    #[prost(string, tag = "10")]
    pub(crate) skip_range: String,
    #[prost(message, repeated, tag = "11")]
    pub(crate) dependencies: Vec<PropertyMessage>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) properties: Vec<PropertyMessage>,
    #[prost(string, tag = "13")]
    pub(crate) replaces: String,
    #[prost(string, repeated, tag = "14")]
    pub(crate) skips: Vec<String>,
    #[prost(message, optional, tag = "15")]
    pub(crate) deprecation: Option<DeprecationMessage>,
}

/// `api.GroupVersionKind`. OLM v0 never fills its plural here.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ApiMessage {
    #[prost(string, tag = "1")]
    pub(crate) group: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
    #[prost(string, tag = "3")]
    pub(crate) kind: String,
    #[prost(string, tag = "4")]
    pub(crate) plural: String,
}

/// `api.Property` and `api.Dependency`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PropertyMessage {
    #[prost(string, tag = "1")]
    pub(crate) r#type: String,
    /// JSON text.
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ChannelEntryMessage {
    #[prost(string, tag = "1")]
    pub(crate) package_name: String,
    #[prost(string, tag = "2")]
    pub(crate) channel_name: String,
    #[prost(string, tag = "3")]
    pub(crate) bundle_name: String,
    #[prost(string, tag = "4")]
    pub(crate) replaces: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetPackageRequest {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetBundleRequest {
    #[prost(string, tag = "1")]
    pub(crate) pkg_name: String,
    #[prost(string, tag = "2")]
    pub(crate) channel_name: String,
    #[prost(string, tag = "3")]
    pub(crate) csv_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetBundleInChannelRequest {
    #[prost(string, tag = "1")]
    pub(crate) pkg_name: String,
    #[prost(string, tag = "2")]
    pub(crate) channel_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetAllReplacementsRequest {
    #[prost(string, tag = "1")]
    pub(crate) csv_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetReplacementRequest {
    #[prost(string, tag = "1")]
    pub(crate) csv_name: String,
    #[prost(string, tag = "2")]
    pub(crate) pkg_name: String,
    #[prost(string, tag = "3")]
    pub(crate) channel_name: String,
}

/// `api.GetAllProvidersRequest`, `api.GetLatestProvidersRequest` and
/// `api.GetDefaultProviderRequest`. Upstream does not read the plural.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetProvidersRequest {
    #[prost(string, tag = "1")]
    pub(crate) group: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
    #[prost(string, tag = "3")]
    pub(crate) kind: String,
    #[prost(string, tag = "4")]
    pub(crate) plural: String,
}

/// `api.ExperimentalListPackageCustomSchemasRequest`
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListCustomSchemasRequest {
    #[prost(string, tag = "1")]
    pub(crate) schema: String,
    #[prost(string, tag = "2")]
    pub(crate) package_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HealthCheckRequest {
    #[prost(string, tag = "1")]
    pub(crate) service: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HealthCheckResponse {
    #[prost(enumeration = "ServingStatus", tag = "1")]
    pub(crate) status: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum ServingStatus {
    Unknown = 0,
    Serving = 1,
    NotServing = 2,
    ServiceUnknown = 3,
}

/// `ServerReflectionRequest` of both versions of reflection, which have one encoding.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ReflectionRequest {
    #[prost(string, tag = "1")]
    pub(crate) host: String,
    #[prost(oneof = "ReflectionQuery", tags = "3, 4, 5, 6, 7")]
    pub(crate) query: Option<ReflectionQuery>,
}

/// The `oneof` of a request.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum ReflectionQuery {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(message, tag = "5")]
    FileContainingExtension(ExtensionRequest),
    #[prost(string, tag = "6")]
    AllExtensionNumbersOfType(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ExtensionRequest {
    #[prost(string, tag = "1")]
    pub(crate) containing_type: String,
    #[prost(int32, tag = "2")]
    pub(crate) extension_number: i32,
}

/// `ServerReflectionResponse` of both versions of reflection.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ReflectionResponse {
    #[prost(string, tag = "1")]
    pub(crate) valid_host: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) original_request: Option<ReflectionRequest>,
    #[prost(oneof = "ReflectionResult", tags = "4, 5, 6, 7")]
    pub(crate) result: Option<ReflectionResult>,
}

/// The `oneof` of a response.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum ReflectionResult {
    #[prost(message, tag = "4")]
    FileDescriptors(FileDescriptorResponse),
    #[prost(message, tag = "5")]
    ExtensionNumbers(ExtensionNumberResponse),
    #[prost(message, tag = "6")]
    Services(ListServiceResponse),
    #[prost(message, tag = "7")]
    Error(ReflectionErrorResponse),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct FileDescriptorResponse {
    /// Encoded descriptors.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(crate) file_descriptor_proto: Vec<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ExtensionNumberResponse {
    #[prost(string, tag = "1")]
    pub(crate) base_type_name: String,
    #[prost(int32, repeated, tag = "2")]
    pub(crate) extension_number: Vec<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListServiceResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) service: Vec<ServiceResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ServiceResponse {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// `ErrorResponse` of reflection.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ReflectionErrorResponse {
    #[prost(int32, tag = "1")]
    pub(crate) error_code: i32,
    #[prost(string, tag = "2")]
    pub(crate) error_message: String,
}

#[cfg(test)]
mod tests;
