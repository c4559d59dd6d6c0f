//! What is counted, logged and traced of requests over HTTP: the handler that answers them, their
//! method, their status, and how long they took.
//!
//! The listener begins an exchange for each request and gives it the response; the body of the
//! response ends it. What an exchange costs is a few atomics: nothing is allocated unless requests
//! are logged or traced, and no text of a request is kept.

mod access_log;
mod codes;
mod handler;
mod span;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use ::metrics::{Counter, Family, Gauge, Histogram, Label as _, MILLISECOND, labels};
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, Request, Response, StatusCode};
use graphql::metrics::{OperationKind, RequestResult};
use http_facts::peer::Peer;
use hyper::body::{Frame, SizeHint};
use opentelemetry::trace::TraceId;
use opentelemetry_sdk::trace::SdkTracer;

use access_log::LoggedRequest;
use span::RequestSpan;

pub use access_log::{AccessLog, WAITING_LINES};
pub use codes::ByCode;
pub use handler::Handler;

labels! {
    /// Method of a request.
    pub enum Method {
        /// GET
        Get = "GET",
        /// HEAD
        Head = "HEAD",
        /// POST
        Post = "POST",
        /// OPTIONS
        Options = "OPTIONS",
        /// Any other method: clients may invent some.
        Other = "other",
    }
}

/// Upper bounds of the durations of requests, in nanoseconds.
const DURATION_BOUNDS: &[u64] = &[
    MILLISECOND,
    2_500_000,
    5 * MILLISECOND,
    10 * MILLISECOND,
    25 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    250 * MILLISECOND,
    500 * MILLISECOND,
    1_000 * MILLISECOND,
    2_500 * MILLISECOND,
    5_000 * MILLISECOND,
    10_000 * MILLISECOND,
];

/// The bounds that catalogd has for its metric, in nanoseconds.
const CATALOGD_BOUNDS: &[u64] = &[
    100 * MILLISECOND,
    200 * MILLISECOND,
    300 * MILLISECOND,
    400 * MILLISECOND,
    500 * MILLISECOND,
    600 * MILLISECOND,
    700 * MILLISECOND,
    800 * MILLISECOND,
    900 * MILLISECOND,
    1_000 * MILLISECOND,
    1_200 * MILLISECOND,
    1_600 * MILLISECOND,
    2_000 * MILLISECOND,
    2_400 * MILLISECOND,
    2_800 * MILLISECOND,
    3_200 * MILLISECOND,
    3_600 * MILLISECOND,
    4_000 * MILLISECOND,
    10_000 * MILLISECOND,
];

/// Media type of responses that go on for as long as somebody listens.
const EVENT_STREAM: &[u8] = b"text/event-stream";

/// Counts the exchanges of a listener.
#[derive(Debug)]
pub struct Exchanges {
    /// Responses by handler, method and status.
    pub requests: Family<Handler, Family<Method, ByCode<Counter>>>,
    /// Durations from the headers of a request to the end of its response, by handler. For streams,
    /// to their beginning.
    pub durations: Family<Handler, Histogram>,
    /// Durations of requests for catalogd's paths, by status, as catalogd counts them.
    pub catalogd_durations: ByCode<Histogram>,
    /// Requests whose response has not ended.
    pub in_flight: Family<Handler, Gauge>,
    /// Bytes of the bodies of responses.
    pub response_bytes: Counter,
    /// Where each request is logged; `None` logs none.
    pub access_log: Option<AccessLog>,
    /// What begins a span for each request; `None` begins none.
    pub tracer: Option<SdkTracer>,
}

/// A request, from its headers to the end of its response.
pub struct Exchange {
    counters: Arc<Exchanges>,
    handler: Handler,
    method: Method,
    is_catalogd: bool,
    begun: Instant,
    /// `None` until the response begins.
    status: Option<StatusCode>,
    /// Whether the duration is counted already.
    is_timed: bool,
    /// Bytes of the body of the response until now.
    bytes: u64,
    /// The span, if the request is sampled.
    span: Option<RequestSpan>,
    /// What is logged at the end besides, if there is a log.
    logged: Option<Box<Logged>>,
}

/// What only the access log needs of an exchange.
struct Logged {
    log: AccessLog,
    trace_id: Option<TraceId>,
    peer: Peer,
}

/// The body of a response, which ends its exchange.
pub struct ExchangeBody {
    body: Body,
    exchange: Option<Exchange>,
}

