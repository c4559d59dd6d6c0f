//! Representations of RFC 9110: content codings and their negotiation, gzip streams that are joined
//! from compressed pieces, preconditions, `Cache-Control`, and the headers of errors.
//!
//! Everything here is a function of bytes and headers, independent of connections and of any web
//! framework.

// clippy.toml of this crate lists what these lints reject.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

pub mod cache_control;
pub mod coding;
pub mod joined_gzip;
pub mod negotiation;
pub mod preconditions;
pub mod text_error;
