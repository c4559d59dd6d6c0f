//! Image manifests, image indexes and image configs, of OCI and of Docker: the parts that pulling a
//! catalog needs.
//!
//! The input is verified already. This module does not know where it came from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fbc_grammar::Digest;
use oci_client::manifest::{
    IMAGE_CONFIG_MEDIA_TYPE, IMAGE_DOCKER_CONFIG_MEDIA_TYPE, IMAGE_MANIFEST_LIST_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE, ImageIndexEntry, OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE,
    OciDescriptor, OciImageIndex, OciImageManifest,
};
use serde::Deserialize;

use super::ImageError;
use super::artifact;
use super::limits::PullLimits;
use super::signatures::ImageManifests;
use super::unpack::{Layer, LayerContent};

/// Supported media types of manifests and indexes, which requests accept.
pub(super) const MEDIA_TYPES: [&str; 4] = [
    OCI_IMAGE_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
];

/// Maximum nesting depth of indexes. The specification allows an index of indexes, which is rare.
pub const MAX_NESTED_INDEXES: usize = 2;

/// Operating system and architecture of the image that is selected from an index. Catalogs are the
/// same for each.
const PREFERRED_PLATFORM: (&str, &str) = ("linux", "amd64");

/// Annotation of an index entry that is not an image but an attestation about one.
const REFERENCE_TYPE: &str = "vnd.docker.reference.type";

/// A parsed manifest or index.
#[derive(Debug)]
pub(super) enum ManifestOrIndex {
    /// An image index: a list of manifests.
    Index(OciImageIndex),
    /// The manifest of one image or artifact.
    Image(ImageManifest),
}

/// The manifest of one image or artifact.
#[derive(Debug)]
pub(super) struct ImageManifest {
    /// Descriptor of the image config; `None` for an artifact, whose config has no meaning here.
    pub(super) config: Option<BlobDescriptor>,
    /// Layers, lowest first, without the digests that the image config names.
    layers: Vec<LayerDescriptor>,
    manifest: Box<OciImageManifest>,
}

/// The digest and the length of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlobDescriptor {
    pub(super) digest: Digest,
    pub(super) bytes: u64,
}

/// The manifest that is selected from an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SelectedManifest {
    pub(super) manifest: BlobDescriptor,
    /// Platform of the entry, such as `linux/amd64`, if it has one.
    pub(super) platform: Option<String>,
}

/// The kind of thing that a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A container image.
    Container {
        /// Labels of the image config.
        labels: BTreeMap<String, String>,
    },
    /// Another OCI artifact, whose layers are files or archives of the catalog.
    Artifact,
}

/// One layer of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerDescriptor {
    /// Digest of the blob, as it is downloaded.
    pub digest: Digest,
    /// Length of the blob in bytes.
    pub bytes: u64,
    /// Digest of the uncompressed layer, if the image config or the artifact names one.
    pub diff_id: Option<Digest>,
    /// Kind of content.
    pub content: LayerContent,
}

/// An image that a reference has been resolved to.
#[derive(Debug)]
pub(super) struct ImageDescription {
    /// Digest that the reference resolved to: that of the index, if it names one.
    pub(super) digest: Digest,
    /// Platform that was selected from an index, such as `linux/amd64`.
    pub(super) platform: Option<String>,
    pub(super) kind: ImageKind,
    /// Layers, lowest first.
    pub(super) layers: Vec<LayerDescriptor>,
    pub(super) manifests: ImageManifests,
}

/// The fields that distinguish an index from a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestFields {
    schema_version: Option<u32>,
    media_type: Option<String>,
    manifests: Option<serde::de::IgnoredAny>,
    config: Option<serde::de::IgnoredAny>,
}

/// The parts of an image config that are used; the rest is not validated.
#[derive(Default, Deserialize)]
struct ImageConfig {
    config: Option<ExecutionConfig>,
    rootfs: Option<RootFs>,
}

#[derive(Deserialize)]
struct ExecutionConfig {
    #[serde(rename = "Labels")]
    labels: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Option<Vec<String>>,
}

