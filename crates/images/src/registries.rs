//! How images are fetched from registries, and from layouts on disk.
//!
//! A reference is resolved once; what follows is fetched by digest and verified. Nothing here knows what is in a layer.

mod backoff;
mod blob;
mod conf;
mod credentials;
mod helper;
mod login;
mod session;
mod transport;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::layout::OpenLayout;
use super::manifest::{self, Blob, MAX_NESTED_INDEXES, Manifest};
use super::resolved::Origin;
use super::{ImageError, ImageSource, LayoutReference, RegistryReference, ResolvedImage};

pub use conf::RegistriesConf;
pub use credentials::Credentials;
pub use helper::{HELPER_TIMEOUT, MAX_HELPER_OUTPUT_BYTES};
pub use login::MAX_TOKEN_RESPONSE_BYTES;
pub use session::MAX_ERROR_BODY_BYTES;
pub(super) use session::Session;
pub use transport::MAX_REDIRECTS;

use transport::Transport;

/// Reaches registries. Cheap to clone; all loads share one.
#[derive(Clone, Debug)]
pub struct Registries {
    transport: Arc<Transport>,
}

/// How registries are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Who we are.
    pub credentials: Credentials,
    /// Certificates of authorities that are trusted beside the system's, as PEM.
    pub authorities: Vec<String>,
    /// `HOST[:PORT]`s that may be reached without TLS, or with a certificate that cannot be verified.
    pub insecure: Vec<String>,
    /// Mirrors, and what is blocked.
    pub conf: RegistriesConf,
    /// How much is accepted.
    pub limits: PullLimits,
    /// How long is waited, and how often is tried.
    pub retry: RetryPolicy,
}

/// How much of an image is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullLimits {
    /// Bytes of a manifest or an index: they are held in memory. 4 MiB is what registries accept themselves.
    pub manifest_bytes: u64,
    /// Bytes of a config, which is held in memory too.
    pub config_bytes: u64,
    /// Layers of an image. Container runtimes mount no more than this.
    pub layers: usize,
    /// Bytes of all layers together, as they are fetched: they lie on the disk until they are unpacked.
    pub layer_bytes: u64,
}

/// How long is waited for a registry, and how often it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// For a connection.
    pub connect_timeout: Duration,
    /// For the next bytes of an answer.
    pub read_timeout: Duration,
    /// The least that may come on the average, in bytes a second. Without it, a byte now and then would hold a load for
    /// ever.
    pub min_bytes_per_second: u64,
    /// How often one request is sent.
    pub max_attempts: u32,
    /// The longest wait before the second try; each further one is up to twice as long.
    pub initial_backoff: Duration,
    /// The longest wait of all. Who asks for more is not waited for.
    pub max_backoff: Duration,
}

impl Default for PullLimits {
    fn default() -> Self {
        Self { manifest_bytes: 4 << 20, config_bytes: 4 << 20, layers: 127, layer_bytes: 4 << 30 }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            min_bytes_per_second: 4096,
            max_attempts: 5,
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// How long a request may take whose answer has so many bytes.
    fn whole(&self, bytes: u64) -> Duration {
        let min_bytes_per_second = Duration::from_secs(bytes / self.min_bytes_per_second.max(1));
        self.connect_timeout.saturating_add(self.read_timeout).saturating_add(min_bytes_per_second)
    }
}

/// Equal when they share connections and settings.
impl PartialEq for Registries {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.transport, &other.transport)
    }
}

impl Registries {
    /// Registries that are reached so.
    pub fn new(settings: RegistrySettings) -> Result<Self, ImageError> {
        Ok(Self { transport: Arc::new(Transport::new(settings)?) })
    }

    /// What an image or a layout names now: its manifest and config are fetched and verified, its layers not yet.
    pub async fn resolve(&self, source: &ImageSource) -> Result<ResolvedImage, ImageError> {
        match source {
            ImageSource::Registry(image) => self.image(image).await,
            ImageSource::Layout(layout) => self.layout(layout.clone()).await,
        }
    }

    /// Fetches the layers into a folder, verified: the files, one for each layer, lowest first. Equal layers are one
    /// file. `progress` is told how many bytes of how many are there.
    pub async fn fetch(
        &self,
        resolved: &ResolvedImage,
        folder: &Path,
        progress: impl Fn(u64, u64) + Send + Sync,
    ) -> Result<Vec<PathBuf>, ImageError> {
        let mut blobs: BTreeMap<_, _> = resolved.layers.iter().map(|layer| (layer.digest, layer.bytes)).collect();
        let total: u64 = blobs.values().sum();
        let path = |digest: &fbc::Digest| folder.join(digest.hex());
        let mut before = 0;
        for layer in &resolved.layers {
            let Some(bytes) = blobs.remove(&layer.digest) else { continue };
            let (blob, to) = (Blob { digest: layer.digest, bytes }, path(&layer.digest));
            match &resolved.origin {
                Origin::Registry(session) => {
                    blob::fetch(session, blob, &to, |fetched| progress(before + fetched, total)).await?;
                }
                Origin::Layout(layout) => {
                    let layout = layout.clone();
                    blocking(move || layout.copy(blob, &to)).await?;
                    progress(before + bytes, total);
                }
            }
            before += bytes;
        }
        Ok(resolved.layers.iter().map(|layer| path(&layer.digest)).collect())
    }

    /// Looks at the mirrors of an image and then at the image itself, until one of them has it.
    async fn image(&self, image: &RegistryReference) -> Result<ResolvedImage, ImageError> {
        let retry = self.transport.settings.retry;
        let (mirrors, own) = self.transport.settings.conf.places(image)?;
        for place in mirrors {
            let session = Session::new(self.transport.clone(), place, 1);
            match look_at(session, image, &self.transport.settings.limits).await {
                Ok(resolved) => return Ok(resolved),
                Err(error) => {
                    let cause = std::error::Error::source(&error);
                    tracing::warn!(%image, %error, cause, "trying the next place of an image");
                }
            }
        }
        let session = Session::new(self.transport.clone(), own, retry.max_attempts);
        look_at(session, image, &self.transport.settings.limits).await
    }

    async fn layout(&self, layout: LayoutReference) -> Result<ResolvedImage, ImageError> {
        let limits = self.transport.settings.limits;
        blocking(move || OpenLayout::open(&layout)?.resolve(&layout, &limits)).await
    }
}

/// What an image is at one place.
async fn look_at(
    session: Session,
    image: &RegistryReference,
    limits: &PullLimits,
) -> Result<ResolvedImage, ImageError> {
    let (mut bytes, digest) = session.manifest(image).await?;
    let mut what = format!("`{image}`");
    let mut platform = None;
    for _ in 0..=MAX_NESTED_INDEXES {
        let index = match Manifest::parse(&bytes, &what)? {
            Manifest::Image(manifest) => {
                manifest.check(&what, limits)?;
                let config = match manifest.config {
                    Some(config) => Some(session.config(config).await?),
                    None => None,
                };
                let (kind, layers) = manifest.describe(config.as_deref(), &what)?;
                let pinned_reference = format!("{}@{digest}", image.repository());
                let origin = Origin::Registry(Arc::new(session));
                return Ok(ResolvedImage { digest, pinned_reference, platform, kind, layers, origin });
            }
            Manifest::Index(index) => index,
        };
        let choice = manifest::choose(&index, &what)?;
        bytes = session.manifest_by_digest(choice.manifest).await?;
        platform = choice.platform.or(platform);
        what = format!("the image {} of `{image}`", choice.manifest.digest);
    }
    Err(ImageError::NestedIndexes(image.to_string()))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}
