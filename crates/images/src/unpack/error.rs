//! Errors of unpacking: images without a catalog, and archives that are damaged, malicious or too
//! large.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fbc_grammar::Digest;
use fbc_grammar::ignore::{IGNORE_FILE_BYTES, IgnoreError};

use super::root::CONFIGS_LABEL;
use super::{CatalogRoot, MAX_NAME_BYTES};

/// Maximum number of characters of a name that errors show.
const MAX_SHOWN_CHARS: usize = 200;

/// The location of an archive entry, for errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryLocation {
    /// Number of the layer, from 1, or that of what is no layer.
    layer: u32,
    /// Path of the entry in the archive, escaped and shortened.
    path: String,
}

/// An error of unpacking an image.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The image has no label that names its catalog.
    #[error(
        "the image has no label `{CONFIGS_LABEL}`: if it holds a file-based catalog, name its directory with --configs-dir"
    )]
    NoRoot,
    /// The image is an `SQLite` index.
    #[error(
        "the image is an SQLite index (`{database}`), not a file-based catalog: convert it with `opm migrate`, or name an image that was"
    )]
    SqliteIndex {
        /// Path of the database.
        database: String,
    },
    /// The image is a bundle.
    #[error("the image is a bundle{}, not a catalog: name the catalog that lists it", package_suffix(package.as_deref()))]
    Bundle {
        /// Package of the bundle, if its labels name one.
        package: Option<String>,
    },
    /// A path is not a valid directory of an image.
    #[error(
        "`{0}` is not a valid directory of an image: write a path without `..`, such as /configs"
    )]
    BadRoot(String),
    /// The directory does not exist.
    #[error(
        "the image has no directory `{0}`: name the one that holds its catalog with --configs-dir"
    )]
    RootMissing(CatalogRoot),
    /// The directory is empty.
    #[error(
        "the directory `{0}` of the image is empty: name the one that holds its catalog with --configs-dir"
    )]
    RootEmpty(CatalogRoot),
    /// The directory or one of its parents is a symbolic link.
    #[error(
        "`{link}` is a link to `{target}` in the image: name the directory itself with --configs-dir instead of `{root}`"
    )]
    RootIsLink {
        /// Path of the directory.
        root: CatalogRoot,
        /// Path of the link.
        link: String,
        /// Target of the link.
        target: String,
    },
    /// The image has too many layers.
    #[error("the image has {layers} layers and the limit is {limit}")]
    TooManyLayers {
        /// The actual number.
        layers: usize,
        /// The limit.
        limit: usize,
    },
    /// The archives have too many headers.
    #[error("the layers have more than {limit} entries, counted up to {}", layer_name(*layer))]
    TooManyHeaders {
        /// Location at which the limit was exceeded.
        layer: u32,
        /// The limit.
        limit: u64,
    },
    /// An extended header is too long.
    #[error("an entry of {} has an extended header of more than {limit} bytes", layer_name(*layer))]
    HeaderTooLarge {
        /// Number of the layer.
        layer: u32,
        /// The limit in bytes.
        limit: u64,
    },
    /// The uncompressed layers are too long.
    #[error(
        "the layers have more than {limit} bytes when they are uncompressed, counted up to {}", layer_name(*layer)
    )]
    TooManyUncompressed {
        /// Location at which the limit was exceeded.
        layer: u32,
        /// The limit.
        limit: u64,
    },
    /// The compression ratio of a layer is too high.
    #[error(
        "{} has more than {limit} times the bytes of its blob, which no catalog has", layer_name(*layer)
    )]
    RatioExceeded {
        /// Number of the layer.
        layer: u32,
        /// The limit.
        limit: u64,
    },
    /// The catalog has too many entries.
    #[error(
        "there are more than {limit} files, folders and links under `{root}`, counted up to {location}"
    )]
    TooManyEntries {
        /// Location at which the limit was exceeded.
        location: EntryLocation,
        /// Directory of the catalog.
        root: CatalogRoot,
        /// The limit.
        limit: usize,
    },
    /// The catalog has too many links.
    #[error("there are more than {limit} links under `{root}`, counted up to {location}")]
    TooManyLinks {
        /// Location at which the limit was exceeded.
        location: EntryLocation,
        /// Directory of the catalog.
        root: CatalogRoot,
        /// The limit.
        limit: usize,
    },
    /// A path or the target of a link is too long.
    #[error(
        "the path or the target of {0} is too long: a path may have {1} bytes and each name in it {MAX_NAME_BYTES}"
    )]
    PathTooLong(EntryLocation, usize),
    /// A file is too long.
    #[error("{location} has {bytes} bytes and the limit is {limit}")]
    FileTooLarge {
        /// Location of the file.
        location: EntryLocation,
        /// The actual number.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// All files together are too long.
    #[error("the files under `{root}` have more than {limit} bytes, counted up to {location}")]
    TooManyBytes {
        /// Location at which the limit was exceeded.
        location: EntryLocation,
        /// Directory of the catalog.
        root: CatalogRoot,
        /// The limit.
        limit: u64,
    },
    /// The files of the catalog are too long if each link counts as a file.
    #[error(
        "the files of the catalog have more than {1} bytes, each link counted as its target, up to `{0}`"
    )]
    TooManyNames(String, u64),
    /// The compression format of a layer is not supported.
    #[error("{} is compressed with {coding}: gzip, zstd and plain archives can be read", layer_name(*layer))]
    UnknownCoding {
        /// Number of the layer.
        layer: u32,
        /// Name of the format.
        coding: &'static str,
    },
    /// A layer is not a valid archive.
    #[error("{} is damaged or not a tar archive", layer_name(*layer))]
    Damaged {
        /// Number of the layer.
        layer: u32,
        /// The cause.
        source: io::Error,
    },
    /// An archive ends in the middle of a content.
    #[error("the layer ends in the middle of {0}")]
    Truncated(EntryLocation),
    /// An archive has no end.
    #[error("the archive has no end: it is cut off")]
    NoEnd,
    /// A file is neither an archive nor one of a catalog.
    #[error("the file is {0}, not an archive or a file of a catalog")]
    UnknownFile(&'static str),
    /// A layer has data after the end of its archive.
    #[error("{} has data after the end of its archive", layer_name(*layer))]
    TrailingData {
        /// Number of the layer.
        layer: u32,
    },
    /// The uncompressed digest of a layer differs from that in the image config.
    #[error(
        "{} has the digest {found} instead of {expected}, which the image config or the artifact names", layer_name(*layer)
    )]
    DigestMismatch {
        /// Number of the layer.
        layer: u32,
        /// The digest in the image config.
        expected: Digest,
        /// The actual value.
        found: Digest,
    },
    /// Readers of archives would understand a header differently.
    #[error("{location} is ambiguous: {reason}")]
    Ambiguous {
        /// Location of the entry.
        location: EntryLocation,
        /// The cause.
        reason: &'static str,
    },
    /// A path contains `..`.
    #[error("the name of {0} has `..` in it")]
    Traversal(EntryLocation),
    /// A name contains a NUL, at which other programs would cut it.
    #[error("the name or the target of {0} has a NUL in it")]
    NulInName(EntryLocation),
    /// A name is not UTF-8.
    #[error("the name or the target of {0} is not UTF-8")]
    NotUtf8(EntryLocation),
    /// A name is reserved for whiteouts and is not a valid one.
    #[error("{0} has a name that is reserved for whiteouts, and is not a valid whiteout")]
    BadWhiteout(EntryLocation),
    /// An entry is a device, a pipe or of another unsupported kind.
    #[error("{location} is a {kind}, not a regular file")]
    NotAFile {
        /// Location of the entry.
        location: EntryLocation,
        /// The actual value.
        kind: &'static str,
    },
    /// A parent of an entry is a symbolic link.
    #[error(
        "{location} is below the link `{link}` to `{target}`: put it below the directory itself"
    )]
    BelowLink {
        /// Location of the entry.
        location: EntryLocation,
        /// Path of the link.
        link: String,
        /// Target of the link.
        target: String,
    },
    /// The target of a hard link is not in the directory of the catalog.
    #[error(
        "{location} is a hard link to `{target}`, which is not under `{root}`: copy the file instead"
    )]
    HardLinkEscapes {
        /// Location of the entry.
        location: EntryLocation,
        /// Target of the link.
        target: String,
        /// Directory of the catalog.
        root: CatalogRoot,
    },
    /// The target of a hard link does not exist.
    #[error("{location} is a hard link to `{target}`, which does not exist at that point")]
    HardLinkBroken {
        /// Location of the entry.
        location: EntryLocation,
        /// Target of the link.
        target: String,
    },
    /// The target of a symbolic link is not in the directory of the catalog.
    #[error("the link `{link}` leads to `{target}`, which is not under `{root}`")]
    LinkEscapes {
        /// Path of the link from the root.
        link: String,
        /// Target of the link.
        target: String,
        /// Directory of the catalog.
        root: CatalogRoot,
    },
    /// A symbolic link passes too many others, or itself.
    #[error("the link `{link}` to `{target}` passes too many other links")]
    LinkLoops {
        /// Path of the link from the root.
        link: String,
        /// Target of the link.
        target: String,
    },
    /// The target of a symbolic link is a directory, which is not followed.
    #[error(
        "the link `{link}` leads to the directory `/{target}` of the catalog: name it in .indexignore or replace it by the directory"
    )]
    LinkToFolder {
        /// Path of the link from the root.
        link: String,
        /// Path of the target from the root.
        target: String,
    },
    /// The target of a symbolic link does not exist.
    #[error("the link `{link}` leads to `/{target}` of the catalog, which does not exist")]
    LinkBroken {
        /// Path of the link from the root.
        link: String,
        /// Path of the target from the root.
        target: String,
    },
    /// The patterns of an `.indexignore` cannot be parsed.
    #[error("cannot use the patterns of the catalog")]
    IgnoreFile(#[from] IgnoreError),
    /// An `.indexignore` is longer than [`IGNORE_FILE_BYTES`].
    #[error("`{0}` has more than {IGNORE_FILE_BYTES} bytes")]
    IgnoreFileTooLarge(String),
    /// An operation on a file failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The operation, as in "cannot write".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl EntryLocation {
    /// Creates a location from the path in an archive.
    pub(super) fn new(layer: u32, path: &[u8]) -> Self {
        Self {
            layer,
            path: shown(path),
        }
    }
}

impl fmt::Display for EntryLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in {}", self.path, layer_name(self.layer))
    }
}

/// Escapes and shortens an untrusted name for an error, so that it contains no control characters.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut letters = text.chars();
    let mut shown: String = letters
        .by_ref()
        .take(MAX_SHOWN_CHARS)
        .flat_map(char::escape_debug)
        .collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Names the package of a bundle for its error.
fn package_suffix(package: Option<&str>) -> String {
    package
        .map(|package| format!(" of the package `{package}`"))
        .unwrap_or_default()
}

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> UnpackError {
    UnpackError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Returns the name of a layer for errors.
fn layer_name(layer: u32) -> String {
    match layer {
        super::ARCHIVE => "the archive".to_owned(),
        super::REPOSITORY => "the repository".to_owned(),
        _ => format!("layer {layer}"),
    }
}

/// Converts an error of reading a layer: an [`UnpackError`] that passed through a reader, or else
/// damage of the layer.
pub(super) fn read_error(layer: u32, error: io::Error) -> UnpackError {
    error
        .downcast::<UnpackError>()
        .unwrap_or_else(|source| UnpackError::Damaged { layer, source })
}
