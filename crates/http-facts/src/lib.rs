//! Facts of HTTP that several views share: content codings, their negotiation, and preconditions.
//!
//! Everything here is a function of bytes and headers, independent of connections and of any web framework.

// What they refuse is in clippy.toml of this crate.
#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod coding;
pub mod negotiation;
pub mod preconditions;
