//! Edits file-based catalogs: renders bundles to blobs, applies operations to catalogs, and writes
//! blobs as `opm` does.
//!
//! The crate is pure: bytes go in, blobs and bytes come out, and a catalog never changes in place.
//! It opens no file. Errors that `opm` has too have its messages.
//!
//! | module | contents |
//! |---|---|
//! | [`value`] | JSON values that keep the digits of numbers |
//! | [`format`] | writes blobs as JSON and YAML |
//! | [`bundle`] | renders a registry+v1 bundle to its `olm.bundle` |
//! | [`blob`] | blobs with the fields that place them, and their order in files |
//! | [`catalog`] | the blobs of a catalog, and the differences of two |
//! | [`operation`] | operations, as data |
//! | [`batch`] | applies operations to a catalog |
//! | [`file`] | the positions of blobs in files, and the changes of files |
//! | [`input`] | reads batches in JSON |
//! | [`summary`], [`problem`], [`notice`] | the effects of an edit |
//! | [`template`] | templates of catalogs, as `opm` has them |
//! | [`error`], [`refusal`] | errors of operations and batches, in the words of `opm` and in plain ones |

#![deny(missing_docs)]

mod add;
pub mod batch;
pub mod blob;
pub mod bundle;
pub mod catalog;
mod deprecate;
mod draft;
pub mod error;
pub mod file;
pub mod format;
pub mod input;
pub mod notice;
pub mod operation;
mod package;
pub mod problem;
pub mod refusal;
mod remove;
mod replaces;
mod semver;
mod substitute;
pub mod summary;
pub mod template;
pub mod value;

pub use batch::{EditedCatalog, apply, apply_within};
pub use blob::CatalogBlob;
pub use catalog::CatalogBlobs;
pub use draft::EditLimits;
pub use error::{BatchError, EditError};
pub use format::FileFormat;
pub use operation::Operation;
pub use value::BlobValue;
