//! Policies for signed images, applied between the digest of an image and its layers.
//!
//! The policy itself is the crate `signature-policy`. This module fetches the signatures that it
//! judges.

mod budget;
mod bundles;
mod lookaside;

use std::sync::Arc;

use content_digest::DigestHasher;
use jiff::Timestamp;
use oci_client::manifest::{OciDescriptor, OciImageManifest};
use signature_policy::{
    AttachedSignature, Evidence, ImagePolicies, ImageSignatures, JudgeOptions, Judgement,
    LoadedPolicy, LookupConfig, MAX_PAYLOAD_BYTES, MAX_SIGNATURES, NeededSignatures,
    PolicyReference, SIMPLE_SIGNING, SignedManifest, Verdict,
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
    /// Settings of a policy that is made of objects only.
    pub options: JudgeOptions,
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
        is_same && self.lookup == other.lookup && self.options == other.options
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
    /// Adds the requirements of objects. Without a policy, images of other scopes are accepted as
    /// before.
    #[must_use]
    pub fn with_image_policies(&self, policies: &ImagePolicies) -> Self {
        let base = match &self.policy {
            _ if policies.is_empty() => return self.clone(),
            SignaturePolicy::Unreadable(_) => return self.clone(),
            SignaturePolicy::Loaded(policy) => LoadedPolicy::clone(policy),
            SignaturePolicy::None => LoadedPolicy::accept_anything(self.options),
        };
        let policy = base.with_image_policies(policies);
        Self {
            policy: SignaturePolicy::Loaded(Arc::new(policy)),
            lookup: self.lookup.clone().with_attachments(policies.scopes()),
            options: self.options,
        }
    }

    /// Returns whether there is a policy, readable or not.
    pub fn has_policy(&self) -> bool {
        !matches!(self.policy, SignaturePolicy::None)
    }

    /// Decides about an image. Signatures are fetched only if the policy needs them; `session` is
    /// the client of the repository that has the manifest.
    pub(crate) async fn judge(
        &self,
        source: &ImageSource,
        manifests: &ImageManifests,
        session: Option<&RegistrySession>,
    ) -> Result<Option<Judgement>, ImageError> {
        let mut evidence = Evidence {
            manifest: unsigned(&manifests.manifest),
            index: manifests.index.as_deref().map(unsigned),
        };
        let policy = match &self.policy {
            SignaturePolicy::None => return Ok(None),
            SignaturePolicy::Loaded(policy) => policy,
            SignaturePolicy::Unreadable(reason) => {
                let verdict = Verdict::unreadable(reason.clone());
                return Ok(Some(self.judgement(verdict, evidence)));
            }
        };
        let image = policy_reference(source)?;
        if let Some(session) = session {
            let fetch = SignatureFetch {
                session,
                lookup: &self.lookup,
                needed: policy.needed_signatures(&image),
                has_attachments: self.lookup.has_attachments(&image),
            };
            let mut budget = SignatureBudget::new();
            fetch.all(&mut evidence.manifest, &mut budget).await;
            let index = evidence.index.as_mut();
            if let Some(index) = index.filter(|_| policy.accepts_indexes()) {
                fetch.all(index, &mut budget).await;
            }
        }
        let verdict = policy.judge(&image, &evidence, Timestamp::now());
        Ok(Some(self.judgement(verdict, evidence)))
    }

    /// Decides again about an image that was judged before, from the evidence that was kept; `None`
    /// without a policy. An outcome that stays the same keeps its time.
    ///
    /// A policy that cannot be read changes no decision: what was accepted is still served.
    pub(crate) fn judge_again(
        &self,
        source: &ImageSource,
        kept: Option<Judgement>,
    ) -> Option<Judgement> {
        let policy = match &self.policy {
            SignaturePolicy::None => return None,
            SignaturePolicy::Loaded(policy) => policy,
            SignaturePolicy::Unreadable(reason) => {
                let unreadable = || Verdict::unreadable(reason.clone());
                return Some(
                    kept.unwrap_or_else(|| self.judgement(unreadable(), Evidence::default())),
                );
            }
        };
        let image = policy_reference(source).ok()?;
        if let Some(reason) = policy.unreadable_for(&image) {
            let unreadable = || Verdict::unreadable(reason.to_owned());
            return Some(kept.unwrap_or_else(|| self.judgement(unreadable(), Evidence::default())));
        }
        let evidence = match &kept {
            Some(kept) => kept.evidence.clone(),
            None => Evidence::default(),
        };
        let known = with_unknown(evidence.clone(), policy.needed_signatures(&image));
        let verdict = policy.judge(&image, &known, Timestamp::now());
        let again = self.judgement(verdict, evidence);
        Some(match kept {
            Some(kept) if kept.policy == again.policy && kept.verdict == again.verdict => kept,
            _ => again,
        })
    }

    fn judgement(&self, verdict: Verdict, evidence: Evidence) -> Judgement {
        Judgement {
            policy: self.digest(),
            judged_at: Timestamp::now(),
            verdict: verdict.bounded(),
            evidence,
        }
    }

    /// SHA-256 of the policy, its keys and options, and of the files of registries.d.
    fn digest(&self) -> String {
        let mut hasher = DigestHasher::new();
        match &self.policy {
            SignaturePolicy::None => {}
            SignaturePolicy::Loaded(policy) => hasher.update(policy.digest().as_bytes()),
            SignaturePolicy::Unreadable(reason) => hasher.update(reason.as_bytes()),
        }
        if let Some(lookup) = self.lookup.digest() {
            hasher.update(lookup.as_bytes());
        }
        hasher.finish().to_string()
    }
}

/// The signatures that are fetched for an image.
struct SignatureFetch<'a> {
    session: &'a RegistrySession,
    lookup: &'a LookupConfig,
    needed: NeededSignatures,
    /// Attachments are read from wherever the image is.
    has_attachments: bool,
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
            let is_on = self.has_attachments || is_on.unwrap_or(true);
            self.attached(manifest, is_on, budget).await;
            if is_on {
                bundles::fetch(self.session, manifest, budget).await;
            }
        }
        if !self.needed.simple {
            return;
        }
        if self.session.supports_signatures() {
            lookaside::fetch_stored(self.session, manifest, budget).await;
        } else if let Some(base) = physical.and_then(|image| self.lookup.lookaside(&image)) {
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

/// Notes for a judgement that the signatures of a manifest are not known. They could be the ones
/// that are missing.
fn with_unknown(mut evidence: Evidence, needed: NeededSignatures) -> Evidence {
    let note = "they were not fetched when the image was loaded";
    let manifests = [Some(&mut evidence.manifest), evidence.index.as_mut()];
    for manifest in manifests.into_iter().flatten() {
        let signatures = &mut manifest.signatures;
        if needed.sigstore && !signatures.knows_sigstore() {
            signatures.unreachable.push(note.to_owned());
        }
        if needed.simple && !signatures.knows_simple() {
            signatures.lookaside_unreachable.push(note.to_owned());
        }
    }
    evidence
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
