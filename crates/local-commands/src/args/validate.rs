//! Flags of `validate`.

use clap::{ValueEnum, ValueHint};

use super::ImageArgs;

/// Flags of `validate`.
#[derive(Debug, clap::Args)]
pub struct ValidateArgs {
    /// The catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or
    /// PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ValidateOutput,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Output format of `validate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ValidateOutput {
    /// Table of problems
    #[default]
    Table,
    /// JSON: one object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands that annotate a GitHub pull request
    Github,
}
