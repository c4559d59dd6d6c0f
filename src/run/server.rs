//! A server without its catalogs: the store and the loader, the socket, the routes, and the end.
//! `serve` and `controller` add where catalogs come from.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use alpha_graphql::AlphaGraphql;
use anyhow::{Context, bail};
use auth::Authorizer;
use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use controller::ControllerMetrics;
use graphql::limits::Limits;
use graphql::{Engine, ServerInfo};
use graphql_http::GraphqlHttp;
use jiff::Timestamp;
use loading::{LoadStatistics, Loader, LoaderTask, Refresher};
use pages::Pages;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serving::{Catalogs, Visibility, catalogs};
use store::{Store, UnprotectedFiles};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::access::{self, Access};
use super::background::BackgroundTasks;
use super::edits::{self, Publisher};
use super::grpc::{GrpcListeners, RunningGrpc};
use super::kube_api::{self, KubeApiListener, RunningKubeApi};
use super::metrics::{self, Scrapers};
use super::version::build_info;
use crate::args::{
    DocumentArgs, EditableArg, LimitArgs, MetricsAuth, ObserveArgs, ServerArgs, VERSION,
};
use crate::exchange::{AccessLog, Exchange, Exchanges};
use crate::exposition::{Reloads, Sources};
use crate::listen::{
    AllowedHosts, ConnectionLimits, ListenOptions, Listener, RELOAD_INTERVAL, Ready, Tls, cors,
};
use crate::traces::{SpanCounts, Traces};

/// Identifies the code that reads catalogs: what another build stored is read again.
const CONTENT_BUILD: &str = env!("CATALOGQL_CONTENT_BUILD");

/// Identifies the code that answers requests: entity tags of another build are not believed.
pub(super) const ANSWERS_BUILD: &str = env!("CATALOGQL_ANSWERS_BUILD");

/// How long sockets of streams may take to close at the end: as long as a client may take to
/// answer, and a little more.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long a thread waits for the next load before it ends: what it freed goes back to the system
/// only then.
const IDLE_THREAD: Duration = Duration::from_secs(1);

/// A server that listens.
pub(super) struct Server {
    listener: Listener,
    /// A listener for probes alone.
    probes: Option<Listener>,
    options: ListenOptions,
    routes: Router,
    engine: Arc<Engine>,
    /// catalogd's alpha GraphQL, if it is served.
    alpha: Option<AlphaGraphql>,
    pages: Pages,
    sources: Sources,
    /// The listener of metrics, with its route.
    metrics: Option<(Listener, Router, AllowedHosts)>,
    traces: Option<Traces>,
    /// The listener of the Kubernetes API.
    kube_api: Option<KubeApiListener>,
    /// The listeners of gRPC.
    grpc: GrpcListeners,
    /// What tells who callers are, where that matters.
    access: Option<Access>,
}

/// The folder of the store.
pub(super) struct StoreFolder {
    pub(super) path: PathBuf,
    /// Removes the folder when it is dropped.
    _temporary: Option<TempDir>,
}

/// Opens the store and creates the loader of a server.
pub(super) fn open(
    args: &ServerArgs,
    folder: &Path,
) -> anyhow::Result<(Loader, LoaderTask, Catalogs)> {
    let store = Store::open(folder, args.store_quota.0, CONTENT_BUILD)?;
    let UnprotectedFiles { repaired, removed } = store.unprotected_files();
    if repaired > 0 || removed > 0 {
        let message = "others could write to files of the store, which were protected, or removed where others own them";
        tracing::warn!(folder = %folder.display(), protected = repaired, removed, "{message}");
    }
    let (writer, catalogs) = catalogs();
    let (loader, task) = Loader::new(store, writer);
    let check_interval = Some(args.store_check_interval).filter(|interval| !interval.is_zero());
    let task = task
        .compress_after(args.compress_after)
        .ready_after(args.ready_after)
        .check_interval(check_interval);
    Ok((loader, task, catalogs))
}

