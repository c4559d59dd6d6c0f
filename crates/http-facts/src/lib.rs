//! Facts of HTTP that several views share: content codings, their negotiation, and preconditions.
//!
//! Everything here is a function of bytes and headers, independent of connections and of any web framework.

pub mod coding;
pub mod negotiation;
pub mod preconditions;
