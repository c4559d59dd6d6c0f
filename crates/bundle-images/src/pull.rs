//! Pulls an image and reads the files of its bundle.

use std::collections::BTreeMap;
use std::sync::Arc;

use images::unpack::{
    CatalogRoot, FileContent, Layer, UnpackError, UnpackLimits, Unpacked, UnpackedEntry, unpack,
};
use images::{ImageError, ImageKind, ImageSource, Registries, RegistryReference};
use install_preview::bundle::{MAX_BUNDLE_BYTES, MAX_BUNDLE_FILE_BYTES, MAX_BUNDLE_FILES};
use install_preview::{BundleDirectory, BundleManifestFile};
use store::ScratchFolder;
use tokio::task::spawn_blocking;

use crate::BundleImageError;

/// Maximum size of all layers of the image of a bundle, in bytes as they are downloaded. Images of
/// bundles have a few hundred kilobytes, unless they contain an operating system.
pub const MAX_BUNDLE_LAYER_BYTES: u64 = 256 << 20;

/// Maximum size of all layers of the image of a bundle, in bytes, uncompressed.
const MAX_UNCOMPRESSED_BYTES: u64 = 1 << 30;

/// Labels with the directories of a bundle in its image.
pub(crate) const MANIFESTS_LABEL: &str = "operators.operatorframework.io.bundle.manifests.v1";
pub(crate) const METADATA_LABEL: &str = "operators.operatorframework.io.bundle.metadata.v1";

/// A pulled image with the labels of a bundle.
struct PulledBundle {
    image: String,
    labels: BTreeMap<String, String>,
    layers: Vec<Layer>,
    scratch: ScratchFolder,
}

/// The files and directories of one directory of an image.
#[derive(Default)]
struct DirectoryFiles {
    files: Vec<BundleManifestFile<'static>>,
    folder: Option<String>,
}

/// Pulls an image and reads the files of its bundle. Layers are in `scratch` for as long as they
/// are read.
///
/// # Errors
/// Fails when the image cannot be pulled, is not a bundle, or exceeds a limit.
pub async fn pull(
    registries: &Registries,
    image: &ImageSource,
    scratch: ScratchFolder,
) -> Result<BundleDirectory, BundleImageError> {
    let bundle = pull_layers(registries, image, scratch).await?;
    match spawn_blocking(move || bundle.directory()).await {
        Ok(directory) => directory,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Pulls the image of a registry that a catalog names, as [`pull()`] does.
///
/// # Errors
/// Those of [`pull()`], and a text that is not the reference of an image.
pub async fn pull_named(
    registries: &Registries,
    image: &str,
    scratch: ScratchFolder,
) -> Result<BundleDirectory, BundleImageError> {
    let source = ImageSource::Registry(parse_reference(image)?);
    pull(registries, &source, scratch).await
}

/// Parses the reference of an image that a catalog names.
pub(crate) fn parse_reference(image: &str) -> Result<RegistryReference, BundleImageError> {
    RegistryReference::parse(image).map_err(|source| BundleImageError::Reference {
        image: image.to_owned(),
        source: Arc::new(source),
    })
}

async fn pull_layers(
    registries: &Registries,
    source: &ImageSource,
    scratch: ScratchFolder,
) -> Result<PulledBundle, BundleImageError> {
    let image = shown(source);
    let failed = |error: ImageError| BundleImageError::Pull {
        image: image.clone(),
        source: Arc::new(error),
    };
    let resolved = registries.resolve(source).await.map_err(failed)?;
    let ImageKind::Container { labels } = &resolved.kind else {
        return Err(BundleImageError::NotABundle(image));
    };
    if !labels.contains_key(MANIFESTS_LABEL) {
        return Err(BundleImageError::NotABundle(image));
    }
    if !labels.contains_key(METADATA_LABEL) {
        return Err(BundleImageError::NoMetadata(image));
    }
    let bytes: u64 = resolved.layers.iter().map(|layer| layer.bytes).sum();
    if bytes > MAX_BUNDLE_LAYER_BYTES {
        return Err(BundleImageError::TooLarge {
            image,
            bytes,
            limit: MAX_BUNDLE_LAYER_BYTES,
        });
    }

    let fetched = registries.fetch(&resolved, scratch.path(), |_, _| ());
    let blobs = fetched.await.map_err(failed)?;
    let layers = blobs.into_iter().zip(&resolved.layers);
    let layers = layers.map(|(blob, layer)| layer.downloaded(blob)).collect();
    let labels = labels.clone();
    Ok(PulledBundle {
        image,
        labels,
        layers,
        scratch,
    })
}

impl PulledBundle {
    fn directory(&self) -> Result<BundleDirectory, BundleImageError> {
        let manifests = self.files(&self.labels[MANIFESTS_LABEL])?;
        let metadata = self.files(&self.labels[METADATA_LABEL])?;
        Ok(BundleDirectory {
            manifests: manifests.files,
            manifest_folder: manifests.folder,
            metadata: metadata.files,
        })
    }

    /// Reads the files of a directory.
    fn files(&self, directory: &str) -> Result<DirectoryFiles, BundleImageError> {
        let failed = |error: UnpackError| BundleImageError::Unpack {
            image: self.image.clone(),
            source: Arc::new(error),
        };
        let root = CatalogRoot::from_labels(&self.labels, Some(directory)).map_err(failed)?;
        let scratch = self.scratch.path();
        let unpacked = unpack(&self.layers, &root, scratch, &limits(), |_| ()).map_err(failed)?;
        let mut read = DirectoryFiles::default();
        for (path, entry) in unpacked.entries() {
            match entry {
                UnpackedEntry::File(content) if !path.contains('/') => {
                    let bytes = read_file(&unpacked, *content).map_err(failed)?;
                    read.files.push(BundleManifestFile {
                        name: path.clone().into(),
                        bytes: bytes.into(),
                    });
                }
                UnpackedEntry::Folder if read.folder.is_none() => {
                    read.folder = Some(path.clone());
                }
                UnpackedEntry::File(_) | UnpackedEntry::Folder | UnpackedEntry::Link(_) => {}
            }
        }
        Ok(read)
    }
}

/// Limits of the files of a bundle.
fn limits() -> UnpackLimits {
    UnpackLimits {
        uncompressed: MAX_UNCOMPRESSED_BYTES,
        entries: MAX_BUNDLE_FILES,
        links: 0,
        file_bytes: MAX_BUNDLE_FILE_BYTES as u64,
        bytes: MAX_BUNDLE_BYTES as u64,
        ..UnpackLimits::default()
    }
}

fn read_file(unpacked: &Unpacked, content: FileContent) -> Result<Vec<u8>, UnpackError> {
    let length = usize::try_from(content.bytes).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    let mut at = 0;
    while at < length {
        match unpacked.read(content, at as u64, &mut bytes[at..])? {
            0 => break,
            read => at += read,
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}

/// Returns the reference of an image for messages.
fn shown(source: &ImageSource) -> String {
    match source {
        ImageSource::Registry(image) => image.to_string(),
        ImageSource::Layout(layout) => layout.to_string(),
    }
}
