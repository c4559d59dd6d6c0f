//! Resolves and fetches images from registries and from layouts on disk.
//!
//! A reference is resolved once; everything else is fetched by digest and verified. This module
//! does not know what is in a layer.

mod backoff;
mod blob;
mod conf;
mod credentials;
mod helper;
mod login;
mod push;
mod session;
mod transport;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::layout::OpenLayout;
use super::manifest::{self, BlobDescriptor, MAX_NESTED_INDEXES, Manifest};
use super::resolved::Origin;
use super::{
    ImageError, ImageSource, LayoutReference, PackedImage, RegistryReference, ResolvedImage,
};

pub use conf::RegistriesConf;
pub use credentials::Credentials;
pub use helper::{HELPER_TIMEOUT, MAX_HELPER_OUTPUT_BYTES};
pub use login::MAX_TOKEN_RESPONSE_BYTES;
use session::Access;
pub use session::MAX_ERROR_BODY_BYTES;
pub(super) use session::Session;
pub use transport::MAX_REDIRECTS;

use transport::Transport;

/// A client for registries and layouts. Clones are cheap and share connections.
#[derive(Clone, Debug)]
pub struct Registries {
    transport: Arc<Transport>,
}

/// Settings of a [`Registries`] client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Credentials for registries.
    pub credentials: Credentials,
    /// Certificates of authorities that are trusted in addition to the system's, in PEM.
    pub authorities: Vec<String>,
    /// Registries (`HOST[:PORT]`) that may be used without TLS, or with a certificate that cannot
    /// be verified.
    pub insecure: Vec<String>,
    /// Mirrors and blocked registries.
    pub conf: RegistriesConf,
    /// Limits of an image.
    pub limits: PullLimits,
    /// Time-outs and retries.
    pub retry: RetryPolicy,
}

/// Limits of an image that is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullLimits {
    /// Maximum length in bytes of a manifest or index, which is held in memory. Registries
    /// themselves accept 4 MiB.
    pub manifest_bytes: u64,
    /// Maximum length in bytes of an image config, which is held in memory.
    pub config_bytes: u64,
    /// Maximum number of layers. Container runtimes mount no more than 127.
    pub layers: usize,
    /// Maximum length in bytes of all layer blobs together, which are on the disk until they are
    /// unpacked.
    pub layer_bytes: u64,
}

/// Time-outs of requests to registries, and how they are retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Time-out for establishing a connection.
    pub connect_timeout: Duration,
    /// Time-out for the next bytes of a response.
    pub read_timeout: Duration,
    /// Minimum average rate of a response in bytes per second. It bounds responses that would
    /// otherwise never time out, because a few bytes arrive now and then.
    pub min_bytes_per_second: u64,
    /// Maximum number of attempts of one request, the first included.
    pub max_attempts: u32,
    /// Upper bound of the delay before the second attempt; it doubles with each further attempt.
    pub initial_backoff: Duration,
    /// Upper bound of every delay. A registry that asks for a longer one (`Retry-After`) is not
    /// retried.
    pub max_backoff: Duration,
}

impl Default for PullLimits {
    fn default() -> Self {
        Self {
            manifest_bytes: 4 << 20,
            config_bytes: 4 << 20,
            layers: 127,
            layer_bytes: 4 << 30,
        }
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
    /// Returns the time-out of a request whose response has so many bytes.
    fn request_timeout(&self, bytes: u64) -> Duration {
        let transfer = Duration::from_secs(bytes / self.min_bytes_per_second.max(1));
        self.connect_timeout
            .saturating_add(self.read_timeout)
            .saturating_add(transfer)
    }
}

/// Equal if they share connections and settings.
impl PartialEq for Registries {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.transport, &other.transport)
    }
}

impl Registries {
    /// Creates a client.
    pub fn new(settings: RegistrySettings) -> Result<Self, ImageError> {
        Ok(Self {
            transport: Arc::new(Transport::new(settings)?),
        })
    }

    /// Resolves a reference: fetches and verifies the manifest and the config, but not the layers.
    pub async fn resolve(&self, source: &ImageSource) -> Result<ResolvedImage, ImageError> {
        match source {
            ImageSource::Registry(image) => self.resolve_image(image).await,
            ImageSource::Layout(layout) => self.resolve_layout(layout.clone()).await,
        }
    }

