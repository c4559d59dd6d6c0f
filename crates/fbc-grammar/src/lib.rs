//! Grammars of the texts in file-based catalogs (FBC) of the Operator Lifecycle Manager.
//!
//! Each module parses one kind of text as the Go libraries of upstream do, with their error texts.
//! The crate knows neither files nor catalogs. It is pure: it opens no file or socket, reads no
//! clock or environment, and starts no thread.
//!
//! | module | grammar | upstream |
//! |---|---|---|
//! | [`version`] | versions and releases of bundles, versions of Kubernetes APIs | blang/semver, operator-registry |
//! | [`range`] | version ranges | blang/semver, Masterminds/semver |
//! | [`image`] | image references | distribution/reference |
//! | [`selector`] | label selectors | k8s.io/apimachinery |
//! | [`ignore`] | `.indexignore` files | joelanford/ignore |
//! | [`digest`] | SHA-256 digests | |
//! | [`olm`] | names of OLM in properties and rights | library-olm |
//! | [`quote`] | Go's `%q`, for messages that equal upstream's | strconv |
//!
//! `range` is built on `version`; all others on `quote` at most.

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

pub mod digest;
pub mod ignore;
pub mod image;
pub mod olm;
pub mod quote;
pub mod range;
pub mod selector;
pub mod version;

pub use digest::Digest;
pub use quote::go_quote;
