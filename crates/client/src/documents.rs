//! Types of the documents in `crates/client/documents`, which the build script makes: an inner matter of this crate.
#![expect(unused_imports, nonstandard_style, unreachable_pub, clippy::all, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/documents.rs"));
