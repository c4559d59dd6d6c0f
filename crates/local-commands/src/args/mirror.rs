//! Flags of `mirror`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueHint};
use commands::args::{
    CatalogAlias, MirrorNeedArgs, MirrorRulesArgs, MirrorTargetArgs, OutputArgs,
    parse_catalog_alias,
};

use super::{CatalogArgs, ImageArgs};

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
