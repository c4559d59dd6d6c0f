//! Kubernetes APIs: group, version and kind.

use fbc_read::json::JsonText;

/// A Kubernetes API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupVersionKind<'a> {
    /// API group, empty for the core group.
    pub group: &'a str,
    /// API version, such as `v1alpha1`.
    pub version: &'a str,
    /// Kind, such as `EtcdCluster`.
    pub kind: &'a str,
}

/// A Kubernetes API in the JSON texts of a value that is decoded when it is read; missing ones are
/// empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawGroupVersionKind<'a> {
    /// API group, empty for the core group.
    pub group: JsonText<'a>,
    /// API version, such as `v1`.
    pub version: JsonText<'a>,
    /// Kind, such as `ConfigMap`.
    pub kind: JsonText<'a>,
}

/// A Kubernetes API to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiFilter<'f> {
    /// API group, empty for the core group.
    pub group: &'f str,
    /// API version; `None` matches any.
    pub version: Option<&'f str>,
    /// Kind.
    pub kind: &'f str,
}
