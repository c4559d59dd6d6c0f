//! Errors of edits of directories.

use std::path::PathBuf;

use edit::BatchError;
use edit::file::{ChangeError, FileError};
use loading::directory::DirectoryError;

use crate::folder::FolderError;
use crate::journal::JournalError;

/// The files of a catalog cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogReadError {
    /// A directory cannot be listed, or a file cannot be opened.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A file does not parse.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A directory was not edited. Its files are as they were, unless [`Self::Write`] says that a
/// change was interrupted: the next edit finishes it then.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryEditError {
    /// The directory cannot be locked, or an interrupted change of it cannot be finished.
    #[error(transparent)]
    Lock(FolderError),
    /// The journal of idempotency keys cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The files cannot be read.
    #[error(transparent)]
    Read(#[from] CatalogReadError),
    /// The operations cannot be applied.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The files cannot be changed to those of the edited catalog.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A new file would not be part of the catalog.
    #[error("cannot create `{0}`: an .indexignore file leaves it out of the catalog")]
    Ignored(String),
    /// The edited catalog could not be read from its files, so that it was not written.
    #[error("the catalog could not be read any more: {0}")]
    Unreadable(FileError),
    /// The directory was changed since it was read.
    #[error("cannot edit `{}`: it was changed meanwhile: try again", .0.display())]
    Conflict(PathBuf),
    /// The files cannot be replaced.
    #[error("cannot change the catalog in `{}`", root.display())]
    Write {
        /// The directory.
        root: PathBuf,
        /// The step that failed.
        source: FolderError,
    },
}

impl From<DirectoryError> for DirectoryEditError {
    fn from(error: DirectoryError) -> Self {
        Self::Read(error.into())
    }
}

impl DirectoryEditError {
    /// Tells whether a retry may succeed: another process edits the directory, or a file changed
    /// since it was read.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::Conflict(_)
                | Self::Change(ChangeError::Conflict(_))
                | Self::Lock(FolderError::Locked(_))
                | Self::Write {
                    source: FolderError::Conflict(_),
                    ..
                }
        )
    }

    /// Tells whether the operating system failed, or files on disk are not those of a catalog. The
    /// batch has no part in that.
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Journal(_) | Self::Read(_) => true,
            Self::Lock(error) => !matches!(
                error,
                FolderError::Locked(_)
                    | FolderError::Interrupted { .. }
                    | FolderError::Unfinished(_)
            ),
            Self::Write { source, .. } => !matches!(source, FolderError::Conflict(_)),
            Self::Batch(_)
            | Self::Change(_)
            | Self::Ignored(_)
            | Self::Unreadable(_)
            | Self::Conflict(_) => false,
        }
    }
}
