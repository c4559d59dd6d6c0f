//! Compares what is at a target with the images that should be there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use fbc_grammar::Digest;

use super::graph::{GraphReader, ImageGraph, PartName};
use super::plan::{CopyJob, ImageToCopy, SessionCache};
use super::source::{GraphSource, NamedLayout};
use super::target::CopyTarget;
use crate::layout::OpenLayout;
use crate::manifest::BlobDescriptor;
use crate::registries::{RegistrySession, RepositoryAccess, push};
use crate::{ImageError, LayoutReference, PullLimits, Registries, RegistryReference, io_error};

/// An image that should be at a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedImage {
    /// The image.
    pub image: ImageToCopy,
    /// Digest, if it is known: that of the reference, or of a catalog that is made.
    pub digest: Option<Digest>,
}

/// Difference between a target and what should be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MirrorState {
    /// An image or its tag is not there.
    Missing,
    /// A part of an image is not there or is not what its digest says.
    Broken,
    /// Something else is there.
    Extra,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MirrorFinding {
    /// Kind of the difference.
    pub state: MirrorState,
    /// Reference of the image.
    pub image: String,
    /// Explanation; empty if there is nothing to add.
    pub detail: String,
}

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorCheck {
    /// Differences, sorted.
    pub findings: Vec<MirrorFinding>,
    /// Number of blobs that were read and have their digests.
    pub blobs: usize,
    /// Bytes of these blobs.
    pub bytes: u64,
    /// `false` if the registry does not list its repositories, so that others may have more.
    pub lists_repositories: bool,
}

/// Compares images one after the other.
struct MirrorVerifier<'a> {
    registries: &'a Registries,
    sessions: SessionCache,
    layout: Option<Arc<NamedLayout>>,
    /// Folder for blobs that are read.
    scratch: &'a Path,
    limits: PullLimits,
    check: MirrorCheck,
    /// Blobs that have their digests.
    verified: BTreeSet<Digest>,
    /// Tags that may be there, by repository, and names in a layout.
    known: BTreeMap<String, BTreeSet<String>>,
    /// Files that a layout needs.
    needed: BTreeSet<Digest>,
}

impl MirrorState {
    /// Returns the name as users see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Broken => "broken",
            Self::Extra => "extra",
        }
    }
}

impl Registries {
    /// Compares a target with the images that should be there, and reads all their blobs. `prefix`
    /// is the registry and the path (`HOST/PATH`) in which other repositories are looked for.
    ///
    /// # Errors
    /// If the target cannot be read at all.
    pub async fn verify_copies(
        &self,
        expected: &[ExpectedImage],
        target: &CopyTarget,
        prefix: &str,
        scratch: &Path,
    ) -> Result<MirrorCheck, ImageError> {
        let layout = match target {
            CopyTarget::Registry => None,
            CopyTarget::Layout(root) => {
                let text = root.to_string_lossy();
                let layout = OpenLayout::open(&LayoutReference::parse(&text, Path::new(""))?)?;
                let names = layout.names()?;
                Some(Arc::new(NamedLayout { layout, names }))
            }
        };
        let mut verifier = MirrorVerifier {
            registries: self,
            sessions: SessionCache::default(),
            layout,
            scratch,
            limits: self.limits(),
            check: MirrorCheck::default(),
            verified: BTreeSet::new(),
            known: BTreeMap::new(),
            needed: BTreeSet::new(),
        };
        for image in expected {
            verifier.verify(image).await?;
        }
        match verifier.layout.clone() {
            Some(layout) => verifier.find_extra_files(&layout)?,
            None => verifier.find_extra_tags(expected, prefix).await?,
        }
        let mut check = verifier.check;
        check.findings.sort();
        check.findings.dedup();
        Ok(check)
    }
}

