//! Schemas of blobs: those that are indexed as typed objects, and the names that custom ones may
//! have.

use std::sync::Arc;

/// Schemas whose blobs are typed objects; all others are custom schemas.
pub const TYPED_SCHEMAS: [&str; 4] = [
    "olm.package",
    "olm.channel",
    "olm.bundle",
    "olm.deprecations",
];

/// Schema of the blobs with life cycles.
pub const LIFECYCLE_SCHEMA: &str = "io.openshift.operators.lifecycles.v1alpha1";

/// Regular expression that upstream's gRPC server requires the name of a custom schema to match.
pub const CUSTOM_NAME_RULE: &str = "^[a-zA-Z0-9][a-zA-Z0-9._-]*$";

/// Number of blobs of one schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaCount {
    /// The schema, such as `olm.bundle`; empty for blobs without one.
    pub schema: Arc<str>,
    /// Number of blobs.
    pub count: u32,
    /// `true` when this crate indexes the schema as typed objects.
    pub known: bool,
}

/// Returns whether upstream's gRPC server accepts a text as name of a custom schema, or of the
/// package of its blob: [`CUSTOM_NAME_RULE`].
pub fn is_custom_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.bytes().all(is_part) && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}
