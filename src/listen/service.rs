//! What is answered on a connection: every request on an ordinary place, and only probes on a
//! reserved one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use auth::ClientCertificate;
use axum::Router;
use axum::body::{Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST, UPGRADE};
use axum::http::{HeaderValue, StatusCode, Version};
use axum::middleware::map_response;
use axum::response::Response;
use futures_util::TryFutureExt as _;
use http_facts::paths;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};
use hyper::upgrade::OnUpgrade;
use hyper_util::service::TowerToHyperService;
use tokio::time::timeout;

use crate::exchange::{Exchange, ExchangeBody, Exchanges, Handler};

use super::connections::{Busy, Place, PlaceKind};
use super::hosts::AllowedHosts;
use super::refusal::{ErrorFormat, Refusal};
use super::streams::{StreamBody, Streams};
use super::{ListenOptions, probes};

/// The services of a listener.
#[derive(Clone)]
pub(super) struct Services {
    ordinary: TowerToHyperService<Router>,
    reserved: TowerToHyperService<Router>,
    hosts: AllowedHosts,
    request_timeout: Duration,
    exchanges: Option<Arc<Exchanges>>,
    handler: Option<Handler>,
}

/// Number of bytes of a body after which other tasks of the thread run. hyper hands the socket one
/// piece of a body after the other for as long as it takes them, which is that of a whole catalog
/// if the client reads fast; to write so many takes a tenth of a millisecond.
pub const FAIR_BYTES: usize = 256 * 1024;

/// A body during whose transmission the connection is busy, in pieces between which other tasks of
/// the thread run.
pub(super) struct BusyBody {
    body: ExchangeBody,
    /// What is left of the last frame of `body`.
    rest: Bytes,
    /// Number of bytes since other tasks could run.
    taken: usize,
    _busy: Busy,
}

impl Services {
    pub(super) fn new(routes: Router, options: &ListenOptions) -> Self {
        let ListenOptions {
            limits,
            hosts,
            ready,
            own_probes,
            exchanges,
            handler,
            ..
        } = options;
        let ordinary = if *own_probes {
            routes
        } else {
            routes.merge(probes::routes(ready.clone()))
        };
        let refuse =
            async |request: Request| Refusal::Overloaded.respond(&ErrorFormat::of(&request));
        let close = async |mut response: Response| {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
            response
        };
        let reserved = probes::routes(ready.clone())
            .fallback(refuse)
            .layer(map_response(close));
        Self {
            ordinary: TowerToHyperService::new(ordinary),
            reserved: TowerToHyperService::new(reserved),
            hosts: hosts.clone(),
            request_timeout: limits.request_timeout,
            exchanges: exchanges.clone(),
            handler: *handler,
        }
    }

    /// Returns the service of an HTTP/1.1 connection, which adds the
    /// [`Peer`](http_facts::peer::Peer), and the client's certificate if it has one, to the
    /// extensions of each request. It marks the connection as busy from the headers of a request to
    /// the end of its response; a WebSocket keeps the extensions of its request, and with them the
    /// connection busy.
    ///
    /// The headers of the response to a handshake are written in the case in which the client wrote
    /// them: some look for `Sec-WebSocket-Protocol` in that case alone, such as gql for Python.
    pub(super) fn http1(
        self,
        place: &Arc<Place>,
        client: Option<Arc<ClientCertificate>>,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<BusyBody>,
        Error = Infallible,
        Future: Send,
    > + use<> {
        let place = Arc::clone(place);
        service_fn(move |mut request: Request<Incoming>| {
            let busy = place.begin();
            // Besides what upgrades the connection, these are the names of the headers as the
            // client wrote them.
            let mut names = std::mem::take(request.extensions_mut());
            if let Some(upgrade) = names.remove::<OnUpgrade>() {
                request.extensions_mut().insert(upgrade);
            }
            request.extensions_mut().insert(place.peer());
            if let Some(client) = &client {
                request.extensions_mut().insert(Arc::clone(client));
            }
            if request.headers().contains_key(UPGRADE) {
                request.extensions_mut().insert(busy.clone());
            }
            self.respond(request, place.kind())
                .map_ok(move |mut response| {
                    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                        response.extensions_mut().extend(names);
                    }
                    response.map(|body| BusyBody {
                        body,
                        rest: Bytes::new(),
                        taken: 0,
                        _busy: busy,
                    })
                })
        })
    }

