//! Observation of requests: metrics by handler, method and status, the access log, and spans.
//!
//! The listener begins an observed request for each request and gives it the response; the body of
//! the response ends it. That costs a few atomics: nothing is allocated unless requests are logged
//! or traced, and no text of a request is kept. A layer of an axum router would allocate for each
//! request.

mod by_status;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use admission::Peer;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, Request, Response, StatusCode};
use hyper::body::{Frame, SizeHint};
use metrics::{Counter, Family, Gauge, Histogram, Label as _, MILLISECOND, labels};
use opentelemetry::trace::TraceId;
use opentelemetry_sdk::trace::SdkTracer;

use crate::access_log::{AccessLog, LoggedRequest};
use crate::span::{RequestSpan, parent};

use by_status::ByStatus;

labels! {
    /// Method of a request.
    pub(crate) enum MethodLabel {
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

/// Upper bounds of catalogd's own metric of durations, in nanoseconds.
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

/// Media type of event streams, which have no length and no end.
const EVENT_STREAM: &[u8] = b"text/event-stream";

/// Handler of a request: a value of the label `handler` in metrics, logs and spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHandler {
    /// Text of the label.
    pub name: &'static str,
    /// Position of the handler among those that [`RequestMetrics::new`] was given.
    pub index: usize,
    /// Counts the request for `catalogd_http_request_duration_seconds` as well.
    pub is_catalogd: bool,
    /// Takes a response of unknown length for a stream, such as a watch. The duration of a stream
    /// is the time until it begins.
    pub streams: bool,
}

/// Counts the requests of listeners.
#[derive(Debug)]
pub struct RequestMetrics {
    pub(crate) handlers: Box<[HandlerMetrics]>,
    /// Durations of requests for catalogd's paths, by status, as catalogd counts them.
    pub(crate) catalogd_durations: ByStatus<Histogram>,
    /// Bytes of the bodies of responses.
    pub(crate) response_bytes: Counter,
}

/// Counts the requests of one handler.
#[derive(Debug)]
pub(crate) struct HandlerMetrics {
    pub(crate) name: &'static str,
    /// Responses by method and status.
    pub(crate) requests: Family<MethodLabel, ByStatus<Counter>>,
    /// Durations from the headers of a request to the end of its response. For streams, to their
    /// beginning.
    pub(crate) durations: Histogram,
    /// Requests whose response has not ended.
    pub(crate) in_flight: Gauge,
}

/// Observes the requests of a listener. Clones share the metrics and the log.
#[derive(Clone, Debug)]
pub struct RequestObserver {
    /// Counts each request.
    pub metrics: Arc<RequestMetrics>,
    /// Returns the handler of a path.
    pub classify: fn(&str) -> RequestHandler,
    /// Logs each request; `None` logs none.
    pub access_log: Option<AccessLog>,
    /// Begins a span for each request; `None` begins none.
    pub tracer: Option<SdkTracer>,
}

/// A request, from its headers to the end of its response. Dropping it ends its observation.
pub(crate) struct ObservedRequest {
    metrics: Arc<RequestMetrics>,
    handler: RequestHandler,
    method: MethodLabel,
    begun: Instant,
    /// `None` until the response begins.
    status: Option<StatusCode>,
    /// Set once the duration is counted.
    is_timed: bool,
    /// Bytes of the body of the response until now.
    bytes: u64,
    /// The span, if the request is sampled.
    span: Option<RequestSpan>,
    /// Fields of the access log, if there is a log.
    log_entry: Option<Box<LogEntry>>,
}

/// Fields of a request that only the access log needs.
struct LogEntry {
    log: AccessLog,
    trace_id: Option<TraceId>,
    peer: Peer,
}

/// The body of a response, which ends the observation of its request.
pub(crate) struct ObservedBody {
    body: Body,
    request: Option<ObservedRequest>,
}

impl RequestMetrics {
    /// Creates the metrics of these handlers.
    pub fn new(handlers: impl IntoIterator<Item = &'static str>) -> Self {
        let handlers = handlers.into_iter().map(|name| HandlerMetrics {
            name,
            requests: Family::new(ByStatus::default),
            durations: Histogram::new(DURATION_BOUNDS),
            in_flight: Gauge::default(),
        });
        Self {
            handlers: handlers.collect(),
            catalogd_durations: ByStatus::new(|| Histogram::new(CATALOGD_BOUNDS)),
            response_bytes: Counter::default(),
        }
    }
}

impl RequestObserver {
    /// Returns an observer that counts all requests for handlers of another function.
    #[must_use]
    pub fn with_handlers(&self, classify: fn(&str) -> RequestHandler) -> Self {
        Self {
            classify,
            ..self.clone()
        }
    }

    /// Begins the observation of a request.
    pub(crate) fn begin<B>(&self, request: &Request<B>) -> ObservedRequest {
        let handler = (self.classify)(request.uri().path());
        let method = MethodLabel::from_method(request.method());
        let headers = request.headers();
        self.metrics.handlers[handler.index].in_flight.inc();

        let span = self.tracer.as_ref().and_then(|tracer| {
            RequestSpan::begin(tracer, headers, method.span_name(), handler.name)
        });
        let log_entry = self.access_log.as_ref().map(|log| {
            let peer = Peer::from_extensions(request.extensions());
            // Lines of requests that are not sampled name the client's trace.
            let trace_id = span.as_ref().map(RequestSpan::trace_id);
            let trace_id = trace_id.or_else(|| parent(headers).map(|parent| parent.trace_id()));
            // Boxed, so that the future of a request is small where nothing is logged.
            Box::new(LogEntry {
                log: log.clone(),
                trace_id,
                peer,
            })
        });
        ObservedRequest {
            metrics: Arc::clone(&self.metrics),
            handler,
            method,
            begun: Instant::now(),
            status: None,
            is_timed: false,
            bytes: 0,
            span,
            log_entry,
        }
    }
}

impl ObservedRequest {
    /// Runs the future of a response in the context of the span, if the request has one.
    pub(crate) fn run<F: Future>(
        request: Option<&Self>,
        response: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        RequestSpan::run(request.and_then(|request| request.span.as_ref()), response)
    }

    /// Observes the response until its body ends; `None` observes nothing.
    pub(crate) fn respond(
        request: Option<Self>,
        response: Response<Body>,
    ) -> Response<ObservedBody> {
        let request = request.map(|mut request| {
            request.status = Some(response.status());
            if request.is_stream(&response) {
                request.observe_duration();
            }
            request
        });
        response.map(|body| ObservedBody { body, request })
    }

    /// Returns whether a response is a stream, which lasts for as long as the client wants.
    fn is_stream(&self, response: &Response<Body>) -> bool {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return true;
        }
        // Bodies that are compressed while they are sent have no length, too.
        if response.body().size_hint().exact().is_some() {
            return false;
        }
        let media_type = response.headers().get(CONTENT_TYPE);
        self.handler.streams
            || media_type.is_some_and(|media_type| media_type.as_bytes().starts_with(EVENT_STREAM))
    }

    /// Counts the duration, once.
    fn observe_duration(&mut self) {
        if std::mem::replace(&mut self.is_timed, true) {
            return;
        }
        let duration = self.begun.elapsed();
        self.handler_metrics().durations.observe_duration(duration);
        if let Some(status) = self.status.filter(|_| self.handler.is_catalogd) {
            self.metrics
                .catalogd_durations
                .get(status)
                .observe_duration(duration);
        }
    }

    fn handler_metrics(&self) -> &HandlerMetrics {
        &self.metrics.handlers[self.handler.index]
    }
}

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        self.observe_duration();
        let metrics = self.handler_metrics();
        metrics.in_flight.dec();
        let by_status = &metrics.requests[self.method];
        let responses = match self.status {
            Some(status) => by_status.get(status),
            None => by_status.client_left(),
        };
        responses.inc();
        if let Some(span) = self.span.take() {
            span.end(self.status, self.bytes);
        }
        if let Some(entry) = self.log_entry.take() {
            entry.log.log(LoggedRequest {
                method: self.method.as_str(),
                handler: self.handler.name,
                status: self.status,
                bytes: self.bytes,
                duration: self.begun.elapsed(),
                trace_id: entry.trace_id,
                peer: entry.peer,
            });
        }
    }
}

impl ObservedBody {
    /// Returns the size hint of a number of bytes followed by this body.
    pub(crate) fn size_hint_after(&self, bytes: usize) -> SizeHint {
        let bytes = bytes as u64;
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + bytes);
        }
        hint.set_lower(body.lower() + bytes);
        hint
    }
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let (Poll::Ready(Some(Ok(frame))), Some(request)) = (&frame, &mut self.request) {
            let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
            request.metrics.response_bytes.inc_by(bytes);
            request.bytes += bytes;
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

impl MethodLabel {
    fn from_method(method: &http::Method) -> Self {
        match *method {
            http::Method::GET => Self::Get,
            http::Method::HEAD => Self::Head,
            http::Method::POST => Self::Post,
            http::Method::OPTIONS => Self::Options,
            _ => Self::Other,
        }
    }

    /// Returns the method as the conventions of OpenTelemetry name it.
    fn span_name(self) -> &'static str {
        match self {
            Self::Other => "_OTHER",
            method => method.as_str(),
        }
    }
}

#[cfg(test)]
mod tests;
