//! Copies what a target does not have.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fbc_grammar::Digest;
use tokio::task::JoinSet;

use super::graph::{GraphPart, PartName};
use super::plan::{CopyFailure, CopyJob, CopyPermits, CopyPlan};
use super::source::GraphSource;
use super::target::{BlobArrival, CopyTarget, OpenTarget, TargetPlace};
use crate::manifest::BlobDescriptor;
use crate::{ImageError, Registries};

/// Result of copying images.
#[derive(Debug, Default)]
pub struct CopyOutcome {
    /// Blobs that were copied.
    pub copied: CopiedBlobs,
    /// Blobs that another repository of the target had.
    pub mounted: CopiedBlobs,
    /// Blobs that were there.
    pub present: CopiedBlobs,
    /// Number of manifests and tags that were written.
    pub manifests: usize,
    /// Images that could not be copied.
    pub failures: Vec<CopyFailure>,
}

/// Number and length of blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedBlobs {
    /// Number of blobs.
    pub blobs: usize,
    /// Bytes of the blobs.
    pub bytes: u64,
}

/// Repositories of the target that have a blob. Its lock is held while the blob is copied, so that
/// images that share it do not copy it twice.
type BlobSlot = Arc<tokio::sync::Mutex<BTreeSet<String>>>;

/// Copies images to one target.
struct ImageCopier<P> {
    target: OpenTarget,
    /// Folder for blobs on their way.
    scratch: PathBuf,
    slots: Mutex<HashMap<Digest, BlobSlot>>,
    /// Repositories of the target that get a blob.
    users: HashMap<Digest, BTreeSet<String>>,
    outcome: Mutex<CopyOutcome>,
    /// Called with a registry and a number of bytes that have arrived from it.
    progress: P,
}

impl CopyPlan {
    /// Copies what the target does not have. `progress` is called with a registry and the number of
    /// further bytes of it that are at the target. Images that cannot be copied do not keep others
    /// from being copied.
    ///
    /// # Errors
    /// If the target cannot be opened.
    pub async fn copy(
        &self,
        registries: &Registries,
        target: &CopyTarget,
        scratch: &Path,
        progress: impl Fn(&str, u64) + Send + Sync + 'static,
    ) -> Result<CopyOutcome, ImageError> {
        let target = OpenTarget::open(registries, target)?;
        let mut users: HashMap<Digest, BTreeSet<String>> = HashMap::new();
        for job in &self.jobs {
            let repository = target.place(job)?.repository().to_owned();
            for digest in job.graph.blobs().into_keys() {
                users.entry(digest).or_default().insert(repository.clone());
            }
        }
        let copier = Arc::new(ImageCopier {
            target,
            scratch: scratch.to_owned(),
            slots: Mutex::default(),
            users,
            outcome: Mutex::default(),
            progress,
        });
        let permits = CopyPermits::new(self.jobs.iter().map(|job| job.registry()));
        let mut tasks = JoinSet::new();
        for job in &self.jobs {
            let copier = copier.clone();
            let permits = permits.clone();
            let job = job.clone();
            tasks.spawn(async move {
                if let Err(error) = permits.run(job.registry(), copier.copy_image(&job)).await {
                    let image = job.graph.name.clone();
                    copier.record(|outcome| outcome.failures.push(CopyFailure { image, error }));
                }
            });
        }
        while let Some(finished) = tasks.join_next().await {
            if let Err(failed) = finished {
                std::panic::resume_unwind(failed.into_panic());
            }
        }
        copier.target.finish()?;
        let mut outcome = std::mem::take(
            &mut *copier
                .outcome
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        outcome.failures.sort_by(|a, b| a.image.cmp(&b.image));
        Ok(outcome)
    }
}

impl<P: Fn(&str, u64) + Send + Sync> ImageCopier<P> {
    /// Copies an image: what refers to it first, and its tag last.
    async fn copy_image(&self, job: &CopyJob) -> Result<(), ImageError> {
        let place = self.target.place(job)?;
        for part in &job.graph.parts {
            if let PartName::ReferrersIndex { subject, .. } = &part.name
                && place.lists_referrers(*subject).await?
            {
                continue;
            }
            let tag = match &part.name {
                PartName::Image => Some(job.tag()),
                PartName::Tag(tag) | PartName::ReferrersIndex { tag, .. } => Some(tag.clone()),
                PartName::Referrer => None,
            };
            self.copy_part(job, &place, part, tag).await?;
        }
        Ok(())
    }

