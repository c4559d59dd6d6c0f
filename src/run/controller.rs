//! `catalogql controller`: serves the catalogs of a cluster.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use auth::Authorizer;
use bundle_images::BundleImages;
use catalog_server::{
    AccessControl, BackgroundTasks, CatalogLoader, MetricsAccess, Server, ServerParts,
    ServerSockets, StoreFolder, block_on,
};
use controller::{
    Controller, ControllerMode, ControllerOptions, LeaseDurations, connect, pod_namespace,
    pod_service_account,
};
use http_server::ServerReadiness;
use images::{Registries, RegistrySettings};
use loading::LoaderEvent;
use local_commands::run::registries::settings_with_authorities;
use local_commands::run::signature_policy::UnreadablePolicy;
use server_metrics::ReloadCounters;
use serving::CatalogName;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::output;
use super::serve::NO_POLICY;
use crate::args::{ControllerArgs, PullArgs};
use crate::telemetry;

/// Interval at which the files with the settings for registries are read again.
pub const SETTINGS_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum time for the release of the Lease at the end.
const RELEASE: Duration = Duration::from_secs(2);

/// Name of the file in the store that keeps the objects behind the desired catalogs.
const DESIRED_CATALOGS_FILE: &str = "controller.json";

/// Parts of a server whose catalogs the objects of a cluster name.
struct ControlParts<'a> {
    args: ControllerArgs,
    options: ControllerOptions,
    settings: RegistrySettings,
    loading: CatalogLoader,
    folder: &'a StoreFolder,
}

/// Serves until a signal ends it.
pub(super) fn controller(args: ControllerArgs) -> anyhow::Result<ExitCode> {
    telemetry::init(io::stderr).map_err(anyhow::Error::msg)?;
    if let Some(gates) = &args.feature_gates {
        tracing::info!(gates, "ignoring feature gates: all features are enabled");
    }
    let folder = StoreFolder::open(&args.server)?;
    let settings = registry_settings(&args.pull, UnreadablePolicy::RefusesImages)?;
    if !settings.signatures.has_policy() && !args.pull.image_policies {
        tracing::info!("{NO_POLICY}");
    }
    let options = options(&args, folder.path().join(DESIRED_CATALOGS_FILE))?;
    let loading = CatalogLoader::open(&args.server, &folder)?;
    block_on(control(ControlParts {
        args,
        options,
        settings,
        loading,
        folder: &folder,
    }))
}

async fn control(parts: ControlParts<'_>) -> anyhow::Result<()> {
    let ControlParts {
        args,
        options,
        settings,
        loading,
        folder,
    } = parts;
    let CatalogLoader {
        loader,
        task,
        catalogs,
    } = loading;
    let api_server = connect(args.kubeconfig.as_deref()).await?;
    let is_delegated = args.server.access.is_delegated() || args.server.kube_api.is_delegated();
    let mut tasks = BackgroundTasks::default();
    let access = is_delegated
        .then(|| AccessControl::start(&api_server, &args.server.access, &catalogs, &mut tasks));
    let metrics_access = if args.server.observe.needs_authorizer() {
        MetricsAccess::Authorized(Authorizer::new(api_server.client.clone(), Vec::new()))
    } else {
        MetricsAccess::Everybody
    };
    // An address that cannot be served is an error before objects of the cluster are watched.
    let sockets = ServerSockets::bind(&args.server).await?;
    let refresher = loader.refresher();
    let controller = Controller::start(&api_server, options, loader, settings.clone())?;
    let registries = controller.registries();
    let bundle_images = args.server.bundle_images.then(|| {
        let first = registries.borrow().clone();
        BundleImages::new(first, folder.path())
    });
    if let Some(images) = bundle_images.clone() {
        tasks.spawn(
            "update the client for bundle images",
            follow(registries, images),
        );
    }
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
            metrics_access,
            edits: None,
            refresher,
            read_barrier: Some(controller.read_barrier()),
            controller: Some(controller.metrics()),
            bundle_images,
        },
    )
    .await?;
    let url = server.url();
    let ready = server.ready();
    let pages = server.pages();
    let (events, received) = mpsc::unbounded_channel();
    let load = task.run(move |event| {
        // Progress is not shown, and the receiver is dropped when the process ends.
        if !matches!(event, LoaderEvent::Progress { .. }) {
            let _ = events.send(event);
        }
    });
    tasks.spawn("load catalogs", load);
    let (sender, settings) = watch::channel(settings);
    tasks.spawn(
        "reload the settings for registries",
        poll_settings(args.pull, sender, server.reloads()),
    );
    let (stop, stopped) = watch::channel(false);
    let (released, release) = oneshot::channel::<()>();
    let control = controller.run(
        received,
        settings,
        move |is_ready, late| report(&ready, is_ready, &late),
        stopped,
    );
    tasks.spawn("reconcile", async move {
        control.await;
        drop(released);
    });
    output::ignore_closed_pipe(output::listening(&mut io::stdout().lock(), &url, pages))?;
    let ended = server.run(&mut tasks, || _ = stop.send_replace(true)).await;
    if timeout(RELEASE, release).await.is_err() {
        tracing::warn!("the Lease was not released in time");
    }
    ended
}

