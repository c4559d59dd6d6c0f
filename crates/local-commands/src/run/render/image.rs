//! Bundles in images: their labels say where manifests and metadata are.

use std::path::Path;

use anyhow::Context;
use bundle_images::BundleImageError;
use edit::bundle::{BundleFile, BundleFiles, Migration, RenderedBundle};
use install_preview::BundleManifestFile;
use loading::Source;
use store::ScratchFolder;
use tokio::runtime::Runtime;

use crate::args::RegistryArgs;
use crate::run::once;
use crate::run::registries::{RegistryAccess, needs_registry};

/// Label with the directory of the manifests of a bundle in its image.
const MANIFESTS_LABEL: &str = "operators.operatorframework.io.bundle.manifests.v1";

/// Bundles in images, which are pulled with one client.
pub(in crate::run) struct BundleImageRenderer<'a> {
    registries: &'a RegistryArgs,
    access: RegistryAccess,
    /// Connections of the client stay open in it between images.
    runtime: Runtime,
}

impl<'a> BundleImageRenderer<'a> {
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
        let scratch = ScratchFolder::create_in(&std::env::temp_dir())?;
        let pulling = bundle_images::pull(&registries, image, scratch);
        let directory = match self.runtime.block_on(pulling) {
            Ok(directory) => directory,
            Err(BundleImageError::NotABundle(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let files = BundleFiles {
            manifests: bundle_files(directory.manifests),
            metadata: bundle_files(directory.metadata),
        };
        let name = name.strip_prefix("docker://").unwrap_or(name);
        Ok(Some(edit::bundle::render(&files, name, migration)?))
    }
}

fn bundle_files(files: Vec<BundleManifestFile<'static>>) -> Vec<BundleFile> {
    let files = files.into_iter().map(|file| BundleFile {
        name: file.name.into_owned(),
        bytes: file.bytes.into_owned(),
    });
    files.collect()
}
