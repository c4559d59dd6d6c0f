//! Bundles in images: their labels say where manifests and metadata are.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use edit::bundle::{BundleFile, BundleFiles, MAX_FILE_BYTES, Migration, RenderedBundle};
use images::unpack::{
    CatalogRoot, FileContent, Layer, UnpackLimits, Unpacked, UnpackedEntry, unpack,
};
use images::{ImageKind, ImageSource, Registries};
use loading::Source;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::args::RegistryArgs;
use crate::run::once;
use crate::run::registries::{RegistryAccess, needs_registry};

/// Labels with the directories of a bundle in its image.
const MANIFESTS_LABEL: &str = "operators.operatorframework.io.bundle.manifests.v1";
const METADATA_LABEL: &str = "operators.operatorframework.io.bundle.metadata.v1";

/// A pulled image with the labels of a bundle.
struct PulledBundle {
    labels: BTreeMap<String, String>,
    layers: Vec<Layer>,
    scratch: TempDir,
}

/// Bundles in images, which are pulled with one client.
pub(in crate::run) struct BundleImages<'a> {
    registries: &'a RegistryArgs,
    access: RegistryAccess,
    /// Connections of the client stay open in it between images.
    runtime: Runtime,
}

impl<'a> BundleImages<'a> {
    /// Prepares pulling bundles. No file of settings is read before an image of a registry is
    /// pulled.
    pub(in crate::run) fn new(registries: &'a RegistryArgs) -> anyhow::Result<Self> {
        let runtime = once::runtime()?;
        Ok(Self {
            registries,
            access: RegistryAccess::default(),
            runtime,
        })
    }

    /// Renders the bundle image that a template or an edit names.
    pub(in crate::run) fn bundle(
        &mut self,
        name: &str,
        migration: Migration,
    ) -> anyhow::Result<RenderedBundle> {
        let is_source = ["docker://", "oci:"]
            .iter()
            .any(|scheme| name.starts_with(scheme));
        let source = if is_source {
            name.to_owned()
        } else {
            format!("docker://{name}")
        };
        let source = Source::parse(&source, Path::new(""))?;
        let rendered = self
            .render(name, &source, migration)
            .with_context(|| format!("cannot render bundle `{name}`"))?;
        rendered.with_context(|| {
            format!("cannot render bundle `{name}`: the image has no label `{MANIFESTS_LABEL}`")
        })
    }

    /// Renders an image that is a bundle; `None` for any other source. `name` is the image in the
    /// blob.
    pub(super) fn render(
        &mut self,
        name: &str,
        source: &Source,
        migration: Migration,
    ) -> anyhow::Result<Option<RenderedBundle>> {
        let Source::Image(image) = source else {
            return Ok(None);
        };
        let registries = self
            .access
            .update(self.registries, needs_registry([source]))?;
        let Some(fetched) = self.runtime.block_on(fetch(&registries, image))? else {
            return Ok(None);
        };
        let files = BundleFiles {
            manifests: fetched.files(MANIFESTS_LABEL)?,
            metadata: fetched.files(METADATA_LABEL)?,
        };
        let name = name.strip_prefix("docker://").unwrap_or(name);
        Ok(Some(edit::bundle::render(&files, name, migration)?))
    }
}

/// Fetches an image whose labels say that it is a bundle.
async fn fetch(
    registries: &Registries,
    image: &ImageSource,
) -> anyhow::Result<Option<PulledBundle>> {
    let resolved = registries.resolve(image).await?;
    let ImageKind::Container { labels } = &resolved.kind else {
        return Ok(None);
    };
    if !labels.contains_key(MANIFESTS_LABEL) {
        return Ok(None);
    }
    let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
    let blobs = registries
        .fetch(&resolved, scratch.path(), |_, _| ())
        .await?;
    let layers = blobs.into_iter().zip(&resolved.layers);
    let layers = layers
        .map(|(blob, layer)| Layer {
            blob,
            diff_id: layer.diff_id,
        })
        .collect();
    Ok(Some(PulledBundle {
        labels: labels.clone(),
        layers,
        scratch,
    }))
}

impl PulledBundle {
    /// Reads the files of the directory that a label names, without those of directories in it.
    fn files(&self, label: &str) -> anyhow::Result<Vec<BundleFile>> {
        let Some(directory) = self.labels.get(label) else {
            bail!("the image has no label `{label}`")
        };
        let root = CatalogRoot::from_labels(&self.labels, Some(directory))?;
        let unpacked = unpack(
            &self.layers,
            &root,
            self.scratch.path(),
            &UnpackLimits::default(),
            |_| (),
        )?;
        let entries = unpacked
            .entries()
            .iter()
            .filter(|(path, _)| !path.contains('/'));
        let files = entries.filter_map(|(path, entry)| match entry {
            UnpackedEntry::File(content) => Some((path, *content)),
            UnpackedEntry::Folder | UnpackedEntry::Link(_) => None,
        });
        let read = |(path, content): (&String, _)| {
            let bytes =
                read(&unpacked, content).with_context(|| format!("cannot read `{root}/{path}`"))?;
            Ok(BundleFile {
                name: path.clone(),
                bytes,
            })
        };
        files.map(read).collect()
    }
}

fn read(unpacked: &Unpacked, content: FileContent) -> anyhow::Result<Vec<u8>> {
    let length = usize::try_from(content.bytes)?;
    if length > MAX_FILE_BYTES {
        bail!("it has more than {MAX_FILE_BYTES} bytes");
    }
    let mut bytes = vec![0; length];
    let mut at = 0;
    while at < length {
        match unpacked.read(content, at as u64, &mut bytes[at..])? {
            0 => bail!("it ends after {at} bytes"),
            read => at += read,
        }
    }
    Ok(bytes)
}
