//! OCI image layouts on disk, of images whose every part the test decides.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The label, with its value, of images that have their catalog in `/configs`.
pub const CONFIGS: (&str, &str) = (
    "operators.operatorframework.io.index.configs.v1",
    "/configs",
);

/// An OCI image layout in a folder.
pub struct Layout(PathBuf);

impl Layout {
    /// Creates an empty layout, and its folder.
    pub fn new(folder: PathBuf) -> Self {
        fs::create_dir_all(folder.join("blobs/sha256")).expect("folders can be made");
        fs::write(
            folder.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )
        .expect("files can be written");
        let layout = Self(folder);
        layout.write_index(&[]);
        layout
    }

    /// Opens the layout that [`Self::new`] created in a folder.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Returns the source of an image by its name.
    pub fn source(&self, name: &str) -> String {
        format!("oci:{}:{name}", self.0.display())
    }

    /// Returns the source of an image by its digest.
    pub fn pinned(&self, digest: &str) -> String {
        format!("oci:{}@{digest}", self.0.display())
    }

    /// Returns the path of a blob.
    pub fn blob(&self, digest: &str) -> PathBuf {
        self.0.join("blobs").join(digest.replace(':', "/"))
    }

    /// Writes an image of one layer with these files under a name, and returns its digest. An image
    /// that had the name loses it.
    pub fn image(&self, name: &str, labels: &[(&str, &str)], files: &[(&str, &str)]) -> String {
        self.layers(name, labels, &[archive(files)])
    }

    /// Writes an image as [`Self::image`] does, with these tar archives as its layers, lowest
    /// first.
    pub fn layers(&self, name: &str, labels: &[(&str, &str)], archives: &[Vec<u8>]) -> String {
        let layers = archives.iter().map(|archive| {
            let mut layer = GzEncoder::new(Vec::new(), Compression::default());
            layer.write_all(archive).expect("memory can be written");
            self.put(
                "application/vnd.oci.image.layer.v1.tar+gzip",
                &layer.finish().expect("memory can be written"),
            )
        });
        let layers: Vec<_> = layers.collect();
        let diff_ids: Vec<_> = archives.iter().map(|archive| digest(archive)).collect();
        let labels: Value = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
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
        let mut manifest = self.put(
            "application/vnd.oci.image.manifest.v1+json",
            manifest.to_string().as_bytes(),
        );
        manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
        let mut manifests = self.manifests();
        manifests.retain(|other| other["annotations"] != manifest["annotations"]);
        let digest = manifest["digest"]
            .as_str()
            .expect("it has a digest")
            .to_owned();
        manifests.push(manifest);
        self.write_index(&manifests);
        digest
    }

    /// Writes a blob and returns its descriptor.
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

    /// Replaces the index atomically.
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
        archive
            .append_data(&mut header, path, text.as_bytes())
            .expect("memory can be written");
    }
    archive.into_inner().expect("memory can be written")
}

/// Returns the digest of bytes as it is written: `sha256:` and hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    fbc_grammar::Digest::new(Sha256::digest(bytes).into()).to_string()
}
