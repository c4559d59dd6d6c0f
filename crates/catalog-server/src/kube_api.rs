//! The listener of the aggregated Kubernetes API.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use auth::{AuthError, Authenticator, RequestCredentials, ResourceAccess};
use axum::Router;
use axum::body::Bytes;
use build_info::BuildInfo;
use http_server::{AllowedHosts, ListenOptions, Listener, Tls};
use kube_api::{
    Attributes, Authorize, BOOKMARK_INTERVAL, CreateManifestFile, Decision, KubeApi,
    KubeApiOptions, KubeApiTask, ManifestFile,
};
use serde_json::{Value, json};
use serving::{Catalogs, Visibility};
use store::{StoreError, UnnamedFile};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::sleep;

use super::access::{AccessControl, credentials};
use super::background::BackgroundTasks;
use super::listeners::ListenerParts;
use crate::args::KubeApiArgs;
use crate::handlers::kube_api_handler;

/// Time between the announcement that connections end and the end of the watches on them. A client
/// whose watch ended first would send the next one over the same connection, and take the early end
/// of that one for a fault of the server.
const CLOSING_TIME: Duration = Duration::from_millis(100);

/// A bound listener of the API, before it serves.
pub(super) struct KubeApiListener {
    listener: Listener,
    routes: Router,
    task: KubeApiTask,
    options: ListenOptions,
    /// Authenticator whose authorities must be known before the first connection is accepted; `None`
    /// without authentication.
    authenticator: Option<Authenticator>,
}

/// The means to authorize callers.
#[derive(Clone, Copy)]
pub(super) struct CallerAccess<'a> {
    /// `None` if every caller may do everything.
    pub(super) access: Option<&'a AccessControl>,
    /// `true` if callers see only the catalogs that they may read.
    pub(super) is_narrowed: bool,
}

/// An API that is being served.
pub(super) struct RunningKubeApi {
    serving: JoinHandle<()>,
    following: AbortHandle,
    /// Ends the listener when it is dropped.
    end: oneshot::Sender<()>,
}

impl KubeApiListener {
    /// Listens on the address of the arguments, if there is one.
    ///
    /// # Errors
    /// The address is in use, or serving there needs authentication or TLS that is not configured.
    pub(super) async fn bind(
        args: &KubeApiArgs,
        allowed_hosts: &[String],
        catalogs: Catalogs,
        access: CallerAccess<'_>,
        parts: ListenerParts,
    ) -> anyhow::Result<Option<Self>> {
        let CallerAccess {
            access,
            is_narrowed,
        } = access;
        let ListenerParts {
            ready,
            tls,
            observer,
            folder,
        } = parts;
        let Some(address) = &args.kube_api_listen else {
            return Ok(None);
        };
        let listener = Listener::bind(address).await?;
        let is_loopback = listener.address().ip().to_canonical().is_loopback();
        if !is_loopback && args.kube_api_auth.is_none() {
            let address = listener.address();
            bail!(
                "cannot serve the Kubernetes API on `{address}`, which other machines reach, without authentication: pass \
                 --kube-api-auth=none if everybody may read all packages"
            );
        }
        let access = access.filter(|_| args.is_delegated());
        if access.is_some() && tls.is_none() {
            bail!(
                "cannot tell kube-apiserver from others without TLS: --kube-api-auth=delegated needs --tls-cert-file and \
                 --tls-private-key-file"
            );
        }
        // A route that forgets its caller then shows nothing, instead of everything.
        let reader = if is_narrowed && access.is_some() {
            catalogs.visible(Visibility::none())
        } else {
            catalogs
        };
        let authorize = access.map(|access| authorize(access.clone(), is_narrowed));
        let options = KubeApiOptions {
            global_namespace: args.global_namespace.clone(),
            version: version(),
            authorize,
            bookmark_interval: BOOKMARK_INTERVAL,
            create_manifest_file: Some(create_manifest_file(folder)),
        };
        let (api, task) = KubeApi::new(reader, options);
        // kube-apiserver names the address at which it reaches the Service. A page that makes a
        // browser send requests has no credentials.
        let hosts = match access {
            Some(_) => AllowedHosts::default(),
            None => AllowedHosts::new(allowed_hosts, address, listener.address()),
        };
        let options = ListenOptions {
            hosts,
            ready,
            own_probes: true,
            tls,
            observer: Some(observer.with_handlers(kube_api_handler)),
            ..ListenOptions::default()
        };
        tracing::info!(address = %listener.address(), "serving the Kubernetes API");
        let authenticator = access.map(|access| access.authenticator.clone());
        Ok(Some(Self {
            listener,
            routes: api.router(),
            task,
            options,
            authenticator,
        }))
    }

