//! Relation of the served content to its source, and the errors of loads.

use std::error::Error;
use std::fmt;
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;

use fbc::IndexError;
use fbc_read::ReadError;
use images::unpack::UnpackError;
use images::{ImageError, RefusalCode};
use remote_sources::RemoteError;
use serving::FailureReason;
use store::StoreError;

use crate::directory::DirectoryError;

/// Relation of the served content to its source.
#[derive(Clone, Debug)]
pub enum SyncStatus {
    /// The content is the source's current one.
    Synced,
    /// The content is the stored one; the source is being contacted.
    Pending,
    /// The last attempt to load the source failed. The served content, if any, is an earlier one.
    Failed(Arc<LoadError>),
}

/// A file that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("{path}:{}: {}", error.line, error.kind)]
pub struct FileReadError {
    /// Path of the file from the root of the catalog.
    pub path: String,
    /// The error and its line.
    pub error: ReadError,
}

/// An error of loading a content.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The directory cannot be read.
    #[error("cannot read the source")]
    Directory(#[from] DirectoryError),
    /// The image cannot be fetched.
    #[error("cannot read the source")]
    Image(#[from] ImageError),
    /// The remote source cannot be downloaded.
    #[error("cannot read the source")]
    Remote(#[from] RemoteError),
    /// The downloaded file cannot be unpacked.
    #[error("cannot unpack the downloaded file")]
    Archive(#[source] UnpackError),
    /// The content is much smaller than the last one.
    #[error(
        "the source has only {packages} packages left of {former}: this content is served if the next attempt finds the same one; --accept-shrink accepts it at once"
    )]
    Shrunk {
        /// Number of packages.
        packages: usize,
        /// Number of packages of the last content.
        former: usize,
    },
    /// The image cannot be unpacked.
    #[error("cannot unpack the image")]
    Unpack(#[from] UnpackError),
    /// The image has no file in the catalog's directory.
    #[error(
        "`{image}` has no file to read below `{root}`: name another directory of it with --configs-dir"
    )]
    NoFiles {
        /// The image.
        image: String,
        /// The catalog's directory in the image.
        root: String,
    },
    /// A file of the source does not parse.
    #[error(transparent)]
    Read(#[from] FileReadError),
    /// The lines are much longer than the files that they are read from.
    #[error(
        "cannot read the source: its files have {file_bytes} bytes and more than {max} bytes of blobs: write out the \
         YAML aliases in them, or use fewer"
    )]
    Grown {
        /// Size of all files together, in bytes.
        file_bytes: u64,
        /// Maximum size of the blobs of such files, in bytes.
        max: u64,
    },
    /// The files have more documents than files of their size need.
    #[error(
        "cannot read the source: its files have more than {max} documents, which is the most for files of this size: remove \
         empty documents"
    )]
    TooManyDocuments {
        /// Maximum number of documents of such files.
        max: u64,
    },
    /// The content cannot be stored.
    #[error("cannot store the content")]
    Store(#[from] StoreError),
    /// The content that has just been written cannot be indexed.
    #[error("cannot index the content")]
    Index(#[from] IndexError),
    /// The directory changed each time it was read.
    #[error("`{}` changed each time it was read, {attempts} times", root.display())]
    Unstable {
        /// The directory.
        root: PathBuf,
        /// Number of times that it was read.
        attempts: usize,
    },
    /// The directory has no blobs, and had some before.
    #[error(
        "`{}` has become empty: the empty catalog is served if the next attempt finds the directory as it is now", root.display()
    )]
    Emptied {
        /// The directory.
        root: PathBuf,
    },
    /// A stored file of the served content does not match its digest.
    #[error(
        "the stored file `{}` is damaged: another program has written to it, or the disk is faulty; its source is read again",
        .0.display()
    )]
    Damaged(PathBuf),
    /// The signature policy refuses the stored content, which is withdrawn.
    #[error(
        "the signature policy refuses the stored content ({code}): {message}; it is withdrawn, as --policy-withdraws asks"
    )]
    Withdrawn {
        /// The kind of reason.
        code: &'static str,
        /// The reasons.
        message: String,
    },
    /// A bug in this program.
    #[error("cannot read the content: internal error: {0}")]
    Panicked(String),
}

impl SyncStatus {
    /// Returns the error of the last attempt, if it failed.
    pub fn error(&self) -> Option<&LoadError> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Synced | Self::Pending => None,
        }
    }

    /// Returns whether a report of the second status would repeat the first.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Synced, Self::Synced) | (Self::Pending, Self::Pending) => true,
            (Self::Failed(one), Self::Failed(other)) => {
                one.reason() == other.reason() && one.chain() == other.chain()
            }
            _ => false,
        }
    }
}

impl fmt::Display for SyncStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synced => f.write_str("current"),
            Self::Pending => f.write_str("not checked yet"),
            Self::Failed(error) => f.write_str(&error.chain()),
        }
    }
}

impl LoadError {
    /// Returns the reason of the failure.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Unstable { .. } | Self::Emptied { .. } | Self::Shrunk { .. } => {
                FailureReason::SourceUnstable
            }
            Self::Remote(RemoteError::Auth(_) | RemoteError::Unauthorized { .. }) => {
                FailureReason::Unauthorized
            }
            Self::Directory(_) | Self::Remote(_) => FailureReason::SourceUnreadable,
            Self::Image(error) => image_reason(error),
            Self::Unpack(UnpackError::NoRoot) | Self::NoFiles { .. } => FailureReason::NoCatalog,
            Self::Unpack(UnpackError::Io { .. })
            | Self::Archive(UnpackError::Io { .. })
            | Self::Store(_) => FailureReason::StorageFailed,
            Self::Unpack(_) | Self::Archive(_) | Self::Withdrawn { .. } => {
                FailureReason::InvalidImage
            }
            Self::Read(_)
            | Self::Grown { .. }
            | Self::TooManyDocuments { .. }
            | Self::Index(IndexError::TooManyObjects { .. }) => FailureReason::InvalidCatalog,
            Self::Damaged(_) => FailureReason::Damaged,
            Self::Index(_) | Self::Panicked(_) => FailureReason::Internal,
        }
    }

    /// Formats the error with its causes, in one line.
    pub fn chain(&self) -> String {
        let causes = iter::successors(Some(self as &dyn Error), |&error| error.source());
        causes
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": ")
    }
}

fn image_reason(error: &ImageError) -> FailureReason {
    match error {
        ImageError::TlsSetup(_)
        | ImageError::Unreachable { .. }
        | ImageError::Redirect { .. }
        | ImageError::TooManyRequests { .. }
        | ImageError::Status { .. }
        | ImageError::Interrupted { .. } => FailureReason::RegistryUnavailable,
        ImageError::NoToken(_)
        | ImageError::NoCredentials { .. }
        | ImageError::CredentialsRejected { .. }
        | ImageError::Forbidden { .. }
        | ImageError::CredentialHelper { .. }
        | ImageError::InvalidCredentials { .. } => FailureReason::Unauthorized,
        ImageError::NotFound { .. }
        | ImageError::NotALayout(_)
        | ImageError::LayoutChoice { .. } => FailureReason::ImageNotFound,
        ImageError::Io { .. } => FailureReason::SourceUnreadable,
        // A signature may follow its image.
        ImageError::SignatureRefused { verdict, .. }
            if verdict.code().is_some_and(RefusalCode::is_transient) =>
        {
            FailureReason::RegistryUnavailable
        }
        _ => FailureReason::InvalidImage,
    }
}
