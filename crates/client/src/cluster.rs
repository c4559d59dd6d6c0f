//! Finds a server in a cluster by a kubeconfig file, and reaches it through the API server's proxy
//! of Services, or through a forwarded port of a pod.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::ListParams;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Config};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::cache::{self, CachedEntry, ClientCache};
use crate::client::{Builder, Client, ClientTarget, DEFAULT_TIMEOUT, late};
use crate::error::chain;
use crate::port_forward::{PortForward, ServicePods};
use crate::transport::{BoxError, OpenResponse, OutgoingRequest};
use crate::{ClientError, Result};

/// Labels of a Service of catalogql.
const LABELS: &str = "app.kubernetes.io/name=catalogql";

/// Namespaces that are looked into, in this order, before all others.
const NAMESPACES: [&str; 4] = [
    "catalogql",
    "olmv1-system",
    "catalogql-system",
    "openshift-catalogql",
];

/// Names of the ports that serve the API, which are their schemes.
const PORTS: [&str; 2] = ["https", "http"];

/// Time for which a Service that was found is taken to be there still.
pub const MAX_SERVICE_AGE: Duration = Duration::from_hours(24);

/// `ConfigMap` with the authority of the server's certificate, beside its Service, and the key in
/// it.
const AUTHORITY: (&str, &str) = ("catalogql-ca", "ca.crt");

/// Cluster and user, in the terms of kubectl's flags.
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
    /// Route to the server.
    pub route: ClusterRoute,
    /// Cache of the Service that was found.
    pub cache: Option<ClientCache>,
    /// Finds the Service again although one is cached.
    pub refresh: bool,
    /// Sends no requests: the Service is the cached one, whatever its age.
    pub offline: bool,
    /// Time for each request to the API server; [`DEFAULT_TIMEOUT`] when `None`.
    pub timeout: Option<Duration>,
}

/// Route to the server of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterRoute {
    /// Through the API server's proxy of Services. It passes no bearer token on, and tells the
    /// server of no user.
    #[default]
    ServiceProxy,
    /// Through a forwarded port of one of the pods behind the Service.
    PortForward,
}

/// The API server's proxy of one Service.
#[derive(Clone)]
pub(crate) struct ServiceProxy {
    pub(crate) client: kube::Client,
    /// Path of the endpoint.
    pub(crate) path: String,
    /// Name of the server in messages.
    pub(crate) endpoint: String,
    /// Caller and server; part of the cache key.
    pub(crate) identity: String,
}

impl std::fmt::Debug for ServiceProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceProxy")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Begins a client for the server in a cluster: finds its Service, and reaches it by the route
    /// of the options. The user needs to list Services in one of the namespaces; for the proxy,
    /// `get` and `create` on `services/proxy`; to forward a port, to list Pods, and `get` and
    /// `create` on `pods/portforward`. The credentials of the kubeconfig file are for the API
    /// server alone: the server gets the bearer token that the builder is given, and through the
    /// proxy none.
    pub async fn from_kubeconfig(options: &ClusterOptions) -> Result<Builder> {
        let cluster = Cluster::new(options).await?;
        let builder = match options.route {
            ClusterRoute::ServiceProxy => cluster.through_proxy(options).await?,
            ClusterRoute::PortForward => cluster.through_pods(options).await?,
        };
        Ok(match &options.cache {
            Some(cache) => builder.cache(cache.clone()),
            None => builder,
        })
    }
}

/// A server whose port is forwarded to loopback, until it is dropped.
#[derive(Debug)]
pub struct ForwardedServer {
    /// Its URL on this machine.
    pub url: String,
    /// Name that its certificate is for; `None` without TLS.
    pub certificate_name: Option<String>,
    _forward: PortForward,
}

impl ForwardedServer {
    /// Forwards a port to the server of a cluster, for programs that are not this client. The user
    /// needs the rights that [`Client::from_kubeconfig`] needs to forward a port.
    pub async fn start(options: &ClusterOptions) -> Result<Self> {
        let cluster = Cluster::new(options).await?;
        let (service, object) = cluster.find(options).await?;
        let pods =
            ServicePods::from_service(&cluster.client, cluster.server, &object, &service.scheme)?;
        let forward = PortForward::start(pods).await?;
        let url = format!("{}://{}", service.scheme, forward.address);
        let certificate_name = format!("{}.{}.svc", service.name, service.namespace);
        Ok(Self {
            url,
            certificate_name: (service.scheme == "https").then_some(certificate_name),
            _forward: forward,
        })
    }
}

/// Returns the name of the context that is meant; `None` without a kubeconfig file, or with one
/// that names none.
pub fn current_context(options: &ClusterOptions) -> Option<String> {
    let named = options.context.clone();
    named.or_else(|| {
        let kubeconfig = match &options.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        kubeconfig.ok()?.current_context
    })
}

/// A cluster and its user.
pub(crate) struct Cluster {
    client: kube::Client,
    server: ClusterApiServer,
    /// Caller and server; part of the cache key.
    identity: String,
}

