//! Resolves and fetches images from registries and from layouts on disk.
//!
//! A reference is resolved once. Everything else is fetched by digest and verified.

mod backoff;
mod blob;
mod conf;
mod credentials;
mod helper;
mod listing;
mod login;
mod lookaside;
pub(crate) mod push;
mod response;
mod secret;
mod session;
mod signature_extension;
mod transport;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fbc_grammar::Digest;
use signature_policy::Judgement;
use tokio::task::spawn_blocking;

use super::layout::OpenLayout;
use super::limits::{PullLimits, RetryPolicy};
use super::manifest::{
    self, BlobDescriptor, ImageDescription, ImageKind, LayerDescriptor, MAX_NESTED_INDEXES,
    ManifestOrIndex,
};
use super::signatures::{ImageManifests, SignatureVerification};
use super::{ImageError, ImageSource, LayoutReference, PackedImage, RegistryReference};

pub(crate) use blob::fetch as fetch_blob;
pub use blob::range_start;
pub use conf::RegistriesConf;
pub(crate) use conf::RepositoryLocation;
pub use credentials::RegistryCredentials;
pub use helper::{HELPER_TIMEOUT, MAX_HELPER_OUTPUT_BYTES};
pub(crate) use listing::ListedReferrer;
pub use listing::{MAX_LIST_BYTES, MAX_LIST_PAGES};
pub use login::MAX_TOKEN_RESPONSE_BYTES;
pub(crate) use login::RepositoryAccess;
pub use response::retry_after;
pub use session::MAX_ERROR_BODY_BYTES;
pub(crate) use session::RegistrySession;
pub use transport::{MAX_REDIRECTS, find_tls_error, install_crypto_provider, parse_certificates};

use transport::RegistryTransport;

/// A client for registries and layouts. Clones are cheap and share connections.
#[derive(Clone, Debug)]
pub struct Registries {
    transport: Arc<RegistryTransport>,
}

/// Settings of a [`Registries`] client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Credentials for registries.
    pub credentials: RegistryCredentials,
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
    /// The policy for signed images.
    pub signatures: SignatureVerification,
}

/// The image that a reference named at the time of resolving it. Everything else is fetched by
/// digest.
#[derive(Clone, Debug)]
pub struct ResolvedImage {
    /// Digest that the reference resolved to: that of the index, if it names one.
    pub digest: Digest,
    /// Reference by digest, which always names the same image: `quay.io/ns/repo@sha256:…` or
    /// `oci:PATH@sha256:…`.
    pub pinned_reference: String,
    /// Platform that was selected from an index, such as `linux/amd64`.
    pub platform: Option<String>,
    /// Kind of the image.
    pub kind: ImageKind,
    /// Layers, lowest first.
    pub layers: Vec<LayerDescriptor>,
    manifests: ImageManifests,
    origin: Origin,
}

