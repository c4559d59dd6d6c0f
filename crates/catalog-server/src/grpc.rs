//! The listeners of the gRPC registry API.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::bail;
use auth::AuthError;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use grpc::{CallAuthError, Grpc, GrpcMetrics};
use http_server::{ConnectionLimits, Http2Limits, ListenOptions, Listener};
use serving::{Catalogs, Visibility};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::access::{AccessControl, credentials};
use super::listeners::ListenerParts;
use crate::args::{AuthMode, GrpcAddress, GrpcArgs};
use crate::handlers::grpc_handler;

/// Parts that the listeners are built from.
pub(super) struct GrpcParts<'a> {
    pub(super) args: &'a GrpcArgs,
    pub(super) catalogs: Catalogs,
    /// Identifies callers, where they see only some catalogs.
    pub(super) access: Option<AccessControl>,
    pub(super) shared: ListenerParts,
    /// Allows plain HTTP on addresses that other machines reach.
    pub(super) is_plain_http: bool,
}

/// Listeners of the API that do not serve yet.
pub(super) struct GrpcListeners {
    listeners: Vec<GrpcListener>,
    metrics: Option<Arc<GrpcMetrics>>,
}

/// A listener that does not serve yet.
struct GrpcListener {
    listener: Listener,
    routes: Router,
    options: ListenOptions,
}

/// Listeners that serve.
pub(super) struct RunningGrpc {
    serving: Vec<JoinHandle<()>>,
    /// Ends them when it is dropped.
    end: watch::Sender<()>,
}

impl GrpcListeners {
    /// Listens on each address of the arguments.
    pub(super) async fn bind(parts: &GrpcParts<'_>) -> anyhow::Result<Self> {
        let api = Grpc::new(parts.catalogs.visible(Visibility::none()));
        let mut listeners = Vec::new();
        for address in &parts.args.grpc {
            listeners.push(GrpcListener::bind(parts, address, &api).await?);
        }
        let metrics = (!listeners.is_empty()).then(|| api.metrics());
        Ok(Self { listeners, metrics })
    }

    /// Returns the counters of calls, if there is a listener.
    pub(super) fn metrics(&self) -> Option<Arc<GrpcMetrics>> {
        self.metrics.clone()
    }

    /// Serves until it is ended.
    pub(super) fn run(self) -> RunningGrpc {
        let end = watch::Sender::new(());
        let serve = |grpc: GrpcListener| {
            let mut ended = end.subscribe();
            let shutdown = async move { _ = ended.changed().await };
            tokio::spawn(grpc.listener.serve(grpc.routes, grpc.options, shutdown))
        };
        RunningGrpc {
            serving: self.listeners.into_iter().map(serve).collect(),
            end,
        }
    }
}

impl GrpcListener {
    /// Listens on an address, with the options that it may have of its own.
    async fn bind(
        parts: &GrpcParts<'_>,
        address: &GrpcAddress,
        api: &Grpc,
    ) -> anyhow::Result<Self> {
        let auth = address.auth.or(parts.args.grpc_auth);
        if auth == Some(AuthMode::Delegated) && parts.access.is_none() {
            bail!(
                "cannot ask who the callers of gRPC are: --grpc-auth=delegated and `/auth=delegated` need --auth=delegated"
            );
        }
        let is_plaintext = parts.args.grpc_plaintext || address.is_plaintext;
        let tls = parts.shared.tls.clone().filter(|_| !is_plaintext);
        let listener = Listener::bind(&address.listen).await?;
        refuse_unintended_plaintext(
            listener.address(),
            tls.is_some() || is_plaintext || parts.is_plain_http,
        )?;

        // With authorization, the API sees nothing by itself: a call that the layer does
        // not know shows no catalog.
        let access = parts
            .access
            .clone()
            .filter(|_| auth != Some(AuthMode::None));
        let reader = if access.is_some() {
            parts.catalogs.visible(Visibility::none())
        } else {
            parts.catalogs.clone()
        };
        let catalog = address.catalog.as_deref();
        let routes = api.listener(catalog, reader).router();
        let routes = match access {
            Some(access) => routes.layer(from_fn_with_state(access, authorize)),
            None => routes,
        };
        let options = ListenOptions {
            limits: ConnectionLimits {
                http2: Http2Limits::for_grpc(),
                ..ConnectionLimits::default()
            },
            ready: parts.shared.ready.clone(),
            tls,
            http2_only: true,
            observer: Some(parts.shared.observer.with_handlers(grpc_handler)),
            ..ListenOptions::default()
        };
        tracing::info!(address = %listener.address(), catalog, "serving gRPC");
        Ok(Self {
            listener,
            routes,
            options,
        })
    }
}

impl RunningGrpc {
    /// Completes when the last call has ended.
    pub(super) async fn end(self) {
        drop(self.end);
        for serving in self.serving {
            let _ = serving.await;
        }
    }
}

/// Rejects an address without TLS that other machines reach, unless that is intended.
fn refuse_unintended_plaintext(address: SocketAddr, is_intended: bool) -> anyhow::Result<()> {
    if address.ip().to_canonical().is_loopback() || is_intended {
        return Ok(());
    }
    bail!(
        "cannot serve gRPC without TLS on `{address}`, which other machines reach: pass --tls-cert-file and \
         --tls-private-key-file, or --grpc-plaintext if that is intended, as for OLM v0"
    )
}

/// Adds a reader of the catalogs that the caller may see to a call. Calls that show no catalog need
/// no authorization.
async fn authorize(
    State(access): State<AccessControl>,
    mut request: Request,
    next: Next,
) -> Response {
    if Grpc::shows_catalogs(request.uri().path()) {
        match reader(&access, request.headers(), request.extensions()).await {
            Ok(reader) => drop(request.extensions_mut().insert(reader)),
            Err(AuthError::Unauthenticated) => return CallAuthError::Unauthenticated.respond(),
            Err(denied @ AuthError::Unavailable) => {
                return CallAuthError::Undecided(denied.to_string()).respond();
            }
            Err(denied) => return CallAuthError::Denied(denied.to_string()).respond(),
        }
    }
    next.run(request).await
}

async fn reader(
    access: &AccessControl,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Catalogs, AuthError> {
    let credentials = credentials(&access.authenticator, headers, extensions)?;
    access.callers.reader(&credentials).await
}
