//! Where each canonical line came from, and what was noticed while it was read.
//!
//! The store keeps this beside the lines, so that a catalog that is opened again names the same files and lines.

use serde::{Deserialize, Serialize};

use crate::problem::Code;

/// Where the lines of one content came from: its files in catalog order, each with its blobs in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origins {
    /// The files that were read, in catalog order; a file without blobs is here too.
    pub files: Vec<FileOrigin>,
}

/// One file and what it held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOrigin {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// For each blob of the file, in order, the line on which it begins, from 1.
    pub lines: Vec<u32>,
    /// What reading the file noticed, in order.
    pub notices: Vec<Notice>,
}

/// Something odd that only reading can see, such as text that was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What it is.
    pub code: Code,
    /// What it is, for people.
    pub message: String,
    /// The line of the file it is about, from 1.
    pub line: u32,
}
