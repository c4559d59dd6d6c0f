//! Flags that say how images are reached, and where in them catalogs are.

use std::path::PathBuf;

use clap::ValueHint;
use controller::SecretName;

/// Pull secrets and files that say how images are reached. Changes take effect without a restart.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Images")]
pub struct PullArgs {
    /// Pull secret that is used for all catalogs
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub global_pull_secret: Option<SecretName>,
    /// `ServiceAccount` whose pull secrets are used for all catalogs [default: that of the pod]
    #[arg(long, value_name = "NAME")]
    pub service_account: Option<String>,
    /// Folder with certificate authorities to trust for registries, in addition to the system's
    /// (PEM, `*.crt` and `*.pem`)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pull_cas_dir: Option<PathBuf>,
    #[command(flatten)]
    pub registries: RegistryArgs,
}

/// Access to registries, and where an image holds its catalog.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Images")]
pub struct ImageArgs {
    #[command(flatten)]
    pub registries: RegistryArgs,
    /// Directory of an image that holds its catalog [default: the directory that its label names]
    #[arg(long, value_name = "PATH")]
    pub configs_dir: Option<String>,
}

/// Access to registries.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Images")]
pub struct RegistryArgs {
    /// Registry that may be used over plain HTTP or with any certificate. May be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub insecure_registry: Vec<String>,
    /// Certificate authorities to trust for registries, in addition to the system's (PEM). May be
    /// repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub registry_ca: Vec<PathBuf>,
    /// Credentials for registries [default: those of `podman login` and `docker login`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub authfile: Option<PathBuf>,
    /// Mirrors, blocked and insecure registries [default: the registries.conf of the user or the
    /// system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub registries_conf: Option<PathBuf>,
}
