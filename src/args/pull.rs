//! Flags for pulling the images of a cluster's catalogs: pull secrets and authorities.

use std::path::PathBuf;

use clap::ValueHint;
use controller::SecretName;
use local_commands::args::RegistryArgs;

/// Credentials and trust for pulling images. Changes take effect without a restart.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Images")]
pub struct PullArgs {
    /// Pull secret for the images of all catalogs
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub global_pull_secret: Option<SecretName>,
    /// `ServiceAccount` whose pull secrets apply to all catalogs [default: the one of the pod]
    #[arg(long, value_name = "NAME")]
    pub service_account: Option<String>,
    /// Folder with certificate authorities to trust for registries, in addition to the system's
    /// (PEM files, `*.crt` and `*.pem`)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pull_cas_dir: Option<PathBuf>,
    /// Add the requirements of `ClusterImagePolicies`, and of `ImagePolicies` in the namespace of the
    /// controller, to the signature policy
    #[arg(long)]
    pub image_policies: bool,
    #[command(flatten)]
    pub registries: RegistryArgs,
}
