//! Packs the files of a catalog into an image whose digest depends on nothing but their paths and
//! bytes.
//!
//! The image has one layer with the files in `/configs` and no program, so that it is the same for
//! every platform: an index names it once for each. catalogd unpacks it, and OLM v0 serves it where
//! a `CatalogSource` extracts the content.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use content_digest::{DigestHasher, digest};
use fbc_grammar::Digest;
use flate2::Compression;
use flate2::write::GzEncoder;
use oci_client::manifest::{
    IMAGE_CONFIG_MEDIA_TYPE, IMAGE_LAYER_GZIP_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
};
use serde_json::{Value, json};
use tar::{EntryType, Header};

use crate::layout::{INDEX_FILE, REF_NAME};
use crate::unpack::CONFIGS_LABEL;
use crate::{ImageError, io_error};

/// Architectures of the index: those that OLM itself is built for.
const ARCHITECTURES: [&str; 4] = ["amd64", "arm64", "ppc64le", "s390x"];

/// Directory of the image that holds the catalog, without the slash in front.
const CONFIGS: &str = "configs";

/// An image that is ready to be pushed.
#[derive(Debug)]
pub struct PackedImage {
    /// Digest of the index: that of the image.
    pub digest: Digest,
    pub(crate) layer: PackedLayer,
    /// Configs and manifests, one of each for each platform.
    pub(crate) configs: Vec<Vec<u8>>,
    pub(crate) manifests: Vec<Vec<u8>>,
    pub(crate) index: Vec<u8>,
}

/// The layer, in a file of the caller's folder.
#[derive(Debug)]
pub(crate) struct PackedLayer {
    pub(crate) path: PathBuf,
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

/// Packs files one after the other.
pub struct Packer {
    path: PathBuf,
    archive: tar::Builder<Hashed<GzEncoder<Hashed<BufWriter<File>>>>>,
    folders: BTreeSet<String>,
}

/// Counts and hashes what is written.
struct Hashed<W> {
    inner: W,
    hash: DigestHasher,
    bytes: u64,
}

impl Packer {
    /// Creates an empty layer, in a file of this folder, which the caller removes.
    pub fn new(folder: &Path) -> Result<Self, ImageError> {
        let path = folder.join("layer.tar.gz");
        let file = File::create(&path).map_err(|source| io_error("create", &path, source))?;
        // The header of gzip has neither a time nor a name.
        let compressed = GzEncoder::new(Hashed::new(BufWriter::new(file)), Compression::default());
        Ok(Self {
            path,
            archive: tar::Builder::new(Hashed::new(compressed)),
            folders: BTreeSet::new(),
        })
    }

    /// Appends a file by its path from the root of the catalog. The content must have the length
    /// that is given.
    pub fn add(&mut self, path: &str, bytes: u64, content: impl Read) -> Result<(), ImageError> {
        let path = format!("{CONFIGS}/{path}");
        self.append(&path, bytes, content)
            .map_err(|source| io_error("pack", Path::new(&path), source))
    }

    fn append(&mut self, path: &str, bytes: u64, content: impl Read) -> io::Result<()> {
        for (end, _) in path.match_indices('/') {
            let folder = &path[..=end];
            if self.folders.insert(folder.to_owned()) {
                self.archive.append_data(
                    &mut header(EntryType::Directory, 0o755, 0),
                    folder,
                    io::empty(),
                )?;
            }
        }
        let mut content = Counted {
            inner: content.take(bytes),
            bytes: 0,
        };
        self.archive.append_data(
            &mut header(EntryType::Regular, 0o644, bytes),
            path,
            &mut content,
        )?;
        let is_whole = content.bytes == bytes && content.inner.into_inner().read(&mut [0])? == 0;
        if is_whole {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "it does not have {bytes} bytes any more"
            )))
        }
    }

    /// Finishes the layer, and describes it.
    pub fn finish(self) -> Result<PackedImage, ImageError> {
        let Self { path, archive, .. } = self;
        let finished = archive.into_inner().and_then(|archive| {
            let (encoder, diff_id, _) = archive.finish();
            let (mut file, digest, bytes) = encoder.finish()?.finish();
            file.flush()?;
            Ok((diff_id, digest, bytes))
        });
        let (diff_id, digest, bytes) =
            finished.map_err(|source| io_error("write", &path, source))?;
        Ok(PackedImage::new(
            PackedLayer {
                path,
                digest,
                bytes,
            },
            diff_id,
        ))
    }
}

