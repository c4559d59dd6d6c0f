//! Errors of listing and reading a directory.

use std::io;
use std::path::PathBuf;

use fbc_grammar::ignore::IGNORE_FILE_BYTES;

/// An error of listing or reading a directory.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The root of the catalog is not a directory.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// A system call failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The action, as a verb in the infinitive.
        action: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The tree has too many entries.
    #[error("`{}` has more than {limit} entries", root.display())]
    TooManyEntries {
        /// The root of the catalog.
        root: PathBuf,
        /// Maximum number of entries.
        limit: usize,
    },
    /// A name is not UTF-8.
    #[error("the name of `{}` is not UTF-8", .0.display())]
    NameNotUtf8(PathBuf),
    /// A link points outside of the catalog.
    #[error("the link `{}` leads out of the catalog, to `{}`", link.display(), target.display())]
    LinkEscapes {
        /// The link.
        link: PathBuf,
        /// Target as written in the link.
        target: PathBuf,
    },
    /// A link points to a directory.
    #[error("the link `{}` leads to the directory `{}`: name it in .indexignore or replace it by the directory", link.display(), target.display())]
    LinkToDirectory {
        /// The link.
        link: PathBuf,
        /// Target as written in the link.
        target: PathBuf,
    },
    /// A link is dangling or part of a loop.
    #[error("the link `{}` to `{}` cannot be followed", link.display(), target.display())]
    LinkBroken {
        /// The link.
        link: PathBuf,
        /// Target as written in the link.
        target: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file is a device, a pipe or a socket.
    #[error("`{}` is a {kind}, not a regular file", path.display())]
    NotAFile {
        /// Path of the file.
        path: PathBuf,
        /// Kind of the file.
        kind: &'static str,
    },
    /// The patterns of an `.indexignore` cannot be used.
    #[error("cannot use the patterns in `{}`", path.display())]
    IgnoreFile {
        /// The file, or the root of the catalog if all patterns together are at fault.
        path: PathBuf,
        /// The error in the patterns.
        source: fbc_grammar::ignore::IgnoreError,
    },
    /// An `.indexignore` that is larger than [`IGNORE_FILE_BYTES`].
    #[error("`{}` has more than {IGNORE_FILE_BYTES} bytes", .0.display())]
    IgnoreFileTooLarge(PathBuf),
}
