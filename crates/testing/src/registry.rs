//! A real registry, Debian's `docker-registry`, and images to push to it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::{Folders, digest, eventually, exchange};

/// Ports of registries: below the range from which Linux assigns ephemeral ports.
const PORTS: Range<u16> = 20_000..30_000;

/// Name of the label that says in which directory of an image its catalog is.
pub const CONFIGS_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// A registry on a port of its own, over a folder of its own; it ends when it is dropped.
pub struct Registry {
    child: Child,
    /// Address where the registry listens, with plain HTTP.
    pub address: SocketAddr,
    /// Configuration and storage of the registry.
    folders: Folders,
}

/// An image or an index of images to push: its manifest and everything that the manifest refers to.
#[derive(Clone)]
pub struct RegistryImage {
    media_type: String,
    /// Manifest as JSON text; its digest is that of the image.
    pub manifest: Vec<u8>,
    blobs: Vec<Vec<u8>>,
    manifests: Vec<RegistryImage>,
}

/// A layer of an artifact.
#[derive(Clone)]
pub struct ArtifactLayer {
    media_type: String,
    annotations: serde_json::Map<String, Value>,
    bytes: Vec<u8>,
}

/// The family of media types that an image is described with.
#[derive(Clone, Copy)]
pub enum MediaTypes {
    /// `application/vnd.oci.image.*`.
    Oci,
    /// `application/vnd.docker.*`, schema 2.
    Docker,
}

/// Returns a command that runs another program. Panics with how to install it when it is missing.
pub fn tool_command(name: &str) -> Command {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {name}")])
        .stdout(Stdio::null())
        .status();
    let there = found.expect("there is a shell").success();
    assert!(
        there,
        "{name} is missing: run tests/setup.sh, or install it (Debian: apt-get install {name})"
    );
    Command::new(name)
}

impl Registry {
    /// Starts a registry without images, and waits until it accepts connections.
    #[must_use]
    pub fn start() -> Self {
        let folders = Folders::new();
        let storage = folders.text("storage");
        let (child, address) = eventually(|| {
            let address = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
            // Another registry that has the port would accept connections before this one ends.
            if TcpStream::connect(address).is_ok() {
                return None;
            }
            folders.write(
                "config.yml",
                format!(
                    "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {storage}}}}}\n\
                     http: {{addr: \"{address}\"}}\n"
                ),
            );
            // A registry ends by itself when the port is taken.
            Some((serve(&folders, address)?, address))
        });
        Self {
            child,
            address,
            folders,
        }
    }

    /// Stops the registry, so that connections to its address are refused until [`Self::resume`].
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts the registry again at the same address, with the same images.
    pub fn resume(&mut self) {
        self.child = eventually(|| serve(&self.folders, self.address));
    }

    /// Pushes an image under a tag and returns its digest.
    pub fn push(&self, repository: &str, tag: &str, image: &RegistryImage) -> String {
        for manifest in &image.manifests {
            self.push(repository, &digest(&manifest.manifest), manifest);
        }
        for blob in &image.blobs {
            let location = self.send("POST", &format!("/v2/{repository}/blobs/uploads/"), "", &[]);
            let separator = if location.contains('?') { '&' } else { '?' };
            let target = format!("{location}{separator}digest={}", digest(blob));
            self.send("PUT", &target, "application/octet-stream", blob);
        }
        self.send(
            "PUT",
            &format!("/v2/{repository}/manifests/{tag}"),
            &image.media_type,
            &image.manifest,
        );
        digest(&image.manifest)
    }

