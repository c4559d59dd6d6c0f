//! Reads, checks, indexes and searches file-based catalogs (FBC) of the Operator Lifecycle Manager.
//!
//! Paths and bytes go in; canonical lines, an immutable [`Catalog`] and a list of [`Problem`]s come
//! out. The crate is pure: it opens no file or socket, reads no clock or environment, starts no
//! thread, and knows no protocol.
//!
//! | module | what it is for |
//! |---|---|
//! | [`ignore`] | selects the files of a directory tree that belong to a catalog, by `.indexignore` |
//! | [`read`] | converts the bytes of one file to canonical lines |
//! | [`origin`] | records the file and line of each blob, and the notices of the reader |
//! | [`catalog`] | indexes canonical lines as an immutable catalog |
//! | [`graph`] | computes the update graph of a package: edges, successors, paths |
//! | [`outline`] | summarizes a catalog as names and hashes, and compares two summaries |
//! | [`resolve`] | picks the bundle that the OLM v1 controller would install |
//! | [`similar`] | finds names that are spelled like one that there is not |
//! | [`problem`] | defines validation problems and their codes |
//! | [`version`], [`range`], [`image`], [`selector`] | parse versions, version ranges, image references and label selectors |

//!
//! From files to an upgrade path:
//!
//! ```
//! use fbc::graph::UpdateGraph;
//! use fbc::origin::FileOrigin;
//! use fbc::read::{FileReader, ReadEvent, ReadLimits};
//! use fbc::work::Work;
//! use fbc::{Catalog, Origins};
//!
//! let file = br#"
//! schema: olm.package
//! name: etcd
//! defaultChannel: stable
//! ---
//! schema: olm.channel
//! package: etcd
//! name: stable
//! entries:
//! - name: etcd.v0.9.0
//! - name: etcd.v0.9.2
//!   replaces: etcd.v0.9.0
//! ---
//! schema: olm.bundle
//! package: etcd
//! name: etcd.v0.9.0
//! image: quay.io/etcd/etcd:v0.9.0
//! properties:
//! - {type: olm.package, value: {packageName: etcd, version: 0.9.0}}
//! ---
//! schema: olm.bundle
//! package: etcd
//! name: etcd.v0.9.2
//! image: quay.io/etcd/etcd:v0.9.2
//! properties:
//! - {type: olm.package, value: {packageName: etcd, version: 0.9.2}}
//! "#;
//!
//! // Convert the file to canonical lines.
//! let mut reader = FileReader::new(ReadLimits::default());
//! reader.push(file);
//! reader.finish();
//! let mut lines = Vec::new();
//! let mut origin = FileOrigin { path: "etcd/catalog.yaml".to_owned(), ..FileOrigin::default() };
//! loop {
//!     match reader.next()? {
//!         ReadEvent::Blob(blob) => {
//!             lines.extend_from_slice(blob.line);
//!             origin.lines.push(blob.at);
//!         }
//!         ReadEvent::Notice(notice) => origin.notices.push(notice),
//!         ReadEvent::NeedInput | ReadEvent::End => break,
//!     }
//! }
//!
//! // Index and validate the lines.
//! let catalog = Catalog::build(lines.into(), &Origins { files: vec![origin], ..Origins::default() })?;
//! assert_eq!(catalog.problems(), []);
//!
//! // Navigate packages, channels and bundles.
//! let etcd = catalog.package("etcd").ok_or("no such package")?;
//! let stable = etcd.default_channel().ok_or("no default channel")?;
//! assert_eq!(stable.entries().map(|entry| entry.name()).collect::<Vec<_>>(), ["etcd.v0.9.0", "etcd.v0.9.2"]);
//! let latest = etcd.bundles().next().ok_or("no bundles")?;
//! assert_eq!((latest.name(), latest.version()), ("etcd.v0.9.2", Some("0.9.2")));
//!
//! // Find the upgrades from one bundle to another, however much work that is.
//! let work = Work::unlimited();
//! let installed = etcd.bundle("etcd.v0.9.0").ok_or("no such bundle")?;
//! let path = UpdateGraph::new(etcd, &["stable"], &work)?.path(installed, latest, &work)?.ok_or("no path")?;
//! assert_eq!(path.iter().map(|bundle| bundle.name()).collect::<Vec<_>>(), ["etcd.v0.9.0", "etcd.v0.9.2"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]
// What they refuse is in clippy.toml of this crate.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

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
pub mod similar;
pub mod version;
pub mod work;

pub use catalog::Catalog;
pub use digest::Digest;
pub use origin::Origins;
pub use outline::Outline;
pub use problem::{Problem, ProblemCode, Problems, Severity};
pub use quote::go_quote;
