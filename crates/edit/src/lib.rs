//! Edits file-based catalogs: renders bundles to blobs, changes catalogs by operations, writes blobs as `opm` does.
//!
//! The crate is pure: bytes go in, blobs and texts come out, and a content never changes in place. Where files are and how
//! they are replaced is the program's business. Messages of errors that `opm` has too are `opm`'s.
//!
//! | module | what it is for |
//! |---|---|
//! | [`value`] | JSON values that keep their digits |
//! | [`format`] | writes blobs as JSON and YAML |
//! | [`bundle`] | renders a registry+v1 bundle to its `olm.bundle` |

#![deny(missing_docs)]
// What they refuse is in clippy.toml of this crate.
#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod bundle;
pub mod format;
pub mod value;

pub use format::Format;
pub use value::Value;
