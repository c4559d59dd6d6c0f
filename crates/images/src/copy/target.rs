//! Target of copies: a registry, or an OCI layout on disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fbc_grammar::Digest;
use oci_client::manifest::OCI_IMAGE_INDEX_MEDIA_TYPE;
use serde_json::{Value, json};

use super::graph::GraphManifest;
use super::plan::{CopyJob, SessionCache};
use super::source::GraphSource;
use crate::layout::{INDEX_FILE, MAX_LAYOUT_INDEX_BYTES, REF_NAME};
use crate::manifest::BlobDescriptor;
use crate::registries::push::{self, BlobSource, BlobUpload};
use crate::registries::{RegistrySession, RepositoryAccess};
use crate::{ImageError, Registries, RegistryReference, io_error};

/// Maximum number of repositories of a registry in which a blob is looked for before it is copied.
pub const MAX_MOUNT_CANDIDATES: usize = 8;

/// Member of an index with its entries.
const MANIFESTS: &str = "manifests";

/// Target of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// The registry of the targets of the images.
    Registry,
    /// An OCI layout in this directory.
    Layout(PathBuf),
}

/// An open target.
pub(super) enum OpenTarget {
    Registry {
        registries: Registries,
        sessions: SessionCache,
    },
    Layout(LayoutWriter),
}

/// The place of one image at a target.
pub(super) enum TargetPlace<'a> {
    /// A repository.
    Registry(Arc<RegistrySession>),
    Layout {
        writer: &'a LayoutWriter,
        /// Repository that the names of the layout begin with.
        repository: String,
    },
}

/// Way in which a blob came to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlobArrival {
    Present,
    Mounted,
    Copied,
}

/// A layout that this process alone writes to.
pub(super) struct LayoutWriter {
    root: PathBuf,
    /// The lock of the layout, which ends with the process.
    _lock: File,
    /// Entries of the index.
    entries: Mutex<Vec<Value>>,
}

impl OpenTarget {
    pub(super) fn open(registries: &Registries, target: &CopyTarget) -> Result<Self, ImageError> {
        match target {
            CopyTarget::Registry => Ok(Self::Registry {
                registries: registries.clone(),
                sessions: SessionCache::default(),
            }),
            CopyTarget::Layout(root) => LayoutWriter::open(root).map(Self::Layout),
        }
    }

    pub(super) fn place(&self, job: &CopyJob) -> Result<TargetPlace<'_>, ImageError> {
        match self {
            Self::Registry { .. } => self
                .repository(&job.image.target)
                .map(TargetPlace::Registry),
            Self::Layout(writer) => Ok(TargetPlace::Layout {
                writer,
                repository: job.image.source.repository(),
            }),
        }
    }

    fn repository(&self, target: &RegistryReference) -> Result<Arc<RegistrySession>, ImageError> {
        match self {
            Self::Registry {
                registries,
                sessions,
            } => Ok(sessions.session(
                registries,
                registries.push_location(target)?,
                RepositoryAccess::Push,
                registries.max_attempts(),
            )),
            Self::Layout(_) => Err(ImageError::NoImage(target.to_string())),
        }
    }

    /// Writes what is written once, at the end.
    pub(super) fn finish(&self) -> Result<(), ImageError> {
        match self {
            Self::Registry { .. } => Ok(()),
            Self::Layout(writer) => writer.write_index(),
        }
    }
}

