//! Pulls images from registries and OCI layouts, and unpacks their layers into the files of a
//! catalog; packs files into images, and pushes those; copies whole images.
//!
//! A reference is resolved to a digest, that to layers, each of which is verified while it is
//! downloaded, and those to files. The crate does not parse the files, apart from `.indexignore`,
//! and never holds a whole layer in memory. It reads no configuration: callers provide credentials,
//! mirrors and certificate authorities.

mod artifact;
pub mod copy;
mod error;
mod layout;
mod limits;
mod manifest;
mod metrics;
mod pack;
mod reference;
mod registries;
mod signatures;
pub mod unpack;

use std::io;
use std::path::Path;

pub use error::ImageError;
pub use layout::{MAX_LAYOUT_ENTRIES, MAX_LAYOUT_INDEX_BYTES};
pub use limits::{PullLimits, RetryPolicy};
pub use manifest::{ImageKind, LayerDescriptor, MAX_NESTED_INDEXES};
pub use metrics::{RegistryMetrics, registry_metrics};
pub use pack::{PackedImage, Packer};
pub use reference::{ImageSource, LayoutReference, LayoutSelector, RegistryReference};
pub use registries::{
    HELPER_TIMEOUT, MAX_ERROR_BODY_BYTES, MAX_HELPER_OUTPUT_BYTES, MAX_LIST_BYTES, MAX_LIST_PAGES,
    MAX_REDIRECTS, MAX_TOKEN_RESPONSE_BYTES, Registries, RegistriesConf, RegistryCredentials,
    RegistrySettings, ResolvedImage, find_tls_error, install_crypto_provider, parse_certificates,
    range_start, retry_after,
};
pub use signature_policy::{
    ImagePolicies, ImagePolicyKind, Judgement, RefusalCode, UnreadableImagePolicy, Verdict,
    VerdictState, VerifiedManifest,
};
pub use signatures::{
    MAX_SIGNATURE_BYTES, SIGNATURE_TIMEOUT, SIGNATURES_TIMEOUT, SignaturePolicy,
    SignatureVerification,
};

fn io_error(action: &'static str, path: &Path, source: io::Error) -> ImageError {
    ImageError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
