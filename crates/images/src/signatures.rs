//! Policies for signed images, applied between the digest of an image and its layers.
//!
//! The policy itself is the crate `signature-policy`. This module fetches the signatures that it
//! judges.

mod budget;
mod bundles;
mod lookaside;

use std::sync::Arc;

use jiff::Timestamp;
use oci_client::manifest::{OciDescriptor, OciImageManifest};
use signature_policy::{
    AttachedSignature, Evidence, ImageSignatures, LoadedPolicy, LookupConfig, MAX_PAYLOAD_BYTES,
    MAX_SIGNATURES, NeededSignatures, PolicyReference, SIMPLE_SIGNING, SignedManifest, Verdict,
};

use crate::manifest::BlobDescriptor;
use crate::registries::RegistrySession;
use crate::{ImageError, ImageSource, LayoutSelector, RegistryReference};

pub use budget::{MAX_SIGNATURE_BYTES, SIGNATURE_TIMEOUT, SIGNATURES_TIMEOUT};

use budget::SignatureBudget;

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
        if let Some(session) = session {
            let fetch = SignatureFetch {
                session,
                lookup: &self.lookup,
                needed: policy.needed_signatures(&image),
            };
            let mut budget = SignatureBudget::new();
            fetch.all(&mut evidence.manifest, &mut budget).await;
            let index = evidence.index.as_mut();
            if let Some(index) = index.filter(|_| policy.accepts_indexes()) {
                fetch.all(index, &mut budget).await;
            }
        }
        Ok(Some(policy.judge(&image, &evidence, Timestamp::now())))
    }
}

/// The signatures that are fetched for an image.
struct SignatureFetch<'a> {
    session: &'a RegistrySession,
    lookup: &'a LookupConfig,
    needed: NeededSignatures,
}

impl SignatureFetch<'_> {
    /// Fetches all signatures of a manifest that the policy needs.
    async fn all(&self, manifest: &mut SignedManifest, budget: &mut SignatureBudget) {
        let location = &self.session.location;
        let physical = format!("{}/{}", location.host, location.repository);
        let physical = PolicyReference::docker(&physical).ok();
        if self.needed.sigstore {
            let is_on = physical
                .as_ref()
                .and_then(|image| self.lookup.sigstore_attachments(image));
            self.attached(manifest, is_on.unwrap_or(true), budget).await;
            if is_on.unwrap_or(true) {
                bundles::fetch(self.session, manifest, budget).await;
            }
        }
        if self.needed.simple
            && let Some(base) = physical.and_then(|image| self.lookup.lookaside(&image))
        {
            lookaside::fetch(self.session, base, manifest, budget).await;
        }
    }

    /// Fetches the attachments of a manifest. What cannot be fetched is noted, because it could be
    /// the signature that is missing.
    async fn attached(
        &self,
        manifest: &mut SignedManifest,
        is_on: bool,
        budget: &mut SignatureBudget,
    ) {
        let signatures = &mut manifest.signatures;
        if !is_on {
            signatures.attachments_off = true;
            return;
        }
        let digest = content_digest::digest(&manifest.bytes);
        let tag = format!("sha256-{}.sig", digest.hex());
        let place = format!("{}:{tag}", self.session.location);
        signatures.places.push(place.clone());
        let layers = match find_layers(self.session, &tag, signatures, budget).await {
            Ok(layers) => layers,
            Err(cause) => {
                signatures.unreachable.push(format!("{place}: {cause}"));
                return;
            }
        };

        // One signature that cannot be fetched must not hide the others.
        for layer in layers.into_iter().take(MAX_SIGNATURES) {
            match fetch_attachment(self.session, layer, budget).await {
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
    budget: &SignatureBudget,
) -> Result<Vec<OciDescriptor>, String> {
    let found = budget.wait(session.find_manifest(tag)).await?;
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
    budget: &mut SignatureBudget,
) -> Result<AttachedSignature, String> {
    let blob = BlobDescriptor::new(&layer).map_err(|error| error.to_string())?;
    if blob.bytes > MAX_PAYLOAD_BYTES {
        return Err(format!(
            "the payload {} has more than {MAX_PAYLOAD_BYTES} bytes",
            blob.digest
        ));
    }
    budget.charge(blob.bytes)?;
    let payload = budget.wait(session.signature_payload(blob)).await?;
    Ok(AttachedSignature {
        payload,
        annotations: layer.annotations.unwrap_or_default(),
    })
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
