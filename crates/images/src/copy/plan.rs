//! The plan of a copy: images with all their manifests and sizes, before anything is copied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use fbc_grammar::Digest;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::graph::{GraphReader, ImageGraph};
use super::limits::{MAX_CONCURRENT_COPIES, MAX_COPIED_IMAGES, MAX_COPIES_PER_REGISTRY};
use super::source::{GraphSource, NamedLayout};
use crate::layout::OpenLayout;
use crate::registries::{RegistrySession, RepositoryAccess, RepositoryLocation};
use crate::{ImageError, LayoutReference, PackedImage, PullLimits, Registries, RegistryReference};

/// Beginning of the tag that is made of a digest.
const DIGEST_TAG_PREFIX: &str = "sha256-";

/// Origin of the images.
#[derive(Clone, Debug)]
pub enum CopyOrigin {
    /// Registries that references name, or their mirrors.
    Registries,
    /// An OCI layout that images were copied to.
    Layout(LayoutReference),
}

/// An image to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageToCopy {
    /// The image.
    pub source: RegistryReference,
    /// Repository to copy to, and the tag there. Layouts take the name of the source instead.
    pub target: RegistryReference,
}

/// An image that cannot be copied, and why.
#[derive(Debug)]
pub struct CopyFailure {
    /// Reference of the image.
    pub image: String,
    /// The reason.
    pub error: ImageError,
}

/// Images with all their manifests.
#[derive(Debug, Default)]
pub struct CopyPlan {
    pub(super) jobs: Vec<Arc<CopyJob>>,
}

/// One image to copy.
#[derive(Debug)]
pub(super) struct CopyJob {
    pub(super) graph: ImageGraph,
    pub(super) image: ImageToCopy,
}

/// Size of an image, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedSize {
    /// Reference of the image; empty for several.
    pub image: String,
    /// Number of manifests and indexes.
    pub manifests: usize,
    /// Number of signatures and other artifacts that refer to the image.
    pub artifacts: usize,
    /// Number of blobs.
    pub blobs: usize,
    /// Bytes of manifests and blobs.
    pub bytes: u64,
}

impl CopyJob {
    /// Returns the tag at a registry. An index of referrers takes the tag that is made of the
    /// digest.
    pub(super) fn tag(&self) -> String {
        let tag = self.image.target.tag().unwrap_or_default();
        let is_digest = tag.strip_prefix(DIGEST_TAG_PREFIX) == Some(&*self.graph.digest.hex());
        if is_digest && self.graph.has_referrers_index() {
            format!("{tag}.image")
        } else {
            tag.to_owned()
        }
    }

    /// Returns the registry that the image is read from.
    pub(super) fn registry(&self) -> &str {
        self.image.source.domain()
    }
}

/// The clients of repositories, so that images of one share its login.
#[derive(Default)]
pub(super) struct SessionCache {
    sessions: Mutex<BTreeMap<SessionKey, Arc<RegistrySession>>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SessionKey {
    location: String,
    access: RepositoryAccess,
    attempts: u32,
}

impl SessionCache {
    pub(super) fn session(
        &self,
        registries: &Registries,
        location: RepositoryLocation,
        access: RepositoryAccess,
        attempts: u32,
    ) -> Arc<RegistrySession> {
        let key = SessionKey {
            location: format!("{}/{}", location.host, location.repository),
            access,
            attempts,
        };
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions
            .entry(key)
            .or_insert_with(|| Arc::new(registries.session(location, access, attempts)));
        session.clone()
    }
}

/// Limits of concurrent copies.
#[derive(Clone)]
pub(super) struct CopyPermits {
    all: Arc<Semaphore>,
    by_registry: Arc<BTreeMap<String, Arc<Semaphore>>>,
}

impl CopyPermits {
    pub(super) fn new<'a>(registries: impl Iterator<Item = &'a str>) -> Self {
        let names: BTreeSet<_> = registries.collect();
        let by_registry = names.into_iter().map(|name| {
            let permits = Arc::new(Semaphore::new(MAX_COPIES_PER_REGISTRY));
            (name.to_owned(), permits)
        });
        Self {
            all: Arc::new(Semaphore::new(MAX_CONCURRENT_COPIES)),
            by_registry: Arc::new(by_registry.collect()),
        }
    }

