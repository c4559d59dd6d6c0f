//! What a reference names at one moment: a manifest and its config, and which layers they list.

use std::collections::BTreeMap;
use std::sync::Arc;

use fbc::Digest;

use super::layout::OpenLayout;
use super::registries::Session;

/// What a reference named when it was looked at. Everything after is fetched by digest.
#[derive(Clone, Debug)]
pub struct ResolvedImage {
    /// What the reference stands for: the digest of the index, if it is one.
    pub digest: Digest,
    /// A reference that names the same for ever: `quay.io/ns/repo@sha256:…` or `oci:PATH@sha256:…`.
    pub pinned_reference: String,
    /// The platform that was chosen, such as `linux/amd64`, when there was a choice.
    pub platform: Option<String>,
    /// What it is.
    pub kind: ImageKind,
    /// The layers, lowest first.
    pub layers: Vec<LayerDescriptor>,
    pub(super) origin: Origin,
}

/// Where the layers are fetched from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The repository that had the manifest.
    Registry(Arc<Session>),
    /// The layout that had it.
    Layout(Arc<OpenLayout>),
}

/// What a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A container image.
    Container {
        /// The labels of its config.
        labels: BTreeMap<String, String>,
    },
    /// Something else, with files as layers.
    Artifact,
}

/// One layer of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerDescriptor {
    /// Of its bytes as they are fetched.
    pub digest: Digest,
    /// How many they are.
    pub bytes: u64,
    /// Of its bytes when they are uncompressed, if a config says so.
    pub diff_id: Option<Digest>,
}
