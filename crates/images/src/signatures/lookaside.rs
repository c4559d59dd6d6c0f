//! Signatures of simple signing, beside a registry on a server or in a folder:
//! `BASE/REPOSITORY@sha256=HEX/signature-1` and so on until one is missing; or in the registry
//! itself.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use fbc_grammar::Digest;
use reqwest::Url;
use signature_policy::{EvidenceBytes, MAX_PAYLOAD_BYTES, MAX_SIGNATURES, SignedManifest};

use super::budget::SignatureBudget;
use crate::registries::{RegistrySession, blocking};
use crate::{ImageError, io_error};

/// Fetches the signatures of a manifest. A place that cannot be read is noted, because a signature
/// could be there.
pub(super) async fn fetch(
    session: &RegistrySession,
    base: &str,
    manifest: &mut SignedManifest,
    budget: &mut SignatureBudget,
) {
    let folder = format!(
        "{}/{}@sha256={}",
        base.trim_end_matches('/'),
        session.location.repository,
        content_digest::digest(&manifest.bytes).hex()
    );
    let signatures = &mut manifest.signatures;
    signatures.lookaside_places.push(folder.clone());
    for number in 1..=MAX_SIGNATURES {
        let place = format!("{folder}/signature-{number}");
        match find(session, &place, budget).await {
            Ok(Some(message)) => signatures.simple.push(EvidenceBytes(message)),
            Ok(None) => return,
            Err(cause) => {
                let unreachable = format!("{place}: {cause}");
                signatures.lookaside_unreachable.push(unreachable);
                return;
            }
        }
    }
}

/// Fetches the signatures of a manifest from a registry that stores them itself. It is asked instead
/// of the lookaside, as podman does.
pub(super) async fn fetch_stored(
    session: &RegistrySession,
    manifest: &mut SignedManifest,
    budget: &mut SignatureBudget,
) {
    let digest = content_digest::digest(&manifest.bytes);
    let place = session.stored_signatures_place(digest);
    let signatures = &mut manifest.signatures;
    signatures.lookaside_places.push(place.clone());
    match find_stored(session, digest, budget).await {
        Ok(messages) => {
            let messages = messages.into_iter().take(MAX_SIGNATURES);
            signatures.simple.extend(messages.map(EvidenceBytes));
        }
        Err(cause) => {
            let unreachable = format!("{place}: {cause}");
            signatures.lookaside_unreachable.push(unreachable);
        }
    }
}

async fn find_stored(
    session: &RegistrySession,
    digest: Digest,
    budget: &mut SignatureBudget,
) -> Result<Vec<Vec<u8>>, String> {
    let limit = budget.limit(MAX_PAYLOAD_BYTES);
    let messages = budget
        .wait(session.stored_signatures(digest, limit))
        .await?;
    let bytes = messages.iter().map(|message| message.len() as u64).sum();
    budget.charge(bytes)?;
    Ok(messages)
}

/// Reads one signature; `None` if it does not exist.
async fn find(
    session: &RegistrySession,
    place: &str,
    budget: &mut SignatureBudget,
) -> Result<Option<Vec<u8>>, String> {
    let url = Url::parse(place).map_err(|error| format!("not a URL: {error}"))?;
    let limit = budget.limit(MAX_PAYLOAD_BYTES);
    let found = match url.scheme() {
        "file" => {
            let path = url
                .to_file_path()
                .map_err(|()| "not the path of a file".to_owned())?;
            let read = blocking(move || read_file(&path, limit));
            budget.wait(read).await?
        }
        "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
            return Err("credentials in the URL are not supported".to_owned());
        }
        "http" | "https" => {
            let request = session.lookaside_signature(&url, limit);
            budget.wait(request).await?
        }
        other => {
            return Err(format!(
                "the scheme `{other}` is not supported: use file, http or https"
            ));
        }
    };
    if let Some(message) = &found {
        budget.charge(message.len() as u64)?;
    }
    Ok(found)
}

fn read_file(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ImageError> {
    let failed = |error| io_error("read", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limit {
        let resource = format!("the signature `{}`", path.display());
        return Err(ImageError::LargerThan { resource, limit });
    }
    Ok(Some(bytes))
}
