//! Edits file-based catalogs: renders bundles to blobs, changes catalogs by operations, writes
//! blobs as `opm` does.
//!
//! Bytes go in, blobs and texts come out, and a content never changes in place; only [`folder`]
//! touches files, to replace them. Messages of errors that `opm` has too are `opm`'s.
//!
//! | module | what it is for |
//! |---|---|
//! | [`value`] | JSON values that keep their digits |
//! | [`format`] | writes blobs as JSON and YAML |
//! | [`bundle`] | renders a registry+v1 bundle to its `olm.bundle` |
//! | [`meta`] | blobs with the fields that place them, and their order in files |
//! | [`content`] | the blobs of a catalog, and how two of them differ |
//! | [`notice`] | what the author of an edit may not have meant |
//! | [`operation`] | what can be done to a content |
//! | [`file`] | the places of blobs in files, and how files change with a content |
//! | [`folder`] | replaces files of a directory, also when it is killed |
//! | [`input`] | bundles as batches in JSON have them |
//! | [`journal`] | answers to requests that may be sent again |
//! | [`summary`] | what an edit changes, for people and programs |
//! | [`template`] | templates of catalogs, as `opm` has them |
//! | [`error`] | why an edit is refused |

#![deny(missing_docs)]

mod add;
pub mod bundle;
pub mod content;
mod deprecate;
mod draft;
pub mod error;
pub mod file;
pub mod folder;
pub mod format;
pub mod input;
pub mod journal;
pub mod meta;
pub mod notice;
pub mod operation;
mod package;
mod remove;
mod replaces;
mod semver;
mod state;
mod substitute;
pub mod summary;
pub mod template;
pub mod value;

pub use content::Content;
pub use error::{EditError, Refusal};
pub use format::Format;
pub use meta::Meta;
pub use operation::{EditLimits, Operation, apply, apply_and_check, apply_within};
pub use value::Value;
