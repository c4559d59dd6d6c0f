//! Forwards a port of loopback to pods, as `kubectl port-forward` does: for a server that is not
//! reached through the API server's proxy of Services.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Api;
use kube::api::ListParams;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::cluster::ClusterApiServer;
use crate::{ClientError, Result};

/// A port of loopback whose connections end at pods; closed when it is dropped.
#[derive(Debug)]
pub(crate) struct PortForward {
    /// Address of the listener.
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

/// The pods of a Service and the port of theirs that is forwarded to.
pub(crate) struct ServicePods {
    api: Api<Pod>,
    server: ClusterApiServer,
    /// Labels of the pods.
    selector: String,
    port: IntOrString,
}

impl Drop for PortForward {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl PortForward {
    /// Begins to forward. Connects to a pod once, so that a refusal of the API server is seen here.
    pub(crate) async fn start(pods: ServicePods) -> Result<Self> {
        let unusable = |error: std::io::Error| {
            ClientError::Setup(format!("cannot listen on 127.0.0.1: {error}"))
        };
        // A port of loopback instead of a transport of its own: TLS, certificates and retries are
        // then those of a URL.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let mut first = Some(pods.connect().await?);
        let pods = Arc::new(pods);
        let task = tokio::spawn(async move {
            // A pod for each connection: the one of before may have gone meanwhile.
            while let Ok((mut connection, _)) = listener.accept().await {
                let pods = Arc::clone(&pods);
                let first = first.take();
                tokio::spawn(async move {
                    let stream = match first {
                        Some(stream) => Ok(stream),
                        None => pods.connect().await,
                    };
                    // A connection that ends early is what its client sees of a failure, and a
                    // reason to repeat requests.
                    if let Ok(mut stream) = stream {
                        let _ = copy_bidirectional(&mut connection, &mut stream).await;
                    }
                });
            }
        });
        Ok(Self { address, task })
    }
}

impl ServicePods {
    /// Selects the pods behind a port of a Service.
    pub(crate) fn from_service(
        client: &kube::Client,
        server: ClusterApiServer,
        service: &Service,
        port: &str,
    ) -> Result<Self> {
        let missing = |what: &str| ClientError::NotFound {
            endpoint: server.url.clone(),
            message: what.to_owned(),
        };
        let spec = service
            .spec
            .as_ref()
            .ok_or_else(|| missing("the Service has no spec"))?;
        let labels = spec
            .selector
            .iter()
            .flatten()
            .map(|(name, value)| format!("{name}={value}"));
        let selector = labels.collect::<Vec<_>>().join(",");
        if selector.is_empty() {
            return Err(missing(
                "the Service selects no pods, so that no port can be forwarded",
            ));
        }
        let ports = spec.ports.iter().flatten();
        let found = ports
            .clone()
            .find(|found| found.name.as_deref() == Some(port));
        let found = found.ok_or_else(|| missing("the Service has no such port"))?;
        let port = found
            .target_port
            .clone()
            .unwrap_or(IntOrString::Int(found.port));
        let api = Api::namespaced(
            client.clone(),
            service.metadata.namespace.as_deref().unwrap_or_default(),
        );
        Ok(Self {
            api,
            server,
            selector,
            port,
        })
    }

    /// Connects to a pod that is ready.
    async fn connect(&self) -> Result<impl AsyncRead + AsyncWrite + Unpin + use<>> {
        let pods = self
            .server
            .answer(self.api.list(&ListParams::default().labels(&self.selector)))
            .await?;
        let ready = pods.items.iter().filter(|pod| is_ready(pod));
        let found = ready
            .filter_map(|pod| Some((pod.metadata.name.as_deref()?, self.port_of(pod)?)))
            .min();
        let Some((name, port)) = found else {
            let message = format!("no pod with the labels {} is ready", self.selector);
            return Err(ClientError::NotFound {
                endpoint: self.server.url.clone(),
                message,
            });
        };
        let mut forwarded = self
            .server
            .answer(self.api.portforward(name, &[port]))
            .await?;
        Ok(forwarded
            .take_stream(port)
            .expect("there is one for each port"))
    }

    /// The port by number.
    fn port_of(&self, pod: &Pod) -> Option<u16> {
        let number = match &self.port {
            IntOrString::Int(number) => *number,
            IntOrString::String(name) => {
                let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
                let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
                ports
                    .find(|port| port.name.as_ref() == Some(name))?
                    .container_port
            }
        };
        number.try_into().ok()
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    pod.metadata.deletion_timestamp.is_none() && ready.any(|condition| condition.status == "True")
}
