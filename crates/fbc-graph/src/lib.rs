//! Update graphs of packages in file-based catalogs, and resolution as by OLM v1.
//!
//! Handles of an indexed [`Catalog`](fbc::Catalog) go in; edges, paths and picked bundles come out.
//! The crate keeps nothing between calls, and costs depend on the size of a package, not on that of
//! its catalog. It knows neither how graphs are drawn nor how results are shown. It is pure: it
//! opens no file or socket, reads no clock or environment, and starts no thread.
//!
//! | module | what it is for |
//! |---|---|
//! | [`channel_order`] | the order of a channel's entries from which OLM v0 chooses upgrades |
//! | [`graph`] | edges, successors and paths between the bundles of a package |
//! | [`resolve`] | the bundle that the OLM v1 controller would install; built on `graph` |

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

pub mod channel_order;
pub mod graph;
pub mod resolve;
