//! Flags of the aggregated Kubernetes API.

use clap::ValueEnum;

use super::values::parse_listen;

/// Flags of the aggregated Kubernetes API.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Kubernetes API")]
pub struct KubeApiArgs {
    /// Address to serve the aggregated Kubernetes API on (`kubectl get packagemanifests`), such as
    /// `:6443`. It uses the server's certificate if there is one [default: none]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_listen)]
    pub kube_api_listen: Option<String>,
    /// Authorization of requests to the Kubernetes API. Required unless it listens on a loopback
    /// address
    #[arg(long, value_name = "MODE", value_enum, requires = "kube_api_listen")]
    pub kube_api_auth: Option<KubeApiAuth>,
    /// Namespace of catalogs that have no namespace of their own. Its `PackageManifests` are
    /// visible in all namespaces
    #[arg(long, value_name = "NAME", default_value = "olm")]
    pub global_namespace: String,
}

/// Authorization mode of requests to the Kubernetes API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KubeApiAuth {
    /// No authorization: every caller reads the API
    None,
    /// Requests are authenticated by the front proxy, a client certificate or a bearer token, and
    /// authorized by `SubjectAccessReview`. With `--auth=delegated`, they return only objects of
    /// the catalogs that the caller sees. Requires TLS
    Delegated,
}

impl KubeApiArgs {
    /// Returns whether the API server authorizes requests to the API.
    pub fn is_delegated(&self) -> bool {
        self.kube_api_listen.is_some() && self.kube_api_auth == Some(KubeApiAuth::Delegated)
    }
}