    /// Sends a request of an upload and returns the path that its `Location` names.
    fn send(&self, method: &str, target: &str, media_type: &str, body: &[u8]) -> String {
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            self.address
        );
        let _ = write!(
            request,
            "content-type: {media_type}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let answer = exchange(self.address, &[request.as_bytes(), body].concat(), false);
        assert!(
            (200..300).contains(&answer.status),
            "{target}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        let location = answer
            .header("location")
            .expect("the registry names a location");
        let host = format!("http://{}", self.address);
        location.strip_prefix(&host).unwrap_or(&location).to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ArtifactLayer {
    /// Creates a layer of a media type, without annotations.
    pub fn new(media_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            media_type: media_type.to_owned(),
            annotations: serde_json::Map::new(),
            bytes: bytes.into(),
        }
    }

    /// Creates the layer of a file as oras pushes it: with its path as the title, and with the media
    /// type of an archive.
    pub fn file(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("application/vnd.oci.image.layer.v1.tar", bytes)
            .annotated("org.opencontainers.image.title", path)
    }

    /// Creates the layer of a directory as oras pushes it: an archive that is to be unpacked, with
    /// the digest of its uncompressed bytes.
    pub fn directory(path: &str, archive: &[u8]) -> Self {
        let media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
        Self::new(media_type, gzip(archive))
            .annotated("org.opencontainers.image.title", path)
            .annotated("io.deis.oras.content.unpack", "true")
            .annotated("io.deis.oras.content.digest", &digest(archive))
    }

    /// Returns the layer with a further annotation.
    #[must_use]
    pub fn annotated(mut self, name: &str, value: &str) -> Self {
        self.annotations.insert(name.to_owned(), value.into());
        self
    }
}

impl RegistryImage {
    /// Creates an image with these labels, and these archives as its layers, lowest first; it
    /// compresses them.
    pub fn image(types: MediaTypes, layers: &[Vec<u8>], labels: &[(&str, &str)]) -> Self {
        let [manifest, config, layer] = match types {
            MediaTypes::Oci => ["manifest.v1+json", "config.v1+json", "layer.v1.tar+gzip"]
                .map(|name| format!("application/vnd.oci.image.{name}")),
            MediaTypes::Docker => [
                "application/vnd.docker.distribution.manifest.v2+json",
                "application/vnd.docker.container.image.v1+json",
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
            ]
            .map(str::to_owned),
        };
        let labels: serde_json::Map<_, _> = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let diff_ids: Vec<_> = layers.iter().map(|tar| digest(tar)).collect();
        let rootfs = json!({ "type": "layers", "diff_ids": diff_ids });
        let text = json!({
            "architecture": "amd64", "os": "linux", "config": { "Labels": labels }, "rootfs": rootfs,
        });
        let compressed: Vec<_> = layers.iter().map(|tar| gzip(tar)).collect();
        Self::from_parts(
            &manifest,
            &config,
            text.to_string().into_bytes(),
            &layer,
            compressed,
        )
    }

    /// Creates an artifact of a type, which has an empty config, with these layers.
    #[must_use]
    pub fn artifact_of(artifact_type: &str, layers: &[ArtifactLayer]) -> Self {
        let empty = descriptor("application/vnd.oci.empty.v1+json", b"{}");
        let described = layers.iter().map(|layer| {
            let mut described = descriptor(&layer.media_type, &layer.bytes);
            described["annotations"] = layer.annotations.clone().into();
            described
        });
        let media_type = "application/vnd.oci.image.manifest.v1+json".to_owned();
        let text = json!({
            "schemaVersion": 2, "mediaType": media_type, "artifactType": artifact_type,
            "config": empty, "layers": described.collect::<Vec<_>>(),
        });
        let blobs = layers.iter().map(|layer| layer.bytes.clone());
        Self {
            media_type,
            manifest: text.to_string().into_bytes(),
            blobs: std::iter::once(b"{}".to_vec()).chain(blobs).collect(),
            manifests: Vec::new(),
        }
    }

    fn from_parts(
        manifest: &str,
        config: &str,
        config_bytes: Vec<u8>,
        layer: &str,
        layers: Vec<Vec<u8>>,
    ) -> Self {
        let media_type = manifest.to_owned();
        let described: Vec<_> = layers
            .iter()
            .map(|bytes| descriptor(layer, bytes))
            .collect();
        let config = descriptor(config, &config_bytes);
        let text = json!({ "schemaVersion": 2, "mediaType": manifest, "config": config, "layers": described });
        let blobs = [vec![config_bytes], layers].concat();
        Self {
            media_type,
            manifest: text.to_string().into_bytes(),
            blobs,
            manifests: Vec::new(),
        }
    }

    /// Creates an artifact that refers to an image, such as a signature, with these bytes.
    #[must_use]
    pub fn referrer(subject: &Self, kind: &str, bytes: &[u8]) -> Self {
        let mut artifact = Self::from_parts(
            "application/vnd.oci.image.manifest.v1+json",
            "application/vnd.oci.empty.v1+json",
            b"{}".to_vec(),
            kind,
            vec![bytes.to_vec()],
        );
        let mut manifest: Value =
            serde_json::from_slice(&artifact.manifest).expect("it is a manifest");
        manifest["artifactType"] = kind.into();
        manifest["subject"] = descriptor(&subject.media_type, &subject.manifest);
        artifact.manifest = manifest.to_string().into_bytes();
        artifact
    }

    /// Creates the attachment of payloads, as cosign 2 pushes it. The last has the annotations.
    #[must_use]
    pub fn signatures(payloads: Vec<Vec<u8>>, annotations: &[(&str, &str)]) -> Self {
        let last = payloads.len() - 1;
        let mut attachment = Self::from_parts(
            "application/vnd.oci.image.manifest.v1+json",
            "application/vnd.oci.image.config.v1+json",
            b"{}".to_vec(),
            "application/vnd.dev.cosign.simplesigning.v1+json",
            payloads,
        );
        let mut manifest: Value =
            serde_json::from_slice(&attachment.manifest).expect("it is a manifest");
        for (name, value) in annotations {
            manifest["layers"][last]["annotations"][name] = (*value).into();
        }
        attachment.manifest = manifest.to_string().into_bytes();
        attachment
    }

    /// Creates the index of artifacts that refer to an image, for registries that do not list them.
    #[must_use]
    pub fn referrers(artifacts: &[&Self]) -> Self {
        let entries = artifacts.iter().map(|artifact| {
            let mut entry = descriptor(&artifact.media_type, &artifact.manifest);
            let manifest: Value =
                serde_json::from_slice(&artifact.manifest).expect("it is a manifest");
            entry["artifactType"] = manifest["artifactType"].clone();
            entry
        });
        let media_type = "application/vnd.oci.image.index.v1+json".to_owned();
        let text = json!({
            "schemaVersion": 2, "mediaType": media_type, "manifests": entries.collect::<Vec<_>>(),
        });
        Self {
            media_type,
            manifest: text.to_string().into_bytes(),
            blobs: Vec::new(),
            manifests: artifacts
                .iter()
                .map(|artifact| (*artifact).clone())
                .collect(),
        }
    }

    /// Creates an index of images, each with its platform, such as `linux/amd64`.
    pub fn index(images: &[(&str, &Self)]) -> Self {
        let manifests = images.iter().map(|(platform, image)| {
            let (os, architecture) = platform.split_once('/').expect("a platform has two parts");
            let mut entry = descriptor(&image.media_type, &image.manifest);
            entry["platform"] = json!({ "os": os, "architecture": architecture });
            entry
        });
        let media_type = "application/vnd.oci.image.index.v1+json".to_owned();
        let text = json!({ "schemaVersion": 2, "mediaType": media_type, "manifests": manifests.collect::<Vec<_>>() });
        let manifests = images.iter().map(|(_, image)| (*image).clone()).collect();
        Self {
            media_type,
            manifest: text.to_string().into_bytes(),
            blobs: Vec::new(),
            manifests,
        }
    }

    /// Returns the digest of the manifest.
    pub fn digest(&self) -> String {
        digest(&self.manifest)
    }

    /// Returns the compressed layers, lowest first.
    pub fn layers(&self) -> &[Vec<u8>] {
        // The config comes first.
        &self.blobs[1..]
    }
}

/// Starts a registry as it is configured in these folders, and waits until it listens at this
/// address or ended.
fn serve(folders: &Folders, address: SocketAddr) -> Option<Child> {
    let mut command = tool_command("docker-registry");
    command
        .arg("serve")
        .arg(folders.path("config.yml"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("the registry can be started");
    let is_up = eventually(|| match child.try_wait().expect("it is a child") {
        Some(_) => Some(false),
        None => TcpStream::connect(address).ok().map(|_| true),
    });
    is_up.then_some(child)
}

/// Returns a tar archive of these files, each with its path and its content.
pub fn tar_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, path, *bytes)
            .expect("it fits into a tar");
    }
    builder.into_inner().expect("memory takes it")
}

/// Returns a port outside of the ephemeral range, for servers that cannot say which port they took.
/// No two calls of a process give the same one until a hundred later, and processes that test at
/// the same time mostly get others.
pub fn fixed_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let block = u16::try_from(std::process::id() % 100).expect("it is less than 100");
    PORTS.start + block * 100 + TAKEN.fetch_add(1, Ordering::SeqCst) % 100
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("memory takes it")
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(bytes), "size": bytes.len() })
}
