//! Flags of `preview`.

use std::path::PathBuf;

use clap::{ArgAction, ValueEnum, ValueHint};
use commands::args::CertificateProviderArg;
use install_preview::{RightsFlag, is_namespace_name};

use super::ImageArgs;

/// Flags of `preview`.
#[derive(Debug, clap::Args)]
pub struct PreviewArgs {
    /// The catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or
    /// PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// Package [version: that of the head of the default channel]
    #[arg(value_name = "PACKAGE[@VERSION]")]
    pub package: String,
    /// Bundle of the package, where several have the version
    #[arg(long, value_name = "NAME")]
    pub bundle_name: Option<String>,
    /// Namespace of the operator
    #[arg(short, long, value_name = "NAMESPACE", value_parser = parse_namespace)]
    pub namespace: String,
    /// Namespaces that the operator watches; an empty name stands for all [default: all, if the
    /// bundle supports that]
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',', value_parser = parse_watched)]
    pub watch_namespaces: Vec<String>,
    /// Provider of certificates for webhooks
    #[arg(long, value_enum)]
    pub certificates: Option<CertificateProviderArg>,
    /// File with the `deploymentConfig` of a `ClusterExtension`, JSON or YAML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub deployment_config: Option<PathBuf>,
    /// Show the differences from this version of the package, such as the one that is installed
    #[arg(long, value_name = "VERSION")]
    pub from: Option<String>,
    /// Risks that make the exit status 1; with `--from`, only those that the other version does not
    /// have
    #[arg(long, value_name = "FLAGS", value_delimiter = ',', value_parser = parse_flag)]
    pub fail_on: Vec<RightsFlag>,
    /// Read manifests that the catalog does not have from the image of the bundle
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub bundle_images: bool,
    /// Print only the roles that OLM v1 up to 1.10 needs to install the bundle, with their bindings to
    /// this `ServiceAccount` in the namespace of the operator: as YAML, or with `-o json` as a `List`
    #[arg(long, value_name = "NAME", value_parser = parse_account, conflicts_with_all = ["from", "fail_on"])]
    pub installer_rbac: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: PreviewOutput,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Output format of `preview`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PreviewOutput {
    /// Tables
    #[default]
    Table,
    /// JSON: one object, with `objects` or `errors`
    Json,
    /// YAML: the objects, as `kubectl apply` takes them
    Yaml,
    /// SARIF 2.1.0, for code scanning: the risks
    Sarif,
}

/// Checks that a text can be the name of a namespace.
fn parse_namespace(text: &str) -> Result<String, String> {
    if is_namespace_name(text) {
        Ok(text.to_owned())
    } else {
        Err("no namespace can have this name: write lower-case letters, digits and `-`".to_owned())
    }
}

/// As [`parse_namespace`]; the empty name stands for all namespaces.
fn parse_watched(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Ok(String::new())
    } else {
        parse_namespace(text)
    }
}

/// Maximum length of a DNS subdomain.
const MAX_SUBDOMAIN: usize = 253;

/// Checks that a text can be the name of a service account: a DNS subdomain.
fn parse_account(text: &str) -> Result<String, String> {
    if text.len() <= MAX_SUBDOMAIN && text.split('.').all(|label| parse_namespace(label).is_ok()) {
        Ok(text.to_owned())
    } else {
        Err(
            "no ServiceAccount can have this name: write lower-case letters, digits, `-` and `.`"
                .to_owned(),
        )
    }
}

fn parse_flag(name: &str) -> Result<RightsFlag, String> {
    RightsFlag::parse(name).ok_or_else(|| {
        let names: Vec<_> = RightsFlag::ALL
            .into_iter()
            .map(RightsFlag::as_str)
            .collect();
        format!("write some of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use commands::preview::PERMISSION_FLAGS;

    use super::*;

    #[test]
    fn both_programs_know_the_same_risks() {
        assert_eq!(RightsFlag::ALL.map(RightsFlag::as_str), PERMISSION_FLAGS);
    }
}
