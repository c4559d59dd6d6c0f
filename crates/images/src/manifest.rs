//! Manifests, indexes and configs, of OCI and of Docker: what they say that a catalog needs.
//!
//! It reads bytes that were verified already and knows nothing of where they came from.

use std::collections::BTreeMap;

use fbc::Digest;
use oci_client::manifest::{
    IMAGE_CONFIG_MEDIA_TYPE, IMAGE_DOCKER_CONFIG_MEDIA_TYPE, IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE,
    ImageIndexEntry, OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageIndex, OciImageManifest,
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::registries::PullLimits;
use super::{ImageError, ImageKind, LayerDescriptor};

/// What a registry is asked for, and what is understood.
pub(super) const MEDIA_TYPES: [&str; 4] =
    [OCI_IMAGE_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, IMAGE_MANIFEST_LIST_MEDIA_TYPE];

/// How many indexes may lie in each other. The specification allows an index of indexes, and hardly anybody makes one.
pub const MAX_NESTED_INDEXES: usize = 2;

/// The platform whose image is taken when there are several: catalogs are the same on each.
const PREFERRED: (&str, &str) = ("linux", "amd64");

/// By this annotation an entry of an index says that it is no image but says something of one.
const REFERENCE_TYPE: &str = "vnd.docker.reference.type";

/// A manifest that was read.
#[derive(Debug)]
pub(super) enum Manifest {
    /// A list of manifests.
    Index(OciImageIndex),
    /// One image or artifact.
    Image(Image),
}

/// A manifest that names its config and its layers.
#[derive(Debug)]
pub(super) struct Image {
    /// Where the config is, unless this is an artifact, whose config says nothing.
    pub(super) config: Option<Blob>,
    layers: Vec<Blob>,
}

/// Names bytes by their digest and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) digest: Digest,
    pub(super) bytes: u64,
}

/// The manifest that is taken from an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) manifest: Blob,
    /// Such as `linux/amd64`, when the index says one.
    pub(super) platform: Option<String>,
}

/// What tells an index from a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    schema_version: Option<u32>,
    media_type: Option<String>,
    manifests: Option<serde::de::IgnoredAny>,
    config: Option<serde::de::IgnoredAny>,
}

/// The parts of a config that a catalog needs; the rest may be as it likes.
#[derive(Default, Deserialize)]
struct Config {
    config: Option<Execution>,
    rootfs: Option<RootFs>,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(rename = "Labels")]
    labels: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Option<Vec<String>>,
}

/// The digest of some bytes.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

impl Manifest {
    /// Reads a manifest or an index. `what` names it in errors.
    pub(super) fn parse(bytes: &[u8], what: &str) -> Result<Self, ImageError> {
        let error = |source| ImageError::Manifest { what: what.to_owned(), source };
        let unknown = |found: String| ImageError::NotAManifest { what: what.to_owned(), found };
        let form: Form = serde_json::from_slice(bytes).map_err(error)?;
        if form.schema_version != Some(2) {
            let version = form.schema_version.map_or("none".to_owned(), |version| version.to_string());
            return Err(unknown(format!("schemaVersion {version}")));
        }
        if let Some(other) = form.media_type.filter(|media_type| !MEDIA_TYPES.contains(&&**media_type)) {
            return Err(unknown(format!("media type `{other}`")));
        }
        // What is both would be one thing here and another elsewhere.
        match (form.manifests, form.config) {
            (Some(_), None) => Ok(Self::Index(serde_json::from_slice(bytes).map_err(error)?)),
            (None, Some(_)) => Image::new(&serde_json::from_slice(bytes).map_err(error)?).map(Self::Image),
            (Some(_), Some(_)) => Err(unknown("manifests and a config".to_owned())),
            (None, None) => Err(unknown("neither manifests nor a config".to_owned())),
        }
    }
}

impl Image {
    fn new(manifest: &OciImageManifest) -> Result<Self, ImageError> {
        let is_image =
            [IMAGE_CONFIG_MEDIA_TYPE, IMAGE_DOCKER_CONFIG_MEDIA_TYPE].contains(&&*manifest.config.media_type);
        let config = if is_image { Some(Blob::new(&manifest.config)?) } else { None };
        let layers = manifest.layers.iter().map(Blob::new).collect::<Result<_, _>>()?;
        Ok(Self { config, layers })
    }

