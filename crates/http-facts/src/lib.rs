//! Facts of HTTP that several views share: content codings, their negotiation, preconditions, the
//! spelling of paths, whom work counts for, and bounds on what bodies hold.
//!
//! Everything here is a function of bytes and headers, independent of connections and of any web
//! framework.

// What they refuse is in clippy.toml of this crate.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

pub mod coding;
pub mod joined;
pub mod negotiation;
pub mod paths;
pub mod peer;
pub mod permits;
pub mod preconditions;
