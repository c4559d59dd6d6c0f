//! OCI layouts on disk: a directory, or a tar of one, with an index and the blobs that it names.
//!
//! What is in it is verified as what a registry sends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fbc::Digest;
use oci_client::manifest::{ImageIndexEntry, OciImageIndex};
use sha2::{Digest as _, Sha256};

use super::manifest::{self, Blob, MAX_NESTED_INDEXES, Manifest};
use super::registries::PullLimits;
use super::resolved::Origin;
use super::{ImageError, LayoutReference, LayoutSelector, ResolvedImage, io_error};

/// The list of what is in a layout.
const INDEX: &str = "index.json";

/// By this annotation an entry of the list has a name.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// How many entries a tar may have: the list of them is held in memory.
pub const MAX_LAYOUT_ENTRIES: usize = 10_000;

/// How many bytes are copied at once.
const PIECE: usize = 64 * 1024;

/// A layout that was found.
#[derive(Debug)]
pub(super) struct OpenLayout {
    path: PathBuf,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Directory,
    /// Where the files of the tar begin, and how long they are.
    Tar(BTreeMap<String, Range>),
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    bytes: u64,
}

impl OpenLayout {
    /// Finds the files of a layout.
    pub(super) fn open(layout: &LayoutReference) -> Result<Self, ImageError> {
        let path = layout.path().to_owned();
        let metadata = std::fs::metadata(&path).map_err(|source| io_error("open", &path, source))?;
        let form = if metadata.is_dir() { Form::Directory } else { Form::Tar(entries(&path, MAX_LAYOUT_ENTRIES)?) };
        Ok(Self { path, form })
    }

    /// What the layout names now.
    pub(super) fn resolve(self, layout: &LayoutReference, limits: &PullLimits) -> Result<ResolvedImage, ImageError> {
        let what = format!("`{layout}`");
        let digest = self.chosen(layout, limits)?;
        let mut bytes = self.verified(digest, limits.manifest_bytes)?;
        let mut platform = None;
        for _ in 0..=MAX_NESTED_INDEXES {
            let index = match Manifest::parse(&bytes, &what)? {
                Manifest::Image(image) => {
                    image.check(&what, limits)?;
                    let config = image.config.map(|config| self.verified(config.digest, config.bytes)).transpose()?;
                    let (kind, layers) = image.describe(config.as_deref(), &what)?;
                    let pinned_reference = format!("oci:{}@{digest}", self.path.display());
                    let origin = Origin::Layout(Arc::new(self));
                    return Ok(ResolvedImage { digest, pinned_reference, platform, kind, layers, origin });
                }
                Manifest::Index(index) => index,
            };
            let choice = manifest::choose(&index, &what)?;
            bytes = self.verified(choice.manifest.digest, limits.manifest_bytes)?;
            platform = choice.platform.or(platform);
        }
        Err(ImageError::NestedIndexes(layout.to_string()))
    }

    /// Copies a blob into a new file and verifies it on the way.
    pub(super) fn copy(&self, blob: Blob, to: &Path) -> Result<(), ImageError> {
        let (name, mut from) = self.blob(blob.digest)?;
        let mut file = File::create(to).map_err(|source| io_error("create", to, source))?;
        let (mut hash, mut copied) = (Sha256::new(), 0);
        let mut piece = vec![0; PIECE];
        loop {
            let read = from.read(&mut piece).map_err(|source| io_error("read", &self.path.join(&name), source))?;
            if read == 0 || copied > blob.bytes {
                break;
            }
            copied += read as u64;
            hash.update(&piece[..read]);
            file.write_all(&piece[..read]).map_err(|source| io_error("write", to, source))?;
        }
        let (what, place) = (format!("the blob {}", blob.digest), self.path.display().to_string());
        if copied != blob.bytes {
            let actual = if copied > blob.bytes { "more".to_owned() } else { copied.to_string() };
            return Err(ImageError::WrongSize { what, place, expected: blob.bytes, actual });
        }
        let actual = Digest::new(hash.finalize().into());
        if actual == blob.digest {
            Ok(())
        } else {
            Err(ImageError::WrongDigest { what, place, expected: blob.digest, actual })
        }
    }

