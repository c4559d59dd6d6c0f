//! Facts of HTTP that several views need: content codings, and preconditions. Pure functions of bytes and headers; it
//! knows no connection and no framework.

pub mod coding;
pub mod preconditions;
