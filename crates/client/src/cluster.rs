//! Finds a server in a cluster by a kubeconfig file, and reaches it through the API server's proxy of Services.

use std::path::PathBuf;

use http::Request;
use k8s_openapi::api::core::v1::Service;
use kube::api::ListParams;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Config};
use serde_json::Value;

use crate::client::{Builder, Client, Target};
use crate::error::chain;
use crate::transport::{BoxError, Outgoing};
use crate::{Error, Result};

/// Labels of a Service of catalogql.
const LABELS: &str = "app.kubernetes.io/name=catalogql";

/// Namespaces that are looked into, in this order, before all others.
const NAMESPACES: [&str; 4] = ["catalogql", "olmv1-system", "catalogql-system", "openshift-catalogql"];

/// Names of the ports that serve the API, each with its scheme.
const PORTS: [(&str, &str); 2] = [("https", "https"), ("http", "http")];

/// Which cluster is meant, as kubectl's flags say it.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// The kubeconfig file; that of `KUBECONFIG`, or else of the home folder, when `None`.
    pub kubeconfig: Option<PathBuf>,
    /// Context; the current one when `None`.
    pub context: Option<String>,
    /// Cluster; that of the context when `None`.
    pub cluster: Option<String>,
    /// User; that of the context when `None`.
    pub user: Option<String>,
    /// Namespace of the server; a few usual ones, then all, are looked into when `None`.
    pub namespace: Option<String>,
    /// User to impersonate.
    pub impersonate: Option<String>,
    /// Groups to impersonate.
    pub impersonate_groups: Vec<String>,
}

/// The API server's proxy of one Service.
#[derive(Clone)]
pub(crate) struct ServiceProxy {
    pub(crate) client: kube::Client,
    /// Path of the endpoint.
    pub(crate) path: String,
    /// What messages call it.
    pub(crate) endpoint: String,
    /// Who asks whom.
    pub(crate) identity: String,
}

impl std::fmt::Debug for ServiceProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceProxy").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Client {
    /// Begins a client for the server in a cluster: finds its Service, and reaches it through the API server's proxy. The
    /// user needs to list Services in one of the namespaces, and `get` and `create` on `services/proxy`. A bearer token that
    /// the builder is given does not pass the proxy.
    pub async fn from_kubeconfig(options: &ClusterOptions) -> Result<Builder> {
        // Fails if another part of the program has installed a provider, which is fine.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let (config, identity) = config(options).await?;
        let (server, namespace) = (config.cluster_url.to_string(), options.namespace.as_deref());
        let client = kube::Client::try_from(config).map_err(|error| Error::Setup(chain(&error)))?;
        let service = find(&client, &server, namespace).await?;
        let path = format!(
            "/api/v1/namespaces/{}/services/{}:{}:{}/proxy/graphql",
            service.namespace, service.scheme, service.name, service.port
        );
        let endpoint = format!("{}{path}", server.trim_end_matches('/'));
        let identity = format!("{identity}\n{endpoint}");
        Ok(Builder::new(Target::Proxy(ServiceProxy { client, path, endpoint, identity })))
    }
}

impl ServiceProxy {
    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(&self, request: Outgoing) -> std::result::Result<http::Response<Body>, BoxError> {
        let separator = if request.query.is_empty() { "" } else { "?" };
        let mut builder = Request::builder().uri(format!("{}{separator}{}", self.path, request.query));
        for (name, value) in request.headers {
            builder = builder.header(name, value);
        }
        let request = match request.body {
            Some(body) => builder.method("POST").header("content-type", "application/json").body(Body::from(body)),
            None => builder.body(Body::empty()),
        };
        Ok(self.client.send(request?).await?)
    }
}

/// A Service, with the port that serves the API.
struct Found {
    namespace: String,
    name: String,
    scheme: &'static str,
    port: &'static str,
}

/// The configuration of the cluster, and who its user is.
async fn config(options: &ClusterOptions) -> Result<(Config, String)> {
    let invalid = |error: kube::config::KubeconfigError| Error::Setup(chain(&error));
    let kubeconfig = match &options.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = kubeconfig.map_err(invalid)?;
    let context = options.context.clone().or_else(|| kubeconfig.current_context.clone()).unwrap_or_default();
    let user = options.user.clone().unwrap_or_default();
    let named = KubeConfigOptions {
        context: options.context.clone(),
        cluster: options.cluster.clone(),
        user: options.user.clone(),
    };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &named).await.map_err(invalid)?;
    // Requests are repeated by this crate.
    config.default_retry = false;
    if let Some(user) = &options.impersonate {
        config.auth_info.impersonate = Some(user.clone());
    }
    if !options.impersonate_groups.is_empty() {
        config.auth_info.impersonate_groups = Some(options.impersonate_groups.clone());
    }
    let auth = &config.auth_info;
    let identity = format!(
        "{context}\n{user}\n{:?} {:?}\n{:?} {:?}",
        auth.impersonate, auth.impersonate_groups, auth.client_certificate, auth.token_file
    );
    Ok((config, identity))
}

