//! The way of an image to its content: what its reference names now → its layers → their files → lines.
//!
//! Whoever asks for an image that is being pulled waits for it and takes the content that the store has then. Waiting
//! for a registry occupies nothing that other sources need.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use fbc::Origins;
use images::unpack::{self, CatalogRoot, Layer, UnpackLimits};
use images::{ImageKind, ImageSource, LayerDescriptor, Registries, ResolvedImage};
use store::{ContentWriter, ScratchFolder, SourceState, StoreError, WrittenContent};
use tokio::sync::{OwnedMutexGuard, Semaphore};

use super::read::read;
use super::stages::{Content, Stages, build};
use super::{LoadError, SourceSpec, Step};

/// How many images are pulled at a time, so that the disk holds the layers and files of a few only.
pub const PULLS: usize = 4;

/// Where the layers of an image are, within a scratch folder.
const LAYERS: &str = "layers";

/// Whose turn it is to pull.
#[derive(Debug)]
pub(super) struct Turns {
    /// One for each state of an image that is being pulled.
    by_revision: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    pub(super) all: Semaphore,
}

/// What a reference names now, and which directory of it counts.
struct Image {
    resolved: ResolvedImage,
    root: CatalogRoot,
}

/// The layers of an image, in a folder that goes with them.
struct Pulled {
    scratch: ScratchFolder,
    layers: Vec<Layer>,
    image: Image,
}

/// Loads an image without a store: its layers and contents lie in a folder within this one until it is read.
pub(super) async fn pull_once(
    source: &ImageSource,
    configs_dir: Option<&str>,
    registries: &Registries,
    folder: &Path,
    progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
) -> Result<Content, LoadError> {
    let image = Image::resolve(source, configs_dir, registries).await?;
    let pulled = image.fetch(registries, ScratchFolder::create_in(folder)?, progress.clone()).await?;
    let folder = folder.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let (written, origins) = pulled.read(|| ContentWriter::temporary(&folder), &progress)?;
        let image = Some(pulled.image.resolved.pinned_reference.as_str().into());
        Ok(Content { image, ..build(&written, &origins)? })
    });
    read.await.unwrap_or_else(|error| Err(LoadError::Panicked(error.to_string())))
}

impl Default for Turns {
    fn default() -> Self {
        Self { by_revision: Mutex::default(), all: Semaphore::new(PULLS) }
    }
}

impl Turns {
    /// Waits until nobody pulls this state of an image.
    async fn of(&self, revision: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.by_revision.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| turn.strong_count() > 0);
            let turn = turns.get(revision).and_then(Weak::upgrade).unwrap_or_default();
            turns.insert(revision.to_owned(), Arc::downgrade(&turn));
            turn
        };
        turn.lock_owned().await
    }
}

impl Stages {
    /// What the image is now: from the store when some reference gave it already, pulled otherwise.
    pub(super) async fn pull(
        self: &Arc<Self>,
        place: &SourceSpec,
        source: &ImageSource,
        progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<Content, LoadError> {
        let image = Image::resolve(source, place.configs_dir.as_deref(), &self.registries).await?;
        let (key, revision, by_digest) = (place.key(), image.revision(), image.resolved.pinned_reference.clone());
        let _turn = self.turns.of(&revision).await;
        let known = self.run_exclusive({
            let (key, revision, by_digest) = (key.clone(), revision.clone(), by_digest.clone());
            move |stages| match stages.known(&key, &revision)? {
                Some(content) => Ok(Some(content)),
                None => stages.reuse(&key, &SourceState { revision: Some(&revision), image: Some(&by_digest) }),
            }
        });
        if let Some(content) = known.await? {
            return Ok(content);
        }
        let _pull = self.turns.all.acquire().await;
        if let Some(platform) = &image.resolved.platform {
            tracing::info!(image = by_digest, platform, "the image is one of several platforms, which hold the same");
        }
        let pulled = image.fetch(&self.registries, self.store.create_scratch_folder()?, progress.clone()).await?;
        let read = self.run_exclusive(move |stages| {
            let (written, origins) = pulled.read(|| stages.store.writer(), &progress)?;
            let state = SourceState { revision: Some(&revision), image: Some(&by_digest) };
            stages.keep(&key, &state, written, origins)
        });
        read.await
    }
}

impl Image {
    async fn resolve(source: &ImageSource, given: Option<&str>, registries: &Registries) -> Result<Self, LoadError> {
        let resolved = registries.resolve(source).await?;
        let root = match &resolved.kind {
            ImageKind::Container { labels } => CatalogRoot::from_labels(labels, given)?,
            ImageKind::Artifact => CatalogRoot::for_artifact(given)?,
        };
        Ok(Self { resolved, root })
    }

    /// Equal for equal contents: the same digest gives the same bytes, and the same directory of them the same files.
    fn revision(&self) -> String {
        format!("{} {}", self.resolved.digest, self.root)
    }

    async fn fetch(
        self,
        registries: &Registries,
        scratch: ScratchFolder,
        progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<Pulled, LoadError> {
        let folder = scratch.create_folder(LAYERS)?;
        let blobs = registries.fetch(&self.resolved, &folder, move |done, total| progress(Step::Fetch, done, total));
        let blobs = blobs.await?.into_iter();
        let layer = |(blob, layer): (_, &LayerDescriptor)| Layer { blob, diff_id: layer.diff_id };
        let layers = blobs.zip(&self.resolved.layers).map(layer).collect();
        Ok(Pulled { scratch, layers, image: self })
    }
}

impl Pulled {
    /// Brings the files to a place where they can be read in catalog order, and reads them.
    fn read<'a>(
        &self,
        writer: impl FnOnce() -> Result<ContentWriter<'a>, StoreError>,
        progress: &impl Fn(Step, u64, u64),
    ) -> Result<(WrittenContent<'a>, Origins), LoadError> {
        let Image { resolved, root } = &self.image;
        let total = resolved.layers.iter().map(|layer| layer.bytes).sum();
        let unpacking = |done| progress(Step::Unpack, done, total);
        let unpacked = unpack::unpack(&self.layers, root, self.scratch.path(), &UnpackLimits::default(), unpacking)?;
        let files = unpacked.files()?;
        if files.is_empty() {
            return Err(LoadError::NoFiles { image: resolved.pinned_reference.clone(), root: root.to_string() });
        }
        let total = files.iter().map(|file| file.content.bytes).sum();
        let mut writer = writer()?;
        let origins = read(&(&unpacked, files), &mut writer, |done| progress(Step::Read, done, total))?;
        Ok((writer.finish()?, origins))
    }
}
