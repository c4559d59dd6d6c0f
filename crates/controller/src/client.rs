//! The client for the API server, and the identity of the process in the cluster.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use serde_json::Value;

use crate::ControllerError;
use crate::metrics::{ApiRequests, CountRequests};

/// The folder in which Kubernetes mounts the credentials of a pod.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A client of the API server, with counters of its requests.
#[derive(Clone)]
pub struct ApiServerClient {
    /// The client.
    pub client: Client,
    /// Counts its requests.
    pub requests: Arc<ApiRequests>,
}

/// Connects to the API server. The address and the credentials come from this file, or else from
/// `KUBECONFIG`, or else from the cluster that the process runs in.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<ApiServerClient, ControllerError> {
    let invalid = |error| match error {
        KubeconfigError::ReadConfig(source, path) => {
            ControllerError::ReadKubeconfig { path, source }
        }
        other => ControllerError::Kubeconfig(Box::new(other)),
    };
    let config = match kubeconfig {
        Some(path) => Some(Kubeconfig::read_from(path).map_err(invalid)?),
        None => Kubeconfig::from_env().map_err(invalid)?,
    };
    let config = match config {
        Some(config) => Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .map_err(invalid)?,
        None => {
            Config::incluster().map_err(|error| ControllerError::NotInCluster(Box::new(error)))?
        }
    };
    let requests = Arc::new(ApiRequests::new(
        config
            .cluster_url
            .authority()
            .map(ToString::to_string)
            .unwrap_or_default(),
    ));
    let builder = ClientBuilder::try_from(config)
        .map_err(|error| ControllerError::Client(Box::new(error)))?;
    let client = builder
        .with_layer(&CountRequests(Arc::clone(&requests)))
        .build();
    Ok(ApiServerClient { client, requests })
}

/// The namespace of the pod that the process runs in, if it runs in one.
pub fn pod_namespace() -> Option<String> {
    let namespace = fs::read_to_string(Path::new(SERVICE_ACCOUNT).join("namespace")).ok()?;
    Some(namespace.trim().to_owned()).filter(|namespace| !namespace.is_empty())
}

/// The name of the `ServiceAccount` of the pod that the process runs in, if it runs in one.
pub fn pod_service_account() -> Option<String> {
    service_account_of(&fs::read_to_string(Path::new(SERVICE_ACCOUNT).join("token")).ok()?)
}

/// Returns the `ServiceAccount` that is the subject of a token, without verifying the token.
fn service_account_of(token: &str) -> Option<String> {
    // The token is this process's own, mounted by the kubelet: there is nothing to verify.
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let name = claims
        .get("sub")?
        .as_str()?
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?
        .1;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_account_is_the_subject_of_the_token() {
        let token = |claims: &str| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims));
        let of = |claims: &str| service_account_of(&token(claims));
        assert_eq!(
            of(r#"{"sub":"system:serviceaccount:olm:catalogql"}"#),
            Some("catalogql".to_owned())
        );
        assert_eq!(of(r#"{"sub":"system:node:a"}"#), None);
        assert_eq!(of("{"), None);
        assert_eq!(service_account_of("none"), None);
    }
}