    /// Returns the service of an HTTP/2 connection, likewise. What finds no room is refused in the
    /// way that lets clients repeat any request (RFC 9113 §8.7), and that holds nothing for them.
    pub(super) fn http2(
        self,
        place: &Arc<Place>,
        streams: &Arc<Streams>,
        client: Option<Arc<ClientCertificate>>,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<StreamBody>,
        Error = h2::Error,
        Future: Send,
    > + use<> {
        let place = Arc::clone(place);
        let streams = Arc::clone(streams);
        service_fn(move |mut request: Request<Incoming>| {
            let stream = place
                .begin_stream(probes::is_probe(request.uri().path()))
                .map(|own| streams.begin(own));
            request.extensions_mut().insert(place.peer());
            if let Some(client) = &client {
                request.extensions_mut().insert(Arc::clone(client));
            }
            let response = stream.map(|stream| (self.respond(request, place.kind()), stream));
            async move {
                let (response, stream) = response.ok_or(h2::Reason::REFUSED_STREAM)?;
                let Ok(response) = response.await;
                Ok(response.map(|body| StreamBody::new(body, stream)))
            }
        })
    }

    /// Responds to a request, or refuses it for the host that it names or when its time is over.
    fn respond(
        &self,
        mut request: Request<Incoming>,
        place: PlaceKind,
    ) -> impl Future<Output = Result<Response<ExchangeBody>, Infallible>> + Send + use<> {
        // Before anything else looks at the path.
        paths::normalize(request.uri_mut());
        // Probes are as many as there are orchestrators, and say nothing of how clients fare.
        let exchanges = self
            .exchanges
            .as_ref()
            .filter(|_| !probes::is_probe(request.uri().path()));
        let exchange = exchanges.map(|exchanges| exchanges.begin(&request, self.handler));
        let format = ErrorFormat::of(&request);
        let refusal = self.refusal(&request);
        let routes = match place {
            PlaceKind::Ordinary => &self.ordinary,
            PlaceKind::Reserved => &self.reserved,
        };
        let response = timeout(
            self.request_timeout,
            Exchange::run(exchange.as_ref(), routes.call(request)),
        );
        async move {
            let response = match refusal {
                Some(refusal) => refusal.respond(&format),
                None => response
                    .await
                    .unwrap_or_else(|_| Ok(Refusal::Timeout.respond(&format)))?,
            };
            Ok(Exchange::respond(exchange, response))
        }
    }

    /// Returns why a request is refused for its host.
    fn refusal<B>(&self, request: &Request<B>) -> Option<Refusal> {
        if let Some(fault) = host_fault(request) {
            return Some(Refusal::HostHeader(fault));
        }
        // Orchestrators name the address at which they probe.
        let host = self
            .hosts
            .refused(request)
            .filter(|_| !probes::is_probe(request.uri().path()))?;
        Some(Refusal::HostNotAllowed(host.to_owned()))
    }
}

impl HttpBody for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.taken >= FAIR_BYTES {
            self.taken = 0;
            // A task that wakes itself is scheduled behind those that are ready.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = self.rest.len().min(FAIR_BYTES - self.taken);
        self.taken += length;
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        hint_with(self.rest.len(), &self.body.size_hint())
    }
}

/// Returns the length of a body and so many bytes before it.
pub(super) fn hint_with(before: usize, body: &SizeHint) -> SizeHint {
    let before = before as u64;
    let mut hint = SizeHint::new();
    if let Some(upper) = body.upper() {
        hint.set_upper(upper + before);
    }
    hint.set_lower(body.lower() + before);
    hint
}

/// Returns the fault of the `Host` header in the words of Go, if it has one (RFC 9112 §3.2). In
/// HTTP/2 it may be missing beside `:authority` (RFC 9113 §8.3.1).
fn host_fault<B>(request: &Request<B>) -> Option<&'static str> {
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
