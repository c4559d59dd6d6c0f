//! Flags of `mirror`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueHint};
use commands::args::{
    CatalogAlias, MirrorNeedArgs, MirrorRulesArgs, MirrorTargetArgs, OutputArgs,
    parse_catalog_alias,
};

use super::{CatalogArgs, ImageArgs, RegistryArgs};

/// A subcommand of `mirror`.
#[derive(Debug, Subcommand)]
pub enum MirrorCommand {
    /// Print which bundles and images a configuration of oc-mirror selects, or packages need, and
    /// copy nothing
    ///
    /// The exit status is 1 if the configuration is refused, also because the selected part would
    /// not be a valid catalog.
    Plan(MirrorPlanArgs),
    /// Write the catalog that has only what a configuration of oc-mirror selects, or packages need
    ///
    /// Selected blobs keep their formatting. A catalog that `opm validate` would reject is not
    /// written. The exit status is 1 if the configuration is refused.
    Catalog(MirrorCatalogArgs),
    /// Copy the selected images, and the catalog that has only these, to a registry or an OCI
    /// layout
    ///
    /// The sizes are printed before anything is copied. Signatures and other artifacts that refer
    /// to the images are copied too. What is there already is not copied: a run that was killed
    /// resumes. The exit status is 1 if the configuration is refused, or if an image
    /// cannot be copied, and 2 if one cannot be read: then nothing is copied.
    Run(MirrorRunArgs),
    /// Copy everything of an OCI layout that `mirror run` wrote to a registry
    ///
    /// The exit status is 1 if an image cannot be copied.
    Load(MirrorLoadArgs),
    /// Compare what `mirror run` copied with what is selected: what is missing, broken or too much
    ///
    /// Reads every blob of the mirror, and asks no other registry. The exit status is 1 if there is
    /// a difference.
    Verify(MirrorVerifyArgs),
}

/// Sources and the configuration of `mirror`.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("selection").args(["config", "package"]).required(true))]
pub struct MirrorSelectionArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// Configuration: an `ImageSetConfiguration` of oc-mirror (YAML)
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub need: MirrorNeedArgs,
    /// Reference by which the configuration names a source. May be repeated
    #[arg(long, value_name = "NAME=REFERENCE", value_parser = parse_catalog_alias)]
    pub catalog: Vec<CatalogAlias>,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `mirror plan`.
#[derive(Debug, clap::Args)]
pub struct MirrorPlanArgs {
    #[command(flatten)]
    pub selection: MirrorSelectionArgs,
    #[command(flatten)]
    pub rules: MirrorRulesArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub target: MirrorTargetArgs,
}

/// Flags of `mirror catalog`.
#[derive(Debug, clap::Args)]
pub struct MirrorCatalogArgs {
    #[command(flatten)]
    pub selection: MirrorSelectionArgs,
    /// Target: a directory, an OCI layout, or a registry. A directory must be empty or not
    /// exist
    #[arg(short, long, value_name = "DIR|oci:DIR[:NAME]|docker://REFERENCE")]
    pub output: String,
}

/// Target of images.
#[derive(Debug, clap::Args)]
pub struct MirrorDestinationArgs {
    /// Registry, and a path in it, or an OCI layout
    #[arg(long, value_name = "docker://HOST[:PORT][/PATH]|oci:DIR")]
    pub to: String,
    /// Maximum number of parts of a path in the registry; further parts are joined with `-`
    #[arg(long, value_name = "COUNT")]
    pub max_nested_paths: Option<usize>,
}

/// Flags of `mirror run`.
#[derive(Debug, clap::Args)]
pub struct MirrorRunArgs {
    #[command(flatten)]
    pub selection: MirrorSelectionArgs,
    #[command(flatten)]
    pub destination: MirrorDestinationArgs,
    /// Print the images with their sizes, and copy nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Flags of `mirror load`.
#[derive(Debug, clap::Args)]
pub struct MirrorLoadArgs {
    /// OCI layout that `mirror run` wrote
    #[arg(value_name = "oci:DIR")]
    pub layout: String,
    #[command(flatten)]
    pub destination: MirrorDestinationArgs,
    /// Print the images with their sizes, and copy nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub registries: RegistryArgs,
}

/// Flags of `mirror verify`.
#[derive(Debug, clap::Args)]
pub struct MirrorVerifyArgs {
    #[command(flatten)]
    pub selection: MirrorSelectionArgs,
    #[command(flatten)]
    pub destination: MirrorDestinationArgs,
}