    /// The digest of the manifest or index that is meant.
    fn chosen(&self, layout: &LayoutReference, limits: &PullLimits) -> Result<Digest, ImageError> {
        if let LayoutSelector::Digest(digest) = layout.selector() {
            return Ok(*digest);
        }
        let Some(index) = self.open_file(INDEX)? else {
            return Err(ImageError::NotALayout(self.path.clone()));
        };
        let what = format!("`{}`", self.path.join(INDEX).display());
        let index = small(index, limits.manifest_bytes, &what, &self.path)?;
        let error = |source| ImageError::Manifest { what, source };
        let index: OciImageIndex = serde_json::from_slice(&index).map_err(error)?;
        let name_of = |entry: &ImageIndexEntry| entry.annotations.as_ref().and_then(|all| all.get(REF_NAME).cloned());
        let meant = |entry: &&ImageIndexEntry| match layout.selector() {
            LayoutSelector::Name(name) => name_of(entry).as_ref() == Some(name),
            _ => true,
        };
        let found: Vec<_> = manifest::images(&index).filter(meant).collect();
        if let [one] = &found[..] {
            return manifest::parse_digest(&one.digest);
        }
        let names: Vec<_> = manifest::images(&index)
            .map(|entry| name_of(entry).map_or(format!("@{}", entry.digest), |name| format!(":{name}")))
            .collect();
        Err(ImageError::LayoutChoice { layout: layout.to_string(), found: found.len(), names: names.join(" ") })
    }

    /// The bytes of a blob that has no more than so many.
    fn verified(&self, digest: Digest, limit: u64) -> Result<Vec<u8>, ImageError> {
        let (name, file) = self.blob(digest)?;
        let what = format!("`{name}` of `{}`", self.path.display());
        let bytes = small(file, limit, &what, &self.path)?;
        let actual = manifest::digest(&bytes);
        if actual != digest {
            let (what, place) = (format!("the blob {digest}"), self.path.display().to_string());
            return Err(ImageError::WrongDigest { what, place, expected: digest, actual });
        }
        Ok(bytes)
    }

    fn blob(&self, digest: Digest) -> Result<(String, Box<dyn Read>), ImageError> {
        let name = format!("blobs/sha256/{}", digest.hex());
        let missing =
            || ImageError::NotFound { what: format!("the blob {digest}"), place: self.path.display().to_string() };
        let file = self.open_file(&name)?.ok_or_else(missing)?;
        Ok((name, file))
    }

    /// Opens a file of the layout, if it has it.
    fn open_file(&self, name: &str) -> Result<Option<Box<dyn Read>>, ImageError> {
        match &self.form {
            Form::Directory => {
                let path = self.path.join(name);
                match File::open(&path) {
                    Ok(file) => Ok(Some(Box::new(file))),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(io_error("open", &path, error)),
                }
            }
            Form::Tar(entries) => {
                let Some(Range { start, bytes }) = entries.get(name) else { return Ok(None) };
                let mut file = File::open(&self.path).map_err(|source| io_error("open", &self.path, source))?;
                file.seek(SeekFrom::Start(*start)).map_err(|source| io_error("read", &self.path, source))?;
                Ok(Some(Box::new(file.take(*bytes))))
            }
        }
    }
}

/// Where the regular files of a tar are, by their paths.
fn entries(path: &Path, limit: usize) -> Result<BTreeMap<String, Range>, ImageError> {
    let error = |source| io_error("read the tar", path, source);
    let mut archive = tar::Archive::new(File::open(path).map_err(|source| io_error("open", path, source))?);
    let mut ranges = BTreeMap::new();
    for (read, entry) in archive.entries_with_seek().map_err(error)?.enumerate() {
        if read >= limit {
            return Err(ImageError::TooManyEntries { root: path.to_owned(), limit });
        }
        let entry = entry.map_err(error)?;
        if entry.header().entry_type().is_file() {
            let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
            ranges.insert(name, Range { start: entry.raw_file_position(), bytes: entry.size() });
        }
    }
    Ok(ranges)
}

/// All bytes of a file, if there are no more than so many.
fn small(file: impl Read, limit: u64, what: &str, path: &Path) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|source| io_error("read", path, source))?;
    if bytes.len() as u64 > limit {
        return Err(ImageError::LargerThan { what: what.to_owned(), limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
