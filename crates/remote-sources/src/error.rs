//! Errors of downloads. None of them shows a query, a user or a secret.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fbc_grammar::Digest;
use images::unpack::UnpackError;

use crate::{GitReason, HttpAuthError, MAX_HOPS, MAX_REDIRECTS, ReferenceError};

/// An error of a download.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The settings, or the files that they name, cannot be used.
    #[error(transparent)]
    Auth(#[from] HttpAuthError),
    /// The certificate of an authority cannot be parsed.
    #[error("cannot use a file of --registry-ca: it does not contain valid PEM certificates: {0}")]
    Authority(String),
    /// The HTTP client cannot be created.
    #[error("cannot set up TLS: install the certificates of your system (Debian: ca-certificates)")]
    TlsSetup(#[source] reqwest::Error),
    /// The URL has no TLS, and the settings do not allow that.
    #[error(
        "cannot download from `{0}` without TLS: write https://, or --insecure-registry {0} to allow it"
    )]
    WithoutTls(String),
    /// A connection cannot be established.
    #[error("cannot reach `{host}`")]
    Unreachable {
        /// The host.
        host: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// A certificate is not valid.
    #[error(
        "cannot verify the certificate of `{host}`: name the certificate of its issuer with --registry-ca, or as `ca` in the file of --http-auth"
    )]
    Certificate {
        /// The host.
        host: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// The server requires credentials, or refuses those that were sent.
    #[error("cannot download `{url}`: HTTP status {status}: {}",
        if *has_credentials { "the credentials from --http-auth are refused" } else { "it requires credentials, name them in the file of --http-auth" })]
    Unauthorized {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Credentials were sent.
        has_credentials: bool,
    },
    /// The server responds with an unexpected status.
    #[error("cannot download `{url}`: HTTP status {status}")]
    Status {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Delay after which the server allows further requests.
        retry_after: Option<Duration>,
        /// A later request may succeed although nobody does anything.
        is_transient: bool,
    },
    /// A redirect is not followed.
    #[error("cannot follow the redirect from `{url}`: {reason}")]
    Redirect {
        /// The URL.
        url: String,
        /// The cause.
        reason: RedirectReason,
    },
    /// A response is not what HTTP allows for its request.
    #[error("cannot download `{url}`: {reason}")]
    Malformed {
        /// The URL.
        url: String,
        /// The cause.
        reason: &'static str,
    },
    /// A response is too long.
    #[error("cannot download `{url}`: {part} exceeds the limit of {limit} bytes")]
    TooLarge {
        /// The URL.
        url: String,
        /// Part of the response.
        part: &'static str,
        /// Maximum number of bytes.
        limit: u64,
    },
    /// A download ended early and cannot be continued.
    #[error(
        "cannot download `{url}`: the connection ended after {downloaded} bytes{}",
        expected.map(|bytes| format!(" of {bytes}")).unwrap_or_default()
    )]
    Interrupted {
        /// The URL.
        url: String,
        /// Number of bytes that were downloaded.
        downloaded: u64,
        /// Length of the body in bytes, if the server said it.
        expected: Option<u64>,
        /// The cause, if the connection did not just end.
        source: Option<reqwest::Error>,
    },
    /// A download is too slow.
    #[error("cannot download `{url}`: only {downloaded} bytes arrived in {seconds} seconds")]
    TooSlow {
        /// The URL.
        url: String,
        /// Number of bytes that were downloaded.
        downloaded: u64,
        /// Duration of the download.
        seconds: u64,
    },
    /// The reference names a server, and not one of its catalogs.
    #[error(
        "cannot load `{0}`: it names a server with all its catalogs, which only `serve` follows: append /catalogs/NAME"
    )]
    NamesServer(String),
    /// The server has the catalog from this one.
    #[error(
        "cannot follow `{url}`: its content comes from this server: follow the first source of the catalog"
    )]
    Loop {
        /// The URL.
        url: String,
    },
    /// The content came through too many servers.
    #[error(
        "cannot follow `{url}`: its content came through more than {MAX_HOPS} servers: follow one that is nearer to its source"
    )]
    TooManyHops {
        /// The URL.
        url: String,
    },
    /// The bytes are not those that the reference pins.
    #[error("cannot use `{url}`: its SHA-256 is {} instead of {}", actual.hex(), expected.hex())]
    WrongDigest {
        /// The URL.
        url: String,
        /// The digest of the reference.
        expected: Digest,
        /// The digest of the bytes.
        actual: Digest,
    },
    /// A file has changed each time that it was downloaded.
    #[error("cannot use `{url}`: it changed while it was downloaded, {attempts} times")]
    Unstable {
        /// The URL.
        url: String,
        /// Number of downloads.
        attempts: usize,
    },
    /// A git repository cannot be read.
    #[error("cannot read `{reference}`: {reason}")]
    Git {
        /// The reference.
        reference: String,
        /// The cause.
        reason: GitReason,
    },
    /// The files of a git repository cannot be unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// This build cannot read such a source.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// An operation on a file failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The operation, as in "cannot write".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The reason for which a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectReason {
    /// The target has no TLS, and the source has.
    #[error("`{0}` has no TLS")]
    WithoutTls(String),
    /// The target has another scheme than those of HTTP.
    #[error("its target is no HTTP URL (`{0}:`)")]
    Scheme(String),
    /// The target is missing, or not a URL.
    #[error("it has no valid target")]
    NoTarget,
    /// There are too many redirects.
    #[error("there are more than {MAX_REDIRECTS} redirects")]
    TooMany,
    /// The target is at an address that is not public.
    #[error("`{0}` is at {1}, which the source is not: write --allow-private {0} to allow it")]
    Private(String, &'static str),
    /// The name of the target has no address.
    #[error("`{0}` has no address")]
    NoAddress(String),
}

impl RemoteError {
    /// Returns whether the next attempt may succeed although nobody does anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { is_transient, .. } => *is_transient,
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::TooSlow { .. }
            | Self::Unstable { .. }
            | Self::Io { .. } => true,
            Self::Git { reason, .. } => reason.is_transient(),
            Self::Redirect { reason, .. } => matches!(reason, RedirectReason::NoAddress(_)),
            _ => false,
        }
    }

    /// Returns the delay after which the server allows further requests, if it names one.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