/// Address of an API server and the time limit of its requests.
#[derive(Clone, Debug)]
pub(crate) struct ClusterApiServer {
    /// Its URL.
    pub(crate) url: String,
    /// Time for each request.
    timeout: Duration,
}

impl ClusterApiServer {
    /// Waits for what it answers to a request; kube's own client would wait for ever.
    pub(crate) async fn answer<T>(
        &self,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T> {
        let endpoint = || self.url.clone();
        match timeout(self.timeout, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) => Err(self.refusal(status.code, status.message)),
            Ok(Err(error)) => Err(ClientError::Unreachable {
                endpoint: endpoint(),
                source: Box::new(error),
            }),
            Err(Elapsed { .. }) => Err(ClientError::Unreachable {
                endpoint: endpoint(),
                source: late(self.timeout),
            }),
        }
    }

    /// Makes the error of a response with a status that is not a success.
    fn refusal(&self, status: u16, message: String) -> ClientError {
        let endpoint = self.url.clone();
        match status {
            404 => ClientError::NotFound { endpoint, message },
            _ => ClientError::NotAllowed {
                endpoint,
                status,
                message,
            },
        }
    }
}

impl Cluster {
    /// Reads the kubeconfig file; sends no request.
    pub(crate) async fn new(options: &ClusterOptions) -> Result<Self> {
        // Fails if another part of the program has installed a provider, which is fine.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let (config, identity) = config(options).await?;
        let timeout = options.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let server = ClusterApiServer {
            url: config.cluster_url.to_string(),
            timeout,
        };
        let client =
            kube::Client::try_from(config).map_err(|error| ClientError::Setup(chain(&error)))?;
        Ok(Self {
            client,
            server,
            identity,
        })
    }

    /// Returns what the API server has at a path; `None` where it has nothing.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Value>> {
        let request = Request::get(path)
            .body(Body::empty())
            .map_err(|error| ClientError::Setup(error.to_string()))?;
        let exchange = async {
            let response = self.client.send(request).await?;
            OpenResponse::from_kube(response).read().await
        };
        let unreachable = |source| ClientError::Unreachable {
            endpoint: self.server.url.clone(),
            source,
        };
        let response = match timeout(self.server.timeout, exchange).await {
            Ok(received) => received.map_err(unreachable)?,
            Err(Elapsed { .. }) => return Err(unreachable(late(self.server.timeout))),
        };
        let value = serde_json::from_slice::<Value>(&response.body);
        match response.status {
            200..300 => value.map(Some).map_err(|source| ClientError::Decode {
                endpoint: self.server.url.clone(),
                source,
            }),
            404 => Ok(None),
            status => {
                let message = value
                    .ok()
                    .and_then(|value| Some(value["message"].as_str()?.to_owned()));
                let message = message.unwrap_or_else(|| format!("the status is {status}"));
                Err(self.server.refusal(status, message))
            }
        }
    }

    async fn through_proxy(self, options: &ClusterOptions) -> Result<Builder> {
        // To find the Service costs several requests to the API server, before each command.
        let service = match self.remembered(options) {
            Some(service) => service,
            None => self.find(options).await?.0,
        };
        let path = format!(
            "/api/v1/namespaces/{}/services/{}:{}:{}/proxy/graphql",
            service.namespace, service.scheme, service.name, service.scheme
        );
        let endpoint = format!("{}{path}", self.server.url.trim_end_matches('/'));
        let identity = service.identity(&self.identity);
        Ok(Builder::new(ClientTarget::Proxy(ServiceProxy {
            client: self.client,
            path,
            endpoint,
            identity,
        })))
    }

    async fn through_pods(self, options: &ClusterOptions) -> Result<Builder> {
        if options.offline {
            let service = self.remembered(options).ok_or(ClientError::NotCached)?;
            return Ok(Builder::new(ClientTarget::Url(service.url()))
                .identity(service.identity(&self.identity)));
        }
        let (service, object) = self.find(options).await?;
        let pods =
            ServicePods::from_service(&self.client, self.server.clone(), &object, &service.scheme)?;
        let forward = PortForward::start(pods).await?;
        let builder = Builder::new(ClientTarget::Url(service.url()))
            .identity(service.identity(&self.identity));
        let builder = builder
            .connect_to(forward.address)
            .keep_alive(Arc::new(forward));
        if service.scheme == "http" {
            return Ok(builder);
        }
        let configmaps = Api::<ConfigMap>::namespaced(self.client, &service.namespace);
        // Where there is none, or it may not be read, the authorities of the system are asked.
        let found = self
            .server
            .answer(configmaps.get_opt(AUTHORITY.0))
            .await
            .ok()
            .flatten();
        let authority = found.and_then(|found| found.data?.remove(AUTHORITY.1));
        Ok(match authority {
            Some(authority) => builder.certificate_authorities(authority),
            None => builder,
        })
    }

    /// Finds the Service, and remembers it.
    async fn find(&self, options: &ClusterOptions) -> Result<(ServicePort, Service)> {
        if options.offline {
            return Err(ClientError::NotCached);
        }
        let (found, object) =
            find(&self.client, &self.server, options.namespace.as_deref()).await?;
        if let Some(cache) = &options.cache {
            let body = serde_json::to_vec(&found).expect("names are JSON");
            cache.put(
                &self.memory_key(options),
                &CachedEntry::from_data(body, MAX_SERVICE_AGE),
            );
        }
        Ok((found, object))
    }

    fn remembered(&self, options: &ClusterOptions) -> Option<ServicePort> {
        let entry = options.cache.as_ref()?.get(&self.memory_key(options))?;
        let is_valid = options.offline || entry.is_fresh() && !options.refresh;
        serde_json::from_slice(&entry.body)
            .ok()
            .filter(|_| is_valid)
    }

    fn memory_key(&self, options: &ClusterOptions) -> String {
        cache::key(
            &self.identity,
            &format!("Service in {:?}", options.namespace),
        )
    }
}