    pub(super) fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Serves until it is ended.
    pub(super) fn run(self, tasks: &mut BackgroundTasks) -> RunningKubeApi {
        let (end, ended) = oneshot::channel();
        let Self {
            listener,
            routes,
            task,
            options,
            authenticator,
        } = self;
        let ready = options.ready.clone();
        let serving = tokio::spawn(async move {
            let mut ended = ended;
            if let Some((authenticator, tls)) = authenticator.zip(options.tls.clone()) {
                // kube-apiserver keeps a connection on which no certificate was requested, and would
                // stay unauthenticated.
                tokio::select! {
                    () = wait_for_authorities(&authenticator, &tls) => {}
                    _ = &mut ended => return,
                }
            }
            listener
                .serve(routes, options, async { _ = ended.await })
                .await;
        });
        // Until the catalogs are loaded, no list is better than an empty one, which clients would
        // take for the deletion of all packages.
        let following = tasks.spawn("publish objects", async move {
            ready.wait().await;
            task.run().await;
        });
        RunningKubeApi {
            serving,
            following,
            end,
        }
    }
}

impl RunningKubeApi {
    /// Ends connections and then watches, and completes when the last request has ended.
    pub(super) async fn end(self) {
        let Self {
            serving,
            following,
            end,
        } = self;
        drop(end);
        sleep(CLOSING_TIME).await;
        following.abort();
        let _ = serving.await;
    }
}

/// Waits for the authorities of client certificates, and requests certificates from clients from
/// then on.
async fn wait_for_authorities(authenticator: &Authenticator, tls: &Tls) {
    let mut authorities = authenticator.authorities();
    let known = authorities
        .wait_for(Option::is_some)
        .await
        .ok()
        .and_then(|known| known.clone());
    if let Some(authorities) = known {
        tls.accept_clients(authorities.roots());
    }
}

/// Returns a function that authorizes callers by the decisions of the API server. Documents and
/// probes are the same for every caller without invalid credentials, and need no decision:
/// kube-apiserver judges by them whether the API is available.
fn authorize(access: AccessControl, is_narrowed: bool) -> Authorize {
    Arc::new(move |head, attributes| {
        let credentials = credentials(&access.authenticator, &head.headers, &head.extensions);
        let credentials = credentials.map(RequestCredentials::into_owned);
        let access = access.clone();
        if attributes.resource.is_none() {
            return Box::pin(async move {
                let authenticated = match &credentials {
                    Ok(credentials) => access.callers.authenticate(credentials).await,
                    Err(denied) => Err(denied.clone()),
                };
                match authenticated {
                    Err(AuthError::Unauthenticated) => Decision::Unauthenticated,
                    _ => Decision::Allow {
                        reader: None,
                        user: None,
                    },
                }
            });
        }
        Box::pin(async move {
            // A bearer of a token connects directly, so that its address counts. Only the API server
            // knows the user of a token.
            let user = match &credentials {
                Ok(RequestCredentials::User(user)) => Some(user.name().to_owned()),
                _ => None,
            };
            let decided = decide(&access, credentials, &attributes, is_narrowed).await;
            decided.map_or_else(refused, |reader| Decision::Allow { reader, user })
        })
    })
}

async fn decide(
    access: &AccessControl,
    credentials: Result<RequestCredentials<'static>, AuthError>,
    attributes: &Attributes,
    is_narrowed: bool,
) -> Result<Option<Catalogs>, AuthError> {
    let credentials = credentials?;
    if let Some(resource) = &attributes.resource {
        let requested = ResourceAccess {
            verb: &attributes.verb,
            group: &resource.group,
            version: Some(&resource.version),
            resource: &resource.resource,
            subresource: resource.subresource.as_deref(),
            namespace: resource.namespace.as_deref(),
            name: resource.name.as_deref(),
        };
        access
            .callers
            .authorize(&credentials, auth::RequestedAccess::Resource(requested))
            .await?;
    }
    if is_narrowed {
        access.callers.reader(&credentials).await.map(Some)
    } else {
        Ok(None)
    }
}

fn refused(denied: AuthError) -> Decision {
    match denied {
        AuthError::Unauthenticated => Decision::Unauthenticated,
        AuthError::Forbidden { user, reason } => Decision::Deny {
            user,
            reason: reason.map(|reason| reason.to_string()),
        },
        AuthError::Impersonation => Decision::Refuse(denied.to_string()),
        AuthError::Unavailable => Decision::Unknown(denied.to_string()),
    }
}

/// Returns a function that creates unlinked files on the file system of a folder.
fn create_manifest_file(folder: PathBuf) -> CreateManifestFile {
    Arc::new(move || match UnnamedFile::create_in(&folder) {
        Ok(file) => Ok(Box::new(StoredManifests(file))),
        Err(error) => Err(not_cached(error)),
    })
}

/// Cached manifests in a file of the store.
struct StoredManifests(UnnamedFile);

impl Write for StoredManifests {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .write(bytes)
            .inspect_err(|error| tracing::warn!(%error, "{NOT_CACHED}"))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ManifestFile for StoredManifests {
    fn map(self: Box<Self>) -> io::Result<Bytes> {
        self.0.map().map_err(not_cached)
    }
}

/// Message of a warning.
const NOT_CACHED: &str = "cannot cache rendered manifests, rendering them for each response";

fn not_cached(error: StoreError) -> io::Error {
    tracing::warn!(%error, "{NOT_CACHED}");
    io::Error::other(error)
}

/// Returns the response at `/version`, in the format of Kubernetes.
fn version() -> Value {
    let build = BuildInfo::of_this_program();
    json!({
        "major": "", "minor": "", "gitVersion": format!("v{}", build.version), "gitCommit": build.commit,
        "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": build.platform,
    })
}
