//! Images as sources: what a reference names now, and the files of the catalog in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use images::unpack::{self, CatalogFile, CatalogRoot, Layer, UnpackLimits, Unpacked};
use images::{ImageKind, ImageSource, LayerDescriptor, Registries, ResolvedImage};
use store::ScratchFolder;
use tokio::sync::{OwnedMutexGuard, Semaphore};

use crate::{LoadError, Step};

/// How many images are pulled at a time, so that the disk holds the layers and files of a few only.
pub const PULLS: usize = 4;

/// The folder of the layers, within a scratch folder.
const LAYERS: &str = "layers";

/// Bounds how many images are pulled at a time, and lets each state of an image be pulled once.
#[derive(Debug)]
pub(crate) struct Pulls {
    /// One lock for each revision that is being pulled.
    by_revision: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// [`PULLS`] permits.
    pub(crate) permits: Semaphore,
}

/// What an image is at one moment.
pub(crate) struct ImageState {
    resolved: ResolvedImage,
    /// The directory of the image that holds the catalog.
    root: CatalogRoot,
    revision: String,
}

/// The layers of an image, in a folder that is removed with this.
pub(crate) struct FetchedImage {
    scratch: ScratchFolder,
    layers: Vec<Layer>,
    image: ImageState,
}

/// The files of a catalog from an image.
pub(crate) struct ImageFiles {
    pub(crate) unpacked: Unpacked,
    /// In catalog order.
    pub(crate) files: Vec<CatalogFile>,
}

impl Default for Pulls {
    fn default() -> Self {
        Self {
            by_revision: Mutex::default(),
            permits: Semaphore::new(PULLS),
        }
    }
}

impl Pulls {
    /// Waits until nobody else pulls this revision of an image.
    pub(crate) async fn lock(&self, revision: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self
                .by_revision
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| lock.strong_count() > 0);
            let lock = locks
                .get(revision)
                .and_then(Weak::upgrade)
                .unwrap_or_default();
            locks.insert(revision.to_owned(), Arc::downgrade(&lock));
            lock
        };
        lock.lock_owned().await
    }
}

impl ImageState {
    /// Asks what the reference names now.
    pub(crate) async fn poll(
        source: &ImageSource,
        configs_dir: Option<&str>,
        registries: &Registries,
    ) -> Result<Self, LoadError> {
        let resolved = registries.resolve(source).await?;
        let root = match &resolved.kind {
            ImageKind::Container { labels } => CatalogRoot::from_labels(labels, configs_dir)?,
            ImageKind::Artifact => CatalogRoot::for_artifact(configs_dir)?,
        };
        let revision = format!("{} {root}", resolved.digest);
        Ok(Self {
            resolved,
            root,
            revision,
        })
    }

    /// Equal for equal contents: a digest has the same bytes for ever, and a directory of them the
    /// same files.
    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    /// The image by digest.
    pub(crate) fn by_digest(&self) -> &str {
        &self.resolved.pinned_reference
    }

    /// Fetches the layers into a scratch folder.
    pub(crate) async fn fetch(
        self,
        registries: &Registries,
        scratch: ScratchFolder,
        progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<FetchedImage, LoadError> {
        if let Some(platform) = &self.resolved.platform {
            tracing::info!(
                image = self.by_digest(),
                platform,
                "taking one platform of a multi-platform image"
            );
        }
        let folder = scratch.create_folder(LAYERS)?;
        let blobs = registries.fetch(&self.resolved, &folder, move |done, total| {
            progress(Step::Fetch, done, total);
        });
        let blobs = blobs.await?.into_iter();
        let layer = |(blob, layer): (_, &LayerDescriptor)| Layer {
            blob,
            diff_id: layer.diff_id,
        };
        let layers = blobs.zip(&self.resolved.layers).map(layer).collect();
        Ok(FetchedImage {
            scratch,
            layers,
            image: self,
        })
    }
}

impl FetchedImage {
    /// Makes files of the layers. `progress` is told how many of how many bytes of layers are done.
    pub(crate) fn unpack(&self, progress: impl Fn(u64, u64)) -> Result<ImageFiles, LoadError> {
        let ImageState { resolved, root, .. } = &self.image;
        let total = resolved.layers.iter().map(|layer| layer.bytes).sum();
        let unpacking = |done| progress(done, total);
        let unpacked = unpack::unpack(
            &self.layers,
            root,
            self.scratch.path(),
            &UnpackLimits::default(),
            unpacking,
        )?;
        let files = unpacked.files()?;
        if files.is_empty() {
            return Err(LoadError::NoFiles {
                image: resolved.pinned_reference.clone(),
                root: root.to_string(),
            });
        }
        Ok(ImageFiles { unpacked, files })
    }
}
