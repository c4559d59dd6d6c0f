//! Services of connections: every request on an ordinary slot is routed, and only probes on a
//! reserved one.
//!
//! These are hyper services, because they must know the connection of a request: its slot, its peer
//! and its certificate. Time-outs and metrics are here, too: as layers of the router, they would
//! allocate for each request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST, UPGRADE};
use axum::http::{Extensions, HeaderValue, StatusCode, Version};
use axum::middleware::map_response;
use axum::response::Response;
use futures_util::TryFutureExt as _;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper::upgrade::OnUpgrade;
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::allowed_hosts::AllowedHosts;
use crate::connection_slots::{ConnectionSlot, SlotKind};
use crate::http_error::{ErrorFormat, HttpError};
use crate::http1_body::Http1Body;
use crate::http2_streams::{Http2Body, Http2Streams};
use crate::listen_options::ListenOptions;
use crate::requests::{ObservedBody, ObservedRequest, RequestObserver};
use crate::{paths, probes};

/// The services of a listener.
#[derive(Clone)]
pub(crate) struct ConnectionServices {
    ordinary: TowerToHyperService<Router>,
    reserved: TowerToHyperService<Router>,
    hosts: AllowedHosts,
    request_timeout: Duration,
    observer: Option<RequestObserver>,
}

impl ConnectionServices {
    pub(crate) fn new(routes: Router, options: &ListenOptions) -> Self {
        let ordinary = if options.own_probes {
            routes
        } else {
            routes.merge(probes::routes(options.ready.clone()))
        };
        let overloaded = async |request: Request| {
            HttpError::Overloaded.respond(&ErrorFormat::from_request(&request))
        };
        // A reserved slot must be free again for the next probe.
        let close = async |mut response: Response| {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
            response
        };
        let reserved = probes::routes(options.ready.clone())
            .fallback(overloaded)
            .layer(map_response(close));
        Self {
            ordinary: TowerToHyperService::new(ordinary),
            reserved: TowerToHyperService::new(reserved),
            hosts: options.hosts.clone(),
            request_timeout: options.limits.request_timeout,
            observer: options.observer.clone(),
        }
    }

    /// Returns the service of an HTTP/1.1 connection. It adds the [`Peer`](admission::Peer) and the
    /// extensions of the client's certificate to each request, and marks the connection as busy
    /// from the headers of a request to the end of its response; a WebSocket keeps the extensions
    /// of its request, and with them the connection busy. While the server shuts down, responses end
    /// the connection.
    pub(crate) fn http1(
        self,
        slot: &Arc<ConnectionSlot>,
        client: Extensions,
        closing: watch::Receiver<bool>,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<Http1Body>,
        Error = Infallible,
        Future: Send,
    > + use<> {
        let slot = Arc::clone(slot);
        service_fn(move |mut request: Request<Incoming>| {
            let closing = closing.clone();
            let busy = slot.mark_busy();
            // Besides the upgrade of the connection, hyper's extensions hold the names of the
            // headers in the case in which the client wrote them.
            let mut header_case = std::mem::take(request.extensions_mut());
            if let Some(upgrade) = header_case.remove::<OnUpgrade>() {
                request.extensions_mut().insert(upgrade);
            }
            request.extensions_mut().insert(slot.peer());
            request.extensions_mut().extend(client.clone());
            if request.headers().contains_key(UPGRADE) {
                request.extensions_mut().insert(busy.clone());
            }
            self.respond(request, slot.kind())
                .map_ok(move |mut response| {
                    // Some clients find `Sec-WebSocket-Protocol` only in the case in which they
                    // sent it, such as gql for Python.
                    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                        response.extensions_mut().extend(header_case);
                    } else if *closing.borrow() {
                        let close = HeaderValue::from_static("close");
                        response.headers_mut().insert(CONNECTION, close);
                    }
                    response.map(|body| Http1Body::new(body, busy))
                })
        })
    }

    /// Returns the service of an HTTP/2 connection, likewise. A request without a slot is refused
    /// with `REFUSED_STREAM`: clients may repeat any such request (RFC 9113 §8.7), and no response
    /// is held for it.
    pub(crate) fn http2(
        self,
        slot: &Arc<ConnectionSlot>,
        streams: &Arc<Http2Streams>,
        client: Extensions,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<Http2Body>,
        Error = h2::Error,
        Future: Send,
    > + use<> {
        let slot = Arc::clone(slot);
        let streams = Arc::clone(streams);
        service_fn(move |mut request: Request<Incoming>| {
            let stream = slot
                .acquire_stream(probes::is_probe(request.uri().path()))
                .map(|stream_slot| streams.begin(stream_slot));
            request.extensions_mut().insert(slot.peer());
            request.extensions_mut().extend(client.clone());
            let response = stream.map(|stream| (self.respond(request, slot.kind()), stream));
            async move {
                let (response, stream) = response.ok_or(h2::Reason::REFUSED_STREAM)?;
                let Ok(response) = response.await;
                Ok(response.map(|body| Http2Body::new(body, stream)))
            }
        })
    }

    /// Responds to a request, with an error if it names another host or takes too long.
    fn respond(
        &self,
        mut request: Request<Incoming>,
        slot: SlotKind,
    ) -> impl Future<Output = Result<Response<ObservedBody>, Infallible>> + Send + use<> {
        // Routes, metrics and authorization must agree on the path, so that it is normalized first.
        paths::normalize(request.uri_mut());

        // Orchestrators send many probes, which say nothing of the requests of clients.
        let observer = self
            .observer
            .as_ref()
            .filter(|_| !probes::is_probe(request.uri().path()));
        let record = observer.map(|observer| observer.begin(&request));
        let format = ErrorFormat::from_request(&request);
        let error = self.host_error(&request);
        let routes = match slot {
            SlotKind::Ordinary => &self.ordinary,
            SlotKind::Reserved => &self.reserved,
        };
        let response = timeout(
            self.request_timeout,
            ObservedRequest::run(record.as_ref(), routes.call(request)),
        );
        async move {
            let response = match error {
                Some(error) => error.respond(&format),
                None => response
                    .await
                    .unwrap_or_else(|_| Ok(HttpError::Timeout.respond(&format)))?,
            };
            Ok(ObservedRequest::respond(record, response))
        }
    }

    /// Returns the error of a request whose host is malformed or not allowed.
    fn host_error<B>(&self, request: &Request<B>) -> Option<HttpError> {
        if let Some(problem) = host_header_problem(request) {
            return Some(HttpError::HostHeader(problem));
        }
        // Orchestrators name the address at which they probe.
        let host = self
            .hosts
            .disallowed_host(request)
            .filter(|_| !probes::is_probe(request.uri().path()))?;
        Some(HttpError::HostNotAllowed(host.to_owned()))
    }
}

/// Returns the problem of the `Host` header in the words of Go, if it has one (RFC 9112 §3.2). In
/// HTTP/2, `:authority` may replace it (RFC 9113 §8.3.1).
fn host_header_problem<B>(request: &Request<B>) -> Option<&'static str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _)
            if request.version() == Version::HTTP_2 && request.uri().authority().is_some() =>
        {
            None
        }
        (None, _) => (request.version() >= Version::HTTP_11).then_some("missing required"),
        (Some(_), Some(_)) => Some("too many"),
        (Some(host), None) => {
            let is_part =
                |byte: &u8| byte.is_ascii_alphanumeric() || b"!$%&'()*+,-.:;=[]_~".contains(byte);
            (!host.as_bytes().iter().all(is_part)).then_some("malformed")
        }
    }
}
