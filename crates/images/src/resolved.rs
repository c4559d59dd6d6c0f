//! The result of resolving a reference: what the image is, and its layers.

use std::collections::BTreeMap;
use std::sync::Arc;

use fbc_grammar::Digest;

use super::layout::OpenLayout;
use super::registries::Session;

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
    /// Whether it is a container image or another artifact.
    pub kind: ImageKind,
    /// Layers, lowest first.
    pub layers: Vec<LayerDescriptor>,
    pub(super) origin: Origin,
}

/// The origin of the layers.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// Repository that has the manifest.
    Registry(Arc<Session>),
    /// Layout that has the manifest.
    Layout(Arc<OpenLayout>),
}

/// The kind of thing that a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A container image.
    Container {
        /// Labels of the image config.
        labels: BTreeMap<String, String>,
    },
    /// Another OCI artifact. Its only layer is an archive of the catalog.
    Artifact,
}

/// One layer of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerDescriptor {
    /// Digest of the blob, as it is downloaded.
    pub digest: Digest,
    /// Length of the blob in bytes.
    pub bytes: u64,
    /// Digest of the uncompressed layer, if the image config names one.
    pub diff_id: Option<Digest>,
}
