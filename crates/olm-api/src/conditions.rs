//! Types, reasons and messages of the conditions of a `ClusterCatalog`.
//!
//! `Progressing` and `Serving` are those of catalogd, whose reasons and messages other controllers compare.

/// Condition: the catalog has reached the state of its spec, or moves towards it.
pub const PROGRESSING: &str = "Progressing";

/// Condition: the content of the catalog is served.
pub const SERVING: &str = "Serving";

/// Condition: the content of the catalog has no errors.
pub const VALID: &str = "Valid";

/// Condition: the image of the catalog is signed as the signature policy requires. Without a policy,
/// and where the policy requires no signature, catalogs do not have it.
pub const VERIFIED: &str = "Verified";

/// Reasons of [`PROGRESSING`].
pub mod progressing {
    /// The desired state is reached.
    pub const SUCCEEDED: &str = "Succeeded";
    /// The last attempt failed and is retried.
    pub const RETRYING: &str = "Retrying";
    /// The last attempt failed, and retries fail until the object, the image or the cluster changes.
    pub const BLOCKED: &str = "Blocked";
    /// Message of [`SUCCEEDED`] when the content is served.
    pub const UNPACKED: &str = "Successfully unpacked and stored content from resolved source";
}

/// Reasons of [`SERVING`].
pub mod serving {
    /// The content is served.
    pub const AVAILABLE: &str = "Available";
    /// There is no content.
    pub const UNAVAILABLE: &str = "Unavailable";
    /// The availability mode of the catalog is `Unavailable`.
    pub const USER_SPECIFIED_UNAVAILABLE: &str = "UserSpecifiedUnavailable";
    /// Message of [`AVAILABLE`].
    pub const SERVING_DESIRED: &str = "Serving desired content from resolved source";
    /// Message of [`USER_SPECIFIED_UNAVAILABLE`], here and where [`PROGRESSING`](super::PROGRESSING) says so.
    pub const SET_UNAVAILABLE: &str = "Catalog availability mode is set to Unavailable";
}

/// Reasons of [`VALID`].
pub mod valid {
    /// The content has no error.
    pub const NO_ERRORS: &str = "NoErrors";
    /// The content has errors. It is served all the same.
    pub const ERRORS_FOUND: &str = "ErrorsFound";
    /// The content of the source cannot be read. An earlier content is served, if there is one.
    pub const UNREADABLE: &str = "Unreadable";
}

/// Reasons of [`VERIFIED`].
pub mod verified {
    /// The signatures are accepted.
    pub const ACCEPTED: &str = "SignaturesAccepted";
    /// The policy refuses the image of the content that is served, or was withdrawn.
    pub const REFUSED: &str = "Refused";
}