impl TargetPlace<'_> {
    /// Returns the repository, which blobs are mounted from.
    pub(super) fn repository(&self) -> &str {
        match self {
            Self::Registry(session) => &session.location.repository,
            Self::Layout { repository, .. } => repository,
        }
    }

    /// Returns whether the name is that of this manifest, so that everything that it refers to is
    /// there: names are written last. A layout has no such guarantee.
    pub(super) async fn is_named(&self, name: &str, digest: Digest) -> Result<bool, ImageError> {
        match self {
            Self::Registry(session) => {
                Ok(push::manifest_digest(session, name).await? == Some(digest))
            }
            Self::Layout { .. } => Ok(false),
        }
    }

    /// Returns whether artifacts are found without an index under a tag.
    pub(super) async fn lists_referrers(&self, subject: Digest) -> Result<bool, ImageError> {
        match self {
            Self::Registry(session) => push::lists_referrers(session, subject).await,
            Self::Layout { .. } => Ok(false),
        }
    }

    pub(super) async fn has_blob(&self, blob: BlobDescriptor) -> Result<bool, ImageError> {
        match self {
            Self::Registry(session) => push::find_blob(session, blob.digest).await,
            Self::Layout { writer, .. } => Ok(writer.has(blob)),
        }
    }

    /// Takes the blob from another repository of the registry if one of these has it.
    pub(super) async fn mount(
        &self,
        blob: BlobDescriptor,
        repositories: &[String],
    ) -> Result<bool, ImageError> {
        let Self::Registry(session) = self else {
            return Ok(false);
        };
        for from in repositories.iter().take(MAX_MOUNT_CANDIDATES) {
            if push::mount_blob(session, blob.digest, from).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether another repository of the registry has the blob.
    pub(super) async fn is_in(
        &self,
        repository: &str,
        blob: BlobDescriptor,
    ) -> Result<bool, ImageError> {
        match self {
            Self::Registry(session) => {
                push::find_blob(&session.beside(repository), blob.digest).await
            }
            Self::Layout { .. } => Ok(false),
        }
    }

    /// Copies a blob, which is verified before the target has it.
    pub(super) async fn copy(
        &self,
        blob: BlobDescriptor,
        from: &GraphSource,
        scratch: &Path,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<(), ImageError> {
        let folder = match self {
            Self::Registry(_) => scratch,
            Self::Layout { writer, .. } => &writer.root,
        };
        let part = folder.join(format!(".part-{}", blob.digest.hex()));
        from.fetch(blob, &part, progress).await?;
        match self {
            Self::Registry(session) => {
                let upload = BlobUpload {
                    resource: format!("the blob {}", blob.digest),
                    digest: blob.digest,
                    bytes: blob.bytes,
                    source: BlobSource::File(&part),
                };
                let pushed = push::push_blob(session, &upload).await;
                let removed =
                    fs::remove_file(&part).map_err(|source| io_error("remove", &part, source));
                pushed.and(removed)
            }
            Self::Layout { writer, .. } => writer.keep(&part, blob.digest),
        }
    }

    /// Writes a manifest, and returns whether it had to be written.
    pub(super) async fn push_manifest(
        &self,
        name: &str,
        digest: Digest,
        manifest: &GraphManifest,
    ) -> Result<bool, ImageError> {
        let GraphManifest {
            media_type, bytes, ..
        } = manifest;
        match self {
            Self::Registry(session) => {
                let resource = format!("the manifest `{name}`");
                push::push_manifest(session, &resource, name, media_type, bytes).await?;
                Ok(true)
            }
            Self::Layout { writer, .. } => writer.write_blob(digest, bytes),
        }
    }

    /// Names a manifest of a layout.
    pub(super) fn name(&self, name: &str, digest: Digest, manifest: &GraphManifest) {
        if let Self::Layout { writer, .. } = self {
            writer.name(name, digest, manifest);
        }
    }
}

impl LayoutWriter {
    /// Opens a layout, or creates it.
    fn open(root: &Path) -> Result<Self, ImageError> {
        let blobs = root.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(|source| io_error("create", &blobs, source))?;
        let path = root.join("oci-layout");
        let version = json!({ "imageLayoutVersion": "1.0.0" }).to_string();
        if !path.exists() {
            fs::write(&path, version).map_err(|source| io_error("write", &path, source))?;
        }
        let lock = File::open(&path).map_err(|source| io_error("open", &path, source))?;
        if lock.try_lock().is_err() {
            return Err(ImageError::LayoutInUse(root.to_owned()));
        }
        let entries = Mutex::new(read_entries(&root.join(INDEX_FILE))?);
        Ok(Self {
            root: root.to_owned(),
            _lock: lock,
            entries,
        })
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.root.join("blobs/sha256").join(digest.hex())
    }

    /// Returns whether a blob is there with its length. Only verified blobs get their names.
    fn has(&self, blob: BlobDescriptor) -> bool {
        let found = fs::metadata(self.path(blob.digest));
        found.is_ok_and(|found| found.is_file() && found.len() == blob.bytes)
    }

    /// Gives a verified file the name of its blob.
    fn keep(&self, part: &Path, digest: Digest) -> Result<(), ImageError> {
        fs::rename(part, self.path(digest)).map_err(|source| io_error("rename", part, source))
    }

    fn write_blob(&self, digest: Digest, bytes: &[u8]) -> Result<bool, ImageError> {
        // Images may share a manifest.
        let _entries = self.entries();
        let bytes_count = bytes.len() as u64;
        if self.has(BlobDescriptor {
            digest,
            bytes: bytes_count,
        }) {
            return Ok(false);
        }
        let part = self.root.join(format!(".part-{}", digest.hex()));
        fs::write(&part, bytes).map_err(|source| io_error("write", &part, source))?;
        self.keep(&part, digest)?;
        Ok(true)
    }

    fn name(&self, name: &str, digest: Digest, manifest: &GraphManifest) {
        let mut entries = self.entries();
        entries.retain(|entry| entry["annotations"][REF_NAME] != name);
        entries.push(json!({
            "mediaType": manifest.media_type,
            "digest": digest.to_string(),
            "size": manifest.bytes.len(),
            "annotations": { (REF_NAME): name },
        }));
    }

    /// Replaces the index, with its entries in the order of their names.
    fn write_index(&self) -> Result<(), ImageError> {
        let mut entries = self.entries();
        entries.sort_by_cached_key(|entry| entry["annotations"][REF_NAME].to_string());
        let index = json!({
            "schemaVersion": 2, "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE, (MANIFESTS): *entries,
        });
        let path = self.root.join(INDEX_FILE);
        let part = self.root.join(".part-index");
        fs::write(&part, index.to_string()).map_err(|source| io_error("write", &part, source))?;
        fs::rename(&part, &path).map_err(|source| io_error("rename", &part, source))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Value>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the entries of the index of a layout; none if there is no index.
fn read_entries(path: &Path) -> Result<Vec<Value>, ImageError> {
    let reading = |source| io_error("read", path, source);
    let length = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(reading)?.len(),
    };
    let resource = format!("`{}`", path.display());
    if length > MAX_LAYOUT_INDEX_BYTES {
        return Err(ImageError::LargerThan {
            resource,
            limit: MAX_LAYOUT_INDEX_BYTES,
        });
    }
    let bytes = fs::read(path).map_err(reading)?;
    let error = |source| ImageError::Manifest { resource, source };
    let mut index: BTreeMap<String, Value> = serde_json::from_slice(&bytes).map_err(error)?;
    match index.remove(MANIFESTS) {
        Some(Value::Array(entries)) => Ok(entries),
        _ => Ok(Vec::new()),
    }
}
