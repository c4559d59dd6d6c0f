//! OCI image layouts on disk: a directory, or a tar archive of one, with an index and blobs.
//!
//! Blobs are verified like those of a registry.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use oci_client::manifest::{ImageIndexEntry, OciImageIndex};

use super::limits::PullLimits;
use super::manifest::{
    self, BlobDescriptor, ImageDescription, MAX_NESTED_INDEXES, ManifestOrIndex,
};
use super::signatures::ImageManifests;
use super::{ImageError, LayoutReference, LayoutSelector, io_error};

/// Name of the file that lists the images of a layout.
pub(crate) const INDEX_FILE: &str = "index.json";

/// Annotation with the name of an index entry.
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// Maximum length in bytes of the list of the images of a layout that images are copied from or to.
pub const MAX_LAYOUT_INDEX_BYTES: u64 = 64 << 20;

/// Maximum number of entries of a tar archive, whose table of files is held in memory.
pub const MAX_LAYOUT_ENTRIES: usize = 10_000;

/// Size of the copy buffer in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// An opened layout.
#[derive(Debug)]
pub(super) struct OpenLayout {
    path: PathBuf,
    format: LayoutFormat,
}

#[derive(Debug)]
enum LayoutFormat {
    Directory,
    /// A tar archive, with the place of each of its files.
    Tar(BTreeMap<String, FileSpan>),
}

/// The place of a file in a tar archive.
#[derive(Clone, Copy, Debug)]
struct FileSpan {
    start: u64,
    bytes: u64,
}

impl OpenLayout {
    /// Opens a layout. Reads the table of files if it is a tar archive.
    pub(super) fn open(layout: &LayoutReference) -> Result<Self, ImageError> {
        let path = layout.path().to_owned();
        let metadata =
            std::fs::metadata(&path).map_err(|source| io_error("open", &path, source))?;
        let format = if metadata.is_dir() {
            LayoutFormat::Directory
        } else {
            LayoutFormat::Tar(read_tar_files(&path, MAX_LAYOUT_ENTRIES)?)
        };
        Ok(Self { path, format })
    }

    /// Resolves a reference to an image of the layout.
    pub(super) fn resolve(
        &self,
        layout: &LayoutReference,
        limits: &PullLimits,
    ) -> Result<ImageDescription, ImageError> {
        let resource = format!("`{layout}`");
        let digest = self.selected_digest(layout, limits)?;
        let mut bytes = self.read_verified(digest, limits.manifest_bytes)?;
        let mut platform = None;
        let mut parent = None;
        for _ in 0..=MAX_NESTED_INDEXES {
            let index = match ManifestOrIndex::parse(&bytes, &resource)? {
                ManifestOrIndex::Image(image) => {
                    image.check(&resource, limits)?;
                    let config = image
                        .config
                        .map(|config| self.read_verified(config.digest, config.bytes))
                        .transpose()?;
                    let (kind, layers) = image.describe(config.as_deref(), &resource)?;
                    return Ok(ImageDescription {
                        digest,
                        platform,
                        kind,
                        layers,
                        manifests: ImageManifests {
                            manifest: bytes,
                            index: parent,
                        },
                    });
                }
                ManifestOrIndex::Index(index) => index,
            };
            let selected = manifest::select(&index, &resource)?;
            let manifest = self.read_verified(selected.manifest.digest, limits.manifest_bytes)?;
            parent = Some(std::mem::replace(&mut bytes, manifest));
            platform = selected.platform.or(platform);
        }
        Err(ImageError::NestedIndexes(layout.to_string()))
    }

    /// Returns the digests of the images and other manifests that have a name, by name.
    pub(super) fn names(&self) -> Result<BTreeMap<String, Digest>, ImageError> {
        let entries = self.entries()?.into_iter();
        let mut names = BTreeMap::new();
        for entry in entries {
            let name = entry
                .annotations
                .and_then(|mut annotations| annotations.remove(REF_NAME));
            if let Some(name) = name {
                names.insert(name, manifest::parse_digest(&entry.digest)?);
            }
        }
        Ok(names)
    }

    fn entries(&self) -> Result<Vec<ImageIndexEntry>, ImageError> {
        let Some(index) = self.open_file(INDEX_FILE)? else {
            return Err(ImageError::NotALayout(self.path.clone()));
        };
        let resource = format!("`{}`", self.path.join(INDEX_FILE).display());
        let index = read_limited(index, MAX_LAYOUT_INDEX_BYTES, &resource, &self.path)?;
        let error = |source| ImageError::Manifest { resource, source };
        let index: OciImageIndex = serde_json::from_slice(&index).map_err(error)?;
        Ok(index.manifests)
    }

