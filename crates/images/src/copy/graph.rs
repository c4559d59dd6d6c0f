//! Reads all manifests of an image: of every platform, and of the signatures, attestations and
//! other artifacts that refer to them.
//!
//! Cosign names these by tags (`sha256-HEX.sig`), and OCI by the subject of their manifests, which a
//! registry lists, or else an index under the tag `sha256-HEX`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use content_digest::digest;
use fbc_grammar::Digest;
use oci_client::manifest::{OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor};
use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::MAX_PLANNED_MANIFEST_BYTES;
use super::source::GraphSource;
use crate::manifest::{BlobDescriptor, MAX_NESTED_INDEXES, ManifestOrIndex};
use crate::{ImageError, PullLimits};

/// Maximum number of manifests of an image, with those that refer to it.
pub const MAX_IMAGE_MANIFESTS: usize = 1_000;

/// Maximum length in bytes of a blob that is copied.
pub const MAX_COPIED_BLOB_BYTES: u64 = 64 << 30;

/// Maximum number of steps from an artifact to the image that it refers to: a signature may refer
/// to another artifact.
pub const MAX_REFERRER_DEPTH: usize = 2;

/// Ends of the tags by which cosign finds what belongs to an image.
pub(super) const COSIGN_SUFFIXES: [&str; 3] = ["sig", "att", "sbom"];

/// Parts of the media types of layers that may be elsewhere than in the registry.
const FOREIGN_LAYERS: [&str; 2] = [".foreign.", ".nondistributable."];

/// An image with everything that belongs to it.
#[derive(Debug)]
pub(super) struct ImageGraph {
    /// Reference, for messages.
    pub(super) name: String,
    pub(super) digest: Digest,
    /// Independent parts; the image itself is the last one.
    pub(super) parts: Vec<GraphPart>,
    pub(super) manifests: BTreeMap<Digest, GraphManifest>,
    pub(super) source: GraphSource,
}

/// Manifests that are copied together.
#[derive(Debug)]
pub(super) struct GraphPart {
    pub(super) name: PartName,
    /// Manifests, each after those that it refers to; the root is the last one.
    pub(super) order: Vec<Digest>,
}

/// Name of a part in a repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PartName {
    /// The image itself.
    Image,
    /// An artifact with this tag.
    Tag(String),
    /// An artifact that has no name: registries list it.
    Referrer,
    /// An index of artifacts, for registries that do not list them.
    ReferrersIndex { tag: String, subject: Digest },
}

#[derive(Debug)]
pub(super) struct GraphManifest {
    pub(super) media_type: String,
    pub(super) bytes: Vec<u8>,
    /// Blobs of the manifest itself.
    pub(super) blobs: Vec<BlobDescriptor>,
    links: ManifestLinks,
}

/// The descriptors in a manifest or an index.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestLinks {
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<OciDescriptor>,
    #[serde(default)]
    layers: Vec<OciDescriptor>,
    #[serde(default)]
    manifests: Vec<OciDescriptor>,
    subject: Option<OciDescriptor>,
    annotations: Option<Value>,
}

/// Reads the manifests of one image.
pub(super) struct GraphReader<'a> {
    pub(super) name: &'a str,
    pub(super) source: GraphSource,
    pub(super) limits: &'a PullLimits,
    /// Bytes of the manifests of all images.
    pub(super) total: &'a AtomicU64,
}

impl ImageGraph {
    /// Returns all blobs, each once.
    pub(super) fn blobs(&self) -> BTreeMap<Digest, u64> {
        let all = self.manifests.values().flat_map(|one| &one.blobs);
        all.map(|blob| (blob.digest, blob.bytes)).collect()
    }

    /// Tells whether the repository of the image needs the tag of an index of referrers for it.
    pub(super) fn has_referrers_index(&self) -> bool {
        self.parts.iter().any(|part| {
            matches!(&part.name, PartName::ReferrersIndex { subject, .. } if *subject == self.digest)
        })
    }

    /// Returns the number of manifests that refer to the image or parts of it.
    pub(super) fn artifacts(&self) -> usize {
        let named = |part: &&GraphPart| matches!(part.name, PartName::Tag(_) | PartName::Referrer);
        self.parts.iter().filter(named).count()
    }
}

impl GraphPart {
    /// Returns the digest of the root.
    pub(super) fn root(&self) -> Digest {
        *self.order.last().expect("a part has a root")
    }
}

