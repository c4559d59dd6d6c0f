//! Reads the files of file-based catalogs (FBC) of the Operator Lifecycle Manager.
//!
//! Bytes go in; canonical lines, their origins and notices come out. The crate knows neither how
//! lines are indexed nor what a package is. It is pure: it opens no file or socket, reads no clock
//! or environment, and starts no thread.
//!
//! | module | what it is for |
//! |---|---|
//! | [`reader`] | converts the bytes of one file, JSON or YAML, to canonical lines |
//! | [`json`] | reads values of canonical JSON in place, as Go reads them |
//! | [`manifest`] | decodes the manifests inside of `olm.bundle.object` |
//! | [`origin`] | records the file and line of each blob, and the notices of the reader |
//! | [`problem`] | defines validation problems and their codes |
//!
//! Each module depends only on those below it: `manifest → reader → origin → problem`, and
//! `manifest` and `reader` on `json`.
//!
//! ```
//! use fbc_read::{FileReader, ReadEvent, ReadLimits};
//!
//! let mut reader = FileReader::new(ReadLimits::default());
//! reader.push(b"name: etcd\nschema: olm.package\n");
//! reader.finish();
//! let ReadEvent::Blob(blob) = reader.next()? else { panic!("a blob") };
//! assert_eq!(blob.line, b"{\"name\":\"etcd\",\"schema\":\"olm.package\"}\n");
//! # Ok::<(), fbc_read::ReadError>(())
//! ```

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

pub mod json;
pub mod manifest;
pub mod origin;
pub mod problem;
pub mod reader;

pub use origin::Origins;
pub use problem::{Problem, ProblemCode, Problems, Severity};
pub use reader::{
    AlikeKeys, BYTES_PER_INDICATOR, CanonicalBlob, FileReader, ReadError, ReadErrorKind, ReadEvent,
    ReadLimits, json_value,
};
