//! Images in registries and in OCI layouts: a reference → a digest → verified layers → the files of a catalog.
//!
//! It does not know what the files hold beyond which of them `.indexignore` leaves out, nor where they go, and never
//! holds a whole layer in memory. It reads no configuration: credentials, mirrors and authorities are given to it.

mod error;
mod layout;
mod manifest;
mod reference;
mod registries;
mod resolved;
pub mod unpack;

use std::io;
use std::path::Path;

pub use error::ImageError;
pub use layout::MAX_LAYOUT_ENTRIES;
pub use manifest::MAX_NESTED_INDEXES;
pub use reference::{ImageSource, LayoutReference, LayoutSelector, RegistryReference};
pub use registries::{
    Credentials, HELPER_TIMEOUT, MAX_ERROR_BODY_BYTES, MAX_HELPER_OUTPUT_BYTES, MAX_REDIRECTS,
    MAX_TOKEN_RESPONSE_BYTES, PullLimits, Registries, RegistriesConf, RegistrySettings, RetryPolicy,
};
pub use resolved::{ImageKind, LayerDescriptor, ResolvedImage};

fn io_error(action: &'static str, path: &Path, source: io::Error) -> ImageError {
    ImageError::Io { action, path: path.to_owned(), source }
}
