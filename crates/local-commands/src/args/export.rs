//! Flags of `export`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};

use super::ImageArgs;

/// Flags of `export`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required = true, num_args = 1..)]
    pub sources: Vec<String>,
    /// Format of the files
    #[arg(long, value_enum, default_value_t)]
    pub format: ExportFormat,
    /// Directory of the tables, which is created if it does not exist. Object stores (s3://…) are
    /// not supported: copy the directory with their tools
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: PathBuf,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Format of exported tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Apache Parquet, compressed with zstd
    #[default]
    Parquet,
}
