//! Errors of webhooks.

use std::io;
use std::path::PathBuf;

use crate::{MAX_SECRET_BYTES, MAX_WEBHOOKS, MIN_SECRET_BYTES};

/// An error of the settings of webhooks, or of an attempt to deliver an event.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The address is none.
    #[error("not a valid address of a webhook: {reason}")]
    Url {
        /// Why.
        reason: String,
    },
    /// There are too many addresses.
    #[error("cannot use more than {MAX_WEBHOOKS} webhooks: name fewer with --webhook")]
    TooMany,
    /// The file of the secret cannot be read.
    #[error("cannot read the secret of webhooks from `{}`", path.display())]
    SecretFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The secret is too short, too long, or not base64 after `whsec_`.
    #[error(
        "cannot use the secret of webhooks in `{}`: expected {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes, or `whsec_` and as many in base64",
        path.display()
    )]
    Secret {
        /// The file.
        path: PathBuf,
    },
    /// The HTTP client cannot be made.
    #[error("cannot create the HTTP client of webhooks")]
    Client(#[source] reqwest::Error),
    /// An attempt failed before a status arrived.
    #[error("cannot send the event")]
    Send(#[source] reqwest::Error),
    /// The receiver redirects.
    #[error(
        "the receiver redirects ({status}), and redirects are not followed: name its last address with --webhook"
    )]
    Redirect {
        /// Status of the response.
        status: u16,
    },
    /// The receiver does not accept the event.
    #[error("the receiver answered with status {status}")]
    Status {
        /// Status of the response.
        status: u16,
    },
}