impl PackedImage {
    fn new(layer: PackedLayer, diff_id: Digest) -> Self {
        let described = json!({
            "mediaType": IMAGE_LAYER_GZIP_MEDIA_TYPE, "digest": layer.digest.to_string(), "size": layer.bytes,
        });
        let mut configs = Vec::new();
        let mut manifests = Vec::new();
        let mut entries = Vec::new();
        for architecture in ARCHITECTURES {
            let config = text(&json!({
                "architecture": architecture,
                "os": "linux",
                "config": { "Labels": { (CONFIGS_LABEL): format!("/{CONFIGS}") } },
                "rootfs": { "type": "layers", "diff_ids": [diff_id.to_string()] },
            }));
            let manifest = text(&json!({
                "schemaVersion": 2,
                "mediaType": OCI_IMAGE_MEDIA_TYPE,
                "config": descriptor(IMAGE_CONFIG_MEDIA_TYPE, &config),
                "layers": [described],
            }));
            let mut entry = descriptor(OCI_IMAGE_MEDIA_TYPE, &manifest);
            entry["platform"] = json!({ "architecture": architecture, "os": "linux" });
            entries.push(entry);
            configs.push(config);
            manifests.push(manifest);
        }
        let index = text(
            &json!({ "schemaVersion": 2, "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE, "manifests": entries }),
        );
        Self {
            digest: digest(&index),
            layer,
            configs,
            manifests,
            index,
        }
    }
}

/// Writing as an OCI layout.
impl PackedImage {
    /// Writes the image as an OCI layout to an empty folder, under a name if there is one (the
    /// annotation `org.opencontainers.image.ref.name`).
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_layout(&self, folder: &Path, name: Option<&str>) -> Result<(), ImageError> {
        let blobs = folder.join("blobs").join("sha256");
        fs::create_dir_all(&blobs).map_err(|source| io_error("create", &blobs, source))?;
        let write = |path: PathBuf, bytes: &[u8]| {
            fs::write(&path, bytes).map_err(|source| io_error("write", &path, source))
        };
        let documents = self.configs.iter().chain(&self.manifests);
        for bytes in documents.chain([&self.index]) {
            write(blobs.join(digest(bytes).hex()), bytes)?;
        }
        let layer = blobs.join(self.layer.digest.hex());
        fs::copy(&self.layer.path, &layer).map_err(|source| io_error("write", &layer, source))?;

        let mut entry = descriptor(OCI_IMAGE_INDEX_MEDIA_TYPE, &self.index);
        if let Some(name) = name {
            entry["annotations"] = json!({ (REF_NAME): name });
        }
        let index = json!({
            "schemaVersion": 2, "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE, "manifests": [entry],
        });
        write(folder.join(INDEX_FILE), &text(&index))?;
        let version = json!({ "imageLayoutVersion": "1.0.0" });
        write(folder.join("oci-layout"), &text(&version))
    }
}

/// A reader that counts.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<W> Hashed<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            hash: DigestHasher::new(),
            bytes: 0,
        }
    }

    fn finish(self) -> (W, Digest, u64) {
        (self.inner, self.hash.finish(), self.bytes)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns the header of an entry without owner and time.
//
// The digest of an image must depend on the files alone.
fn header(kind: EntryType, mode: u32, bytes: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(bytes).to_string(), "size": bytes.len() })
}

fn text(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(files: &[(&str, &str)]) -> Result<Digest, ImageError> {
        let folder = tempfile::tempdir().unwrap();
        let mut packer = Packer::new(folder.path())?;
        for (path, text) in files {
            packer.add(path, text.len() as u64, text.as_bytes())?;
        }
        Ok(packer.finish()?.digest)
    }

    #[test]
    fn the_digest_depends_on_paths_and_bytes_alone() {
        let files = [("a/catalog.json", "{}"), ("a/b/catalog.json", "[]")];
        assert_eq!(packed(&files).unwrap(), packed(&files).unwrap());
        assert_ne!(
            packed(&files).unwrap(),
            packed(&[files[0], ("a/c/catalog.json", "[]")]).unwrap()
        );
        assert_ne!(
            packed(&files).unwrap(),
            packed(&[files[0], ("a/b/catalog.json", "{}")]).unwrap()
        );
    }

    #[test]
    fn a_file_that_grows_or_shrinks_while_it_is_packed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (bytes, content) in [(3, "ab"), (1, "ab")] {
            let mut packer = Packer::new(folder.path()).unwrap();
            let error = packer.add("a", bytes, content.as_bytes()).unwrap_err();
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert_eq!(error.to_string(), "cannot pack `configs/a`");
            assert_eq!(source, format!("it does not have {bytes} bytes any more"));
        }
    }
}