    /// Refuses what has more than it may have. `what` names the image in errors.
    pub(super) fn check(&self, what: &str, limits: &PullLimits) -> Result<(), ImageError> {
        let too_large = |part, bytes, limit| ImageError::TooLarge { what: format!("{part} of {what}"), bytes, limit };
        if let Some(config) = self.config.filter(|config| config.bytes > limits.config_bytes) {
            return Err(too_large("the config", config.bytes, limits.config_bytes));
        }
        let layers = self.layers.len();
        if layers > limits.layers {
            return Err(ImageError::TooManyLayers { what: what.to_owned(), layers, limit: limits.layers });
        }
        let bytes = self.layers.iter().fold(0_u64, |sum, layer| sum.saturating_add(layer.bytes));
        if bytes > limits.layer_bytes {
            return Err(too_large("the layers", bytes, limits.layer_bytes));
        }
        if self.config.is_none() && layers != 1 {
            return Err(ImageError::ArtifactLayers { what: what.to_owned(), layers });
        }
        Ok(())
    }

    /// What it is, and its layers, given the bytes of its config if it has one.
    pub(super) fn describe(
        &self,
        config: Option<&[u8]>,
        what: &str,
    ) -> Result<(ImageKind, Vec<LayerDescriptor>), ImageError> {
        let layer = |layer: &Blob, diff_id| LayerDescriptor { digest: layer.digest, bytes: layer.bytes, diff_id };
        let Some(config) = config else {
            return Ok((ImageKind::Artifact, self.layers.iter().map(|blob| layer(blob, None)).collect()));
        };
        let error = |source| ImageError::Manifest { what: format!("the config of {what}"), source };
        let config: Config = serde_json::from_slice(config).map_err(error)?;
        let labels = config.config.and_then(|config| config.labels).unwrap_or_default();
        let labels = labels.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect();
        let diff_ids = config.rootfs.and_then(|rootfs| rootfs.diff_ids).unwrap_or_default();
        if diff_ids.len() != self.layers.len() {
            let (layers, diff_ids) = (self.layers.len(), diff_ids.len());
            return Err(ImageError::ConfigLayers { what: what.to_owned(), layers, diff_ids });
        }
        let diff_ids = diff_ids.iter().map(|text| parse_digest(text)).collect::<Result<Vec<_>, _>>()?;
        let layers = self.layers.iter().zip(diff_ids).map(|(blob, diff_id)| layer(blob, Some(diff_id))).collect();
        Ok((ImageKind::Container { labels }, layers))
    }
}

impl Blob {
    fn new(descriptor: &OciDescriptor) -> Result<Self, ImageError> {
        Self::of(&descriptor.digest, descriptor.size)
    }

    fn of(digest: &str, size: i64) -> Result<Self, ImageError> {
        let bytes = u64::try_from(size).map_err(|_| ImageError::NegativeSize { blob: digest.to_owned(), size })?;
        Ok(Self { digest: parse_digest(digest)?, bytes })
    }
}

/// The entries of an index that are images, and not what somebody says of images.
pub(super) fn images(index: &OciImageIndex) -> impl Iterator<Item = &ImageIndexEntry> {
    index.manifests.iter().filter(|entry| {
        let says_something_of = entry.annotations.as_ref().is_some_and(|all| all.contains_key(REFERENCE_TYPE));
        let nowhere = entry.platform.as_ref().is_some_and(|platform| {
            platform.os.to_string() == "unknown" && platform.architecture.to_string() == "unknown"
        });
        !says_something_of && !nowhere && MEDIA_TYPES.contains(&&*entry.media_type)
    })
}

/// Which manifest of an index is taken: that of the preferred platform, else the first for the same system, else the
/// first. `what` names the index in errors.
pub(super) fn choose(index: &OciImageIndex, what: &str) -> Result<Choice, ImageError> {
    let os = |entry: &&ImageIndexEntry| entry.platform.as_ref().map(|platform| platform.os.to_string());
    let architecture = |entry: &&ImageIndexEntry| entry.platform.as_ref().map(|one| one.architecture.to_string());
    let is_linux = |entry: &&ImageIndexEntry| os(entry).as_deref() == Some(PREFERRED.0);
    let entry = images(index)
        .find(|entry| is_linux(entry) && architecture(entry).as_deref() == Some(PREFERRED.1))
        .or_else(|| images(index).find(is_linux))
        .or_else(|| images(index).next())
        .ok_or_else(|| ImageError::NoImage(what.to_owned()))?;
    let platform = entry.platform.as_ref().map(|platform| {
        let variant = platform.variant.as_ref().map(|variant| format!("/{variant}")).unwrap_or_default();
        format!("{}/{}{variant}", platform.os, platform.architecture)
    });
    Ok(Choice { manifest: Blob::of(&entry.digest, entry.size)?, platform })
}

pub(super) fn parse_digest(text: &str) -> Result<Digest, ImageError> {
    Digest::parse(text).ok_or_else(|| ImageError::DigestUnsupported(text.to_owned()))
}
