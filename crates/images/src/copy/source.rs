//! Source of an image: a registry, an OCI layout, or a packed image.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use content_digest::digest;
use fbc_grammar::Digest;
use oci_client::manifest::OciDescriptor;

use crate::layout::OpenLayout;
use crate::manifest::BlobDescriptor;
use crate::pack::PackedImage;
use crate::registries::{ListedReferrer, RegistrySession, blocking, fetch_blob};
use crate::{ImageError, PullLimits, io_error};

/// A layout with its table of names.
#[derive(Debug)]
pub(crate) struct NamedLayout {
    pub(crate) layout: OpenLayout,
    pub(crate) names: BTreeMap<String, Digest>,
}

/// Source of the manifests and blobs of one image.
#[derive(Clone, Debug)]
pub(crate) enum GraphSource {
    Registry(Arc<RegistrySession>),
    Layout {
        layout: Arc<NamedLayout>,
        /// Repository that the names of the layout begin with.
        repository: String,
    },
    Packed(Arc<PackedImage>),
}

impl GraphSource {
    /// Returns a manifest by its tag or digest, with its digest; `None` if it does not exist.
    pub(crate) async fn manifest(
        &self,
        name: &str,
        limits: &PullLimits,
    ) -> Result<Option<(Vec<u8>, Digest)>, ImageError> {
        match self {
            Self::Registry(session) => session.find_manifest(name).await,
            Self::Layout { layout, repository } => {
                let named = Digest::parse(name);
                let key = match named {
                    Some(digest) => format!("{repository}@{digest}"),
                    None => format!("{repository}:{name}"),
                };
                let Some(digest) = named.or_else(|| layout.names.get(&key).copied()) else {
                    return Ok(None);
                };
                match layout.layout.read_verified(digest, limits.manifest_bytes) {
                    Ok(bytes) => Ok(Some((bytes, digest))),
                    Err(ImageError::NotFound { .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Self::Packed(image) => {
                let all = image.manifests.iter().chain([&image.index]);
                let mut all = all.map(|bytes| (bytes, digest(bytes)));
                Ok(all
                    .find(|(_, digest)| digest.to_string() == name)
                    .map(|(bytes, digest)| (bytes.clone(), digest)))
            }
        }
    }

    /// Lists the manifests that refer to one; `None` if there is no such list.
    pub(crate) async fn referrers(
        &self,
        digest: Digest,
    ) -> Result<Option<Vec<OciDescriptor>>, ImageError> {
        match self {
            Self::Registry(session) => {
                let listed = session.referrers(digest).await?;
                let descriptor = |one: ListedReferrer| one.descriptor;
                Ok(listed.map(|all| all.into_iter().map(descriptor).collect()))
            }
            Self::Layout { .. } => Ok(None),
            Self::Packed(_) => Ok(Some(Vec::new())),
        }
    }

    /// Tells whether something may refer to the manifests.
    pub(crate) fn may_have_referrers(&self) -> bool {
        !matches!(self, Self::Packed(_))
    }

    /// Copies a blob to a new file and verifies it.
    pub(crate) async fn fetch(
        &self,
        blob: BlobDescriptor,
        to: &Path,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<(), ImageError> {
        match self {
            Self::Registry(session) => fetch_blob(session, blob, to, progress).await,
            Self::Layout { layout, .. } => {
                let layout = layout.clone();
                let to = to.to_owned();
                blocking(move || layout.layout.copy(blob, &to)).await
            }
            Self::Packed(image) => {
                let written = match image.configs.iter().find(|one| digest(one) == blob.digest) {
                    Some(config) => fs::write(to, config),
                    None => fs::copy(&image.layer.path, to).map(|_| ()),
                };
                written.map_err(|source| io_error("write", to, source))
            }
        }
    }

    /// Names where it is, for errors.
    pub(crate) fn location(&self) -> String {
        match self {
            Self::Registry(session) => session.location.to_string(),
            Self::Layout { layout, .. } => layout.layout.path().display().to_string(),
            Self::Packed(_) => "the packed catalog".to_owned(),
        }
    }
}
