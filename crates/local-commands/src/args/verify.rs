//! Flags of `verify`.

use clap::{ValueEnum, ValueHint};

use super::RegistryArgs;

/// Flags of `verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// The image (such as quay.io/operatorhubio/catalog:latest) or oci:PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: VerifyOutput,
    #[command(flatten)]
    pub registries: RegistryArgs,
}

/// Output format of `verify`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VerifyOutput {
    /// One line for each property
    #[default]
    Table,
    /// JSON: one object
    Json,
}
