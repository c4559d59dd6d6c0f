//! Policies for signed images, applied between the digest of an image and its layers.
//!
//! The policy itself is the crate `signature-policy`. This module fetches the signatures that it
//! judges.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use oci_client::manifest::{OciDescriptor, OciImageManifest};
use signature_policy::{
    AttachedSignature, Evidence, ImageSignatures, LoadedPolicy, LookupConfig, MAX_PAYLOAD_BYTES,
    MAX_SIGNATURES, PolicyReference, SIMPLE_SIGNING, SignedManifest, Verdict,
};
use tokio::time::timeout;

use crate::manifest::BlobDescriptor;
use crate::registries::RegistrySession;
use crate::{ImageError, ImageSource, LayoutSelector, RegistryReference};

/// Time-out of each request for signatures.
pub const SIGNATURE_TIMEOUT: Duration = Duration::from_secs(10);

/// The policy for images, and where their signatures are.
#[derive(Clone, Debug, Default)]
pub struct SignatureVerification {
    /// The policy.
    pub policy: SignaturePolicy,
    /// The files of registries.d.
    pub lookup: LookupConfig,
}

/// The policy that decides whether images are accepted.
#[derive(Clone, Debug, Default)]
pub enum SignaturePolicy {
    /// No policy: every image is accepted, and nothing is verified.
    #[default]
    None,
    /// A policy with its keys.
    Loaded(Arc<LoadedPolicy>),
    /// The policy cannot be read: no image is accepted.
    Unreadable(String),
}

/// Equal if they decide alike.
impl PartialEq for SignatureVerification {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.policy, &other.policy) {
            (SignaturePolicy::None, SignaturePolicy::None) => true,
            (SignaturePolicy::Loaded(one), SignaturePolicy::Loaded(other)) => {
                one.digest() == other.digest()
            }
            (SignaturePolicy::Unreadable(one), SignaturePolicy::Unreadable(other)) => one == other,
            _ => false,
        };
        is_same && self.lookup == other.lookup
    }
}

impl Eq for SignatureVerification {}

/// The manifests of an image that was resolved.
#[derive(Clone, Debug)]
pub(crate) struct ImageManifests {
    /// The manifest of the selected platform.
    pub(crate) manifest: Vec<u8>,
    /// The index that names it by digest.
    pub(crate) index: Option<Vec<u8>>,
}

impl SignatureVerification {
    /// Decides about an image. Signatures are fetched only if the policy needs them; `session` is
    /// the client of the repository that has the manifest.
    pub(crate) async fn judge(
        &self,
        source: &ImageSource,
        manifests: &ImageManifests,
        session: Option<&RegistrySession>,
    ) -> Result<Option<Verdict>, ImageError> {
        let policy = match &self.policy {
            SignaturePolicy::None => return Ok(None),
            SignaturePolicy::Loaded(policy) => policy,
            SignaturePolicy::Unreadable(reason) => {
                return Ok(Some(Verdict::unreadable(reason.clone())));
            }
        };
        let image = policy_reference(source)?;
        let mut evidence = Evidence {
            manifest: unsigned(&manifests.manifest),
            index: manifests.index.as_deref().map(unsigned),
        };
        if policy.needs_signatures(&image)
            && let Some(session) = session
        {
            let is_on = self.uses_attachments(&image, session);
            self.fetch(session, &mut evidence.manifest, is_on).await;
            let index = evidence.index.as_mut();
            if let Some(index) = index.filter(|_| policy.accepts_indexes()) {
                self.fetch(session, index, is_on).await;
            }
        }
        Ok(Some(policy.judge(&image, &evidence, Timestamp::now())))
    }

    /// Returns whether registries.d allows attachments at the registry that served the manifest.
    fn uses_attachments(&self, image: &PolicyReference, session: &RegistrySession) -> bool {
        let physical = format!("{}/{}", session.location.host, session.location.repository);
        let physical = PolicyReference::docker(&physical).ok();
        let physical = physical.as_ref().unwrap_or(image);
        self.lookup.sigstore_attachments(physical).unwrap_or(true)
    }

