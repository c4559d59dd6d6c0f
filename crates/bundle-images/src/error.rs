//! Reasons why a bundle cannot be read from its image.

use std::sync::Arc;

use images::ImageError;
use images::unpack::UnpackError;
use store::StoreError;

use crate::pull::{MANIFESTS_LABEL, METADATA_LABEL};

/// A reason why a bundle cannot be read from its image. Clones share the cause.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BundleImageError {
    /// The registry, or the image in it, cannot be pulled.
    #[error("cannot pull the image `{image}`")]
    Pull {
        /// Reference of the image.
        image: String,
        /// The cause.
        source: Arc<ImageError>,
    },
    /// The pull takes too long.
    #[error("cannot pull the image `{image}`: it takes more than {seconds} s")]
    Timeout {
        /// Reference of the image.
        image: String,
        /// The time-out in seconds.
        seconds: u64,
    },
    /// Too many pulls are waiting.
    #[error("cannot pull the image `{0}` now: too many images are being pulled, try again later")]
    Busy(String),
    /// The text is not the reference of an image.
    #[error("`{image}` is not the reference of an image")]
    Reference {
        /// The text.
        image: String,
        /// The cause.
        source: Arc<ImageError>,
    },
    /// The labels of the image do not say that it is a bundle.
    #[error("the image `{0}` is not a bundle: it has no label `{MANIFESTS_LABEL}`")]
    NotABundle(String),
    /// The labels of the image do not say where the metadata of the bundle is.
    #[error("the image `{0}` has no label `{METADATA_LABEL}`")]
    NoMetadata(String),
    /// The layers of the image are too large.
    #[error(
        "the image `{image}` has layers of {bytes} bytes: at most {limit} are pulled for a bundle"
    )]
    TooLarge {
        /// Reference of the image.
        image: String,
        /// Size of all layers, as they are downloaded.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The files of the image cannot be read.
    #[error("cannot read the bundle in the image `{image}`")]
    Unpack {
        /// Reference of the image.
        image: String,
        /// The cause.
        source: Arc<UnpackError>,
    },
    /// There is no folder for the layers of the image.
    #[error("cannot store the image `{image}`")]
    Scratch {
        /// Reference of the image.
        image: String,
        /// The cause.
        source: Arc<StoreError>,
    },
}

impl BundleImageError {
    /// Returns whether the bundle itself is refused, so that another attempt fails as well.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Pull { source, .. } => matches!(
                **source,
                ImageError::TooLarge { .. }
                    | ImageError::TooManyLayers { .. }
                    | ImageError::UnsupportedArtifact { .. }
                    | ImageError::BadTitle { .. }
                    | ImageError::AmbiguousArtifacts { .. }
                    | ImageError::ConfigLayers { .. }
                    | ImageError::Manifest { .. }
                    | ImageError::NotAManifest { .. }
                    | ImageError::NegativeSize { .. }
                    | ImageError::NoImage(_)
                    | ImageError::NestedIndexes(_)
                    | ImageError::WrongDigest { .. }
                    | ImageError::WrongSize { .. }
                    | ImageError::LargerThan { .. }
                    | ImageError::UnsupportedDigest(_)
                    | ImageError::Blocked { .. }
            ),
            Self::Timeout { .. } | Self::Busy(_) | Self::Scratch { .. } => false,
            Self::Reference { .. }
            | Self::NotABundle(_)
            | Self::NoMetadata(_)
            | Self::TooLarge { .. } => true,
            Self::Unpack { source, .. } => !matches!(**source, UnpackError::Io { .. }),
        }
    }
}
