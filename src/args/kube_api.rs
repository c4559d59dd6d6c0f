//! Flags of the aggregated Kubernetes API.

use clap::ValueEnum;

use super::values::parse_listen;

/// Flags of the aggregated Kubernetes API.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Kubernetes API")]
pub struct KubeApiArgs {
    /// Address to serve the aggregated Kubernetes API on (`kubectl get packagemanifests`), such as
    /// `:6443`, with the certificate of the server if it has one [default: none]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_listen)]
    pub kube_api_listen: Option<String>,
    /// Who may read the Kubernetes API; must be given unless it is served on a loopback address
    #[arg(long, value_name = "WHO", value_enum, requires = "kube_api_listen")]
    pub kube_api_auth: Option<KubeApiAuth>,
    /// Namespace whose `PackageManifests` are seen in all namespaces: that of catalogs without a
    /// namespace of their own
    #[arg(long, value_name = "NAME", default_value = "olm")]
    pub global_namespace: String,
}

/// Who may read the Kubernetes API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KubeApiAuth {
    /// Everybody who can connect
    None,
    /// Whom the API server lets read them: users that kube-apiserver names as their front proxy,
    /// and those with a client certificate or a token. With `--auth=delegated`, only objects of the
    /// catalogs that they may see. Needs TLS
    Delegated,
}

impl KubeApiArgs {
    /// Returns whether the API server decides who may read the API.
    pub fn is_delegated(&self) -> bool {
        self.kube_api_listen.is_some() && self.kube_api_auth == Some(KubeApiAuth::Delegated)
    }
}
