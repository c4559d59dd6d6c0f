//! Manifests of bundles: those that the catalog has, or else those of their images.

use anyhow::Context as _;
use fbc::Bundle;
use install_preview::{PreviewError, PreviewErrorCode, RegistryBundle};
use store::ScratchFolder;
use tokio::runtime::Runtime;

use crate::args::PreviewArgs;
use crate::run::once;
use crate::run::registries::RegistryAccess;

/// Reads the manifests of bundles.
pub(super) struct ManifestReader<'a> {
    args: &'a PreviewArgs,
    access: RegistryAccess,
    /// Connections to registries stay open in it between images.
    runtime: Runtime,
}

impl<'a> ManifestReader<'a> {
    /// Prepares reading. No file of settings is read before an image is pulled.
    pub(super) fn new(args: &'a PreviewArgs) -> anyhow::Result<Self> {
        Ok(Self {
            args,
            access: RegistryAccess::default(),
            runtime: once::runtime()?,
        })
    }

    /// Reads the manifests of a bundle, or returns why it has none that can be read.
    ///
    /// # Errors
    /// Fails when its image cannot be pulled.
    pub(super) fn read(
        &mut self,
        bundle: Bundle<'_>,
    ) -> anyhow::Result<Result<RegistryBundle, PreviewError>> {
        let files = match bundle.inline_manifests() {
            Ok(files) => files,
            Err(error) => return Ok(Err(error)),
        };
        if !files.is_empty() {
            let package = bundle.package().name();
            return Ok(RegistryBundle::read(package, &files));
        }
        let image = bundle.image().decode();
        if image.is_empty() || !self.args.bundle_images {
            return Ok(Err(no_manifests(bundle, &image)));
        }
        let registries = self.access.update(&self.args.images.registries, true)?;
        let scratch = ScratchFolder::create_in(&std::env::temp_dir())?;
        let pulling = bundle_images::pull_named(&registries, &image, scratch);
        match self.runtime.block_on(pulling) {
            Ok(directory) => Ok(RegistryBundle::read_directory(&directory)),
            Err(error) if error.is_refusal() => {
                let message = printing::error_chain(&error);
                Ok(Err(PreviewError::new(
                    PreviewErrorCode::NoManifests,
                    message,
                )))
            }
            Err(error) => Err(error).with_context(|| {
                format!("cannot read the manifests of bundle `{}`", bundle.name())
            }),
        }
    }
}

fn no_manifests(bundle: Bundle<'_>, image: &str) -> PreviewError {
    let name = bundle.name();
    let message = if image.is_empty() {
        format!("the catalog has neither manifests nor an image of bundle `{name}`")
    } else {
        format!("the catalog has no manifests of bundle `{name}`: they are in its image {image}")
    };
    PreviewError::new(PreviewErrorCode::NoManifests, message)
}
