//! A server: its sockets, its views, its metrics, and its end. `serve` and `controller` add where
//! catalogs come from.
//!
//! It is built in two steps: [`ServerSockets`] are bound first, so that an address that cannot be
//! served is an error before anything else is started; [`Server::build`] needs them and all parts.

#[cfg_attr(not(feature = "mcp"), path = "server/no_assistants.rs")]
mod assistants;
mod manifests;
mod store;
mod views;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ::metrics::Label as _;
use alpha_graphql::AlphaGraphql;
use anyhow::{Context, bail};
use auth::{Authorizer, ClientCertificate};
use axum::Router;
use axum::http::Extensions;
use build_info::VERSION;
use bundle_images::BundleImages;
use controller::ControllerMetrics;
use graphql::Engine;
use http_server::{
    AccessLog, AllowedHosts, ConnectionCounter, ConnectionLimits, ListenOptions, Listener,
    RELOAD_INTERVAL, RequestMetrics, RequestObserver, ServerReadiness, SpanCounts, Tls,
    TraceExporter,
};
use jiff::Timestamp;
use loading::{LoadStatistics, Refresher};
use pages::Pages;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::pki_types::CertificateDer;
use server_metrics::{ReloadCounters, ServerMetrics};
use serving::{Catalogs, ReadBarrier};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use webhooks::Webhooks;

use super::access::AccessControl;
use super::background::BackgroundTasks;
use super::edits;
use super::grpc::{GrpcListeners, GrpcParts, RunningGrpc};
use super::kube_api::{CallerAccess, KubeApiListener, RunningKubeApi};
use super::listeners::ListenerParts;
use super::scrapes::{self, Scrapers};
use crate::args::{DocumentArgs, EditableArg, LimitArgs, ObserveArgs, ServerArgs};
use crate::handlers::{HandlerLabel, handler_of_path};

use views::{ViewParts, Views};

pub use store::{CatalogLoader, StoreFolder};

/// Time for each WebSocket to close at the end: as long as a client may take to answer a close
/// frame, and a little more.
const GOODBYE: Duration = Duration::from_secs(2);

/// Time after which an unused thread of the pool for blocking work ends. The allocator returns the
/// memory that a load has freed to the system only then.
const BLOCKING_THREAD_KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The sockets of a server that does not serve yet, and its TLS.
pub struct ServerSockets {
    listener: Listener,
    /// Listener for probes alone.
    probes: Option<Listener>,
    tls: Option<Tls>,
}

/// Parts that a server is built from, besides its sockets.
pub struct ServerParts<'a> {
    /// Flags of the server.
    pub args: &'a ServerArgs,
    /// Flags for trusted documents.
    pub documents: &'a DocumentArgs,
    /// Limits of a request.
    pub limits: &'a LimitArgs,
    /// The folder of the store, on whose file system views keep files, too.
    pub store_folder: &'a Path,
    /// The published set.
    pub catalogs: Catalogs,
    /// Loads of the wanted catalogs.
    pub loads: LoadStatistics,
    /// Identifies callers, if any listener needs it.
    pub access: Option<AccessControl>,
    /// Callers that may read metrics.
    pub metrics_access: MetricsAccess,
    /// Directories that requests may edit.
    pub edits: Option<EditParts<'a>>,
    /// Loads the source of a catalog of which a client has seen a content that is unknown here.
    pub refresher: Refresher,
    /// Lets reads of whole catalogs wait for the status in the cluster, if there is a controller.
    pub read_barrier: Option<ReadBarrier>,
    /// Counts reconciliations, if there is a controller.
    pub controller: Option<Arc<ControllerMetrics>>,
    /// Fetches manifests that requests ask for and catalogs do not have; `None` fetches none.
    pub bundle_images: Option<BundleImages>,
}

/// Callers that may read metrics.
pub enum MetricsAccess {
    /// Everybody who can connect.
    Everybody,
    /// Those whom the API server lets `get` the path.
    Authorized(Authorizer),
}

