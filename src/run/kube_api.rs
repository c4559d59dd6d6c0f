//! The listener of the aggregated Kubernetes API.

use anyhow::bail;
use axum::Router;
use kube_api::{BOOKMARK_INTERVAL, KubeApi, KubeApiOptions, KubeApiTask};
use serde_json::{Value, json};
use serving::Catalogs;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::version::build_info;
use crate::args::KubeApiArgs;
use crate::listen::{AllowedHosts, ListenOptions, Listener, Ready, Tls};

/// A listener of the API that does not serve yet.
pub(super) struct KubeApiListener {
    listener: Listener,
    routes: Router,
    task: KubeApiTask,
    options: ListenOptions,
}

/// An API that is being served.
pub(super) struct RunningKubeApi {
    serving: JoinHandle<()>,
    following: JoinHandle<()>,
    /// Ends the listener when it is dropped.
    end: oneshot::Sender<()>,
}

impl KubeApiListener {
    /// Listens, if the arguments say so.
    pub(super) async fn bind(
        args: &KubeApiArgs,
        allowed_hosts: &[String],
        catalogs: Catalogs,
        (ready, tls): (Ready, Option<Tls>),
    ) -> anyhow::Result<Option<Self>> {
        let Some(address) = &args.kube_api_listen else { return Ok(None) };
        let listener = Listener::bind(address).await?;
        let is_loopback = listener.address().ip().to_canonical().is_loopback();
        if !is_loopback && args.kube_api_auth.is_none() {
            let address = listener.address();
            bail!(
                "cannot serve the Kubernetes API on `{address}`, which other machines reach, without authentication: pass \
                 --kube-api-auth=none if everybody may read all packages"
            );
        }
        let (global_namespace, version) = (args.global_namespace.clone(), version());
        let options =
            KubeApiOptions { global_namespace, version, authorize: None, bookmark_interval: BOOKMARK_INTERVAL };
        let (api, task) = KubeApi::new(catalogs, options);
        let hosts = AllowedHosts::new(allowed_hosts, address, listener.address());
        let options = ListenOptions { hosts, ready, tls, ..ListenOptions::default() };
        tracing::info!(address = %listener.address(), "serving the Kubernetes API");
        Ok(Some(Self { listener, routes: api.router(), task, options }))
    }

    pub(super) fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Serves until it is ended.
    pub(super) fn run(self) -> RunningKubeApi {
        let (end, ended) = oneshot::channel();
        let Self { listener, routes, task, options } = self;
        let serving = tokio::spawn(listener.serve(routes, options, async { _ = ended.await }));
        RunningKubeApi { serving, following: tokio::spawn(task.run()), end }
    }
}

impl RunningKubeApi {
    /// Ends watches, and completes when the last request has ended.
    pub(super) async fn end(self) {
        let Self { serving, following, end } = self;
        following.abort();
        drop(end);
        let _ = serving.await;
    }
}

/// The answer at `/version`, in the words of Kubernetes.
fn version() -> Value {
    let build = build_info();
    json!({
        "major": "", "minor": "", "gitVersion": format!("v{}", build.version), "gitCommit": build.commit,
        "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": build.platform,
    })
}
