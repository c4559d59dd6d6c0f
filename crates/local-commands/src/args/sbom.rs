//! Flags of `sbom`.

use clap::{Args, Subcommand, ValueHint};

use super::ImageArgs;

/// A document about what catalogs ship.
#[derive(Debug, Subcommand)]
pub enum SbomCommand {
    /// Print the images of bundles as a `CycloneDX` document (JSON), for scanners
    ///
    /// Without --all, the bundles are the heads of channels. The document depends on the catalog
    /// and the selection alone. The exit status is 4 if a package or channel does not exist.
    Images(SbomImagesArgs),
}

/// Flags of `sbom images`.
#[derive(Args, Debug)]
pub struct SbomImagesArgs {
    /// Catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// Packages; all of the catalog if none is named
    #[arg(value_name = "PACKAGE")]
    pub packages: Vec<String>,
    /// Only bundles in channels of this name
    #[arg(long)]
    pub channel: Option<String>,
    /// All bundles, not only the heads of channels
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub images: ImageArgs,
}
