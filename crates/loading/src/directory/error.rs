//! Why a directory cannot be read.

use std::io;
use std::path::PathBuf;

use fbc_grammar::ignore::IGNORE_FILE_BYTES;

/// Why a directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The root of the catalog is something else than a directory.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The tree is larger than it may be.
    #[error("`{}` has more than {limit} entries", root.display())]
    TooManyEntries {
        /// The root of the catalog.
        root: PathBuf,
        /// How many it may have.
        limit: usize,
    },
    /// A name that is not UTF-8 cannot be shown or matched.
    #[error("the name of `{}` is not UTF-8", .0.display())]
    NameNotUtf8(PathBuf),
    /// A link that leads out of the catalog.
    #[error("the link `{}` leads out of the catalog, to `{}`", link.display(), target.display())]
    LinkEscapes {
        /// The link.
        link: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A link to a directory, which is not descended into.
    #[error("the link `{}` leads to the directory `{}`: name it in .indexignore or replace it by the directory", link.display(), target.display())]
    LinkToDirectory {
        /// The link.
        link: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A link that leads nowhere or to itself.
    #[error("the link `{}` to `{}` cannot be followed", link.display(), target.display())]
    LinkBroken {
        /// The link.
        link: PathBuf,
        /// What it says.
        target: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A device, a pipe or a socket.
    #[error("`{}` is a {kind}, not a regular file", path.display())]
    NotAFile {
        /// Where it is.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The patterns of an `.indexignore` cannot be used.
    #[error("cannot use the patterns in `{}`", path.display())]
    IgnoreFile {
        /// The file, or the root of the catalog for what all of them do together.
        path: PathBuf,
        /// Why not.
        source: fbc_grammar::ignore::IgnoreError,
    },
    /// An `.indexignore` that is larger than [`IGNORE_FILE_BYTES`].
    #[error("`{}` has more than {IGNORE_FILE_BYTES} bytes", .0.display())]
    IgnoreFileTooLarge(PathBuf),
}