    async fn copy_part(
        &self,
        job: &CopyJob,
        place: &TargetPlace<'_>,
        part: &GraphPart,
        tag: Option<String>,
    ) -> Result<(), ImageError> {
        let root = part.root();
        let name = tag.clone().unwrap_or_else(|| root.to_string());
        if place.is_named(&name, root).await? {
            for digest in &part.order {
                self.skip_manifest(job, place, *digest).await;
            }
            return Ok(());
        }
        for digest in &part.order {
            let manifest = &job.graph.manifests[digest];
            let by_digest = digest.to_string();
            if *digest != root && place.is_named(&by_digest, *digest).await? {
                self.skip_manifest(job, place, *digest).await;
                continue;
            }
            for blob in &manifest.blobs {
                self.copy_blob(job, place, *blob).await?;
            }
            let name = if *digest == root { &name } else { &by_digest };
            let is_new = place.push_manifest(name, *digest, manifest).await?;
            self.record(|outcome| outcome.manifests += usize::from(is_new));
        }
        let layout_name = match &part.name {
            PartName::Image => Some(job.graph.name.clone()),
            _ => tag.map(|tag| format!("{}:{tag}", place.repository())),
        };
        if let Some(name) = layout_name {
            place.name(&name, root, &job.graph.manifests[&root]);
        }
        Ok(())
    }

    /// Records the blobs of a manifest that is there.
    async fn skip_manifest(&self, job: &CopyJob, place: &TargetPlace<'_>, digest: Digest) {
        for blob in &job.graph.manifests[&digest].blobs {
            let slot = self.slot(blob.digest);
            let mut known = slot.lock().await;
            self.settle(job, *blob, BlobArrival::Present, known.is_empty());
            known.insert(place.repository().to_owned());
        }
    }

    async fn copy_blob(
        &self,
        job: &CopyJob,
        place: &TargetPlace<'_>,
        blob: BlobDescriptor,
    ) -> Result<(), ImageError> {
        let slot = self.slot(blob.digest);
        let mut known = slot.lock().await;
        if known.contains(place.repository()) {
            return Ok(());
        }
        let is_first = known.is_empty();
        let arrival = if place.has_blob(blob).await? {
            BlobArrival::Present
        } else if self.mount(job, place, blob, &known).await? {
            BlobArrival::Mounted
        } else {
            let registry = job.registry();
            let before = Mutex::new(0);
            let progress = |fetched: u64| {
                let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
                if is_first && fetched > *before {
                    (self.progress)(registry, fetched - *before);
                    *before = fetched;
                }
            };
            let source: &GraphSource = &job.graph.source;
            place.copy(blob, source, &self.scratch, progress).await?;
            BlobArrival::Copied
        };
        self.settle(job, blob, arrival, is_first);
        known.insert(place.repository().to_owned());
        Ok(())
    }

    /// Takes a blob from another repository of the target.
    async fn mount(
        &self,
        job: &CopyJob,
        place: &TargetPlace<'_>,
        blob: BlobDescriptor,
        known: &BTreeSet<String>,
    ) -> Result<bool, ImageError> {
        let mut from: Vec<String> = known.iter().cloned().collect();
        if let (GraphSource::Registry(source), TargetPlace::Registry(target)) =
            (&job.graph.source, place)
            && source.location.host == target.location.host
        {
            from.push(source.location.repository.clone());
        }
        // An earlier run may have copied it to a repository that is not looked at yet.
        if from.is_empty() {
            let users = self.users.get(&blob.digest).into_iter().flatten();
            let others = users.filter(|other| *other != place.repository());
            for other in others.take(super::MAX_MOUNT_CANDIDATES) {
                if place.is_in(other, blob).await? {
                    from.push(other.clone());
                    break;
                }
            }
        }
        place.mount(blob, &from).await
    }

    /// Counts a blob that is at the target.
    fn settle(&self, job: &CopyJob, blob: BlobDescriptor, arrival: BlobArrival, is_first: bool) {
        if is_first && arrival != BlobArrival::Copied {
            (self.progress)(job.registry(), blob.bytes);
        }
        self.record(|outcome| {
            let sum = match arrival {
                BlobArrival::Present if !is_first => return,
                BlobArrival::Present => &mut outcome.present,
                BlobArrival::Mounted => &mut outcome.mounted,
                BlobArrival::Copied => &mut outcome.copied,
            };
            sum.blobs += 1;
            sum.bytes += blob.bytes;
        });
    }

    fn slot(&self, digest: Digest) -> BlobSlot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(digest).or_default().clone()
    }

    fn record(&self, change: impl FnOnce(&mut CopyOutcome)) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut outcome);
    }
}
