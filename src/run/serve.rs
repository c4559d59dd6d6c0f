//! `catalogql serve`: loads catalogs, listens, and shows how it goes.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use graphql::Engine;
use graphql::limits::Limits;
use loading::{Event, Loader, LoaderTask, Report};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serving::{CatalogName, Catalogs, catalogs};
use store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::configuration::{Configuration, ReloadTrigger};
use super::output;
use super::terminal::Terminal;
use crate::args::{DocumentArgs, ServeArgs};
use crate::listen::{AllowedHosts, ConnectionLimits, ListenOptions, Listener, Ready};
use crate::telemetry;

/// Identifies the code that reads catalogs: what another build stored is read again.
const CONTENT_BUILD: &str = env!("CATALOGQL_CONTENT_BUILD");

/// Identifies the code that answers requests: entity tags of another build are not believed.
const ANSWERS_BUILD: &str = env!("CATALOGQL_ANSWERS_BUILD");

/// How long sockets of streams may take to close at the end: as long as a client may take to answer, and a little more.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long a thread waits for the next load before it ends: what it freed goes back to the system only then.
const IDLE_THREAD: Duration = Duration::from_secs(1);

/// Serves until a signal ends it.
pub(super) fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let terminal = Terminal::new();
    telemetry::init(terminal.log()).map_err(anyhow::Error::msg)?;
    let folder = args.store.clone().map_or_else(default_store, Ok)?;
    let mut configuration = Configuration::new(args, folder.clone());
    let specs = configuration.read()?;
    let store = Store::open(&folder, configuration.args().store_quota, CONTENT_BUILD)?;
    let (writer, catalogs) = catalogs();
    let (loader, task) = Loader::new(store, writer);
    let task = task.compress_after(configuration.args().compress_after).ready_after(configuration.args().ready_after);
    loader.set(specs);
    allow_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().thread_keep_alive(IDLE_THREAD).enable_all().build()?;
    let done = runtime.block_on(serve_catalogs(configuration, (loader, task, catalogs), terminal));
    // A load that is under way is given up: the store survives that.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

async fn serve_catalogs(
    mut configuration: Configuration,
    (loader, task, catalogs): (Loader, LoaderTask, Catalogs),
    terminal: Terminal,
) -> anyhow::Result<()> {
    let args = configuration.args();
    let listener = Listener::bind(&args.listen).await?;
    let address = listener.address();
    let ready = Ready::default();
    let options = listen_options(args, address, &ready);
    let engine = Arc::new(engine(catalogs.clone(), args)?);
    let playground = if args.documents.trusted_only { playground::closed() } else { playground::router() };
    let routes = graphql_http::router(Arc::clone(&engine), &args.cors_origin)
        .merge(catalogd_http::router(catalogs, ANSWERS_BUILD))
        .merge(playground);

    let has_playground = playground::is_built() && !args.documents.trusted_only;
    let waits_for_changes = args.watch;
    let mut reload = ReloadTrigger::new(args)?;
    let (events, mut received) = mpsc::unbounded_channel();
    // Nobody receives events any more when the process ends.
    let loading = tokio::spawn(task.run(move |event| drop(events.send(event))));

    // By name, until every catalog was attempted or had its time.
    let mut reports = Some(BTreeMap::new());
    let (end, streams) = (end()?, Arc::clone(&engine));
    let end = async move {
        end.await;
        // They would go on for as long as they are listened to.
        streams.end_streams();
    };
    let evicting = Arc::clone(&engine);
    tokio::spawn(async move { evicting.evict_stale_responses().await });
    let mut serving = std::pin::pin!(listener.serve(routes, options, end));
    loop {
        tokio::select! {
            Some(event) = received.recv() => match event {
                Event::Progress { name, step, done, total } => terminal.progress(name.as_str(), step, done, total),
                Event::Withdrawn(name) => terminal.done(name.as_str()),
                Event::Attempted(report) => {
                    terminal.done(report.name.as_str());
                    reports.as_mut().map(|reports| reports.insert(report.name.clone(), report));
                }
                Event::AllAttempted | Event::FirstAttemptsLate(_) => if let Some(reports) = reports.take() {
                    refuse_nothing(&reports, waits_for_changes)?;
                    ready.set();
                    // A server goes on when nobody reads what it prints.
                    output::ignore_closed_pipe(announce(&reports, address, has_playground))?;
                }
            },
            () = reload.triggered() => match configuration.read() {
                Ok(specs) => {
                    tracing::info!(catalogs = specs.len(), "configuration reloaded");
                    loader.set(specs);
                }
                Err(error) => tracing::error!(error = format!("{error:#}"), "cannot reload the configuration, keeping the last one"),
            },
            () = &mut serving => break,
        }
    }
    // A WebSocket is no connection of the listener any more; each says goodbye.
    let _ = timeout(GOODBYE, engine.streams_ended()).await;
    loading.abort();
    Ok(())
}

fn listen_options(args: &ServeArgs, address: SocketAddr, ready: &Ready) -> ListenOptions {
    let limits = ConnectionLimits { peer_connections: args.max_peer_connections, ..ConnectionLimits::default() };
    let hosts = AllowedHosts::new(&args.allowed_host, &args.listen, address);
    ListenOptions { limits, hosts, ready: ready.clone() }
}

/// Prints the catalogs that are served, and where.
fn announce(reports: &BTreeMap<CatalogName, Report>, address: SocketAddr, has_playground: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    output::served(&mut out, reports.values())?;
    writeln!(out, "Listening on http://{address}/graphql")?;
    if has_playground {
        writeln!(out, "Playground at http://{address}/")?;
    }
    out.flush()
}

/// Creates the GraphQL engine with its trusted documents.
fn engine(catalogs: Catalogs, args: &ServeArgs) -> anyhow::Result<Engine> {
    let DocumentArgs { files, .. } = &args.documents;
    let mut engine = Engine::new(
        catalogs,
        ANSWERS_BUILD,
        Limits { introspection: args.documents.introspection(), ..args.limits.limits() },
    );
    for file in files {
        let json = std::fs::read_to_string(file);
        let file = file.display();
        let json = json.with_context(|| format!("cannot read `{file}`"))?;
        let count = engine.trust(&json).with_context(|| format!("cannot trust the documents of `{file}`"))?;
        tracing::info!(%file, count, "trusting documents");
    }
    engine.set_policy(args.documents.policy());
    Ok(engine)
}

/// Fails if nothing can be served, unless the server waits for changes.
fn refuse_nothing(reports: &BTreeMap<CatalogName, Report>, waits_for_changes: bool) -> anyhow::Result<()> {
    if !waits_for_changes && reports.values().all(|report| report.content.is_none()) {
        let errors = reports.iter().filter_map(|(name, report)| Some((name, report.error()?)));
        let errors: Vec<_> = errors.map(|(name, error)| format!("\n  {name}: {}", error.chain())).collect();
        bail!("no catalog can be served{}", errors.concat());
    }
    Ok(())
}

/// Takes as many open files as the system lets this process have: each connection is one, and the usual first limit is
/// below [`ConnectionLimits::connections`]. Where that fails, idle connections are closed for new ones.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
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

fn default_store() -> anyhow::Result<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let cache = cache.context("neither XDG_CACHE_HOME nor HOME names a folder for the store: name one with --store")?;
    Ok(cache.join("catalogql").join("store"))
}