impl ManifestOrIndex {
    /// Parses a manifest or an index. `resource` names it in errors.
    pub(super) fn parse(bytes: &[u8], resource: &str) -> Result<Self, ImageError> {
        let error = |source| ImageError::Manifest {
            resource: resource.to_owned(),
            source,
        };
        let unknown = |found: String| ImageError::NotAManifest {
            resource: resource.to_owned(),
            found,
        };
        let fields: ManifestFields = serde_json::from_slice(bytes).map_err(error)?;
        if fields.schema_version != Some(2) {
            let version = fields
                .schema_version
                .map_or("none".to_owned(), |version| version.to_string());
            return Err(unknown(format!("schemaVersion {version}")));
        }
        if let Some(other) = fields
            .media_type
            .filter(|media_type| !MEDIA_TYPES.contains(&&**media_type))
        {
            return Err(unknown(format!("media type `{other}`")));
        }
        // Other clients might read a document with both as the other kind.
        match (fields.manifests, fields.config) {
            (Some(_), None) => Ok(Self::Index(serde_json::from_slice(bytes).map_err(error)?)),
            (None, Some(_)) => {
                ImageManifest::new(serde_json::from_slice(bytes).map_err(error)?).map(Self::Image)
            }
            (Some(_), Some(_)) => Err(unknown("manifests and a config".to_owned())),
            (None, None) => Err(unknown("neither manifests nor a config".to_owned())),
        }
    }
}

impl ImageManifest {
    fn new(manifest: Box<OciImageManifest>) -> Result<Self, ImageError> {
        let is_image = [IMAGE_CONFIG_MEDIA_TYPE, IMAGE_DOCKER_CONFIG_MEDIA_TYPE]
            .contains(&&*manifest.config.media_type);
        let config = if is_image {
            Some(BlobDescriptor::new(&manifest.config)?)
        } else {
            None
        };
        let layers = manifest
            .layers
            .iter()
            .map(LayerDescriptor::archive)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            config,
            layers,
            manifest,
        })
    }

    /// Checks the manifest against the limits. `resource` names the image in errors.
    pub(super) fn check(&self, resource: &str, limits: &PullLimits) -> Result<(), ImageError> {
        let too_large = |part, bytes, limit| ImageError::TooLarge {
            resource: format!("{part} of {resource}"),
            bytes,
            limit,
        };
        if let Some(config) = self
            .config
            .filter(|config| config.bytes > limits.config_bytes)
        {
            return Err(too_large("the config", config.bytes, limits.config_bytes));
        }
        let layers = self.layers.len();
        if layers > limits.layers {
            return Err(ImageError::TooManyLayers {
                resource: resource.to_owned(),
                layers,
                limit: limits.layers,
            });
        }
        let bytes = self
            .layers
            .iter()
            .fold(0_u64, |sum, layer| sum.saturating_add(layer.bytes));
        if bytes > limits.layer_bytes {
            return Err(too_large("the layers", bytes, limits.layer_bytes));
        }
        Ok(())
    }

    /// Returns the kind and the layers of the image, given the bytes of its config if it has one.
    /// Fails for an artifact that holds no catalog.
    pub(super) fn describe(
        self,
        config: Option<&[u8]>,
        resource: &str,
    ) -> Result<(ImageKind, Vec<LayerDescriptor>), ImageError> {
        let Some(config) = config else {
            let layers = artifact::layers(&self.manifest, resource)?;
            return Ok((ImageKind::Artifact, layers));
        };
        let error = |source| ImageError::Manifest {
            resource: format!("the config of {resource}"),
            source,
        };
        let config: ImageConfig = serde_json::from_slice(config).map_err(error)?;
        let labels = config
            .config
            .and_then(|config| config.labels)
            .unwrap_or_default();
        let labels = labels
            .into_iter()
            .map(|(name, value)| (name, value.unwrap_or_default()))
            .collect();
        let diff_ids = config
            .rootfs
            .and_then(|rootfs| rootfs.diff_ids)
            .unwrap_or_default();
        if diff_ids.len() != self.layers.len() {
            let layers = self.layers.len();
            let diff_ids = diff_ids.len();
            return Err(ImageError::ConfigLayers {
                resource: resource.to_owned(),
                layers,
                diff_ids,
            });
        }
        let diff_ids = diff_ids
            .iter()
            .map(|text| parse_digest(text))
            .collect::<Result<Vec<_>, _>>()?;
        let layers = self
            .layers
            .into_iter()
            .zip(diff_ids)
            .map(|(layer, diff_id)| LayerDescriptor {
                diff_id: Some(diff_id),
                ..layer
            })
            .collect();
        Ok((ImageKind::Container { labels }, layers))
    }
}

