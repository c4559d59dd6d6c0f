//! Sigstore bundles, as cosign 3 attaches them: artifacts that refer to the manifest.

use oci_client::manifest::OciImageManifest;
use signature_policy::{
    EvidenceBytes, MAX_BUNDLE_BYTES, MAX_SIGNATURES, SIGN_PREDICATE, SIGSTORE_BUNDLE,
    SignedManifest,
};

use super::budget::SignatureBudget;
use crate::manifest::BlobDescriptor;
use crate::registries::{ListedReferrer, RegistrySession};

/// Annotation with the type of the statement in a bundle.
const PREDICATE_ANNOTATION: &str = "dev.sigstore.bundle.predicateType";

/// Media type of the config of an artifact that has none.
const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";

/// Fetches the bundles of a manifest. What cannot be fetched is noted, because it could be the
/// signature that is missing.
pub(super) async fn fetch(
    session: &RegistrySession,
    manifest: &mut SignedManifest,
    budget: &mut SignatureBudget,
) {
    let digest = content_digest::digest(&manifest.bytes);
    let place = format!("the referrers of {}@{digest}", session.location);
    let signatures = &mut manifest.signatures;
    signatures.places.push(place.clone());
    let listed = match budget.wait(session.find_referrers(digest)).await {
        Ok(listed) => listed,
        Err(cause) => {
            signatures.unreachable.push(format!("{place}: {cause}"));
            return;
        }
    };

    // One bundle that cannot be fetched must not hide the others.
    let bundles = listed.into_iter().filter(may_sign);
    for referrer in bundles.take(MAX_SIGNATURES) {
        match fetch_bundle(session, &referrer, budget).await {
            Ok(Some(bundle)) => signatures.bundles.push(EvidenceBytes(bundle)),
            Ok(None) => {}
            Err(cause) => signatures.unreachable.push(format!("{place}: {cause}")),
        }
    }
}

/// Returns whether an artifact may be a bundle that signs the image. Attestations say that they are
/// none. Some registries list the type of the config, which is empty, in place of that of the
/// artifact.
fn may_sign(referrer: &ListedReferrer) -> bool {
    let annotations = referrer.descriptor.annotations.as_ref();
    let predicate = annotations.and_then(|annotations| annotations.get(PREDICATE_ANNOTATION));
    match (predicate, referrer.artifact_type.as_deref()) {
        (Some(predicate), _) => predicate == SIGN_PREDICATE,
        (None, kind) => kind.is_none_or(|kind| kind == SIGSTORE_BUNDLE || kind == EMPTY_CONFIG),
    }
}

/// Fetches the only layer of an artifact; `None` if it is no bundle.
async fn fetch_bundle(
    session: &RegistrySession,
    referrer: &ListedReferrer,
    budget: &mut SignatureBudget,
) -> Result<Option<Vec<u8>>, String> {
    let listed = BlobDescriptor::new(&referrer.descriptor).map_err(|error| error.to_string())?;
    let digest = listed.digest.to_string();
    let found = budget.wait(session.find_manifest(&digest)).await?;
    let Some((bytes, _)) = found else {
        return Err(format!("the manifest {digest} does not exist"));
    };
    let manifest: OciImageManifest =
        serde_json::from_slice(&bytes).map_err(|error| format!("not a manifest: {error}"))?;
    let [layer] = manifest.layers.as_slice() else {
        return Ok(None);
    };
    if layer.media_type != SIGSTORE_BUNDLE {
        return Ok(None);
    }
    let blob = BlobDescriptor::new(layer).map_err(|error| error.to_string())?;
    if blob.bytes > MAX_BUNDLE_BYTES {
        return Err(format!(
            "the bundle {} has more than {MAX_BUNDLE_BYTES} bytes",
            blob.digest
        ));
    }
    budget.charge(blob.bytes)?;
    let bundle = budget.wait(session.signature_payload(blob)).await?;
    Ok(Some(bundle))
}