    /// Does some work for a registry when it is its turn.
    pub(super) async fn run<T>(&self, registry: &str, work: impl Future<Output = T>) -> T {
        let open = "no semaphore is closed";
        let _of_registry = self.by_registry[registry].acquire().await.expect(open);
        let _of_all = self.all.acquire().await.expect(open);
        work.await
    }
}

/// Returns the images of a layout that images were copied to, without the signatures and other
/// artifacts that refer to them.
///
/// # Errors
/// If the layout cannot be read, or has other names than references.
pub fn layout_images(layout: &LayoutReference) -> Result<Vec<RegistryReference>, ImageError> {
    let names = OpenLayout::open(layout)?.names()?;
    let mut images = Vec::new();
    for name in names.keys() {
        let image = RegistryReference::parse(name)?;
        if !image.tag().is_some_and(is_artifact_tag) {
            images.push(image);
        }
    }
    Ok(images)
}

/// Tells whether a tag is one by which what belongs to a digest is found.
fn is_artifact_tag(tag: &str) -> bool {
    let rest = tag.strip_prefix(DIGEST_TAG_PREFIX);
    let hex = rest.and_then(|rest| rest.split('.').next());
    hex.is_some_and(|hex| Digest::parse(&format!("sha256:{hex}")).is_some())
}

/// Reads the manifests of images.
struct PlanReader {
    registries: Registries,
    sessions: SessionCache,
    layout: Option<Arc<NamedLayout>>,
    limits: PullLimits,
    /// Bytes of all manifests.
    bytes: AtomicU64,
}

impl PlanReader {
    /// Reads an image at its mirrors, one after the other, and then at its own location.
    async fn read(&self, image: &RegistryReference) -> Result<ImageGraph, ImageError> {
        if let Some(layout) = &self.layout {
            let repository = image.repository();
            let layout = layout.clone();
            let source = GraphSource::Layout { layout, repository };
            return self.read_at(source, image).await;
        }
        let (mirrors, own) = self.registries.locations(image)?;
        for mirror in mirrors {
            let access = RepositoryAccess::Pull;
            let session = self.sessions.session(&self.registries, mirror, access, 1);
            match self.read_at(GraphSource::Registry(session), image).await {
                Ok(graph) => return Ok(graph),
                Err(error) => {
                    let cause = std::error::Error::source(&error);
                    tracing::warn!(%image, %error, cause, "cannot read the image at a mirror, trying the next location");
                }
            }
        }
        let attempts = self.registries.max_attempts();
        let access = RepositoryAccess::Pull;
        let session = self
            .sessions
            .session(&self.registries, own, access, attempts);
        self.read_at(GraphSource::Registry(session), image).await
    }

    async fn read_at(
        &self,
        source: GraphSource,
        image: &RegistryReference,
    ) -> Result<ImageGraph, ImageError> {
        let root = match image.digest() {
            Some(digest) => digest.to_string(),
            None => image.tag().unwrap_or_default().to_owned(),
        };
        let reader = GraphReader {
            name: &image.to_string(),
            source,
            limits: &self.limits,
            total: &self.bytes,
        };
        reader.read(&root).await
    }
}

