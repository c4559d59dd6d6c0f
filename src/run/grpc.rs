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
use serving::{Catalogs, Visibility};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::access::{Access, credentials};
use super::kube_api::ListenerParts;
use crate::args::{AuthMode, GrpcArgs};
use crate::exchange::Handler;
use crate::listen::{ConnectionLimits, Http2Limits, ListenOptions, Listener};

/// Listeners of the API that do not serve yet.
#[derive(Default)]
pub(super) struct GrpcListeners(Vec<(Listener, Router, ListenOptions)>);

/// Listeners that serve.
pub(super) struct RunningGrpc {
    serving: Vec<JoinHandle<()>>,
    /// Ends them when it is dropped.
    end: watch::Sender<()>,
}

impl GrpcListeners {
    /// Listens on each address of the arguments. `access` says who callers are, where they see only
    /// some catalogs.
    pub(super) async fn bind(
        args: &GrpcArgs,
        catalogs: Catalogs,
        access: Option<Access>,
        ListenerParts {
            ready,
            tls,
            exchanges,
            ..
        }: ListenerParts,
        is_plain_http: bool,
    ) -> anyhow::Result<(Self, Option<Arc<GrpcMetrics>>)> {
        let api = Grpc::new(catalogs.visible(Visibility::none()));
        let mut listeners = Vec::new();
        for address in &args.grpc {
            let auth = address.auth.or(args.grpc_auth);
            if auth == Some(AuthMode::Delegated) && access.is_none() {
                bail!(
                    "cannot ask who the callers of gRPC are: --grpc-auth=delegated and `/auth=delegated` need --auth=delegated"
                );
            }
            let is_plaintext = args.grpc_plaintext || address.is_plaintext;
            let tls = tls.clone().filter(|_| !is_plaintext);
            let listener = Listener::bind(&address.listen).await?;
            refuse_unintended_plaintext(
                listener.address(),
                tls.is_some() || is_plaintext || is_plain_http,
            )?;
            // Where callers are told apart, the API sees nothing by itself.
            let catalog = address.catalog.as_deref();
            let access = access.clone().filter(|_| auth != Some(AuthMode::None));
            let reader = if access.is_some() {
                catalogs.visible(Visibility::none())
            } else {
                catalogs.clone()
            };
            let routes = api.listener(catalog, reader).router();
            let routes = match access {
                Some(access) => routes.layer(from_fn_with_state(access, authorize)),
                None => routes,
            };
            let limits = ConnectionLimits {
                http2: Http2Limits::of_grpc(),
                ..ConnectionLimits::default()
            };
            let ready = ready.clone();
            let exchanges = Some(Arc::clone(&exchanges));
            let handler = Some(Handler::Grpc);
            let options = ListenOptions {
                limits,
                ready,
                tls,
                http2_only: true,
                exchanges,
                handler,
                ..ListenOptions::default()
            };
            tracing::info!(address = %listener.address(), catalog, "serving gRPC");
            listeners.push((listener, routes, options));
        }
        let metrics = (!listeners.is_empty()).then(|| api.metrics());
        Ok((Self(listeners), metrics))
    }

    /// Serves until it is ended.
    pub(super) fn run(self) -> RunningGrpc {
        let end = watch::Sender::new(());
        let serve = |(listener, routes, options): (Listener, Router, ListenOptions)| {
            let mut ended = end.subscribe();
            tokio::spawn(listener.serve(routes, options, async move { _ = ended.changed().await }))
        };
        RunningGrpc {
            serving: self.0.into_iter().map(serve).collect(),
            end,
        }
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

/// Refuses to serve without TLS to other machines, unless that is asked for.
fn refuse_unintended_plaintext(address: SocketAddr, is_intended: bool) -> anyhow::Result<()> {
    if address.ip().to_canonical().is_loopback() || is_intended {
        return Ok(());
    }
    bail!(
        "cannot serve gRPC without TLS on `{address}`, which other machines reach: pass --tls-cert-file and \
         --tls-private-key-file, or --grpc-plaintext if that is intended, as for OLM v0"
    )
}

/// Gives a call a reader of what its caller may see. What shows no catalog is for everybody.
async fn authorize(State(access): State<Access>, mut request: Request, next: Next) -> Response {
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
    access: &Access,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Catalogs, AuthError> {
    let credentials = credentials(&access.authenticator, headers, extensions)?;
    access.callers.reader(&credentials).await
}