/// Passes clients for registries on, until the controller ends.
async fn follow(mut registries: watch::Receiver<Registries>, images: BundleImages) {
    while registries.changed().await.is_ok() {
        images.set_registries(registries.borrow_and_update().clone());
    }
}

/// Reports the readiness of the controller to the probes.
fn report(ready: &ServerReadiness, is_ready: bool, late: &[CatalogName]) {
    ready.set_late(late.iter().map(ToString::to_string));
    if is_ready {
        ready.set();
    }
}

fn options(
    args: &ControllerArgs,
    desired_catalogs_file: std::path::PathBuf,
) -> anyhow::Result<ControllerOptions> {
    if let Some(LeaseDurations {
        lease,
        renew,
        retry,
    }) = args.lease()
        && !(lease > renew && renew > retry && !retry.is_zero())
    {
        bail!(
            "--leader-elect-lease-duration must exceed --leader-elect-renew-deadline, and that the retry period"
        );
    }
    let namespace = args.namespace.clone().or_else(pod_namespace);
    let namespace = namespace
        .context("cannot tell the namespace of the controller: name it with --namespace")?;
    Ok(ControllerOptions {
        mode: if args.manage {
            ControllerMode::Manage
        } else {
            ControllerMode::Follow
        },
        catalog_sources: args.catalog_sources,
        image_policies: args.pull.image_policies,
        base_url: args.base_url(&namespace),
        identity: identity(),
        lease: args.lease(),
        service_account: args
            .pull
            .service_account
            .clone()
            .or_else(pod_service_account),
        global_pull_secret: args.pull.global_pull_secret.clone(),
        policy_withdraws: args.server.policy_withdraws,
        ready_after: args.server.ready_after,
        desired_catalogs_file,
        namespace,
    })
}

/// Identifies this process among those that compete for the Lease: the pod, and a random part,
/// because a pod outlives its processes.
fn identity() -> String {
    let host = ["POD_NAME", "HOSTNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    format!(
        "{}_{:08x}",
        host.as_deref().unwrap_or("catalogql"),
        fastrand::u32(..)
    )
}

/// Reads the files with the settings for registries; pull secrets come from the cluster.
fn registry_settings(
    args: &PullArgs,
    unreadable: UnreadablePolicy,
) -> anyhow::Result<RegistrySettings> {
    settings_with_authorities(&args.registries, args.pull_cas_dir.as_deref(), unreadable)
}

/// Polls the files with the settings for registries, and sends their changes. It never ends.
async fn poll_settings(
    args: PullArgs,
    settings: watch::Sender<RegistrySettings>,
    reloads: Arc<ReloadCounters>,
) {
    let mut polls = interval(SETTINGS_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_failing = false;
    loop {
        polls.tick().await;
        match registry_settings(&args, UnreadablePolicy::IsAnError) {
            Ok(read) => {
                is_failing = false;
                let is_new = settings.send_if_modified(|former| {
                    let is_new = *former != read;
                    *former = read;
                    is_new
                });
                if is_new {
                    reloads.ok.inc();
                    tracing::info!("settings for registries reloaded");
                }
            }
            Err(error) if !is_failing => {
                is_failing = true;
                reloads.failed.inc();
                let error = format!("{error:#}");
                tracing::error!(
                    error,
                    "cannot reload the settings for registries, keeping the last ones"
                );
            }
            Err(_) => {}
        }
    }
}