impl MirrorVerifier<'_> {
    fn session(&self, target: &RegistryReference) -> Result<Arc<RegistrySession>, ImageError> {
        let location = self.registries.push_location(target)?;
        let attempts = self.registries.max_attempts();
        let access = RepositoryAccess::Pull;
        Ok(self
            .sessions
            .session(self.registries, location, access, attempts))
    }

    fn source(&self, image: &ImageToCopy) -> Result<GraphSource, ImageError> {
        match &self.layout {
            Some(layout) => Ok(GraphSource::Layout {
                layout: layout.clone(),
                repository: image.source.repository(),
            }),
            None => self.session(&image.target).map(GraphSource::Registry),
        }
    }

    /// Returns the name of the image at the target.
    fn shown(&self, image: &ImageToCopy) -> String {
        match self.layout {
            Some(_) => image.source.to_string(),
            None => image.target.to_string(),
        }
    }

    fn find(&mut self, state: MirrorState, image: String, detail: String) {
        self.check.findings.push(MirrorFinding {
            state,
            image,
            detail,
        });
    }

    /// Compares one image. A registry that cannot be reached is an error; everything else is a
    /// difference.
    async fn verify(&mut self, expected: &ExpectedImage) -> Result<(), ImageError> {
        let source = self.source(&expected.image)?;
        let shown = self.shown(&expected.image);
        let tag = match self.layout {
            Some(_) => expected.image.source.tag(),
            None => expected.image.target.tag(),
        };
        let tag = tag.unwrap_or_default().to_owned();
        self.expect_tag(&expected.image, tag.clone());
        let root = expected
            .digest
            .map_or_else(|| tag.clone(), |digest| digest.to_string());
        let reader = GraphReader {
            name: &shown,
            source: source.clone(),
            limits: &self.limits,
            total: &AtomicU64::new(0),
        };
        let graph = match reader.find(&root).await {
            Ok(Some(graph)) => graph,
            Ok(None) => {
                self.find(MirrorState::Missing, shown, String::new());
                return Ok(());
            }
            Err(error @ ImageError::Unreachable { .. }) => return Err(error),
            Err(error) => {
                self.find(MirrorState::Broken, shown, error.to_string());
                return Ok(());
            }
        };
        for part in &graph.parts {
            let tag = match &part.name {
                PartName::Tag(tag) | PartName::ReferrersIndex { tag, .. } => tag,
                PartName::Image | PartName::Referrer => continue,
            };
            self.expect_tag(&expected.image, tag.clone());
        }
        self.needed.extend(graph.manifests.keys());
        self.needed.extend(graph.blobs().into_keys());
        self.verify_blobs(&shown, &source, &graph).await?;
        let job = CopyJob {
            graph,
            image: expected.image.clone(),
        };
        self.verify_name(&job, shown, &source).await
    }

    /// Checks that the tag of an image, or its name in a layout, is there.
    async fn verify_name(
        &mut self,
        job: &CopyJob,
        shown: String,
        source: &GraphSource,
    ) -> Result<(), ImageError> {
        let (name, named) = match source {
            GraphSource::Registry(session) => {
                let tag = job.tag();
                let named = push::manifest_digest(session, &tag).await?;
                self.expect_tag(&job.image, tag.clone());
                (tag, named)
            }
            GraphSource::Layout { layout, .. } => {
                let name = job.image.source.to_string();
                let named = layout.names.get(&name).copied();
                (name, named)
            }
            GraphSource::Packed(_) => return Ok(()),
        };
        match named {
            Some(digest) if digest == job.graph.digest => {}
            Some(digest) => {
                let detail = format!("`{name}` names {digest}");
                self.find(MirrorState::Missing, shown, detail);
            }
            None => {
                let detail = format!("nothing is named `{name}`");
                self.find(MirrorState::Missing, shown, detail);
            }
        }
        Ok(())
    }

    /// Reads the blobs of an image, each digest once.
    async fn verify_blobs(
        &mut self,
        shown: &str,
        source: &GraphSource,
        graph: &ImageGraph,
    ) -> Result<(), ImageError> {
        for (digest, bytes) in graph.blobs() {
            let blob = BlobDescriptor { digest, bytes };
            if self.verified.contains(&digest) {
                if let GraphSource::Registry(session) = source
                    && !push::find_blob(session, digest).await?
                {
                    let detail = format!("the blob {digest} is not there");
                    self.find(MirrorState::Broken, shown.to_owned(), detail);
                }
                continue;
            }
            let part = self.scratch.join("blob");
            let fetched = source.fetch(blob, &part, |_| {}).await;
            if part.exists() {
                fs::remove_file(&part).map_err(|error| io_error("remove", &part, error))?;
            }
            match fetched {
                Ok(()) => {
                    self.verified.insert(digest);
                    self.check.blobs += 1;
                    self.check.bytes += bytes;
                }
                Err(error @ ImageError::Unreachable { .. }) => return Err(error),
                Err(error) => {
                    self.find(MirrorState::Broken, shown.to_owned(), error.to_string());
                }
            }
        }
        Ok(())
    }

    fn expect_tag(&mut self, image: &ImageToCopy, tag: String) {
        if self.layout.is_some() {
            let repository = image.source.repository();
            let names = self.known.entry(String::new()).or_default();
            names.insert(format!("{repository}:{tag}"));
            names.insert(image.source.to_string());
        } else {
            let repository = image.target.path().to_owned();
            self.known.entry(repository).or_default().insert(tag);
        }
    }

    /// Finds tags that no image of the set has.
    async fn find_extra_tags(
        &mut self,
        expected: &[ExpectedImage],
        prefix: &str,
    ) -> Result<(), ImageError> {
        let Some(first) = expected.first() else {
            return Ok(());
        };
        let session = self.session(&first.image.target)?;
        let mut repositories: BTreeSet<String> = self.known.keys().cloned().collect();
        let folder = prefix.split_once('/').map(|(_, path)| format!("{path}/"));
        if let Some(folder) = folder {
            let listed = session.repositories().await?;
            self.check.lists_repositories = listed.is_some();
            let listed = listed.into_iter().flatten();
            repositories.extend(listed.filter(|name| name.starts_with(&folder)));
        }
        let host = first.image.target.domain().to_owned();
        for repository in repositories {
            let tags = session.beside(&repository).tags().await?;
            let known = self.known.get(&repository).cloned().unwrap_or_default();
            for tag in tags.into_iter().flatten() {
                if !known.contains(&tag) {
                    let image = format!("{host}/{repository}:{tag}");
                    self.find(MirrorState::Extra, image, String::new());
                }
            }
        }
        Ok(())
    }

    /// Finds names and files of a layout that no image of the set has.
    fn find_extra_files(&mut self, layout: &NamedLayout) -> Result<(), ImageError> {
        self.check.lists_repositories = true;
        let known = self.known.remove("").unwrap_or_default();
        for name in layout.names.keys().filter(|name| !known.contains(*name)) {
            self.find(MirrorState::Extra, name.clone(), String::new());
        }
        let folder = layout.layout.path().join("blobs/sha256");
        let reading = |error| io_error("read", &folder, error);
        for entry in fs::read_dir(&folder).map_err(reading)? {
            let name = entry.map_err(reading)?.file_name();
            let digest = Digest::parse(&format!("sha256:{}", name.to_string_lossy()));
            if digest.is_none_or(|digest| !self.needed.contains(&digest)) {
                let image = format!("blobs/sha256/{}", name.to_string_lossy());
                self.find(
                    MirrorState::Extra,
                    image,
                    "no image needs this file".to_owned(),
                );
            }
        }
        Ok(())
    }
}
