//! `catalogql serve`: loads catalogs, listens, and shows how it goes.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;

use anyhow::bail;
use auth::Authorizer;
use catalog_server::args::ServerArgs;
use catalog_server::{
    AccessControl, BackgroundTasks, CatalogLoader, EditParts, MetricsAccess, Server, ServerParts,
    ServerSockets, StoreFolder, block_on,
};
use commands::{CommandError, ExitStatus};
use controller::{ControllerError, connect};
use loading::{CatalogSpec, LoaderEvent, Report, Source};
use local_commands::run::terminal::Terminal;
use pages::Pages;
use printing::error_chain;
use serving::{CatalogName, Catalogs};
use tokio::sync::mpsc;

use super::configuration::{CatalogConfiguration, ReloadTrigger, refuse_unknown_catalogs};
use super::output;
use crate::args::ServeArgs;
use crate::telemetry;

/// Logged once at the start.
pub(super) const NO_POLICY: &str =
    "no signature policy: every image is accepted, and no signature is verified";

/// Parts of a server whose catalogs its configuration names.
struct ServeParts {
    configuration: CatalogConfiguration,
    reload: ReloadTrigger,
    loading: CatalogLoader,
    terminal: Terminal,
    folder: StoreFolder,
}

/// Serves until a signal ends it.
pub(super) fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let terminal = Terminal::default();
    telemetry::init(terminal.log()).map_err(anyhow::Error::msg)?;
    block_on(start(args, terminal))
}

/// Reads the configuration and opens the store. From the beginning, SIGHUP reloads and does not end
/// the process.
async fn start(args: ServeArgs, terminal: Terminal) -> anyhow::Result<()> {
    let reload = ReloadTrigger::new(&args)?;
    let folder = StoreFolder::open(&args.server)?;
    let mut configuration = CatalogConfiguration::new(args, folder.path().to_owned());
    let specs = configuration.read().map_err(|error| unusable(&error))?;
    refuse_unknown_catalogs(&configuration.args().server.grpc.grpc, &specs)
        .map_err(|error| unusable(&error))?;
    let loading = CatalogLoader::open(&configuration.args().server, &folder)?;
    if specs.iter().any(is_unjudged) {
        tracing::info!("{NO_POLICY}");
    }
    loading.loader.set(specs);
    serve_catalogs(ServeParts {
        configuration,
        reload,
        loading,
        terminal,
        folder,
    })
    .await
}

async fn serve_catalogs(parts: ServeParts) -> anyhow::Result<()> {
    let ServeParts {
        mut configuration,
        mut reload,
        loading,
        terminal,
        folder,
    } = parts;
    let CatalogLoader {
        loader,
        task,
        catalogs,
    } = loading;
    let args = configuration.args();
    let mut tasks = BackgroundTasks::default();
    let access = access(&args.server, &catalogs, &mut tasks).await?;
    let sockets = ServerSockets::bind(&args.server).await?;
    let edits = (!args.editable.is_empty()).then(|| EditParts {
        editable: &args.editable,
        refresher: loader.refresher(),
    });
    let server = Server::build(
        sockets,
        ServerParts {
            args: &args.server,
            documents: &args.documents,
            limits: &args.limits,
            store_folder: folder.path(),
            catalogs,
            loads: task.statistics(),
            access,
            metrics_access: metrics_access(&args.server).await?,
            edits,
            refresher: loader.refresher(),
            read_barrier: None,
            controller: None,
            bundle_images: configuration.bundle_images(),
        },
    )
    .await?;
    let reloads = server.reloads();
    let url = server.url();
    let ready = server.ready();
    let pages = server.pages();
    let waits_for_changes = args.watch || !args.editable.is_empty();
    let (events, mut received) = mpsc::unbounded_channel();
    // The receiver is dropped when the process ends.
    tasks.spawn(
        "load catalogs",
        task.run(move |event| drop(events.send(event))),
    );

    // By name, until every catalog was attempted or had its time.
    let mut reports = Some(BTreeMap::new());
    let mut serving = std::pin::pin!(server.run(&mut tasks, || ()));
    loop {
        tokio::select! {
            Some(event) = received.recv() => match event {
                LoaderEvent::Progress { name, step, done, total } => terminal.progress(name.as_str(), step, done, total),
                LoaderEvent::Withdrawn(name) => terminal.done(name.as_str()),
                LoaderEvent::Indexed(..) => {}
                LoaderEvent::Waiting(names) => ready.set_late(names.iter().map(ToString::to_string)),
                LoaderEvent::Attempted(report) => {
                    terminal.done(report.name.as_str());
                    reports.as_mut().map(|reports| reports.insert(report.name.clone(), report));
                }
                LoaderEvent::AllAttempted | LoaderEvent::FirstAttemptsLate(_) => if let Some(reports) = reports.take() {
                    refuse_nothing(&reports, waits_for_changes)?;
                    ready.set();
                    // A closed pipe is no reason to end a server.
                    output::ignore_closed_pipe(announce(&reports, &url, pages))?;
                }
            },
            () = reload.triggered() => match configuration.reload() {
                Ok(specs) => {
                    reloads.ok.inc();
                    tracing::info!(catalogs = specs.len(), "configuration reloaded");
                    loader.set(specs);
                }
                Err(error) => {
                    reloads.failed.inc();
                    tracing::error!(error = format!("{error:#}"), "cannot reload the configuration, keeping the last one");
                }
            },
            ended = &mut serving => return ended,
        }
    }
}

