//! Origins of canonical lines: the file and line of each blob, and the notices of the reader.
//!
//! The store saves them beside the lines, so that a reopened catalog reports the same files and
//! lines.

use serde::{Deserialize, Serialize};

use crate::problem::{ProblemCode, ProblemCounts};

/// Origins of the lines of one content: its files in catalog order, each with its blobs in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origins {
    /// Files that were read, in catalog order, including files without blobs.
    pub files: Vec<FileOrigin>,
    /// Numbers of notices that no file lists, because there are too many of their code.
    pub unlisted: ProblemCounts,
}

/// Origin of the blobs of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOrigin {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// Line on which each blob of the file begins, in order, counted from 1.
    pub lines: Vec<u32>,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Notices of the reader about the file, in order. All files together list at most
    /// [`MAX_PROBLEMS_PER_CODE`](crate::problem::MAX_PROBLEMS_PER_CODE) of each code.
    pub notices: Vec<Notice>,
}

/// An oddity that only the reader can see, such as text that is not part of any blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Code of the resulting [`Problem`](crate::problem::Problem).
    pub code: ProblemCode,
    /// Message for people.
    pub message: String,
    /// Line of the file that the notice is about, counted from 1.
    pub line: u32,
}
