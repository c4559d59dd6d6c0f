//! File-based catalogs (FBC) of the Operator Lifecycle Manager: what they are, and nothing of where they came from or
//! who asks about them.
//!
//! Paths and bytes go in; canonical lines, an immutable [`Catalog`] and a list of [`Problem`]s come out. Nothing here
//! opens a file, waits, or knows of a protocol.
//!
//! | module | what it is for |
//! |---|---|
//! | [`ignore`] | which paths of a tree count, by `.indexignore` |
//! | [`read`] | the bytes of one file → canonical lines |
//! | [`origin`] | where each line came from, and what reading it noticed |
//! | [`catalog`] | canonical lines → an indexed, immutable catalog |
//! | [`graph`] | which bundles of a package can be upgraded to which |
//! | [`outline`] | what a catalog holds by name and hash, and what differs between two |
//! | [`resolve`] | which bundle an install or an upgrade would pick |
//! | [`problem`] | what is odd in a catalog's content |
//! | [`version`], [`range`], [`image`], [`selector`] | the grammars of versions, version ranges, image references and label selectors |

#![deny(missing_docs)]

pub mod catalog;
pub mod digest;
pub mod graph;
pub mod ignore;
pub mod image;
mod json;
mod manifest;
pub mod origin;
pub mod outline;
pub mod problem;
mod quote;
pub mod range;
pub mod read;
pub mod resolve;
pub mod selector;
pub mod version;

pub use catalog::Catalog;
pub use digest::Digest;
pub use origin::Origins;
pub use outline::Outline;
pub use problem::{Code, Problem, Severity};
