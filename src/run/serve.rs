//! `catalogql serve`: loads catalogs, listens, and shows how it goes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::output;
use super::sources;
use super::terminal::Terminal;
use crate::args::ServeArgs;
use crate::catalogs::catalogs;
use crate::listen::{self, Listener, Ready};
use crate::load::{Event, Loader, Pace, Report, Wanted, Watch};
use crate::source::Source;
use crate::store::Store;
use crate::telemetry;
use crate::views::graphql::{self, Engine};
use crate::views::{http, playground};

/// What tells contents that this build found out about from those of another.
const BUILD: &str = env!("CATALOGQL_BUILD");

/// Serves until a signal ends it.
pub(super) fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let terminal = Terminal::new();
    telemetry::init(terminal.log()).map_err(anyhow::Error::msg)?;
    let wanted = sources::wanted(&args.sources, args.config.as_deref())?;
    let folder = args.store.clone().map_or_else(default_store, Ok)?;
    refuse_store_in_source(&folder, &wanted)?;
    let store = Store::open(&folder, args.store_quota, BUILD)?;
    allow_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(serve_catalogs(args, wanted, store, terminal));
    // A load that is under way is given up: the store survives that.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

async fn serve_catalogs(args: ServeArgs, wanted: Vec<Wanted>, store: Store, terminal: Terminal) -> anyhow::Result<()> {
    let listener = Listener::bind(&args.listen).await?;
    let address = listener.address();
    let (writer, catalogs) = catalogs();
    let ready = Ready::default();
    let engine = Arc::new(Engine::new(catalogs.clone(), args.limits.limits()));
    let routes = graphql::router(engine, &args.cors_origin).merge(http::router(catalogs)).merge(playground::router());
    let routes = routes.merge(listen::probes(ready.clone()));

    let watch = if args.watch { Watch::Changes(Pace::default()) } else { Watch::Once };
    let (events, mut received) = mpsc::unbounded_channel();
    let mut loader = Loader::new(store, writer);
    let loading = tokio::spawn(async move {
        // Nobody receives events any more when the process ends.
        loader.run(wanted, watch, move |event| drop(events.send(event))).await;
        loader
    });

    let mut reports = Vec::new();
    let mut serving = std::pin::pin!(listener.serve(routes, listen::Limits::default(), end()?));
    loop {
        tokio::select! {
            Some(event) = received.recv() => match event {
                Event::Progress { name, read, total } => terminal.progress(&name, read, total),
                Event::Tried(report) => {
                    terminal.done(&report.name);
                    reports.push(report);
                }
                Event::AllTried => {
                    refuse_nothing(&reports, watch)?;
                    ready.set();
                    let mut out = io::stdout().lock();
                    output::served(&mut out, &std::mem::take(&mut reports))?;
                    writeln!(out, "Listening on http://{address}/graphql")?;
                    if playground::is_built() {
                        writeln!(out, "Playground at http://{address}/")?;
                    }
                    out.flush()?;
                }
            },
            () = &mut serving => break,
        }
    }
    loading.abort();
    Ok(())
}

/// A process that serves nothing and waits for nothing is of no use.
fn refuse_nothing(reports: &[Report], watch: Watch) -> anyhow::Result<()> {
    if watch == Watch::Once && reports.iter().all(|report| report.content.is_none()) {
        let errors = reports.iter().filter_map(|report| Some((&report.name, report.error.as_ref()?)));
        let errors: Vec<_> = errors.map(|(name, error)| format!("\n  {name}: {}", error.chain())).collect();
        bail!("no catalog can be served{}", errors.concat());
    }
    Ok(())
}

/// Takes as many open files as the system lets this process have: each connection is one, and the usual first limit is
/// below [`listen::Limits::connections`]. Where that fails, connections wait for others to end.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

/// Done when the process is asked to end.
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

/// A store inside of a catalog would be read as a part of it.
fn refuse_store_in_source(folder: &Path, wanted: &[Wanted]) -> anyhow::Result<()> {
    let folder = std::path::absolute(folder)?;
    for wanted in wanted {
        let Source::Directory(root) = &wanted.source;
        if folder.starts_with(root) {
            let (folder, root) = (folder.display(), root.display());
            bail!("the store `{folder}` lies in the catalog `{root}`: name another folder with --store");
        }
    }
    Ok(())
}