/// Directories that requests may edit.
pub struct EditParts<'a> {
    /// Their names and paths.
    pub editable: &'a [EditableArg],
    /// Loads a directory that was edited.
    pub refresher: Refresher,
}

/// A server that listens and does not serve yet.
pub struct Server {
    listener: Listener,
    /// Listener for probes alone.
    probes: Option<Listener>,
    options: ListenOptions,
    routes: Router,
    engine: Arc<Engine>,
    /// catalogd's alpha GraphQL, if it is served.
    alpha: Option<AlphaGraphql>,
    pages: Pages,
    reloads: Arc<ReloadCounters>,
    metrics: Option<MetricsListener>,
    traces: Option<TraceExporter>,
    kube_api: Option<KubeApiListener>,
    grpc: GrpcListeners,
    access: Option<AccessControl>,
    /// Webhooks with the catalogs whose changes they get, if there are any.
    webhooks: Option<(Webhooks, Catalogs)>,
}

/// Observation of a server: metrics of requests, the access log, and traces.
struct Observation {
    observer: RequestObserver,
    spans: Arc<SpanCounts>,
    traces: Option<TraceExporter>,
}

/// The listener of metrics, which does not serve yet.
struct MetricsListener {
    listener: Listener,
    routes: Router,
    hosts: AllowedHosts,
}

