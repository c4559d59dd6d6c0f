//! Flags for pulling images: registries, and the catalog's directory in an image.

use std::path::PathBuf;

use clap::ValueHint;

/// Access to registries, and the catalog's directory in an image.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Images")]
pub struct ImageArgs {
    #[command(flatten)]
    pub registries: RegistryArgs,
    #[command(flatten)]
    pub http: HttpArgs,
    /// Directory of the catalog in an image [default: the directory that the image's label names]
    #[arg(long, value_name = "PATH")]
    pub configs_dir: Option<String>,
}

/// Access to registries.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Images")]
pub struct RegistryArgs {
    /// Registry to contact over plain HTTP or without verifying its certificate. May be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub insecure_registry: Vec<String>,
    /// Certificate authorities to trust for registries, in addition to the system's (PEM). May be
    /// repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub registry_ca: Vec<PathBuf>,
    /// File with credentials for registries [default: the files of `podman login` and `docker
    /// login`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub authfile: Option<PathBuf>,
    /// File with mirrors, blocked and insecure registries [default: registries.conf of the user or
    /// the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub registries_conf: Option<PathBuf>,
    #[command(flatten)]
    pub signatures: SignatureArgs,
}

/// The policy for signed images.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Images")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct SignatureArgs {
    /// Policy for signed images, as podman reads it [default: policy.json of the user or the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub signature_policy: Option<PathBuf>,
    /// Folder of the files that say where signatures are [default: registries.d of the user or the
    /// system]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub registries_d: Option<PathBuf>,
    /// Read no signature policy: accept every image
    #[arg(long)]
    pub no_signature_policy: bool,
    /// Refuse images of registries for which the policy requires no signature
    #[arg(long)]
    pub require_signatures: bool,
    /// Require the manifest of the platform to be signed, as podman does, where otherwise a signed
    /// index suffices
    #[arg(long)]
    pub verify_instances_only: bool,
    /// Accept bundles of cosign 3, which name no image, also where the policy requires a name with a
    /// tag
    #[arg(long)]
    pub accept_bundles_without_identity: bool,
}

/// Access to HTTP servers with files and catalogs.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "HTTP sources")]
pub struct HttpArgs {
    /// File with credentials for HTTP sources, by prefixes of their URLs (YAML)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub http_auth: Option<PathBuf>,
    /// Host that redirects may lead to although its address is not public. May be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_private: Vec<String>,
    /// Serve a content of an HTTP source at once that has lost more than half of its packages
    #[arg(long)]
    pub accept_shrink: bool,
}