impl LayerDescriptor {
    /// Returns the layer, downloaded to this path.
    pub fn downloaded(&self, blob: PathBuf) -> Layer {
        Layer {
            blob,
            diff_id: self.diff_id,
            content: self.content.clone(),
        }
    }

    /// Returns the layer of an archive, without the digest of its uncompressed bytes.
    pub(super) fn archive(descriptor: &OciDescriptor) -> Result<Self, ImageError> {
        let BlobDescriptor { digest, bytes } = BlobDescriptor::new(descriptor)?;
        Ok(Self {
            digest,
            bytes,
            diff_id: None,
            content: LayerContent::Archive,
        })
    }
}

impl BlobDescriptor {
    pub(super) fn new(descriptor: &OciDescriptor) -> Result<Self, ImageError> {
        Self::parse(&descriptor.digest, descriptor.size)
    }

    fn parse(digest: &str, size: i64) -> Result<Self, ImageError> {
        let bytes = u64::try_from(size).map_err(|_| ImageError::NegativeSize {
            blob: digest.to_owned(),
            size,
        })?;
        Ok(Self {
            digest: parse_digest(digest)?,
            bytes,
        })
    }
}

/// Returns the entries of an index that are images, indexes or artifacts which may hold a catalog,
/// without attestations.
pub(super) fn images(index: &OciImageIndex) -> impl Iterator<Item = &ImageIndexEntry> {
    index.manifests.iter().filter(|entry| {
        let is_attestation = entry
            .annotations
            .as_ref()
            .is_some_and(|all| all.contains_key(REFERENCE_TYPE));
        let has_unknown_platform = entry.platform.as_ref().is_some_and(|platform| {
            platform.os.to_string() == "unknown" && platform.architecture.to_string() == "unknown"
        });
        let is_refused = entry
            .artifact_type
            .as_deref()
            .is_some_and(|artifact_type| artifact::refused_kind(artifact_type).is_some());
        !is_attestation
            && !has_unknown_platform
            && !is_refused
            && MEDIA_TYPES.contains(&&*entry.media_type)
    })
}

/// Selects a manifest of an index: that of the preferred platform, else the first for the same
/// operating system, else the first that is no artifact, else the only artifact. `resource` names
/// the index in errors.
pub(super) fn select(
    index: &OciImageIndex,
    resource: &str,
) -> Result<SelectedManifest, ImageError> {
    let os = |entry: &&ImageIndexEntry| {
        entry
            .platform
            .as_ref()
            .map(|platform| platform.os.to_string())
    };
    let architecture = |entry: &&ImageIndexEntry| {
        entry
            .platform
            .as_ref()
            .map(|one| one.architecture.to_string())
    };
    let is_linux = |entry: &&ImageIndexEntry| os(entry).as_deref() == Some(PREFERRED_PLATFORM.0);
    let entry = images(index)
        .find(|entry| {
            is_linux(entry) && architecture(entry).as_deref() == Some(PREFERRED_PLATFORM.1)
        })
        .or_else(|| images(index).find(is_linux))
        .or_else(|| images(index).find(|entry| entry.artifact_type.is_none()));
    let entry = match entry {
        Some(entry) => entry,
        None => only_artifact(index, resource)?,
    };
    let platform = entry.platform.as_ref().map(|platform| {
        let variant = platform
            .variant
            .as_ref()
            .map(|variant| format!("/{variant}"))
            .unwrap_or_default();
        format!("{}/{}{variant}", platform.os, platform.architecture)
    });
    Ok(SelectedManifest {
        manifest: BlobDescriptor::parse(&entry.digest, entry.size)?,
        platform,
    })
}

/// Returns the only artifact of an index without images.
fn only_artifact<'i>(
    index: &'i OciImageIndex,
    resource: &str,
) -> Result<&'i ImageIndexEntry, ImageError> {
    let artifacts: Vec<_> = images(index).collect();
    match artifacts[..] {
        [] => Err(ImageError::NoImage(resource.to_owned())),
        [only] => Ok(only),
        _ => Err(ImageError::AmbiguousArtifacts {
            resource: resource.to_owned(),
            artifacts: artifacts.len(),
        }),
    }
}

/// Parses a digest, which must be a SHA-256.
pub(super) fn parse_digest(text: &str) -> Result<Digest, ImageError> {
    Digest::parse(text).ok_or_else(|| ImageError::UnsupportedDigest(text.to_owned()))
}