/// The origin of the layers.
#[derive(Clone, Debug)]
enum Origin {
    /// Repository that has the manifest.
    Registry(Arc<RegistrySession>),
    /// Layout that has the manifest.
    Layout(Arc<OpenLayout>),
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
            transport: Arc::new(RegistryTransport::new(settings)?),
        })
    }

    /// Resolves a reference: fetches and verifies the manifest and the config, but not the layers.
    /// An image that the signature policy refuses is an error.
    pub async fn resolve(&self, source: &ImageSource) -> Result<ResolvedImage, ImageError> {
        let (resolved, judgement) = self.judge(source).await?;
        resolved.accept(judgement.as_ref())?;
        Ok(resolved)
    }

    /// Resolves a reference, and decides about the image by the signature policy; `None` without
    /// one.
    pub async fn judge(
        &self,
        source: &ImageSource,
    ) -> Result<(ResolvedImage, Option<Judgement>), ImageError> {
        let resolved = self.resolve_unjudged(source).await?;
        let session = match &resolved.origin {
            Origin::Registry(session) => Some(&**session),
            Origin::Layout(_) => None,
        };
        let verification = &self.transport.settings.signatures;
        let judgement = verification
            .judge(source, &resolved.manifests, session)
            .await?;
        Ok((resolved, judgement))
    }

    /// Decides again about an image, from the evidence that was kept when it was judged; `None`
    /// without a policy. It asks no registry, but may take milliseconds.
    pub fn judge_again(&self, source: &ImageSource, kept: Option<Judgement>) -> Option<Judgement> {
        let verification = &self.transport.settings.signatures;
        verification.judge_again(source, kept)
    }

    /// Returns whether there is a signature policy, readable or not.
    pub fn has_signature_policy(&self) -> bool {
        self.transport.settings.signatures.has_policy()
    }

    async fn resolve_unjudged(&self, source: &ImageSource) -> Result<ResolvedImage, ImageError> {
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
    /// is written last, so that it names the former image or the new one. Mirrors are ignored.
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
        let session = RegistrySession::new(
            self.transport.clone(),
            location,
            RepositoryAccess::Push,
            attempts,
        );
        push::push(&session, tag, image).await?;
        Ok(format!("{}@{}", to.repository(), image.digest))
    }

    /// Creates a client of one repository.
    pub(crate) fn session(
        &self,
        location: RepositoryLocation,
        access: RepositoryAccess,
        attempts: u32,
    ) -> RegistrySession {
        RegistrySession::new(self.transport.clone(), location, access, attempts)
    }

    /// Returns the mirrors of an image, and its own location.
    pub(crate) fn locations(
        &self,
        image: &RegistryReference,
    ) -> Result<(Vec<RepositoryLocation>, RepositoryLocation), ImageError> {
        self.transport.settings.conf.locations(image)
    }

    /// Returns where an image is pushed to.
    pub(crate) fn push_location(
        &self,
        image: &RegistryReference,
    ) -> Result<RepositoryLocation, ImageError> {
        self.transport.settings.conf.push_location(image)
    }

    /// Returns the limits of images.
    pub(crate) fn limits(&self) -> PullLimits {
        self.transport.settings.limits
    }

    /// Returns the maximum number of attempts of a request.
    pub(crate) fn max_attempts(&self) -> u32 {
        self.transport.settings.retry.max_attempts
    }

    /// Resolves an image at its mirrors, one after the other, and then at its own location.
    async fn resolve_image(&self, image: &RegistryReference) -> Result<ResolvedImage, ImageError> {
        let retry = self.transport.settings.retry;
        let (mirrors, own) = self.transport.settings.conf.locations(image)?;
        for mirror in mirrors {
            let session =
                RegistrySession::new(self.transport.clone(), mirror, RepositoryAccess::Pull, 1);
            match resolve_at(session, image, &self.transport.settings.limits).await {
                Ok(resolved) => return Ok(resolved),
                Err(error) => {
                    let cause = std::error::Error::source(&error);
                    tracing::warn!(%image, %error, cause, "cannot resolve the image at a mirror, trying the next location");
                }
            }
        }
        let session = RegistrySession::new(
            self.transport.clone(),
            own,
            RepositoryAccess::Pull,
            retry.max_attempts,
        );
        resolve_at(session, image, &self.transport.settings.limits).await
    }

    async fn resolve_layout(&self, layout: LayoutReference) -> Result<ResolvedImage, ImageError> {
        let limits = self.transport.settings.limits;
        blocking(move || {
            let open = OpenLayout::open(&layout)?;
            let description = open.resolve(&layout, &limits)?;
            let pinned = format!("oci:{}@{}", open.path().display(), description.digest);
            let origin = Origin::Layout(Arc::new(open));
            Ok(ResolvedImage::new(description, pinned, origin))
        })
        .await
    }
}

impl ResolvedImage {
    /// Fails if the signature policy refuses the image.
    pub fn accept(&self, judgement: Option<&Judgement>) -> Result<(), ImageError> {
        let Some(Judgement { verdict, .. }) = judgement else {
            return Ok(());
        };
        if verdict.is_refused() {
            return Err(ImageError::SignatureRefused {
                image: self.pinned_reference.clone(),
                verdict: Box::new(verdict.clone()),
            });
        }
        tracing::debug!(
            image = self.pinned_reference,
            scope = verdict.scope,
            signers = verdict.signers.join(", "),
            "image accepted by the signature policy"
        );
        Ok(())
    }

    fn new(description: ImageDescription, pinned_reference: String, origin: Origin) -> Self {
        let ImageDescription {
            digest,
            platform,
            kind,
            layers,
            manifests,
        } = description;
        Self {
            digest,
            pinned_reference,
            platform,
            kind,
            layers,
            manifests,
            origin,
        }
    }
}

/// Resolves an image in one repository.
async fn resolve_at(
    session: RegistrySession,
    image: &RegistryReference,
    limits: &PullLimits,
) -> Result<ResolvedImage, ImageError> {
    let (mut bytes, digest) = session.manifest(image).await?;
    let mut resource = format!("`{image}`");
    let mut platform = None;
    let mut parent = None;
    for _ in 0..=MAX_NESTED_INDEXES {
        let index = match ManifestOrIndex::parse(&bytes, &resource)? {
            ManifestOrIndex::Image(manifest) => {
                manifest.check(&resource, limits)?;
                let config = match manifest.config {
                    Some(config) => Some(session.config(config).await?),
                    None => None,
                };
                let (kind, layers) = manifest.describe(config.as_deref(), &resource)?;
                let description = ImageDescription {
                    digest,
                    platform,
                    kind,
                    layers,
                    manifests: ImageManifests {
                        manifest: bytes,
                        index: parent,
                    },
                };
                let pinned = format!("{}@{digest}", image.repository());
                let origin = Origin::Registry(Arc::new(session));
                return Ok(ResolvedImage::new(description, pinned, origin));
            }
            ManifestOrIndex::Index(index) => index,
        };
        let selected = manifest::select(&index, &resource)?;
        let manifest = session.manifest_by_digest(selected.manifest).await?;
        parent = Some(std::mem::replace(&mut bytes, manifest));
        platform = selected.platform.or(platform);
        resource = format!("the image {} of `{image}`", selected.manifest.digest);
    }
    Err(ImageError::NestedIndexes(image.to_string()))
}

/// Runs blocking work on a thread pool.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}