/// Returns whether a catalog comes from an image that no signature policy decides about.
fn is_unjudged(spec: &CatalogSpec) -> bool {
    let source = &spec.source;
    matches!(source.source, Source::Image(_)) && !source.registries.has_signature_policy()
}

/// Returns who may read metrics. The API server that KUBECONFIG names, or that of the pod,
/// authorizes scrapers, unless the arguments say otherwise.
async fn metrics_access(args: &ServerArgs) -> anyhow::Result<MetricsAccess> {
    if !args.observe.needs_authorizer() {
        return Ok(MetricsAccess::Everybody);
    }
    let client = connect(None).await.map_err(|error| {
        with_advice(
            &error,
            "cannot ask who may read metrics",
            "--metrics-auth=none lets everybody read them",
        )
    })?;
    let client = client.client;
    Ok(MetricsAccess::Authorized(Authorizer::new(
        client,
        Vec::new(),
    )))
}

/// Starts to identify callers by the same API server, unless every caller sees every catalog.
async fn access(
    args: &ServerArgs,
    catalogs: &Catalogs,
    tasks: &mut BackgroundTasks,
) -> anyhow::Result<Option<AccessControl>> {
    let (problem, advice) = match (args.access.is_delegated(), args.kube_api.is_delegated()) {
        (false, false) => return Ok(None),
        (true, _) => (
            "cannot ask who may see which catalogs",
            "--auth=none lets everybody see each",
        ),
        (false, true) => (
            "cannot ask who may read the Kubernetes API",
            "--kube-api-auth=none lets everybody read it",
        ),
    };
    let api_server = connect(None).await;
    Ok(Some(AccessControl::start(
        &api_server.map_err(|error| with_advice(&error, problem, advice))?,
        &args.access,
        catalogs,
        tasks,
    )))
}

/// Returns an error of the command line or of the configuration file with its exit status.
fn unusable(error: &anyhow::Error) -> anyhow::Error {
    CommandError::new(ExitStatus::Usage, error_chain(error.as_ref())).into()
}

/// Returns the error of a server without an API server to ask. How to do without comes last: it
/// gives the protection up.
fn with_advice(error: &ControllerError, problem: &str, advice: &str) -> anyhow::Error {
    let cause = error_chain(error);
    let message = format!("{problem}: {cause}");
    CommandError::new(ExitStatus::Negative, message)
        .hint(advice)
        .into()
}

/// Prints the catalogs that are served, and where.
fn announce(reports: &BTreeMap<CatalogName, Report>, url: &str, pages: Pages) -> io::Result<()> {
    let mut out = output::stdout();
    output::served(&mut out, reports.values())?;
    output::listening(&mut out, url, pages)
}

/// Fails if nothing can be served, unless the server waits for changes.
fn refuse_nothing(
    reports: &BTreeMap<CatalogName, Report>,
    waits_for_changes: bool,
) -> anyhow::Result<()> {
    if !waits_for_changes && reports.values().all(|report| report.content.is_none()) {
        let errors = reports
            .iter()
            .filter_map(|(name, report)| Some((name, report.error()?)));
        let errors: Vec<_> = errors
            .map(|(name, error)| format!("\n  {name}: {}", error.chain()))
            .collect();
        bail!("no catalog can be served{}", errors.concat());
    }
    Ok(())
}

#[cfg(test)]
mod stalls;
