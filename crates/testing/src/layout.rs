//! OCI layouts on disk, written byte by byte: images whose every part a test decides.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The label that says where the catalog of an image is.
pub const CONFIGS: (&str, &str) = ("operators.operatorframework.io.index.configs.v1", "/configs");

/// A layout in a folder.
pub struct Layout(PathBuf);

impl Layout {
    /// An empty layout in a folder that is made.
    pub fn new(folder: PathBuf) -> Self {
        fs::create_dir_all(folder.join("blobs/sha256")).expect("folders can be made");
        fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).expect("files can be written");
        let layout = Self(folder);
        layout.write_index(&[]);
        layout
    }

    /// The layout that was made in this folder.
    pub fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The source that names one of its images.
    pub fn source(&self, name: &str) -> String {
        format!("oci:{}:{name}", self.0.display())
    }

    /// The source that names one of its images for ever.
    pub fn pinned(&self, digest: &str) -> String {
        format!("oci:{}@{digest}", self.0.display())
    }

    /// Where a blob is.
    pub fn blob(&self, digest: &str) -> PathBuf {
        self.0.join("blobs").join(digest.replace(':', "/"))
    }

    /// Puts an image of one layer with these files under a name, in place of the one that had it, and gives its digest.
    pub fn image(&self, name: &str, labels: &[(&str, &str)], files: &[(&str, &str)]) -> String {
        self.layers(name, labels, &[archive(files)])
    }

    /// The same with these archives as its layers, lowest first.
    pub fn layers(&self, name: &str, labels: &[(&str, &str)], archives: &[Vec<u8>]) -> String {
        let layers = archives.iter().map(|archive| {
            let mut layer = GzEncoder::new(Vec::new(), Compression::default());
            layer.write_all(archive).expect("memory can be written");
            self.put("application/vnd.oci.image.layer.v1.tar+gzip", &layer.finish().expect("memory can be written"))
        });
        let layers: Vec<_> = layers.collect();
        let diff_ids: Vec<_> = archives.iter().map(|archive| digest(archive)).collect();
        let labels: Value = labels.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": { "Labels": labels },
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self.put("application/vnd.oci.image.config.v1+json", config.to_string().as_bytes()),
            "layers": layers,
        });
        let mut manifest = self.put("application/vnd.oci.image.manifest.v1+json", manifest.to_string().as_bytes());
        manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
        let mut manifests = self.manifests();
        manifests.retain(|other| other["annotations"] != manifest["annotations"]);
        let digest = manifest["digest"].as_str().expect("it has a digest").to_owned();
        manifests.push(manifest);
        self.write_index(&manifests);
        digest
    }

    /// Adds a blob and describes it.
    fn put(&self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = digest(bytes);
        fs::write(self.blob(&digest), bytes).expect("files can be written");
        json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() })
    }

    fn manifests(&self) -> Vec<Value> {
        let index = fs::read(self.0.join("index.json")).expect("the index can be read");
        let mut index: Value = serde_json::from_slice(&index).expect("the index is JSON");
        serde_json::from_value(index["manifests"].take()).expect("the index has manifests")
    }

    /// A reader sees the index before or after, never in between.
    fn write_index(&self, manifests: &[Value]) {
        let new = self.0.join("index.json.new");
        let index = json!({ "schemaVersion": 2, "manifests": manifests });
        fs::write(&new, index.to_string()).expect("files can be written");
        fs::rename(new, self.0.join("index.json")).expect("files can be renamed");
    }
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).expect("memory can be written");
    }
    archive.into_inner().expect("memory can be written")
}

/// The digest of these bytes, as it is written.
pub fn digest(bytes: &[u8]) -> String {
    fbc::Digest::new(Sha256::digest(bytes).into()).to_string()
}