    /// Fetches the attachments of a manifest. What cannot be fetched is noted, because it could be
    /// the signature that is missing.
    async fn fetch(&self, session: &RegistrySession, manifest: &mut SignedManifest, is_on: bool) {
        let signatures = &mut manifest.signatures;
        if !is_on {
            signatures.attachments_off = true;
            return;
        }
        let digest = content_digest::digest(&manifest.bytes);
        let tag = format!("sha256-{}.sig", digest.hex());
        let place = format!("{}:{tag}", session.location);
        signatures.places.push(place.clone());
        let layers = match find_layers(session, &tag, signatures).await {
            Ok(layers) => layers,
            Err(cause) => {
                signatures.unreachable.push(format!("{place}: {cause}"));
                return;
            }
        };

        // One signature that cannot be fetched must not hide the others.
        for layer in layers.into_iter().take(MAX_SIGNATURES) {
            match fetch_attachment(session, layer).await {
                Ok(attachment) => signatures.attached.push(attachment),
                Err(cause) => signatures.unreachable.push(format!("{place}: {cause}")),
            }
        }
    }
}

fn unsigned(bytes: &[u8]) -> SignedManifest {
    SignedManifest {
        bytes: bytes.to_vec(),
        signatures: ImageSignatures::default(),
    }
}

/// Finds the layers of an attachment that are signatures, and counts the others.
async fn find_layers(
    session: &RegistrySession,
    tag: &str,
    signatures: &mut ImageSignatures,
) -> Result<Vec<OciDescriptor>, String> {
    let found = within(session.find_manifest(tag)).await?;
    let Some((bytes, _)) = found else {
        return Ok(Vec::new());
    };
    let manifest: OciImageManifest =
        serde_json::from_slice(&bytes).map_err(|error| format!("not a manifest: {error}"))?;
    let mut layers = manifest.layers;
    let total = layers.len();
    layers.retain(|layer| layer.media_type == SIMPLE_SIGNING);
    signatures.other_layers = total - layers.len();
    Ok(layers)
}

async fn fetch_attachment(
    session: &RegistrySession,
    layer: OciDescriptor,
) -> Result<AttachedSignature, String> {
    let blob = BlobDescriptor::new(&layer).map_err(|error| error.to_string())?;
    if blob.bytes > MAX_PAYLOAD_BYTES {
        return Err(format!(
            "the payload {} has more than {MAX_PAYLOAD_BYTES} bytes",
            blob.digest
        ));
    }
    let payload = within(session.signature_payload(blob)).await?;
    Ok(AttachedSignature {
        payload,
        annotations: layer.annotations.unwrap_or_default(),
    })
}

async fn within<T>(request: impl Future<Output = Result<T, ImageError>>) -> Result<T, String> {
    match timeout(SIGNATURE_TIMEOUT, request).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => {
            let cause = std::error::Error::source(&error);
            Err(match cause {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            })
        }
        Err(_) => Err(format!(
            "no response within {} seconds",
            SIGNATURE_TIMEOUT.as_secs()
        )),
    }
}

/// Returns what policies know of an image.
fn policy_reference(source: &ImageSource) -> Result<PolicyReference, ImageError> {
    match source {
        ImageSource::Registry(image) => docker_reference(image),
        ImageSource::Layout(layout) => {
            let path = layout.path();
            let resolved = path.canonicalize();
            let resolved = resolved.unwrap_or_else(|_| path.to_owned());
            let name = match layout.selector() {
                LayoutSelector::Name(name) => Some(name.as_str()),
                LayoutSelector::Only | LayoutSelector::Digest(_) => None,
            };
            Ok(PolicyReference::layout(&resolved, name, path.is_file()))
        }
    }
}

fn docker_reference(image: &RegistryReference) -> Result<PolicyReference, ImageError> {
    PolicyReference::docker(&image.to_string()).map_err(|error| match error {
        signature_policy::ReferenceError::Invalid { text, source } => {
            ImageError::InvalidReference { text, source }
        }
    })
}
