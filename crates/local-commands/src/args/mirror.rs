//! Flags of `mirror`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};
use mirror::MirrorRules;

use super::{CatalogArgs, ImageArgs};

/// A subcommand of `mirror`.
#[derive(Debug, Subcommand)]
pub enum MirrorCommand {
    /// Print which bundles and images a configuration of oc-mirror selects, and copy nothing
    ///
    /// The exit status is 1 if the configuration is refused, also because the selected part would
    /// not be a valid catalog.
    Plan(MirrorPlanArgs),
    /// Write the catalog that has only what a configuration of oc-mirror selects
    ///
    /// Selected blobs keep their formatting. A catalog that `opm validate` would reject is not
    /// written. The exit status is 1 if the configuration is refused.
    Catalog(MirrorCatalogArgs),
}

/// Sources and the configuration of `mirror`.
#[derive(Debug, clap::Args)]
pub struct MirrorSelectionArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// Configuration: an `ImageSetConfiguration` of oc-mirror (YAML)
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: PathBuf,
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
    /// Select exactly what this program selects, also where its catalog would not be valid
    #[arg(long, value_name = "PROGRAM", value_enum)]
    pub like: Option<MirrorProgram>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: MirrorOutput,
    /// Registry to copy to, for the outputs `mapping`, `skopeo` and `idms`
    #[arg(long, value_name = "HOST[:PORT][/PATH]")]
    #[arg(required_if_eq_any = [("output", "mapping"), ("output", "skopeo"), ("output", "idms")])]
    pub to: Option<String>,
    /// Maximum number of parts of a path in that registry; further parts are joined with `-`
    #[arg(long, value_name = "COUNT")]
    pub max_nested_paths: Option<usize>,
}

/// Flags of `mirror catalog`.
#[derive(Debug, clap::Args)]
pub struct MirrorCatalogArgs {
    #[command(flatten)]
    pub selection: MirrorSelectionArgs,
    /// Directory to write to; it must be empty or not exist
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}

/// Name of a source, and the reference that stands for it in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogAlias {
    /// Name of the source.
    pub name: String,
    /// Reference of the catalog.
    pub reference: String,
}

/// A program whose rules can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MirrorProgram {
    /// oc-mirror v2
    OcMirror,
}

/// Output format of `mirror plan`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MirrorOutput {
    /// Table of bundles, with the reason for each
    #[default]
    Table,
    /// JSON: packages, bundles, images and problems
    Json,
    /// Image references, one per line
    Lines,
    /// The `mapping.txt` of oc-mirror
    Mapping,
    /// An `ImageSetConfiguration` with which oc-mirror selects the same
    Imageset,
    /// A command of skopeo for each image
    Skopeo,
    /// `ImageDigestMirrorSet` and `ImageTagMirrorSet`, the kinds of mirror sets
    Idms,
}

impl MirrorPlanArgs {
    /// Returns the rules to follow.
    pub fn rules(&self) -> MirrorRules {
        match self.like {
            Some(MirrorProgram::OcMirror) => MirrorRules::OcMirror,
            None => MirrorRules::Catalogql,
        }
    }
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