impl ServiceProxy {
    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        request: OutgoingRequest,
    ) -> std::result::Result<http::Response<Body>, BoxError> {
        let separator = if request.query.is_empty() { "" } else { "?" };
        let mut builder =
            Request::builder().uri(format!("{}{separator}{}", self.path, request.query));
        for (name, value) in request.headers {
            builder = builder.header(name, value);
        }
        let request = match request.body {
            Some(body) => builder
                .method("POST")
                .header("content-type", "application/json")
                .body(Body::from(body)),
            None => builder.body(Body::empty()),
        };
        Ok(self.client.send(request?).await?)
    }
}

/// A Service, with the port that serves the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ServicePort {
    namespace: String,
    name: String,
    /// Scheme of URLs, and name of the port.
    scheme: String,
}

impl ServicePort {
    /// The URL within the cluster, for which its certificate is valid.
    fn url(&self) -> String {
        format!("{}://{}.{}.svc", self.scheme, self.name, self.namespace)
    }

    /// Returns the caller and the server for the cache key, the same for every route.
    fn identity(&self, user: &str) -> String {
        format!("{user}\n{}", self.url())
    }
}

/// The configuration of the cluster, and who its user is.
async fn config(options: &ClusterOptions) -> Result<(Config, String)> {
    let invalid = |error: KubeconfigError| {
        ClientError::Setup(match &error {
            KubeconfigError::ReadConfig(cause, path) => {
                format!("cannot read the kubeconfig `{}`: {cause}", path.display())
            }
            other => chain(other),
        })
    };
    let kubeconfig = match &options.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = kubeconfig.map_err(invalid)?;
    let named = KubeConfigOptions {
        context: options.context.clone(),
        cluster: options.cluster.clone(),
        user: options.user.clone(),
    };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &named)
        .await
        .map_err(invalid)?;
    // Requests are repeated by this crate.
    config.default_retry = false;
    if let Some(user) = &options.impersonate {
        config.auth_info.impersonate = Some(user.clone());
    }
    if !options.impersonate_groups.is_empty() {
        config.auth_info.impersonate_groups = Some(options.impersonate_groups.clone());
    }
    // Hashed before it is written anywhere.
    let user = serde_json::to_string(&config.auth_info)
        .map_err(|error| ClientError::Setup(error.to_string()))?;
    let identity = format!("{}\n{user}", config.cluster_url);
    Ok((config, identity))
}

/// Finds the one Service of catalogql.
async fn find(
    client: &kube::Client,
    server: &ClusterApiServer,
    namespace: Option<&str>,
) -> Result<(ServicePort, Service)> {
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
        match server
            .answer(services.list(&ListParams::default().labels(LABELS)))
            .await
        {
            Ok(list) => {
                let services = list.items.into_iter();
                let mut found: Vec<_> = services
                    .filter_map(|service| Some((port_of(&service)?, service)))
                    .collect();
                if found.len() > 1 {
                    let names = found
                        .iter()
                        .map(|(found, _)| format!("{}/{}", found.namespace, found.name));
                    return Err(ClientError::Ambiguous(names.collect::<Vec<_>>().join(", ")));
                }
                if let Some(found) = found.pop() {
                    return Ok(found);
                }
            }
            Err(error @ (ClientError::NotAllowed { .. } | ClientError::NotFound { .. })) => {
                refusal.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    let message = format!("no Service has the label {LABELS}");
    Err(refusal.unwrap_or(ClientError::NotFound {
        endpoint: server.url.clone(),
        message,
    }))
}

fn port_of(service: &Service) -> Option<ServicePort> {
    let ports = service.spec.as_ref()?.ports.as_ref()?;
    let has = |name: &str| ports.iter().any(|port| port.name.as_deref() == Some(name));
    let scheme = PORTS.into_iter().find(|name| has(name))?.to_owned();
    let metadata = &service.metadata;
    Some(ServicePort {
        namespace: metadata.namespace.clone()?,
        name: metadata.name.clone()?,
        scheme,
    })
}