/// Returns the folder that `--store` names, or else one in the user's cache folder. Where that
/// cannot be created, as for a user without a home, it is a temporary folder.
pub(super) fn store_folder(args: &ServerArgs) -> anyhow::Result<StoreFolder> {
    if let Some(folder) = &args.store {
        return Ok(StoreFolder {
            path: folder.clone(),
            _temporary: None,
        });
    }
    let reason = match default_store().map(|folder| (fs::create_dir_all(&folder), folder)) {
        Some((Ok(()), path)) => {
            return Ok(StoreFolder {
                path,
                _temporary: None,
            });
        }
        Some((Err(error), path)) => {
            format!("cannot create the folder `{}`: {error}", path.display())
        }
        None => "neither XDG_CACHE_HOME nor HOME names a folder".to_owned(),
    };
    let folder = tempfile::Builder::new().prefix("catalogql-").tempdir();
    let folder =
        folder.with_context(|| format!("{reason}: name a folder for the store with --store"))?;
    tracing::warn!(
        reason,
        "contents are stored in a temporary folder; --store names one that is kept"
    );
    Ok(StoreFolder {
        path: folder.path().to_owned(),
        _temporary: Some(folder),
    })
}

/// Runs a server to its end.
pub(super) fn block_on(
    server: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<ExitCode> {
    allow_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_keep_alive(IDLE_THREAD)
        .enable_all()
        .build()?;
    let done = runtime.block_on(server);
    // A load that is under way is given up: the store survives that.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

impl Server {
    /// Listens, and prepares to answer from these catalogs. `access` says who callers are, and who
    /// may see which of them where not everybody may see each; `folder` is that of the store.
    pub(super) async fn bind(
        args: &ServerArgs,
        documents: &DocumentArgs,
        limits: &LimitArgs,
        (catalogs, loads): (Catalogs, LoadStatistics),
        (access, folder): (Option<Access>, &Path),
    ) -> anyhow::Result<Self> {
        refuse_unintended_access(args)?;
        let tls = args
            .tls
            .files()
            .map(|files| Tls::new(files, args.tls.tls_min_version))
            .transpose()?;
        let listener = Listener::bind(&args.listen).await?;
        refuse_unintended_plain_http(args, listener.address())?;
        let probes = match &args.health_probe_bind_address {
            Some(address) => Some(Listener::bind(address).await?),
            None => None,
        };
        let mut options = listen_options(args, listener.address(), tls);
        let guard = access.clone().filter(|_| args.access.is_delegated());
        if guard.is_some() {
            options.ready = options.ready.without_names();
        }
        let spans = Arc::<SpanCounts>::default();
        let traces = args
            .observe
            .traces()
            .map(|options| Traces::start(&options, Arc::clone(&spans)))
            .transpose()?;
        // Where callers are told apart, views see nothing by themselves.
        let reader = if guard.is_some() {
            catalogs.visible(Visibility::none())
        } else {
            catalogs.clone()
        };
        let pages = args.pages.pages(documents);
        let mut engine = engine(reader.clone(), documents, limits, pages)?;
        if traces.is_some() {
            engine.observe_results(Exchange::add_graphql_result);
        }
        let engine = Arc::new(engine);
        let graphql = GraphqlHttp::new(Arc::clone(&engine), &args.cors_origin);
        let mut sources = Sources {
            exchanges: Arc::new(exchanges(&args.observe, traces.as_ref())?),
            spans,
            open: options.open.clone(),
            ready: options.ready.clone(),
            engine: Arc::clone(&engine),
            transport: graphql.metrics(),
            catalogs,
            loads,
            reloads: Arc::default(),
            controller: None,
            grpc: None,
            alpha: None,
            tls: options.tls.clone(),
            started: Timestamp::now(),
        };
        let options = ListenOptions {
            exchanges: Some(Arc::clone(&sources.exchanges)),
            ..options
        };
        let ready = options.ready.clone();
        let tls = options.tls.clone();
        let exchanges = Arc::clone(&sources.exchanges);
        let shared = kube_api::Shared {
            ready,
            tls,
            exchanges,
            folder: folder.to_owned(),
        };
        let catalogs = sources.catalogs.clone();
        let is_plain = args.tls.plain_http;
        let (grpc, calls) = GrpcListeners::bind(
            &args.grpc,
            catalogs,
            guard.clone(),
            shared.clone(),
            is_plain,
        )
        .await?;
        sources.grpc = calls;
        let hosts = &args.allowed_host;
        let catalogs = sources.catalogs.clone();
        let who = (access.as_ref(), guard.is_some());
        let kube_api = KubeApiListener::bind(&args.kube_api, hosts, catalogs, who, shared).await?;
        if let Some(kube_api) = &kube_api {
            refuse_unintended_plain_http(args, kube_api.listener().address())?;
        }
        // No document of that dialect can be trusted.
        let is_served = !args.no_alpha_graphql && !documents.trusted_only;
        let alpha = is_served.then(|| {
            AlphaGraphql::new(
                Arc::clone(&engine),
                reader.clone(),
                catalogd_http::parse_catalog,
            )
        });
        sources.alpha = alpha.as_ref().map(AlphaGraphql::metrics);
        let routes = routes(&graphql, alpha.as_ref(), reader, guard);
        // Without the layer, responses need not vary by origin.
        let routes = if args.cors_origin.is_empty() {
            routes
        } else {
            routes.layer(cors(&args.cors_origin))
        };
        let routes = routes.merge(pages.router());
        let metrics = None;
        Ok(Self {
            listener,
            probes,
            options,
            routes,
            engine,
            alpha,
            pages,
            sources,
            metrics,
            traces,
            kube_api,
            grpc,
            access,
        })
    }

    /// Lets requests edit directories. Without callers that are told apart, only this machine may.
    pub(super) fn add_edits(
        &mut self,
        args: &ServerArgs,
        editable: &[EditableArg],
        refresher: Refresher,
    ) -> anyhow::Result<()> {
        if editable.is_empty() {
            return Ok(());
        }
        let address = self.listener.address();
        let is_delegated = args.access.is_delegated();
        if !is_delegated && !address.ip().to_canonical().is_loopback() {
            bail!(
                "cannot let catalogs be edited at `{address}`, which other machines reach, without authentication: pass \
                 --auth=delegated"
            );
        }
        // They are not below the layer of CORS, so that no page of another origin can edit.
        let access = self.access.clone().filter(|_| is_delegated);
        let publisher = Publisher {
            catalogs: self.sources.catalogs.clone(),
            refresher,
        };
        self.routes =
            std::mem::take(&mut self.routes).merge(edits::routes(editable, access, publisher)?);
        Ok(())
    }

    /// Adds the counters of a controller to the metrics.
    pub(super) fn count_controller(&mut self, metrics: Arc<ControllerMetrics>) {
        self.sources.controller = Some(metrics);
    }

    /// Listens for scrapers, if the arguments say so. `authorizer` says who may read metrics where
    /// not everybody may.
    pub(super) async fn bind_metrics(
        &mut self,
        args: &ServerArgs,
        authorizer: impl AsyncFnOnce() -> anyhow::Result<Authorizer>,
    ) -> anyhow::Result<()> {
        let Some(address) = &args.observe.metrics_listen else {
            return Ok(());
        };
        let scrapers = match args.observe.metrics_auth {
            MetricsAuth::Delegated => {
                let authenticator = self
                    .access
                    .as_ref()
                    .map(|access| access.authenticator.clone());
                Some(Scrapers {
                    authorizer: authorizer().await?,
                    authenticator,
                })
            }
            MetricsAuth::None => None,
        };
        let listener = Listener::bind(address).await?;
        refuse_unintended_plain_http(args, listener.address())?;
        tracing::info!(address = %listener.address(), "serving metrics");
        // A page that makes a browser send requests has no credentials.
        let hosts = match scrapers {
            Some(_) => AllowedHosts::default(),
            None => AllowedHosts::new(&args.allowed_host, address, listener.address()),
        };
        self.metrics = Some((
            listener,
            metrics::routes(self.sources.clone(), scrapers),
            hosts,
        ));
        Ok(())
    }

    /// The URL at which this machine reaches the server, without a path.
    pub(super) fn url(&self) -> String {
        url(
            if self.options.tls.is_some() {
                "https"
            } else {
                "http"
            },
            self.listener.address(),
        )
    }

    /// What the readiness probe reports.
    pub(super) fn ready(&self) -> Ready {
        self.options.ready.clone()
    }

    /// What counts reloads of configuration files.
    pub(super) fn reloads(&self) -> Arc<Reloads> {
        Arc::clone(&self.sources.reloads)
    }

    /// Its pages for people.
    pub(super) fn pages(&self) -> Pages {
        self.pages
    }

    /// Serves until a signal ends it, and `ending` has been called then.
    ///
    /// # Errors
    /// One of the tasks panicked. Requests are answered to their end, as after a signal.
    pub(super) async fn run(
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
            ..
        } = self;
        let signal = end()?;
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
        if let Some(alpha) = alpha {
            tasks.spawn("evict schemas", alpha.evict_stale_schemas());
        }
        // Probes are answered until the last request is.
        let (probed, end_of_probes) = oneshot::channel::<()>();
        let probing = probes.map(|listener| {
            tokio::spawn(serve_probes(listener, options.ready.clone(), end_of_probes))
        });
        let metrics = metrics.map(|(listener, routes, hosts)| {
            let ready = options.ready.clone();
            let tls = options.tls.clone();
            let options = ListenOptions {
                hosts,
                ready,
                tls,
                ..ListenOptions::default()
            };
            // They can be read until the last request has ended.
            tokio::spawn(listener.serve(routes, options, std::future::pending()))
        });
        let kube_api = kube_api.map(|listener| listener.run(tasks));
        let grpc = grpc.run();
        let (end, is_ended) = oneshot::channel::<()>();
        let serving = listener.serve(routes, options, async { _ = is_ended.await });
        let ending = async {
            let ended = tokio::select! {
                () = signal => Ok(()),
                panicked = tasks.panicked() => Err(panicked),
            };
            ending();
            // They would go on for as long as they are listened to.
            engine.end_streams();
            drop(end);
            // All listeners end within one grace period.
            let kube_api = async {
                if let Some(kube_api) = kube_api {
                    RunningKubeApi::end(kube_api).await;
                }
            };
            tokio::join!(RunningGrpc::end(grpc), kube_api);
            ended
        };
        let ((), ended) = tokio::join!(serving, ending);
        metrics.inspect(JoinHandle::abort);
        // A WebSocket is no connection of the listener any more; each says goodbye.
        let _ = timeout(GOODBYE, engine.streams_ended()).await;
        if let Some(traces) = traces {
            traces.end().await;
        }
        drop(probed);
        if let Some(probing) = probing {
            probing.await?;
        }
        ended
    }
}

/// Returns the routes of all views but the page. Those that show catalogs ask `access` what they
/// may show.
fn routes(
    graphql: &GraphqlHttp,
    alpha: Option<&AlphaGraphql>,
    reader: Catalogs,
    access: Option<Access>,
) -> Router {
    let routes = graphql
        .router()
        .merge(catalogd_http::router(reader, ANSWERS_BUILD));
    let routes = routes.merge(alpha.map(AlphaGraphql::router).unwrap_or_default());
    let routes = routes.route("/version", get(version_response));
    match access {
        Some(access) => access::guard(routes, access),
        None => routes,
    }
}

/// Serves probes over plain HTTP until the sender is dropped.
async fn serve_probes(listener: Listener, ready: Ready, end: oneshot::Receiver<()>) {
    let options = ListenOptions {
        ready,
        ..ListenOptions::default()
    };
    listener
        .serve(Router::new(), options, async { _ = end.await })
        .await;
}

/// Refuses flags that would show more than somebody who wrote them expects.
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

/// Refuses to serve plain HTTP to other machines, unless that is asked for.
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

/// Counts requests, and logs and traces them if the arguments say so.
fn exchanges(args: &ObserveArgs, traces: Option<&Traces>) -> anyhow::Result<Exchanges> {
    let access_log = args
        .access_log
        .then(|| AccessLog::start(io::stderr()))
        .transpose();
    let access_log = access_log.context("cannot start the access log")?;
    Ok(Exchanges {
        access_log,
        tracer: traces.map(Traces::tracer),
        ..Exchanges::default()
    })
}

fn listen_options(args: &ServerArgs, address: SocketAddr, tls: Option<Tls>) -> ListenOptions {
    let limits = ConnectionLimits {
        peer_connections: args.max_peer_connections,
        ..ConnectionLimits::default()
    };
    let hosts = AllowedHosts::new(&args.allowed_host, &args.listen, address);
    ListenOptions {
        limits,
        hosts,
        tls,
        ..ListenOptions::default()
    }
}

/// Creates the GraphQL engine with its trusted documents.
fn engine(
    catalogs: Catalogs,
    documents: &DocumentArgs,
    limits: &LimitArgs,
    pages: Pages,
) -> anyhow::Result<Engine> {
    let limits = Limits {
        introspection: documents.introspection(),
        ..limits.limits()
    };
    let mut engine = Engine::new(catalogs, ANSWERS_BUILD, limits);
    for file in &documents.files {
        let json = std::fs::read_to_string(file);
        let file = file.display();
        let json = json.with_context(|| format!("cannot read `{file}`"))?;
        let count = engine
            .trust(&json)
            .with_context(|| format!("cannot trust the documents of `{file}`"))?;
        tracing::info!(%file, count, "trusting documents");
    }
    if documents.trusted_only && pages.has_explorer() {
        // Limits that its documents exceed are no reason not to start: the other documents are what
        // they are for.
        if let Err(error) = engine.trust(pages::explorer_documents()) {
            tracing::warn!(%error, "cannot trust the documents of the explorer: turn it off with --no-explorer");
        }
    }
    engine.set_policy(documents.policy());
    engine.set_server(ServerInfo {
        version: build_info().version.to_owned(),
        commit: build_info().commit.map(ToOwned::to_owned),
        // From `/graphql`, also below a path prefix.
        playground_url: pages.has_playground().then(|| "playground/".to_owned()),
    });
    Ok(engine)
}

/// Says what the program is, as `catalogql version -o json` does.
async fn version_response() -> impl IntoResponse {
    let body = serde_json::to_string(&build_info()).expect("names and numbers are JSON");
    (
        [
            (CONTENT_TYPE, "application/json"),
            (CACHE_CONTROL, "no-cache"),
        ],
        body,
    )
}

/// Takes as many open files as the system lets this process have: each connection is one, and the
/// usual first limit is below [`ConnectionLimits::connections`]. Where that fails, idle connections
/// are closed for new ones.
fn allow_open_files() {
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

/// Completes when the process receives a signal to end.
fn end() -> io::Result<impl Future<Output = ()>> {
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

fn default_store() -> Option<PathBuf> {
    let folder = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
    };
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(cache?.join("catalogql").join("store"))
}

/// The URL of an address; `localhost` for a server that listens on every address, which no browser
/// opens.
fn url(scheme: &str, address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("{scheme}://localhost:{}", address.port());
    }
    format!("{scheme}://{address}")
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::{Request, header};
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;
    use serving::{CatalogMetadata, Content, Served};

    use super::*;

    #[tokio::test]
    async fn no_route_shows_anything_where_callers_are_told_apart_and_nobody_says_who_asks() {
        let (mut writer, catalogs) = catalogs();
        let content =
            testing::fixture::catalog("package concealed default=stable\nchannel stable: v1.0.0");
        let content = Content::new(content, fbc_grammar::Digest::new([1; 32]));
        writer.publish(Served::new("secret", content, CatalogMetadata::default()));
        let body = async |reader: &Catalogs, path: &str, accept: &'static str| {
            let engine = Arc::new(Engine::new(reader.clone(), "test", Limits::default()));
            let graphql = GraphqlHttp::new(Arc::clone(&engine), &[]);
            let alpha = AlphaGraphql::new(engine, reader.clone(), catalogd_http::parse_catalog);
            let service =
                TowerToHyperService::new(routes(&graphql, Some(&alpha), reader.clone(), None));
            let request = Request::builder().uri(path).header(header::ACCEPT, accept);
            let request = if path.ends_with("/v1/graphql") {
                request
                    .method("POST")
                    .body(r#"{"query":"{olmpackages{name}}"}"#.into())
            } else {
                request.body(Body::empty())
            };
            let request = request.unwrap();
            let body = to_bytes(service.call(request).await.unwrap().into_body(), usize::MAX)
                .await
                .unwrap();
            String::from_utf8_lossy(&body).into_owned()
        };
        let graphql = "/graphql?query=%7Bcatalogs%7Bname%7DcatalogStatuses%7Bname%7Dpackages%7Bnodes%7Bname%7D%7D%7D";
        let mut shown = Vec::new();
        let paths = catalogd_http::routes()
            .into_iter()
            .chain([graphql, alpha_graphql::PATH, "/schema.graphql", "/version"].map(String::from));
        for path in paths {
            let path = path
                .replace("{catalog}", "secret")
                .replace("{digest}", &"0".repeat(64));
            for accept in ["*/*", "text/event-stream"] {
                let hidden = body(&catalogs.visible(Visibility::none()), &path, accept).await;
                assert!(
                    !hidden.contains("concealed") && !hidden.contains("\"secret\""),
                    "{path}: {hidden}"
                );
                if body(&catalogs, &path, accept)
                    .await
                    .contains("\"concealed\"")
                {
                    shown.push(path.clone());
                }
            }
        }
        shown.dedup();
        assert_eq!(shown.len(), 5, "else nothing would be tested: {shown:?}");
    }

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