impl GraphReader<'_> {
    /// Reads everything, from the manifest with this tag or digest.
    pub(super) async fn read(self, root: &str) -> Result<ImageGraph, ImageError> {
        let missing = || ImageError::NotFound {
            resource: format!("`{root}`"),
            location: self.source.location(),
        };
        self.find(root).await?.ok_or_else(missing)
    }

    /// Reads everything, as [`Self::read`] does; `None` if there is no such manifest.
    pub(super) async fn find(&self, root: &str) -> Result<Option<ImageGraph>, ImageError> {
        let mut graph = ImageGraph {
            name: self.name.to_owned(),
            digest: Digest::new([0; 32]),
            parts: Vec::new(),
            manifests: BTreeMap::new(),
            source: self.source.clone(),
        };
        let Some((bytes, found)) = self.source.manifest(root, self.limits).await? else {
            return Ok(None);
        };
        graph.digest = found;
        let image = self.add_tree(&mut graph, bytes, found).await?;
        if self.source.may_have_referrers() {
            self.add_artifacts(&mut graph, &image).await?;
        }
        graph.parts.push(GraphPart {
            name: PartName::Image,
            order: image,
        });
        self.check_sizes(&graph)?;
        Ok(Some(graph))
    }

    /// Adds what refers to manifests of the image.
    async fn add_artifacts(
        &self,
        graph: &mut ImageGraph,
        image: &[Digest],
    ) -> Result<(), ImageError> {
        let mut pending: VecDeque<_> = image.iter().map(|digest| (*digest, 0)).collect();
        let mut seen: BTreeSet<Digest> = image.iter().copied().collect();
        while let Some((subject, depth)) = pending.pop_front() {
            let hex = subject.hex();
            let suffixes = if depth == 0 {
                &COSIGN_SUFFIXES[..]
            } else {
                &[]
            };
            for suffix in suffixes {
                let tag = format!("sha256-{hex}.{suffix}");
                if let Some((bytes, digest)) = self.source.manifest(&tag, self.limits).await? {
                    let order = self.add_tree(graph, bytes, digest).await?;
                    let name = PartName::Tag(tag);
                    graph.parts.push(GraphPart { name, order });
                }
            }

            let mut referrers = Vec::new();
            for descriptor in self.referrers(subject).await? {
                let blob = BlobDescriptor::new(&descriptor)?;
                let bytes = self.child(blob).await?;
                let named = links(&bytes, &format!("the manifest {}", blob.digest))?.subject;
                // Another manifest is listed by mistake.
                if named.is_none_or(|named| named.digest != subject.to_string()) {
                    continue;
                }
                let order = self.add_tree(graph, bytes, blob.digest).await?;
                referrers.push(blob.digest);
                if depth + 1 < MAX_REFERRER_DEPTH && seen.insert(blob.digest) {
                    pending.push_back((blob.digest, depth + 1));
                }
                let name = PartName::Referrer;
                graph.parts.push(GraphPart { name, order });
            }
            if !referrers.is_empty() {
                self.add_index(graph, subject, &referrers)?;
            }
        }
        Ok(())
    }

    /// Returns the descriptors of the manifests that may refer to one.
    async fn referrers(&self, subject: Digest) -> Result<Vec<OciDescriptor>, ImageError> {
        if let Some(listed) = self.source.referrers(subject).await? {
            return Ok(listed);
        }
        let tag = format!("sha256-{}", subject.hex());
        let Some((bytes, digest)) = self.source.manifest(&tag, self.limits).await? else {
            return Ok(Vec::new());
        };
        // Other tools give an image a tag of this form.
        if digest == subject {
            return Ok(Vec::new());
        }
        match ManifestOrIndex::parse(&bytes, &format!("the tag `{tag}`"))? {
            ManifestOrIndex::Index(_) => Ok(links(&bytes, &tag)?.manifests),
            ManifestOrIndex::Image(_) => Ok(Vec::new()),
        }
    }

    /// Adds the index that names the referrers of a manifest where a registry does not list them.
    fn add_index(
        &self,
        graph: &mut ImageGraph,
        subject: Digest,
        referrers: &[Digest],
    ) -> Result<(), ImageError> {
        let entries = referrers.iter().map(|digest| {
            let manifest = &graph.manifests[digest];
            let links = &manifest.links;
            let config = links.config.as_ref().map(|config| &config.media_type);
            let mut entry = json!({
                "mediaType": manifest.media_type,
                "digest": digest.to_string(),
                "size": manifest.bytes.len(),
            });
            if let Some(kind) = links.artifact_type.as_ref().or(config) {
                entry["artifactType"] = kind.as_str().into();
            }
            if let Some(annotations) = &links.annotations {
                entry["annotations"] = annotations.clone();
            }
            entry
        });
        let entries: Vec<_> = entries.collect();
        let index = json!({
            "schemaVersion": 2, "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE, "manifests": entries,
        });
        let bytes = index.to_string().into_bytes();
        let index = digest(&bytes);
        let tag = format!("sha256-{}", subject.hex());
        let links = links(&bytes, &tag)?;
        self.insert(graph, index, bytes, links)?;
        graph.parts.push(GraphPart {
            name: PartName::ReferrersIndex { tag, subject },
            order: vec![index],
        });
        Ok(())
    }

    /// Adds a manifest with those that it refers to, and returns their order.
    async fn add_tree(
        &self,
        graph: &mut ImageGraph,
        root: Vec<u8>,
        digest: Digest,
    ) -> Result<Vec<Digest>, ImageError> {
        let mut levels: Vec<Vec<Digest>> = Vec::new();
        let mut level = vec![(digest, root)];
        while !level.is_empty() {
            if levels.len() > MAX_NESTED_INDEXES {
                return Err(ImageError::NestedIndexes(self.name.to_owned()));
            }
            let mut children: BTreeMap<Digest, BlobDescriptor> = BTreeMap::new();
            let mut digests = Vec::new();
            for (digest, bytes) in level {
                let resource = format!("the manifest {digest} of `{}`", self.name);
                ManifestOrIndex::parse(&bytes, &resource)?;
                let links = links(&bytes, &resource)?;
                for child in &links.manifests {
                    let child = BlobDescriptor::new(child)?;
                    children.insert(child.digest, child);
                }
                self.insert(graph, digest, bytes, links)?;
                digests.push(digest);
            }
            levels.push(digests);
            level = Vec::new();
            for child in children.into_values() {
                let known = graph.manifests.get(&child.digest);
                let bytes = match known {
                    Some(known) => known.bytes.clone(),
                    None => self.child(child).await?,
                };
                level.push((child.digest, bytes));
            }
        }
        let mut order = Vec::new();
        for digest in levels.into_iter().rev().flatten() {
            if !order.contains(&digest) {
                order.push(digest);
            }
        }
        Ok(order)
    }

    /// Downloads a manifest that another one names, and checks its length.
    async fn child(&self, blob: BlobDescriptor) -> Result<Vec<u8>, ImageError> {
        let name = blob.digest.to_string();
        let Some((bytes, _)) = self.source.manifest(&name, self.limits).await? else {
            return Err(ImageError::NotFound {
                resource: format!("the manifest {name}"),
                location: self.source.location(),
            });
        };
        let actual = bytes.len() as u64;
        if actual == blob.bytes {
            return Ok(bytes);
        }
        Err(self.wrong_size("manifest", blob, actual))
    }

    fn insert(
        &self,
        graph: &mut ImageGraph,
        digest: Digest,
        bytes: Vec<u8>,
        links: ManifestLinks,
    ) -> Result<(), ImageError> {
        if graph.manifests.contains_key(&digest) {
            return Ok(());
        }
        if graph.manifests.len() >= MAX_IMAGE_MANIFESTS {
            return Err(ImageError::TooManyManifests {
                image: self.name.to_owned(),
                limit: MAX_IMAGE_MANIFESTS,
            });
        }
        let length = bytes.len() as u64;
        let before = self.total.fetch_add(length, Ordering::Relaxed);
        if before.saturating_add(length) > MAX_PLANNED_MANIFEST_BYTES {
            return Err(ImageError::TooManyManifestBytes {
                image: self.name.to_owned(),
                limit: MAX_PLANNED_MANIFEST_BYTES,
            });
        }
        let is_index = links.config.is_none();
        let default = if is_index {
            OCI_IMAGE_INDEX_MEDIA_TYPE
        } else {
            OCI_IMAGE_MEDIA_TYPE
        };
        let layers = links.layers.iter().filter(|layer| !is_foreign(layer));
        let blobs = links.config.iter().chain(layers);
        let blobs: Vec<_> = blobs.map(BlobDescriptor::new).collect::<Result<_, _>>()?;
        if let Some(blob) = blobs.iter().find(|blob| blob.bytes > MAX_COPIED_BLOB_BYTES) {
            return Err(ImageError::TooLarge {
                resource: format!("the blob {} of `{}`", blob.digest, self.name),
                bytes: blob.bytes,
                limit: MAX_COPIED_BLOB_BYTES,
            });
        }
        let media_type = links.media_type.clone();
        let manifest = GraphManifest {
            media_type: media_type.unwrap_or_else(|| default.to_owned()),
            bytes,
            blobs,
            links,
        };
        graph.manifests.insert(digest, manifest);
        Ok(())
    }

    /// Fails if manifests give a blob different lengths: one of them is wrong.
    fn check_sizes(&self, graph: &ImageGraph) -> Result<(), ImageError> {
        let sizes = graph.blobs();
        let mut all = graph.manifests.values().flat_map(|one| &one.blobs);
        match all.find(|blob| sizes[&blob.digest] != blob.bytes) {
            None => Ok(()),
            Some(blob) => Err(self.wrong_size("blob", *blob, sizes[&blob.digest])),
        }
    }

    fn wrong_size(&self, kind: &str, blob: BlobDescriptor, actual: u64) -> ImageError {
        ImageError::WrongSize {
            resource: format!("the {kind} {}", blob.digest),
            location: self.source.location(),
            expected: blob.bytes,
            actual: actual.to_string(),
        }
    }
}

fn links(bytes: &[u8], resource: &str) -> Result<ManifestLinks, ImageError> {
    serde_json::from_slice(bytes).map_err(|source| ImageError::Manifest {
        resource: resource.to_owned(),
        source,
    })
}

/// Tells whether a layer is elsewhere than in the registry, as the base layers of Windows were.
fn is_foreign(layer: &OciDescriptor) -> bool {
    let has_urls = layer.urls.as_ref().is_some_and(|urls| !urls.is_empty());
    has_urls
        && FOREIGN_LAYERS
            .iter()
            .any(|part| layer.media_type.contains(part))
}