    /// Returns the path of the directory or archive.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies a blob to a new file and verifies it.
    //
    // It is copied while it is verified, so that the unpacked bytes are the verified ones even if
    // another program changes the layout meanwhile.
    pub(super) fn copy(&self, blob: BlobDescriptor, to: &Path) -> Result<(), ImageError> {
        let (name, mut from) = self.open_blob(blob.digest)?;
        let mut file = File::create(to).map_err(|source| io_error("create", to, source))?;
        let mut hash = DigestHasher::new();
        let mut copied = 0;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let read = from
                .read(&mut buffer)
                .map_err(|source| io_error("read", &self.path.join(&name), source))?;
            if read == 0 || copied > blob.bytes {
                break;
            }
            copied += read as u64;
            hash.update(&buffer[..read]);
            file.write_all(&buffer[..read])
                .map_err(|source| io_error("write", to, source))?;
        }
        let resource = format!("the blob {}", blob.digest);
        let location = self.path.display().to_string();
        if copied != blob.bytes {
            let actual = if copied > blob.bytes {
                "more".to_owned()
            } else {
                copied.to_string()
            };
            return Err(ImageError::WrongSize {
                resource,
                location,
                expected: blob.bytes,
                actual,
            });
        }
        let actual = hash.finish();
        if actual == blob.digest {
            Ok(())
        } else {
            Err(ImageError::WrongDigest {
                resource,
                location,
                expected: blob.digest,
                actual,
            })
        }
    }

    /// Returns the digest of the manifest or index that a reference selects.
    fn selected_digest(
        &self,
        layout: &LayoutReference,
        limits: &PullLimits,
    ) -> Result<Digest, ImageError> {
        if let LayoutSelector::Digest(digest) = layout.selector() {
            return Ok(*digest);
        }
        let Some(index) = self.open_file(INDEX_FILE)? else {
            return Err(ImageError::NotALayout(self.path.clone()));
        };
        let resource = format!("`{}`", self.path.join(INDEX_FILE).display());
        let index = read_limited(index, limits.manifest_bytes, &resource, &self.path)?;
        let error = |source| ImageError::Manifest { resource, source };
        let index: OciImageIndex = serde_json::from_slice(&index).map_err(error)?;
        let name_of = |entry: &ImageIndexEntry| {
            entry
                .annotations
                .as_ref()
                .and_then(|all| all.get(REF_NAME).cloned())
        };
        let is_selected = |entry: &&ImageIndexEntry| match layout.selector() {
            LayoutSelector::Name(name) => name_of(entry).as_ref() == Some(name),
            _ => true,
        };
        let found: Vec<_> = manifest::images(&index).filter(is_selected).collect();
        if let [one] = &found[..] {
            return manifest::parse_digest(&one.digest);
        }
        let names: Vec<_> = manifest::images(&index)
            .map(|entry| {
                name_of(entry).map_or(format!("@{}", entry.digest), |name| format!(":{name}"))
            })
            .collect();
        Err(ImageError::LayoutChoice {
            layout: layout.to_string(),
            found: found.len(),
            names: names.join(" "),
        })
    }

    /// Reads and verifies a blob of at most `limit` bytes.
    pub(super) fn read_verified(&self, digest: Digest, limit: u64) -> Result<Vec<u8>, ImageError> {
        let (name, file) = self.open_blob(digest)?;
        let resource = format!("`{name}` of `{}`", self.path.display());
        let bytes = read_limited(file, limit, &resource, &self.path)?;
        let actual = content_digest::digest(&bytes);
        if actual != digest {
            let resource = format!("the blob {digest}");
            let location = self.path.display().to_string();
            return Err(ImageError::WrongDigest {
                resource,
                location,
                expected: digest,
                actual,
            });
        }
        Ok(bytes)
    }

    /// Opens a blob, and returns its path in the layout for errors.
    fn open_blob(&self, digest: Digest) -> Result<(String, Box<dyn Read>), ImageError> {
        let name = format!("blobs/sha256/{}", digest.hex());
        let missing = || ImageError::NotFound {
            resource: format!("the blob {digest}"),
            location: self.path.display().to_string(),
        };
        let file = self.open_file(&name)?.ok_or_else(missing)?;
        Ok((name, file))
    }

    /// Opens a file of the layout; `None` if it does not exist.
    fn open_file(&self, name: &str) -> Result<Option<Box<dyn Read>>, ImageError> {
        match &self.format {
            LayoutFormat::Directory => {
                let path = self.path.join(name);
                match File::open(&path) {
                    Ok(file) => Ok(Some(Box::new(file))),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(io_error("open", &path, error)),
                }
            }
            LayoutFormat::Tar(entries) => {
                let Some(FileSpan { start, bytes }) = entries.get(name) else {
                    return Ok(None);
                };
                let mut file = File::open(&self.path)
                    .map_err(|source| io_error("open", &self.path, source))?;
                file.seek(SeekFrom::Start(*start))
                    .map_err(|source| io_error("read", &self.path, source))?;
                Ok(Some(Box::new(file.take(*bytes))))
            }
        }
    }
}

/// Reads the places of the regular files of a tar archive, by path.
fn read_tar_files(path: &Path, limit: usize) -> Result<BTreeMap<String, FileSpan>, ImageError> {
    let error = |source| io_error("read the tar", path, source);
    let mut archive =
        tar::Archive::new(File::open(path).map_err(|source| io_error("open", path, source))?);
    let mut files = BTreeMap::new();
    for (read, entry) in archive.entries_with_seek().map_err(error)?.enumerate() {
        if read >= limit {
            return Err(ImageError::TooManyEntries {
                path: path.to_owned(),
                limit,
            });
        }
        let entry = entry.map_err(error)?;
        if entry.header().entry_type().is_file() {
            let name = String::from_utf8_lossy(&entry.path_bytes())
                .trim_start_matches("./")
                .to_owned();
            files.insert(
                name,
                FileSpan {
                    start: entry.raw_file_position(),
                    bytes: entry.size(),
                },
            );
        }
    }
    Ok(files)
}

/// Reads a file of at most `limit` bytes.
fn read_limited(
    file: impl Read,
    limit: u64,
    resource: &str,
    path: &Path,
) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| io_error("read", path, source))?;
    if bytes.len() as u64 > limit {
        return Err(ImageError::LargerThan {
            resource: resource.to_owned(),
            limit,
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
