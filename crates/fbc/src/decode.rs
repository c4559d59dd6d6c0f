//! Decodes canonical lines to records, in catalog order, before names are resolved.
//!
//! Each byte of a line is visited once, however deep its values nest. [`crate::link`] decides
//! whether packages and channels exist, and which of several equal keys wins.

mod decoder;
mod line;
mod property;

pub(crate) use decoder::{
    BlobBody, Checks, DecodedBlob, DecodedDeprecation, DecodedEntry, Decoder,
};
