//! Origins of canonical lines: the file and line of each blob, and the notices of the reader.
//!
//! The store saves them beside the lines, so that a reopened catalog reports the same files and lines.

use serde::{Deserialize, Serialize};

use crate::problem::ProblemCode;

/// Origins of the lines of one content: its files in catalog order, each with its blobs in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origins {
    /// Files that were read, in catalog order, including files without blobs.
    pub files: Vec<FileOrigin>,
}

/// Origin of the blobs of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOrigin {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// Line on which each blob of the file begins, in order, counted from 1.
    pub lines: Vec<u32>,
    /// Notices of the reader about the file, in order.
    pub notices: Vec<Notice>,
}

/// An oddity that only the reader can see, such as text that is not part of any blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Code of the resulting [`Problem`](crate::Problem).
    pub code: ProblemCode,
    /// Message for people.
    pub message: String,
    /// Line of the file that the notice is about, counted from 1.
    pub line: u32,
}