/// Runs a server to its end.
pub fn block_on(server: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    raise_open_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_keep_alive(BLOCKING_THREAD_KEEP_ALIVE)
        .enable_all()
        .build()?;
    let done = runtime.block_on(server);
    // A running load is aborted: the store survives that.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

impl ServerSockets {
    /// Reads the certificate and listens on the addresses of the arguments.
    pub async fn bind(args: &ServerArgs) -> anyhow::Result<Self> {
        refuse_unintended_access(args)?;
        let tls = args
            .tls
            .files()
            .map(|files| Tls::new(files, args.tls.tls_min_version.into()))
            .transpose()
            .context("cannot use --tls-cert-file and --tls-private-key-file")?
            .map(|tls| tls.with_client_extensions(certificate_extensions));
        let listener = Listener::bind(&args.listen).await?;
        refuse_unintended_plain_http(args, listener.address())?;
        let probes = match &args.health_probe_bind_address {
            Some(address) => Some(Listener::bind(address).await?),
            None => None,
        };
        Ok(Self {
            listener,
            probes,
            tls,
        })
    }
}

impl Server {
    /// Prepares to serve, and binds the remaining listeners.
    pub async fn build(sockets: ServerSockets, parts: ServerParts<'_>) -> anyhow::Result<Self> {
        let ServerSockets {
            listener,
            probes,
            tls,
        } = sockets;
        let ServerParts {
            args,
            documents,
            limits,
            store_folder,
            catalogs,
            loads,
            access,
            metrics_access,
            edits,
            refresher,
            read_barrier,
            controller,
            bundle_images,
        } = parts;
        let guard = access.clone().filter(|_| args.access.is_delegated());
        let ready = if guard.is_some() {
            ServerReadiness::default().without_names()
        } else {
            ServerReadiness::default()
        };
        let observation = Observation::start(&args.observe)?;
        let views = Views::new(ViewParts {
            args,
            documents,
            limits,
            catalogs: catalogs.clone(),
            guard: guard.clone(),
            is_traced: observation.traces.is_some(),
            bundle_images,
            refresher,
            read_barrier,
            ready: ready.clone(),
        })?;

        let shared = ListenerParts {
            ready: ready.clone(),
            tls: tls.clone(),
            observer: observation.observer.clone(),
            folder: store_folder.to_owned(),
        };
        let grpc = GrpcListeners::bind(&GrpcParts {
            args: &args.grpc,
            catalogs: catalogs.clone(),
            access: guard.clone(),
            shared: shared.clone(),
            is_plain_http: args.tls.plain_http,
        })
        .await?;
        let callers = CallerAccess {
            access: access.as_ref(),
            is_narrowed: guard.is_some(),
        };
        let kube_api = KubeApiListener::bind(
            &args.kube_api,
            &args.allowed_host,
            catalogs.clone(),
            callers,
            shared,
        )
        .await?;
        if let Some(kube_api) = &kube_api {
            refuse_unintended_plain_http(args, kube_api.listener().address())?;
        }

        let mut routes = views.routes;
        if let Some(edits) = edits {
            // Edits are not below the layer of CORS, so that no page of another origin can edit.
            let catalogs = catalogs.clone();
            routes = routes.merge(edit_routes(listener.address(), edits, guard, catalogs)?);
        }

        let webhooks = webhooks(args, store_folder)?;
        let connections = ConnectionCounter::default();
        let metrics = ServerMetrics {
            requests: Arc::clone(&observation.observer.metrics),
            spans: observation.spans,
            connections: connections.clone(),
            ready: ready.clone(),
            engine: Arc::clone(&views.engine),
            transport: views.transport,
            webhooks: webhooks.as_ref().map(Webhooks::metrics),
            catalogs: catalogs.clone(),
            loads,
            reloads: Arc::default(),
            controller,
            grpc: grpc.metrics(),
            alpha: views.alpha.as_ref().map(AlphaGraphql::metrics),
            tls: tls.clone(),
            fetches_bundle_images: args.bundle_images,
            started: Timestamp::now(),
        };
        let reloads = Arc::clone(&metrics.reloads);
        let metrics = MetricsListener::bind(args, metrics, metrics_access, access.as_ref()).await?;

        let limits = ConnectionLimits {
            peer_connections: args.max_peer_connections,
            ..ConnectionLimits::default()
        };
        let options = ListenOptions {
            limits,
            hosts: AllowedHosts::new(&args.allowed_host, &args.listen, listener.address()),
            ready,
            tls,
            observer: Some(observation.observer),
            connections,
            ..ListenOptions::default()
        };
        Ok(Self {
            listener,
            probes,
            options,
            routes,
            engine: views.engine,
            alpha: views.alpha,
            pages: views.pages,
            reloads,
            metrics,
            traces: observation.traces,
            kube_api,
            grpc,
            access,
            webhooks: webhooks.map(|webhooks| (webhooks, catalogs)),
        })
    }

    /// Returns the URL at which this machine reaches the server, without a path.
    pub fn url(&self) -> String {
        let scheme = if self.options.tls.is_some() {
            "https"
        } else {
            "http"
        };
        url(scheme, self.listener.address())
    }

    /// Returns the readiness that the readiness probe reports.
    pub fn ready(&self) -> ServerReadiness {
        self.options.ready.clone()
    }

    /// Returns the counters of reloads of configuration files.
    pub fn reloads(&self) -> Arc<ReloadCounters> {
        Arc::clone(&self.reloads)
    }

    /// Returns the pages that are served.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Serves until a signal ends it; `ending` is called then.
    ///
    /// # Errors
    /// One of the tasks panicked. Running requests are finished, as after a signal.
    pub async fn run(
        self,
        tasks: &mut BackgroundTasks,
        ending: impl FnOnce(),
    ) -> anyhow::Result<()> {
        tracing::info!(version = VERSION, url = self.url(), "listening");
        let Self {
            listener,
            probes,
            options,
            routes,
            engine,
            alpha,
            metrics,
            traces,
            kube_api,
            grpc,
            access,
            webhooks,
            ..
        } = self;
        let signal = termination_signal()?;
        if let Some(tls) = options.tls.clone() {
            tasks.spawn(
                "reload the certificate",
                tls.clone().reload_changes(RELOAD_INTERVAL),
            );
            if let Some(access) = access {
                tasks.spawn(
                    "reload the authorities of clients",
                    access.accept_clients(tls),
                );
            }
        }
        let evicting = Arc::clone(&engine);
        tasks.spawn("evict responses", async move {
            evicting.evict_stale_responses().await;
        });
        let merging = Arc::clone(&engine);
        let ready = options.ready.clone();
        tasks.spawn("merge search indexes", async move {
            ready.wait().await;
            merging.merge_missed_search_indexes().await;
        });
        if let Some(alpha) = alpha {
            tasks.spawn("evict schemas", alpha.evict_stale_schemas());
        }

        if let Some((webhooks, catalogs)) = webhooks {
            tasks.spawn("send changes to webhooks", webhooks.run(catalogs));
        }

        // Probes are answered until the last request is.
        let (end_probes, probes_ended) = oneshot::channel::<()>();
        let probing = probes.map(|listener| {
            tokio::spawn(serve_probes(listener, options.ready.clone(), probes_ended))
        });
        let metrics = metrics.map(|metrics| metrics.spawn(&options));
        let kube_api = kube_api.map(|listener| listener.run(tasks));
        let grpc = grpc.run();
        let (end, ended) = oneshot::channel::<()>();
        let serving = listener.serve(routes, options, async { _ = ended.await });
        let ending = async {
            let result = tokio::select! {
                () = signal => Ok(()),
                panicked = tasks.panicked() => Err(panicked),
            };
            ending();
            // Streams would last for as long as their clients listen.
            engine.end_streams();
            drop(end);
            // All listeners end at the same time, so that one grace period bounds them together.
            let kube_api = async {
                if let Some(kube_api) = kube_api {
                    RunningKubeApi::end(kube_api).await;
                }
            };
            tokio::join!(RunningGrpc::end(grpc), kube_api);
            result
        };
        let ((), result) = tokio::join!(serving, ending);

        metrics.inspect(JoinHandle::abort);
        // After its upgrade, a WebSocket is no connection of the listener any more; each sends a
        // close frame.
        let _ = timeout(GOODBYE, engine.streams_ended()).await;
        if let Some(traces) = traces {
            traces.end().await;
        }
        drop(end_probes);
        if let Some(probing) = probing {
            probing.await?;
        }
        result
    }
}

impl Observation {
    /// Starts the access log and the export of traces, if the arguments say so.
    fn start(args: &ObserveArgs) -> anyhow::Result<Self> {
        let spans = Arc::<SpanCounts>::default();
        let traces = args
            .traces()
            .map(|options| TraceExporter::start(&options, Arc::clone(&spans)))
            .transpose()?;
        let access_log = args
            .access_log
            .then(|| AccessLog::start(io::stderr()))
            .transpose()
            .context("cannot start the access log")?;
        let handlers = HandlerLabel::ALL.iter().map(|label| label.as_str());
        let observer = RequestObserver {
            metrics: Arc::new(RequestMetrics::new(handlers)),
            classify: handler_of_path,
            access_log,
            tracer: traces.as_ref().map(TraceExporter::tracer),
        };
        Ok(Self {
            observer,
            spans,
            traces,
        })
    }
}

impl MetricsListener {
    /// Listens for scrapers, if the arguments say so. `access` identifies callers by their client
    /// certificates, too.
    async fn bind(
        args: &ServerArgs,
        metrics: ServerMetrics,
        metrics_access: MetricsAccess,
        access: Option<&AccessControl>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(address) = &args.observe.metrics_listen else {
            return Ok(None);
        };
        let scrapers = match metrics_access {
            MetricsAccess::Authorized(authorizer) => Some(Scrapers {
                authorizer,
                authenticator: access.map(|access| access.authenticator.clone()),
            }),
            MetricsAccess::Everybody => None,
        };
        let listener = Listener::bind(address).await?;
        refuse_unintended_plain_http(args, listener.address())?;
        tracing::info!(address = %listener.address(), "serving metrics");
        // Authorized scrapers may name any host: a page that makes a browser send requests (DNS
        // rebinding) has no credentials.
        let hosts = match scrapers {
            Some(_) => AllowedHosts::default(),
            None => AllowedHosts::new(&args.allowed_host, address, listener.address()),
        };
        Ok(Some(Self {
            listener,
            routes: scrapes::routes(metrics, scrapers),
            hosts,
        }))
    }

    /// Serves metrics until the task is aborted, so that they can be read until the last request
    /// has ended. `main` are the options of the main listener.
    fn spawn(self, main: &ListenOptions) -> JoinHandle<()> {
        let options = ListenOptions {
            hosts: self.hosts,
            ready: main.ready.clone(),
            tls: main.tls.clone(),
            ..ListenOptions::default()
        };
        tokio::spawn(
            self.listener
                .serve(self.routes, options, std::future::pending()),
        )
    }
}

/// Returns the extensions of requests of a client with this chain of certificates.
fn certificate_extensions(chain: &[CertificateDer<'_>]) -> Extensions {
    let mut extensions = Extensions::new();
    if let Some(certificate) = ClientCertificate::new(chain) {
        extensions.insert(Arc::new(certificate));
    }
    extensions
}

/// Returns the route of edits. Without `guard`, only this machine may edit.
fn edit_routes(
    address: SocketAddr,
    edits: EditParts<'_>,
    guard: Option<AccessControl>,
    catalogs: Catalogs,
) -> anyhow::Result<Router> {
    if guard.is_none() && !address.ip().to_canonical().is_loopback() {
        bail!(
            "cannot let catalogs be edited at `{address}`, which other machines reach, without authentication: pass \
             --auth=delegated"
        );
    }
    edits::routes(edits.editable, guard, catalogs, edits.refresher)
}

/// Serves probes over plain HTTP until the sender is dropped.
async fn serve_probes(listener: Listener, ready: ServerReadiness, end: oneshot::Receiver<()>) {
    let options = ListenOptions {
        ready,
        ..ListenOptions::default()
    };
    listener
        .serve(Router::new(), options, async { _ = end.await })
        .await;
}

/// Creates the webhooks that the arguments name; `None` without any.
fn webhooks(args: &ServerArgs, folder: &Path) -> anyhow::Result<Option<Webhooks>> {
    let args = &args.webhooks;
    let Some(secret_file) = args
        .webhook_secret_file
        .clone()
        .filter(|_| !args.webhook.is_empty())
    else {
        return Ok(None);
    };
    let webhooks = Webhooks::new(&args.webhook, secret_file, folder);
    Ok(Some(webhooks.context("cannot use --webhook")?))
}

/// Rejects flags whose effect would be wider than their names suggest.
fn refuse_unintended_access(args: &ServerArgs) -> anyhow::Result<()> {
    let is_delegated = args.access.is_delegated();
    if !is_delegated && !args.kube_api.is_delegated() && !args.access.token_audience.is_empty() {
        bail!("--token-audience needs --auth=delegated: without it, everybody sees every catalog");
    }
    if is_delegated
        && args.kube_api.kube_api_listen.is_some()
        && args.kube_api.kube_api_auth.is_none()
    {
        bail!(
            "--auth=delegated does not apply to --kube-api-listen: say who may read that with --kube-api-auth"
        );
    }
    Ok(())
}

/// Rejects plain HTTP on an address that other machines reach, unless `--plain-http` is given.
fn refuse_unintended_plain_http(args: &ServerArgs, address: SocketAddr) -> anyhow::Result<()> {
    let is_loopback = address.ip().to_canonical().is_loopback();
    if is_loopback || args.tls.plain_http || args.tls.files().is_some() {
        return Ok(());
    }
    bail!(
        "cannot serve plain HTTP on `{address}`, which other machines reach: pass --tls-cert-file and \
         --tls-private-key-file, or --plain-http if that is intended"
    )
}

/// Raises the limit of open files to the maximum of this process: each connection is one, and the
/// usual soft limit is below [`ConnectionLimits::connections`]. Where that fails, idle connections
/// are evicted for new ones.
fn raise_open_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    ) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

/// Returns a future that completes when the process receives SIGTERM or SIGINT.
fn termination_signal() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "ending");
    })
}

/// Returns the URL of an address; `localhost` for a server that listens on every address, which no
/// browser opens.
fn url(scheme: &str, address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("{scheme}://localhost:{}", address.port());
    }
    format!("{scheme}://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_server_is_one_that_a_browser_opens() {
        for (address, expected) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("0.0.0.0:8080", "http://localhost:8080"),
            ("[::]:8080", "http://localhost:8080"),
        ] {
            assert_eq!(url("http", address.parse().unwrap()), expected);
        }
    }
}