    /// Fetches and verifies the layers. Returns one file in `folder` for each layer, lowest first;
    /// equal layers share one. `progress` is called with the number of bytes that are fetched and
    /// their total.
    pub async fn fetch(
        &self,
        resolved: &ResolvedImage,
        folder: &Path,
        progress: impl Fn(u64, u64) + Send + Sync,
    ) -> Result<Vec<PathBuf>, ImageError> {
        let mut blobs: BTreeMap<_, _> = resolved
            .layers
            .iter()
            .map(|layer| (layer.digest, layer.bytes))
            .collect();
        let total: u64 = blobs.values().sum();
        let path = |digest: &fbc_grammar::Digest| folder.join(digest.hex());
        let mut before = 0;
        for layer in &resolved.layers {
            let Some(bytes) = blobs.remove(&layer.digest) else {
                continue;
            };
            let blob = BlobDescriptor {
                digest: layer.digest,
                bytes,
            };
            let to = path(&layer.digest);
            match &resolved.origin {
                Origin::Registry(session) => {
                    blob::fetch(session, blob, &to, |fetched| {
                        progress(before + fetched, total);
                    })
                    .await?;
                }
                Origin::Layout(layout) => {
                    let layout = layout.clone();
                    blocking(move || layout.copy(blob, &to)).await?;
                    progress(before + bytes, total);
                }
            }
            before += bytes;
        }
        Ok(resolved
            .layers
            .iter()
            .map(|layer| path(&layer.digest))
            .collect())
    }

    /// Pushes an image under the tag of a reference, and returns the reference by digest. The tag
    /// is written last, so that it names the former image or the new one. Mirrors do not count.
    pub async fn push(
        &self,
        to: &RegistryReference,
        image: &PackedImage,
    ) -> Result<String, ImageError> {
        let (Some(tag), None) = (to.tag(), to.digest()) else {
            return Err(ImageError::PushByDigest(to.to_string()));
        };
        let location = self.transport.settings.conf.push_location(to)?;
        let attempts = self.transport.settings.retry.max_attempts;
        let session = Session::new(self.transport.clone(), location, Access::Push, attempts);
        push::push(&session, tag, image).await?;
        Ok(format!("{}@{}", to.repository(), image.digest))
    }

    /// Resolves an image at its mirrors, one after the other, and then at its own location.
    async fn resolve_image(&self, image: &RegistryReference) -> Result<ResolvedImage, ImageError> {
        let retry = self.transport.settings.retry;
        let (mirrors, own) = self.transport.settings.conf.locations(image)?;
        for mirror in mirrors {
            let session = Session::new(self.transport.clone(), mirror, Access::Pull, 1);
            match resolve_at(session, image, &self.transport.settings.limits).await {
                Ok(resolved) => return Ok(resolved),
                Err(error) => {
                    let cause = std::error::Error::source(&error);
                    tracing::warn!(%image, %error, cause, "cannot resolve the image at a mirror, trying the next location");
                }
            }
        }
        let session = Session::new(
            self.transport.clone(),
            own,
            Access::Pull,
            retry.max_attempts,
        );
        resolve_at(session, image, &self.transport.settings.limits).await
    }

    async fn resolve_layout(&self, layout: LayoutReference) -> Result<ResolvedImage, ImageError> {
        let limits = self.transport.settings.limits;
        blocking(move || OpenLayout::open(&layout)?.resolve(&layout, &limits)).await
    }
}

/// Resolves an image in one repository.
async fn resolve_at(
    session: Session,
    image: &RegistryReference,
    limits: &PullLimits,
) -> Result<ResolvedImage, ImageError> {
    let (mut bytes, digest) = session.manifest(image).await?;
    let mut resource = format!("`{image}`");
    let mut platform = None;
    for _ in 0..=MAX_NESTED_INDEXES {
        let index = match Manifest::parse(&bytes, &resource)? {
            Manifest::Image(manifest) => {
                manifest.check(&resource, limits)?;
                let config = match manifest.config {
                    Some(config) => Some(session.config(config).await?),
                    None => None,
                };
                let (kind, layers) = manifest.describe(config.as_deref(), &resource)?;
                let pinned_reference = format!("{}@{digest}", image.repository());
                let origin = Origin::Registry(Arc::new(session));
                return Ok(ResolvedImage {
                    digest,
                    pinned_reference,
                    platform,
                    kind,
                    layers,
                    origin,
                });
            }
            Manifest::Index(index) => index,
        };
        let selected = manifest::select(&index, &resource)?;
        bytes = session.manifest_by_digest(selected.manifest).await?;
        platform = selected.platform.or(platform);
        resource = format!("the image {} of `{image}`", selected.manifest.digest);
    }
    Err(ImageError::NestedIndexes(image.to_string()))
}

/// Runs blocking work on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}
