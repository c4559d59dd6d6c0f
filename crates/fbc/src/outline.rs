//! Outlines: names and hashes of the objects of a catalog, for comparisons after the content is
//! gone.
//!
//! An outline is a byte string that is read in place, from memory or from a mapped file. It has a
//! hash for each object, over all blobs that belong to it: objects of one name are equal when their
//! hashes are. A package includes every blob that names it; a channel or bundle includes its own
//! blob and its deprecation. The order and the files of blobs do not matter. Shorter hashes of
//! parts say what differs in a package or a bundle.

mod diff;
mod hashes;
pub(crate) mod layout;
mod parts;
mod summarize;

pub use diff::{BundleDiff, Change, ChannelDiff, Diff, EntryDiff, PackageDiff};
pub use layout::Outline;
pub use parts::{BundlePart, PackagePart};

/// Number of previous contents of a catalog whose outlines are kept. A client that looks once a day
/// finds the changes of a catalog that changes every few hours.
pub const REMEMBERED: usize = 8;
