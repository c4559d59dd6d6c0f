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
pub use layout::LAYOUT_ENTRIES;
pub use manifest::NESTED_INDEXES;
pub use reference::{ImageSource, LayoutChoice, LayoutReference, RegistryReference};
pub use registries::{
    Credentials, HELPER_BYTES, HELPER_TIMEOUT, Limits, REDIRECTS, REFUSAL_BYTES, Registries, RegistriesConf,
    RetryPolicy, Settings, TOKEN_BYTES,
};
pub use resolved::{Kind, LayerDescriptor, Resolved};

fn io_error(action: &'static str, path: &Path, source: io::Error) -> ImageError {
    ImageError::Io { action, path: path.to_owned(), source }
}
