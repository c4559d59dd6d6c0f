//! The folder with the files of images, each under the digest of its image.
//!
//! It is a cache: a file that is damaged is read as if it were absent, and files that were not read
//! for the longest time are evicted beyond [`MAX_KEPT_BYTES`].

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fbc_grammar::Digest;
use install_preview::{BundleDirectory, BundleManifestFile};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// Maximum size of all kept files together, in bytes. They do not count towards the quota of the
/// store.
pub const MAX_KEPT_BYTES: u64 = 256 << 20;

/// Extension of the names of kept files.
const EXTENSION: &str = "json";

/// The folder with kept files.
#[derive(Debug)]
pub(crate) struct KeptBundles {
    folder: PathBuf,
    max_bytes: u64,
}

/// The content of a kept file, behind a line with its digest.
#[derive(Serialize, Deserialize)]
struct KeptDirectory {
    manifests: Vec<KeptFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest_folder: Option<String>,
    metadata: Vec<KeptFile>,
}

#[derive(Serialize, Deserialize)]
struct KeptFile {
    name: String,
    /// Bytes in base64.
    data: String,
}

impl KeptBundles {
    pub(crate) fn new(folder: PathBuf, max_bytes: u64) -> Self {
        Self { folder, max_bytes }
    }

    /// Reads the files of an image; `None` if they are not kept, or damaged.
    pub(crate) fn read(&self, digest: &Digest) -> Option<BundleDirectory> {
        let mut file = File::open(self.path(digest)).ok()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        let line = text.iter().position(|byte| *byte == b'\n')?;
        let body = &text[line + 1..];
        if content_digest::digest(body).hex().as_bytes() != &text[..line] {
            return None;
        }
        // The time of the last read decides on eviction.
        let _ = file.set_modified(SystemTime::now());
        let kept: KeptDirectory = serde_json::from_slice(body).ok()?;
        Some(BundleDirectory {
            manifests: decode(kept.manifests)?,
            manifest_folder: kept.manifest_folder,
            metadata: decode(kept.metadata)?,
        })
    }

    /// Writes the files of an image, and evicts others if all together are too large.
    pub(crate) fn write(&self, digest: &Digest, directory: &BundleDirectory) -> io::Result<()> {
        let kept = KeptDirectory {
            manifests: encode(&directory.manifests),
            manifest_folder: directory.manifest_folder.clone(),
            metadata: encode(&directory.metadata),
        };
        let body = serde_json::to_vec(&kept)?;
        fs::create_dir_all(&self.folder)?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        writeln!(file, "{}", content_digest::digest(&body).hex())?;
        file.write_all(&body)?;
        file.persist(self.path(digest))?;
        self.evict()
    }

    /// Removes the files that were not read for the longest time.
    fn evict(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            // Also those that a kill left unfinished.
            files.push((metadata.modified()?, metadata.len(), entry.path()));
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in &files {
            if bytes <= self.max_bytes {
                break;
            }
            fs::remove_file(path)?;
            bytes -= length;
        }
        Ok(())
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.hex()).with_extension(EXTENSION)
    }
}

fn encode(files: &[BundleManifestFile<'_>]) -> Vec<KeptFile> {
    let kept = files.iter().map(|file| KeptFile {
        name: file.name.to_string(),
        data: BASE64_STANDARD.encode(&file.bytes),
    });
    kept.collect()
}

fn decode(files: Vec<KeptFile>) -> Option<Vec<BundleManifestFile<'static>>> {
    let read = files.into_iter().map(|file| {
        Some(BundleManifestFile {
            name: file.name.into(),
            bytes: BASE64_STANDARD.decode(file.data).ok()?.into(),
        })
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(text: &str) -> BundleDirectory {
        let file = |name: &str| BundleManifestFile {
            name: name.to_owned().into(),
            bytes: text.as_bytes().to_vec().into(),
        };
        BundleDirectory {
            manifests: vec![file("csv.yaml")],
            manifest_folder: Some("nested".to_owned()),
            metadata: vec![file("annotations.yaml")],
        }
    }

    fn digest(byte: u8) -> Digest {
        Digest::new([byte; 32])
    }

    #[test]
    fn the_files_of_an_image_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptBundles::new(folder.path().join("bundles"), MAX_KEPT_BYTES);
        assert_eq!(kept.read(&digest(1)), None);
        kept.write(&digest(1), &directory("a")).unwrap();
        assert_eq!(kept.read(&digest(1)), Some(directory("a")));
        assert_eq!(kept.read(&digest(2)), None);
    }

    #[test]
    fn damaged_files_are_as_if_they_were_absent() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptBundles::new(folder.path().to_owned(), MAX_KEPT_BYTES);
        kept.write(&digest(1), &directory("a")).unwrap();
        let path = kept.path(&digest(1));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert_eq!(kept.read(&digest(1)), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(kept.read(&digest(1)), None, "{at} bytes");
        }
    }

    #[test]
    fn files_that_were_not_read_for_the_longest_time_are_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let unlimited = KeptBundles::new(folder.path().to_owned(), u64::MAX);
        for byte in 1..=3 {
            unlimited.write(&digest(byte), &directory("a")).unwrap();
            let file = File::open(unlimited.path(&digest(byte))).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(byte.into());
            file.set_modified(time).unwrap();
        }
        let length = fs::metadata(unlimited.path(&digest(1))).unwrap().len();
        assert!(unlimited.read(&digest(1)).is_some());
        let kept = KeptBundles::new(folder.path().to_owned(), 3 * length);
        kept.write(&digest(4), &directory("a")).unwrap();
        let read = [1, 2, 3, 4].map(|byte| kept.read(&digest(byte)).is_some());
        assert_eq!(read, [true, false, true, true]);
    }
}
