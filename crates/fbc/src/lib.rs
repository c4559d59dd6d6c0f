//! Indexes, checks and searches file-based catalogs (FBC) of the Operator Lifecycle Manager.
//!
//! Canonical lines, as `fbc-read` makes them, go in; an immutable [`Catalog`] with its
//! [problems](fbc_read::Problem) comes out. The crate is pure: it opens no file or socket, reads no
//! clock or environment, starts no thread, and knows no protocol.
//!
//! The lines stay where they are (usually in a memory map). The index holds interned names,
//! versions, edges, APIs and byte ranges into the lines: it grows with the number of objects, never
//! with their size. Descriptions, icons, images and raw values are read from the lines on demand.
//!
//! [`Package`], [`Channel`], [`ChannelEntry`], [`Bundle`], [`Property`], [`Deprecation`] and
//! [`Meta`] are handles: a reference to the catalog and a number, cheap to copy.
//!
//! # Modules
//!
//! A module knows those before it in this chain, but for the tables, which are lazy: the handles
//! fill them.
//!
//! ```text
//! fbc-grammar ─► fbc-read ─► names, record ─► decode ─► blobs ─► link ─► index
//!                            interned names   one line  all      sorted   sorted records
//!                            and numbers                lines    records       │
//!                                                                              ▼
//!  build ◄─ check ◄──── metadata, summary, lifecycle, … ◄─ bundle, package ◄─ catalog ◄─ tables
//!  all      rules of    what lines say of a bundle,        handles            index and  made on
//!  of it    opm         decoded when it is read               │               problems   first use
//!                                    │                        ▼
//!                                    └────────────────────► find, outline
//!                                                           conditions, comparisons
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `decode`, `blobs` | turn lines to records, with names that are not resolved yet |
//! | `link` | decides which of several equal keys wins, sorts the records, and resolves names |
//! | `index` | the records of one content |
//! | `tables` | inverted indexes, orders and summaries, made on first use |
//! | `catalog`, `bundle`, `package`, `property`, `deprecation` | the catalog and its handles |
//! | `metadata`, `summary`, `lifecycle`, `platform`, `bundle_properties` | display metadata of bundles and packages |
//! | `olm_v1`, `install_verdict` | whether OLM v1 can install a bundle |
//! | `check` | the rules of `opm validate` |
//! | `find`, `requirement` | bundles, packages and blobs that meet conditions, facets, completions |
//! | `build` | builds a catalog of lines |
//! | `stored`, `sections`, `array`, `strings` | the index as bytes, and a catalog that reads it from them in place |
//! | [`outline`] | names and hashes of a catalog, and the difference of two |
//! | [`similar`] | names that are spelled like a wanted one |
//! | [`work`] | the budget of loops over content |
//!
//! # Example
//!
//! From a file to the bundles of a channel:
//!
//! ```
//! use fbc::Catalog;
//! use fbc_read::origin::FileOrigin;
//! use fbc_read::{FileReader, Origins, ReadEvent, ReadLimits};
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
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

mod array;
mod blobs;
mod build;
mod bundle;
mod bundle_properties;
mod catalog;
mod check;
mod constraint;
mod csv_enums;
mod decode;
mod deprecation;
mod find;
pub mod go_types;
mod gvk;
mod ids;
mod index;
mod install_verdict;
mod key;
mod lifecycle;
mod link;
mod metadata;
mod names;
mod olm_v1;
pub mod outline;
mod package;
mod platform;
mod prepare;
mod property;
mod record;
mod requirement;
mod schema;
mod sections;
pub mod similar;
mod stored;
mod strings;
mod summary;
mod tables;
pub mod work;

pub use blobs::{BYTES_PER_OBJECT, FREE_OBJECTS, IndexError, MAX_CONTENT_BYTES};
pub use bundle::{Bundle, RelatedImage};
pub use catalog::{Catalog, Meta, PackageProblems};
pub use check::graph::find_graph_problem;
pub use constraint::{Constraint, ConstraintRule, MAX_CONSTRAINT_BYTES, MAX_CONSTRAINT_DEPTH};
pub use csv_enums::{CapabilityLevel, InstallMode, InstallModes};
pub use deprecation::Deprecation;
pub use find::{BundleFilter, Completion, FacetCounts, FoundPackages, MetaFilter, PackageFilter};
pub use gvk::{ApiFilter, GroupVersionKind, RawGroupVersionKind};
pub use install_verdict::OlmV1Installability;
pub use key::{BundleKey, BundleVersion};
pub use lifecycle::{PlatformSupport, SupportPhase, VersionLifecycle, parse_date};
pub use metadata::{
    ApiServiceDescription, CrdDescription, CsvMetadata, FieldDescriptor, Link, Maintainer,
    PolicyRule, ResourceReference, ServiceAccountPermissions, WebhookDescription, WebhookRule,
    WebhookType, first_sentence, short_name,
};
pub use olm_v1::{OlmV1Blocker, OlmV1BlockerCode, OlmV1Evidence, OlmV1Judgement};
pub use outline::Outline;
pub use package::{Channel, ChannelEntry, Head, Package};
pub use platform::{Platform, PlatformVersion, PlatformVersionError};
pub use property::{PackageRequirement, Property, PropertyKind};
pub use requirement::{REQUIREMENT_TYPES, Requirement, RequirementRule};
pub use schema::{CUSTOM_NAME_RULE, LIFECYCLE_SCHEMA, SchemaCount, TYPED_SCHEMAS, is_custom_name};
pub use sections::StoredIndexError;
pub use summary::Summary;
pub use tables::completions::{CompletionKind, CompletionMatch, MAX_COMPLETED_LETTERS};
pub use tables::facets::{Facet, FacetValue};
pub use tables::icons::{FoundIcon, Icon, Icons, detect_media_type};
pub use tables::order::{BundleSort, SortDirection};
pub use tables::package_order::PackageSort;
pub use tables::properties::PlatformStatement;
pub use tables::search::fold::{MAX_SEARCH_LETTERS, MAX_SEARCH_WORDS, MAX_WORD_LETTERS};
pub use tables::search::merged::{
    FoundDocument, IndexedPackage, MergedSearchIndex, MergedSearchLimits,
};
pub use tables::search::query::SearchQuery;
pub use tables::search::{MAX_DESCRIPTION_BYTES, MAX_PACKAGE_WORDS, SearchField, SearchMatch};
