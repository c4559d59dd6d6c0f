//! Why layers cannot become files: what images lack, and each way in which an archive can be hostile or damaged.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fbc::Digest;
use fbc::ignore::{IGNORE_FILE_BYTES, IgnoreError};

use super::root::CONFIGS_LABEL;
use super::{CatalogRoot, MAX_NAME_BYTES};

/// How many letters of a name an error shows.
const SHOWN: usize = 200;

/// Where in an image something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryLocation {
    /// The layer, from 1.
    layer: u32,
    /// What the archive calls the entry, made fit to be shown.
    path: String,
}

/// Why layers cannot become files.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The image does not say where its catalog is.
    #[error(
        "the image has no label `{CONFIGS_LABEL}`: if it holds a file-based catalog, name its directory with --configs-dir"
    )]
    NoRoot,
    /// The image holds a catalog of the former format.
    #[error(
        "the image is an SQLite index (`{database}`), not a file-based catalog: convert it with `opm migrate`, or name an image that was"
    )]
    SqliteIndex {
        /// Where its database is.
        database: String,
    },
    /// The image holds one bundle.
    #[error("the image is a bundle{}, not a catalog: name the catalog that lists it", of_package(package.as_deref()))]
    Bundle {
        /// Of which package it says that it is.
        package: Option<String>,
    },
    /// A directory that cannot be one of an image.
    #[error("`{0}` is no directory of an image: write its path without `..`, such as /configs")]
    BadRoot(String),
    /// The image has nothing there.
    #[error("the image has no directory `{0}`: name the one that holds its catalog with --configs-dir")]
    RootMissing(CatalogRoot),
    /// The image has an empty directory there.
    #[error("the directory `{0}` of the image is empty: name the one that holds its catalog with --configs-dir")]
    RootEmpty(CatalogRoot),
    /// The directory, or one that it is in, is a link in the image.
    #[error(
        "`{link}` is a link to `{target}` in the image: name the directory itself with --configs-dir instead of `{root}`"
    )]
    RootIsLink {
        /// The directory.
        root: CatalogRoot,
        /// The link.
        link: String,
        /// What it says.
        target: String,
    },
    /// More layers than an image may have.
    #[error("the image has {layers} layers and may have {limit}")]
    TooManyLayers {
        /// How many it has.
        layers: usize,
        /// How many it may have.
        limit: usize,
    },
    /// More headers than archives may have.
    #[error("the layers have more than {limit} entries, counted up to layer {layer}")]
    TooManyHeaders {
        /// Where it was too many.
        layer: u32,
        /// How many they may have.
        limit: u64,
    },
    /// Too much is said of one entry.
    #[error("layer {layer} says more than {limit} bytes of one entry beside its content")]
    HeaderTooLarge {
        /// In which layer.
        layer: u32,
        /// How many it may say.
        limit: u64,
    },
    /// The layers become larger than an image may be.
    #[error("the layers have more than {limit} bytes when they are uncompressed, counted up to layer {layer}")]
    TooManyUncompressed {
        /// Where it was too many.
        layer: u32,
        /// How many they may have.
        limit: u64,
    },
    /// A layer that becomes absurdly larger than its blob.
    #[error("layer {layer} has more than {limit} times the bytes of its blob: this is no catalog but a bomb")]
    RatioExceeded {
        /// The layer.
        layer: u32,
        /// How many times it may have.
        limit: u64,
    },
    /// More files, folders and links than a catalog may have.
    #[error("there are more than {limit} files, folders and links under `{root}`, counted up to {place}")]
    TooManyEntries {
        /// Where it was too many.
        place: EntryLocation,
        /// Under which directory.
        root: CatalogRoot,
        /// How many there may be.
        limit: usize,
    },
    /// More links than a catalog may have.
    #[error("there are more than {limit} links under `{root}`, counted up to {place}")]
    TooManyLinks {
        /// Where it was too many.
        place: EntryLocation,
        /// Under which directory.
        root: CatalogRoot,
        /// How many there may be.
        limit: usize,
    },
    /// A path or what a link says is too long.
    #[error(
        "the path or the target of {0} is too long: a path may have {1} bytes and each name in it {MAX_NAME_BYTES}"
    )]
    PathTooLong(EntryLocation, usize),
    /// A file is too large.
    #[error("{place} has {bytes} bytes and may have {limit}")]
    FileTooLarge {
        /// The file.
        place: EntryLocation,
        /// How many it has.
        bytes: u64,
        /// How many it may have.
        limit: u64,
    },
    /// All files together are too large.
    #[error("the files under `{root}` have more than {limit} bytes, counted up to {place}")]
    TooManyBytes {
        /// Where it was too many.
        place: EntryLocation,
        /// Under which directory.
        root: CatalogRoot,
        /// How many they may have.
        limit: u64,
    },
    /// The files of the catalog are too large when each name counts.
    #[error("the files of the catalog have more than {1} bytes, each link counted as what it leads to, up to `{0}`")]
    TooManyNames(String, u64),
    /// A layer that is compressed in a way that images do not use.
    #[error("layer {layer} is compressed with {coding}: gzip, zstd and plain archives can be read")]
    UnknownCoding {
        /// The layer.
        layer: u32,
        /// With what.
        coding: &'static str,
    },
    /// A layer that cannot be read to its end.
    #[error("layer {layer} is damaged or no archive")]
    Damaged {
        /// The layer.
        layer: u32,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// An archive that ends within a content.
    #[error("the layer ends within {0}")]
    Truncated(EntryLocation),
    /// An archive that goes on after its end.
    #[error("layer {layer} goes on after the end of its archive")]
    TrailingData {
        /// The layer.
        layer: u32,
    },
    /// A layer that is not what the image says.
    #[error("layer {layer} is {found} and not {expected}, as the image says")]
    DigestMismatch {
        /// The layer.
        layer: u32,
        /// What the image says.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// A header that readers would understand differently.
    #[error("{place} can be read in two ways: {what}")]
    Ambiguous {
        /// The entry.
        place: EntryLocation,
        /// Why.
        what: &'static str,
    },
    /// A name that leads upwards.
    #[error("the name of {0} has `..` in it")]
    Traversal(EntryLocation),
    /// A name that other programs would cut.
    #[error("the name or the target of {0} has a NUL in it")]
    NulInName(EntryLocation),
    /// A name that cannot be shown or matched.
    #[error("the name or the target of {0} is not UTF-8")]
    NotUtf8(EntryLocation),
    /// A name that is kept for marks of what was removed, and removes nothing.
    #[error("{0} has a name that is kept for marks of removed files, and is no such mark")]
    BadWhiteout(EntryLocation),
    /// A device, a pipe or something else that is no file.
    #[error("{place} is no regular file but a {kind}")]
    NotAFile {
        /// The entry.
        place: EntryLocation,
        /// What it is.
        kind: &'static str,
    },
    /// An entry below a link to a directory.
    #[error("{place} is below the link `{link}` to `{target}`: put it below the directory itself")]
    BelowLink {
        /// The entry.
        place: EntryLocation,
        /// The link.
        link: String,
        /// What it says.
        target: String,
    },
    /// A second name of a file that lies elsewhere in the image.
    #[error("{place} is a hard link to `{target}`, which is not under `{root}`: copy the file instead")]
    HardLinkEscapes {
        /// The entry.
        place: EntryLocation,
        /// What it says.
        target: String,
        /// Under which directory it had to be.
        root: CatalogRoot,
    },
    /// A second name of nothing.
    #[error("{place} is a hard link to `{target}`, which is no file at that point")]
    HardLinkBroken {
        /// The entry.
        place: EntryLocation,
        /// What it says.
        target: String,
    },
    /// A link that leads out of the catalog.
    #[error("the link `{link}` leads to `{target}`, which is not under `{root}`")]
    LinkEscapes {
        /// The link, from the root.
        link: String,
        /// What it says.
        target: String,
        /// Under which directory it had to be.
        root: CatalogRoot,
    },
    /// A link that leads to itself, or over too many others.
    #[error("the link `{link}` to `{target}` leads over too many other links")]
    LinkLoops {
        /// The link, from the root.
        link: String,
        /// What it says.
        target: String,
    },
    /// A link to a directory, which is not descended into.
    #[error(
        "the link `{link}` leads to the directory `/{target}` of the catalog: name it in .indexignore or replace it by the directory"
    )]
    LinkToFolder {
        /// The link, from the root.
        link: String,
        /// Where it leads, from the root.
        target: String,
    },
    /// A link that leads nowhere.
    #[error("the link `{link}` leads to `/{target}` of the catalog, which is not there")]
    LinkBroken {
        /// The link, from the root.
        link: String,
        /// Where it leads, from the root.
        target: String,
    },
    /// The patterns of an `.indexignore` cannot be read.
    #[error("cannot use the patterns of the catalog")]
    IgnoreFile(#[from] IgnoreError),
    /// An `.indexignore` that is larger than [`IGNORE_FILE_BYTES`].
    #[error("`{0}` has more than {IGNORE_FILE_BYTES} bytes")]
    IgnoreFileTooLarge(String),
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
}

impl EntryLocation {
    pub(super) fn new(layer: u32, path: &[u8]) -> Self {
        Self { layer, path: shown(path) }
    }
}

impl fmt::Display for EntryLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in layer {}", self.path, self.layer)
    }
}

/// A name by a stranger, made fit to be shown: short, and without what a terminal would obey.
pub(super) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut letters = text.chars();
    let mut shown: String = letters.by_ref().take(SHOWN).flat_map(char::escape_debug).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

fn of_package(package: Option<&str>) -> String {
    package.map(|package| format!(" of the package `{package}`")).unwrap_or_default()
}

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> UnpackError {
    UnpackError::Io { action, path: path.to_owned(), source }
}

/// What became of reading a layer: a refusal of ours that came through a reader, or a damage that a reader found.
pub(super) fn reading(layer: u32, error: io::Error) -> UnpackError {
    error.downcast::<UnpackError>().unwrap_or_else(|source| UnpackError::Damaged { layer, source })
}