impl Registries {
    /// Reads the manifests of images, and returns those that cannot be read beside.
    ///
    /// # Errors
    /// If there are too many images, or the layout cannot be opened.
    pub async fn plan_copies(
        &self,
        images: Vec<ImageToCopy>,
        origin: &CopyOrigin,
    ) -> Result<(CopyPlan, Vec<CopyFailure>), ImageError> {
        if images.len() > MAX_COPIED_IMAGES {
            return Err(ImageError::TooManyImages {
                images: images.len(),
                limit: MAX_COPIED_IMAGES,
            });
        }
        let layout = match origin {
            CopyOrigin::Registries => None,
            CopyOrigin::Layout(layout) => {
                let layout = OpenLayout::open(layout)?;
                let names = layout.names()?;
                Some(Arc::new(NamedLayout { layout, names }))
            }
        };
        let reader = Arc::new(PlanReader {
            registries: self.clone(),
            sessions: SessionCache::default(),
            layout,
            limits: self.limits(),
            bytes: AtomicU64::new(0),
        });
        let permits = CopyPermits::new(images.iter().map(|image| image.source.domain()));
        let mut tasks = JoinSet::new();
        for (at, image) in images.into_iter().enumerate() {
            let reader = reader.clone();
            let permits = permits.clone();
            tasks.spawn(async move {
                let reading = reader.read(&image.source);
                let read = permits.run(image.source.domain(), reading).await;
                (at, image, read)
            });
        }

        let mut read = BTreeMap::new();
        while let Some(finished) = tasks.join_next().await {
            let (at, image, graph) = match finished {
                Ok(finished) => finished,
                Err(failed) => std::panic::resume_unwind(failed.into_panic()),
            };
            read.insert(at, (image, graph));
        }
        let mut plan = CopyPlan::default();
        let mut failures = Vec::new();
        for (image, graph) in read.into_values() {
            match graph {
                Ok(graph) => plan.jobs.push(Arc::new(CopyJob { graph, image })),
                Err(error) => failures.push(CopyFailure {
                    image: image.source.to_string(),
                    error,
                }),
            }
        }
        Ok((plan, failures))
    }
}

impl CopyPlan {
    /// Adds an image that was packed.
    pub async fn add_packed(
        &mut self,
        packed: PackedImage,
        image: ImageToCopy,
    ) -> Result<(), ImageError> {
        let digest = packed.digest.to_string();
        let reader = GraphReader {
            name: &image.source.to_string(),
            source: GraphSource::Packed(Arc::new(packed)),
            limits: &PullLimits::default(),
            total: &AtomicU64::new(0),
        };
        let graph = reader.read(&digest).await?;
        self.jobs.push(Arc::new(CopyJob { graph, image }));
        Ok(())
    }

    /// Returns the size of each image, in the order of copying.
    pub fn sizes(&self) -> impl Iterator<Item = PlannedSize> {
        self.jobs.iter().map(|job| size([&**job].into_iter()))
    }

    /// Returns the size of all images together: what they share counts once.
    pub fn total(&self) -> PlannedSize {
        PlannedSize {
            image: String::new(),
            ..size(self.jobs.iter().map(|job| &**job))
        }
    }

    /// Returns the bytes of the blobs of each registry, each blob at the first image that has it.
    pub fn bytes_by_registry(&self) -> BTreeMap<String, u64> {
        let mut seen = BTreeSet::new();
        let mut bytes = BTreeMap::new();
        for job in &self.jobs {
            let sum: &mut u64 = bytes.entry(job.registry().to_owned()).or_default();
            for (digest, length) in job.graph.blobs() {
                if seen.insert(digest) {
                    *sum += length;
                }
            }
        }
        bytes
    }

    /// Returns the target of each image by its digest, in the order of copying.
    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.jobs.iter().map(|job| {
            let repository = job.image.target.repository();
            format!("{repository}@{}", job.graph.digest)
        })
    }
}

/// Returns the size of images, without what they share.
fn size<'a>(jobs: impl Iterator<Item = &'a CopyJob>) -> PlannedSize {
    let mut manifests: BTreeMap<Digest, u64> = BTreeMap::new();
    let mut blobs: BTreeMap<Digest, u64> = BTreeMap::new();
    let mut size = PlannedSize::default();
    for job in jobs {
        size.image = job.image.source.to_string();
        size.artifacts += job.graph.artifacts();
        for (digest, manifest) in &job.graph.manifests {
            manifests.insert(*digest, manifest.bytes.len() as u64);
        }
        blobs.extend(job.graph.blobs());
    }
    size.manifests = manifests.len();
    size.blobs = blobs.len();
    size.bytes = manifests.values().chain(blobs.values()).sum();
    size
}
