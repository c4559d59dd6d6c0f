//! Images as sources: resolving a reference, pulling its layers, and unpacking the catalog's files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use images::unpack::{self, CatalogFile, CatalogRoot, Layer, UnpackLimits, Unpacked};
use images::{ImageKind, ImageSource, Judgement, Registries, ResolvedImage};
use store::ScratchFolder;
use tokio::sync::{OwnedMutexGuard, Semaphore};

use crate::LoadError;
use crate::event::LoadStep;

/// Maximum number of concurrent pulls. The disk holds the layers and the files of each.
pub const MAX_CONCURRENT_PULLS: usize = 4;

/// Name of the folder of the layers, within a scratch folder.
const LAYERS: &str = "layers";

/// Locks that let each revision of an image be pulled once, and permits that bound concurrent pulls.
#[derive(Debug)]
pub(crate) struct ImageLocks {
    /// One lock for each revision that is being loaded.
    by_revision: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// [`MAX_CONCURRENT_PULLS`] permits.
    pub(crate) permits: Semaphore,
}

/// The digest that a reference has been resolved to, and the catalog's directory in the image.
pub(crate) struct ImageState {
    resolved: ResolvedImage,
    /// Directory of the image that holds the catalog.
    root: CatalogRoot,
    revision: String,
    /// The decision of the signature policy, if there is one.
    judgement: Option<Judgement>,
}

/// The layers of an image, in a folder that is removed with this.
pub(crate) struct PulledImage {
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

impl Default for ImageLocks {
    fn default() -> Self {
        Self {
            by_revision: Mutex::default(),
            permits: Semaphore::new(MAX_CONCURRENT_PULLS),
        }
    }
}

impl ImageLocks {
    /// Acquires the lock of this revision of an image.
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
    /// Resolves the reference to a digest, and judges the image by the signature policy.
    pub(crate) async fn poll(
        source: &ImageSource,
        configs_dir: Option<&str>,
        registries: &Registries,
    ) -> Result<Self, LoadError> {
        let (resolved, judgement) = registries.judge(source).await?;
        let root = match &resolved.kind {
            ImageKind::Container { labels } => CatalogRoot::from_labels(labels, configs_dir)?,
            ImageKind::Artifact => CatalogRoot::for_artifact(configs_dir)?,
        };
        let revision = format!("{} {root}", resolved.digest);
        Ok(Self {
            resolved,
            root,
            revision,
            judgement,
        })
    }

    /// Fails if the signature policy refuses the image.
    pub(crate) fn accept(&self) -> Result<(), LoadError> {
        Ok(self.resolved.accept(self.judgement.as_ref())?)
    }

    /// Returns the decision of the signature policy, if there is one.
    pub(crate) fn judgement(&self) -> Option<&Judgement> {
        self.judgement.as_ref()
    }

    /// Returns the digest with the directory. Equal revisions have equal contents, because a digest
    /// identifies the bytes of an image.
    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the reference of the image by digest.
    pub(crate) fn pinned_reference(&self) -> &str {
        &self.resolved.pinned_reference
    }

    /// Downloads the layers into a scratch folder.
    pub(crate) async fn pull(
        self,
        registries: &Registries,
        scratch: ScratchFolder,
        progress: impl Fn(LoadStep, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<PulledImage, LoadError> {
        if let Some(platform) = &self.resolved.platform {
            tracing::info!(
                image = self.pinned_reference(),
                platform,
                "selected one platform of a multi-platform image"
            );
        }
        let folder = scratch.create_folder(LAYERS)?;
        let blobs = registries.fetch(&self.resolved, &folder, move |done, total| {
            progress(LoadStep::Fetch, done, total);
        });
        let blobs = blobs.await?.into_iter();
        let layers = blobs
            .zip(&self.resolved.layers)
            .map(|(blob, layer)| layer.downloaded(blob))
            .collect();
        Ok(PulledImage {
            scratch,
            layers,
            image: self,
        })
    }
}

impl PulledImage {
    /// Unpacks the layers into files. `progress` receives the done and the total bytes of layers.
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
