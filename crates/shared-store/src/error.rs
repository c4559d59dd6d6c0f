//! Errors of a shared store.

use std::io;
use std::time::Duration;

/// An error of a shared store. No message has credentials: the URL has none, and the libraries
/// leave them out.
#[derive(Debug, thiserror::Error)]
pub enum SharedStoreError {
    /// The build has no shared store.
    #[error(
        "this build has no shared store: build it with the feature shared-store, or use a release"
    )]
    NotBuilt,
    /// The URL is not one of a shared store. It is not quoted, because it may contain credentials.
    #[error(
        "cannot parse the URL of the shared store: expected s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///DIRECTORY"
    )]
    InvalidUrl,
    /// The URL contains credentials or a query. It is not quoted.
    #[error(
        "cannot use the URL of the shared store: it has a user, a query or a fragment; credentials belong in environment variables"
    )]
    CredentialsInUrl,
    /// The settings in the environment are invalid.
    #[error("cannot open the shared store `{url}`: {reason}")]
    Open {
        /// The URL.
        url: String,
        /// The cause, in one line.
        reason: String,
    },
    /// A request failed.
    #[error("cannot {action} `{object}` in the shared store: {reason}")]
    Request {
        /// The operation, as in "cannot read".
        action: &'static str,
        /// Name of the object.
        object: String,
        /// The cause, in one line.
        reason: String,
    },
    /// A request took too long.
    #[error("cannot {action} `{object}` in the shared store: no response within {} s", timeout.as_secs())]
    TimedOut {
        /// The operation.
        action: &'static str,
        /// Name of the object.
        object: String,
        /// The time-out.
        timeout: Duration,
    },
    /// A response came too slowly.
    #[error("cannot read `{object}` in the shared store: fewer than {rate} bytes came per second")]
    TooSlow {
        /// Name of the object.
        object: String,
        /// The minimum rate in bytes per second.
        rate: u64,
    },
    /// Requests failed a moment before, and no more are sent for a while.
    #[error("the shared store failed a moment before")]
    Suspended,
    /// An object that a record names is not there.
    #[error("the shared store has no object `{0}`, which a record names")]
    Missing(String),
    /// An object is not what its name or its record says.
    #[error("object `{object}` in the shared store is damaged: {reason}")]
    Damaged {
        /// Name of the object.
        object: String,
        /// The difference.
        reason: &'static str,
    },
    /// A download cannot be written to the disk.
    #[error("cannot write a download from the shared store")]
    Io(#[from] io::Error),
}