impl Default for Exchanges {
    fn default() -> Self {
        Self {
            requests: Family::new(|| Family::new(ByCode::default)),
            durations: Family::new(|| Histogram::new(DURATION_BOUNDS)),
            catalogd_durations: ByCode::new(|| Histogram::new(CATALOGD_BOUNDS)),
            in_flight: Family::default(),
            response_bytes: Counter::default(),
            access_log: None,
            tracer: None,
        }
    }
}

impl Exchanges {
    /// Begins an exchange that this handler answers, or that of the path.
    pub fn begin<B>(self: &Arc<Self>, request: &Request<B>, handler: Option<Handler>) -> Exchange {
        let path = request.uri().path();
        let is_of_path = handler.is_none();
        let handler = handler.unwrap_or_else(|| Handler::of_path(path));
        let method = Method::of(request.method());
        let headers = request.headers();
        self.in_flight[handler].increment();
        let span = self
            .tracer
            .as_ref()
            .and_then(|tracer| RequestSpan::begin(tracer, headers, handler, method));
        let logged = self.access_log.as_ref().map(|log| {
            let peer = Peer::of(request.extensions());
            let trace_id = span.as_ref().map(RequestSpan::trace_id);
            let trace_id =
                trace_id.or_else(|| span::parent(headers).map(|parent| parent.trace_id()));
            Box::new(Logged {
                log: log.clone(),
                trace_id,
                peer,
            })
        });
        Exchange {
            counters: Arc::clone(self),
            handler,
            method,
            is_catalogd: is_of_path && handler::is_catalogds(path),
            begun: Instant::now(),
            status: None,
            is_timed: false,
            bytes: 0,
            span,
            logged,
        }
    }
}

impl Exchange {
    /// Runs what responds to a request in the context of its span, if it has one.
    pub fn run<F: Future>(
        exchange: Option<&Self>,
        response: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        RequestSpan::run(
            exchange.and_then(|exchange| exchange.span.as_ref()),
            response,
        )
    }

    /// Adds the outcome of a GraphQL request to the span of the request that runs it, if it has
    /// one.
    pub fn add_graphql_result(kind: OperationKind, result: RequestResult) {
        span::add_graphql_result(kind, result);
    }

    /// Gives the response to an exchange; `None` counts nothing.
    pub fn respond(exchange: Option<Self>, response: Response<Body>) -> Response<ExchangeBody> {
        let exchange = exchange.map(|mut exchange| {
            exchange.status = Some(response.status());
            // A stream has no length, and neither has what is compressed while it is sent.
            let is_sized = response.body().size_hint().exact().is_some();
            let media_type = || response.headers().get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
            if response.status() == StatusCode::SWITCHING_PROTOCOLS
                || !is_sized && media_type().is_some_and(|media_type| media_type.starts_with(EVENT_STREAM))
                // Watches, and lists in chunks.
                || !is_sized && exchange.handler == Handler::KubeApi
            {
                exchange.time();
            }
            exchange
        });
        response.map(|body| ExchangeBody { body, exchange })
    }

    /// Counts the duration, once.
    fn time(&mut self) {
        if std::mem::replace(&mut self.is_timed, true) {
            return;
        }
        let duration = self.begun.elapsed();
        self.counters.durations[self.handler].observe_duration(duration);
        if let Some(status) = self.status.filter(|_| self.is_catalogd) {
            self.counters
                .catalogd_durations
                .of(status)
                .observe_duration(duration);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.time();
        self.counters.in_flight[self.handler].decrement();
        let by_code = &self.counters.requests[self.handler][self.method];
        match self.status {
            Some(status) => by_code.of(status).increment(),
            None => by_code.client_left().increment(),
        }
        let bytes = self.bytes;
        if let Some(span) = self.span.take() {
            span.end(self.status, bytes);
        }
        if let Some(Logged {
            log,
            trace_id,
            peer,
        }) = self.logged.take().map(|logged| *logged)
        {
            let method = self.method.as_str();
            let handler = self.handler.as_str();
            let status = self.status;
            let duration = self.begun.elapsed();
            log.log(LoggedRequest {
                method,
                handler,
                status,
                bytes,
                duration,
                trace_id,
                peer,
            });
        }
    }
}

impl HttpBody for ExchangeBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let (Poll::Ready(Some(Ok(frame))), Some(exchange)) = (&frame, &mut self.exchange) {
            let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
            exchange.counters.response_bytes.add(bytes);
            exchange.bytes += bytes;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Method {
    fn of(method: &http::Method) -> Self {
        match *method {
            http::Method::GET => Self::Get,
            http::Method::HEAD => Self::Head,
            http::Method::POST => Self::Post,
            http::Method::OPTIONS => Self::Options,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
