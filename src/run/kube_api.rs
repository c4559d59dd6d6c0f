//! The listener of the aggregated Kubernetes API.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use auth::{Authenticator, Credentials, Denied, ResourceAccess};
use axum::Router;
use axum::body::Bytes;
use http_server::{AllowedHosts, ListenOptions, Listener, Tls};
use kube_api::{
    Attributes, Authorize, BOOKMARK_INTERVAL, CreateTextFile, Decision, KubeApi, KubeApiOptions,
    KubeApiTask, TextFile, VersionFile,
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
use super::version::build_info;
use crate::args::KubeApiArgs;
use crate::handlers::kube_api_handler;

/// The file in the store that remembers resource versions of objects.
const VERSIONS: &str = "kube-api.json";

/// Time from telling connections that they end to ending the watches on them: a client that sent
/// its next watch over the same connection would take the early end of that for a fault, and list
/// again.
const CLOSING: Duration = Duration::from_millis(100);

/// A listener of the API that does not serve yet.
pub(super) struct KubeApiListener {
    listener: Listener,
    routes: Router,
    task: KubeApiTask,
    options: ListenOptions,
    /// Whose authorities must be known before anybody is listened to.
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
        // Where callers are told apart, the API sees nothing by itself.
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
            version_file: Some(Arc::new(StoredVersions(folder.join(VERSIONS)))),
            create_text_file: Some(create_text_file(folder)),
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
                // kube-apiserver would go on using a connection on which it was not asked for its
                // certificate.
                tokio::select! {
                    () = wait_for_authorities(&authenticator, &tls) => {}
                    _ = &mut ended => return,
                }
            }
            listener
                .serve(routes, options, async { _ = ended.await })
                .await;
        });
        // Until the catalogs are loaded, no list is better than an empty one: clients would forget
        // what they know.
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
        sleep(CLOSING).await;
        following.abort();
        let _ = serving.await;
    }
}

/// Waits for the authorities of client certificates, and asks clients for theirs from then on.
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

/// Decides by what the API server says of callers. Documents and probes are the same for everybody
/// who does not pretend to be somebody else: kube-apiserver judges by them whether the API is
/// available, so that they need no answer.
fn authorize(access: AccessControl, is_narrowed: bool) -> Authorize {
    Arc::new(move |head, attributes| {
        let credentials = credentials(&access.authenticator, &head.headers, &head.extensions);
        let credentials = credentials.map(Credentials::into_owned);
        let access = access.clone();
        if attributes.resource.is_none() {
            return Box::pin(async move {
                let authenticated = match &credentials {
                    Ok(credentials) => access.callers.authenticate(credentials).await,
                    Err(denied) => Err(denied.clone()),
                };
                match authenticated {
                    Err(Denied::Unauthenticated) => Decision::Unauthenticated,
                    _ => Decision::Allow {
                        reader: None,
                        user: None,
                    },
                }
            });
        }
        Box::pin(async move {
            // A token says who its bearer is only to the API server, and whoever sends one comes by
            // itself.
            let user = match &credentials {
                Ok(Credentials::User(user)) => Some(user.name().to_owned()),
                _ => None,
            };
            let decided = decide(&access, credentials, &attributes, is_narrowed).await;
            decided.map_or_else(refused, |reader| Decision::Allow { reader, user })
        })
    })
}

async fn decide(
    AccessControl { callers, .. }: &AccessControl,
    credentials: Result<Credentials<'static>, Denied>,
    attributes: &Attributes,
    is_narrowed: bool,
) -> Result<Option<Catalogs>, Denied> {
    let credentials = credentials?;
    if let Some(wanted) = &attributes.resource {
        let wanted = ResourceAccess {
            verb: &attributes.verb,
            group: &wanted.group,
            version: Some(&wanted.version),
            resource: &wanted.resource,
            subresource: wanted.subresource.as_deref(),
            namespace: wanted.namespace.as_deref(),
            name: wanted.name.as_deref(),
        };
        callers
            .authorize(&credentials, auth::Access::Resource(wanted))
            .await?;
    }
    if is_narrowed {
        callers.reader(&credentials).await.map(Some)
    } else {
        Ok(None)
    }
}

fn refused(denied: Denied) -> Decision {
    match denied {
        Denied::Unauthenticated => Decision::Unauthenticated,
        Denied::Forbidden { user, reason } => Decision::Deny {
            user,
            reason: reason.map(|reason| reason.to_string()),
        },
        Denied::Impersonation => Decision::Refuse(denied.to_string()),
        Denied::Unavailable => Decision::Unknown(denied.to_string()),
    }
}

/// The file in the folder of the store.
struct StoredVersions(PathBuf);

impl VersionFile for StoredVersions {
    fn read(&self) -> Option<Vec<u8>> {
        fs::read(&self.0).ok()
    }

    fn write(&self, bytes: &[u8]) {
        let new = self.0.with_extension("json.new");
        if let Err(error) = fs::write(&new, bytes).and_then(|()| fs::rename(&new, &self.0)) {
            tracing::warn!(path = %self.0.display(), %error, "cannot remember the resource versions of objects");
        }
    }
}

/// Returns what creates files without names on the file system of a folder.
fn create_text_file(folder: PathBuf) -> CreateTextFile {
    Arc::new(move || match UnnamedFile::create_in(&folder) {
        Ok(file) => Ok(Box::new(StoredTexts(file))),
        Err(error) => Err(not_kept(error)),
    })
}

/// Texts in a file of the store.
struct StoredTexts(UnnamedFile);

impl Write for StoredTexts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .write(bytes)
            .inspect_err(|error| tracing::warn!(%error, "{NOT_KEPT}"))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TextFile for StoredTexts {
    fn map(self: Box<Self>) -> io::Result<Bytes> {
        self.0.map().map_err(not_kept)
    }
}

/// Message of a warning.
const NOT_KEPT: &str = "cannot keep the texts of manifests, making them for each response";

fn not_kept(error: StoreError) -> io::Error {
    tracing::warn!(%error, "{NOT_KEPT}");
    io::Error::other(error)
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
