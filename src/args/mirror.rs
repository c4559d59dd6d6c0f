//! Flags of `mirror`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueHint};
use commands::args::{MirrorNeedArgs, MirrorRulesArgs, MirrorTargetArgs, OutputArgs};

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
    #[arg(long, value_name = "NAME=REFERENCE", value_parser = parse_alias)]
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
    /// Where to write: a directory, an OCI layout, or a registry. A directory must be empty or not
    /// exist
    #[arg(short, long, value_name = "DIR|oci:DIR[:NAME]|docker://REFERENCE")]
    pub output: String,
}

/// Name of a source, and the reference that stands for it in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogAlias {
    /// Name of the source.
    pub name: String,
    /// Reference of the catalog.
    pub reference: String,
}

fn parse_alias(text: &str) -> Result<CatalogAlias, String> {
    match text.split_once('=') {
        Some((name, reference)) if !name.is_empty() && !reference.is_empty() => Ok(CatalogAlias {
            name: name.to_owned(),
            reference: reference.to_owned(),
        }),
        _ => Err(
            "expected NAME=REFERENCE, such as `community=registry.example.com/catalog:v4.18`"
                .to_owned(),
        ),
    }
}