/// Finds the one Service of catalogql.
async fn find(client: &kube::Client, server: &str, namespace: Option<&str>) -> Result<Found> {
    let places: Vec<_> = match namespace {
        Some(namespace) => vec![Some(namespace)],
        None => NAMESPACES.into_iter().map(Some).chain([None]).collect(),
    };
    let mut refusal = None;
    for place in places {
        let services = match place {
            Some(namespace) => Api::<Service>::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        };
        match services.list(&ListParams::default().labels(LABELS)).await {
            Ok(list) => {
                let mut found = list.items.iter().filter_map(port_of).collect::<Vec<_>>();
                if found.len() > 1 {
                    let names = found.iter().map(|found| format!("{}/{}", found.namespace, found.name));
                    return Err(Error::Ambiguous(names.collect::<Vec<_>>().join(", ")));
                }
                if let Some(found) = found.pop() {
                    return Ok(found);
                }
            }
            Err(kube::Error::Api(status)) => {
                let (status, message) = (status.code, status.message);
                refusal.get_or_insert(Error::NotAllowed { endpoint: server.to_owned(), status, message });
            }
            Err(error) => return Err(Error::Unreachable { endpoint: server.to_owned(), source: Box::new(error) }),
        }
    }
    let message = format!("no Service has the label {LABELS}");
    Err(refusal.unwrap_or(Error::NotFound { endpoint: server.to_owned(), message }))
}

fn port_of(service: &Service) -> Option<Found> {
    let ports = service.spec.as_ref()?.ports.as_ref()?;
    let has = |name: &str| ports.iter().any(|port| port.name.as_deref() == Some(name));
    let (port, scheme) = PORTS.into_iter().find(|(name, _)| has(name))?;
    let metadata = &service.metadata;
    Some(Found { namespace: metadata.namespace.clone()?, name: metadata.name.clone()?, scheme, port })
}

/// What is installed in a cluster by one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledObject {
    /// `ClusterExtension` (OLM v1) or `Subscription` (OLM v0).
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Namespace that the package is installed in.
    pub namespace: String,
    /// Name of the package.
    pub package: String,
    /// Name of the installed bundle.
    pub bundle: String,
    /// Its version.
    pub version: String,
    /// The channels that the object names; every channel when empty.
    pub channels: Vec<String>,
}

/// Path of all `ClusterExtensions`.
const EXTENSIONS: &str = "/apis/olm.operatorframework.io/v1/clusterextensions";

/// Path of the objects of OLM v0.
const OLM_V0: &str = "/apis/operators.coreos.com/v1alpha1";

/// Returns what is installed in a cluster, by `ClusterExtensions` and `Subscriptions` of all namespaces; empty where neither
/// is known. Objects that have installed nothing yet are left out.
pub async fn installed(options: &ClusterOptions) -> Result<Vec<InstalledObject>> {
    // Fails if another part of the program has installed a provider, which is fine.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let (config, _) = config(options).await?;
    let server = config.cluster_url.to_string();
    let client = kube::Client::try_from(config).map_err(|error| Error::Setup(chain(&error)))?;
    let mut found = Vec::new();
    for object in items(&get(&client, &server, EXTENSIONS).await?) {
        found.extend(of_extension(object));
    }
    for object in items(&get(&client, &server, &format!("{OLM_V0}/subscriptions")).await?) {
        let (namespace, csv) = (text(object, "/metadata/namespace"), text(object, "/status/installedCSV"));
        if csv.is_empty() {
            continue;
        }
        let path = format!("{OLM_V0}/namespaces/{namespace}/clusterserviceversions/{csv}");
        let version = text(&get(&client, &server, &path).await?, "/spec/version");
        found.push(InstalledObject {
            kind: "Subscription".to_owned(),
            name: text(object, "/metadata/name"),
            namespace,
            package: text(object, "/spec/name"),
            bundle: csv,
            version,
            channels: Some(text(object, "/spec/channel")).filter(|channel| !channel.is_empty()).into_iter().collect(),
        });
    }
    Ok(found)
}

fn of_extension(object: &Value) -> Option<InstalledObject> {
    let bundle = object.pointer("/status/install/bundle")?;
    let channels = object.pointer("/spec/source/catalog/channels").and_then(Value::as_array).into_iter().flatten();
    Some(InstalledObject {
        kind: "ClusterExtension".to_owned(),
        name: text(object, "/metadata/name"),
        namespace: text(object, "/spec/namespace"),
        package: text(object, "/spec/source/catalog/packageName"),
        bundle: text(bundle, "/name"),
        version: text(bundle, "/version"),
        channels: channels.filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}

/// An object of the API server; `null` where there is none, or no such kind.
async fn get(client: &kube::Client, server: &str, path: &str) -> Result<Value> {
    let request = Request::get(path).body(Vec::new()).map_err(|error| Error::Setup(error.to_string()))?;
    match client.request(request).await {
        Ok(object) => Ok(object),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Value::Null),
        Err(kube::Error::Api(status)) => {
            let (status, message) = (status.code, status.message);
            Err(Error::NotAllowed { endpoint: server.to_owned(), status, message })
        }
        Err(error) => Err(Error::Unreachable { endpoint: server.to_owned(), source: Box::new(error) }),
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
