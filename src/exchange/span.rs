//! The span of a request: what its metrics say of it, and the trace that it continues.

use ::metrics::Label as _;
use axum::http::{HeaderMap, StatusCode};
use futures_util::future::Either;
use graphql::metrics::{OperationKind, RequestResult};
use opentelemetry::trace::{
    FutureExt as _, Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;

use super::{Handler, Method};

/// The span of a request.
pub(super) struct RequestSpan(Context);

impl RequestSpan {
    /// Begins the span of a request, as a part of the trace that its headers name; `None` if it is
    /// not sampled.
    pub(super) fn begin(
        tracer: &SdkTracer,
        headers: &HeaderMap,
        handler: Handler,
        method: Method,
    ) -> Option<Self> {
        let parent = match parent(headers) {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
        let method = method_name(method);
        let handler = handler.as_str();
        let attributes = [
            KeyValue::new("http.request.method", method),
            KeyValue::new("catalogql.handler", handler),
        ];
        let span = tracer
            .span_builder(format!("{method} {handler}"))
            .with_kind(SpanKind::Server);
        let span = span
            .with_attributes(attributes)
            .start_with_context(tracer, &parent);
        span.is_recording().then(|| Self(parent.with_span(span)))
    }

    /// The trace that the request is a part of.
    pub(super) fn trace_id(&self) -> TraceId {
        self.0.span().span_context().trace_id()
    }

    /// Runs what responds to a request in the context of its span, if there is one.
    pub(super) fn run<F: Future>(
        span: Option<&Self>,
        response: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        match span {
            Some(Self(context)) => Either::Left(response.with_context(context.clone())),
            None => Either::Right(response),
        }
    }

    /// Ends the span with a response of so many bytes; without a status if the client left before
    /// the response began.
    pub(super) fn end(self, status: Option<StatusCode>, bytes: u64) {
        let span = self.0.span();
        if let Some(status) = status {
            span.set_attribute(KeyValue::new(
                "http.response.status_code",
                i64::from(status.as_u16()),
            ));
            if status.is_server_error() {
                span.set_attribute(KeyValue::new("error.type", status.as_str().to_owned()));
                span.set_status(Status::error(""));
            }
        }
        span.set_attribute(KeyValue::new(
            "http.response.body.size",
            i64::try_from(bytes).unwrap_or(i64::MAX),
        ));
        span.end();
    }
}

/// Adds the outcome of a GraphQL request to the span in whose context it is executed.
pub(super) fn add_graphql_result(kind: OperationKind, result: RequestResult) {
    let context = Context::current();
    let span = context.span();
    span.set_attribute(KeyValue::new("graphql.operation.type", kind.as_str()));
    span.set_attribute(KeyValue::new("catalogql.graphql.outcome", result.as_str()));
}

/// Returns the span that a request names as its parent, by its header `traceparent` (W3C Trace
/// Context §3.2). What else is told of a trace (`tracestate`) is not kept: its length is the
/// client's choice.
pub(super) fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut parts = headers.get("traceparent")?.to_str().ok()?.split('-');
    let mut hex = |digits: usize| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        parts
            .next()
            .filter(|part| part.len() == digits && part.bytes().all(is_digit))
    };
    let version = hex(2)?;
    let trace = hex(32)?;
    let span = hex(16)?;
    let flags = hex(2)?;
    // Later versions may append members.
    if version == "ff" || version == "00" && parts.next().is_some() {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let trace = TraceId::from_hex(trace).ok()?;
    let span = SpanId::from_hex(span).ok()?;
    Some(SpanContext::new(trace, span, flags, true, TraceState::NONE)).filter(SpanContext::is_valid)
}

/// The method as the conventions of OpenTelemetry name it.
fn method_name(method: Method) -> &'static str {
    if method == Method::Other {
        "_OTHER"
    } else {
        method.as_str()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    const SPAN: &str = "b7ad6b7169203331";

    fn parent_of(header: &str) -> Option<(String, String, bool)> {
        let headers = HeaderMap::from_iter([(
            "traceparent".parse().unwrap(),
            HeaderValue::from_str(header).unwrap(),
        )]);
        parent(&headers).map(|span| {
            (
                span.trace_id().to_string(),
                span.span_id().to_string(),
                span.is_sampled(),
            )
        })
    }

    #[test]
    fn a_trace_is_named_by_a_header_that_is_well_formed() {
        for (header, is_sampled) in [
            (format!("00-{TRACE}-{SPAN}-01"), true),
            (format!("00-{TRACE}-{SPAN}-00"), false),
            // Of the flags, one is known.
            (format!("00-{TRACE}-{SPAN}-fe"), false),
            (format!("00-{TRACE}-{SPAN}-ff"), true),
            (format!("cc-{TRACE}-{SPAN}-01-later"), true),
        ] {
            assert_eq!(
                parent_of(&header),
                Some((TRACE.to_owned(), SPAN.to_owned(), is_sampled)),
                "{header}"
            );
        }
    }

    #[test]
    fn a_header_that_is_not_well_formed_names_no_trace() {
        let no_trace = "0".repeat(32);
        let no_span = "0".repeat(16);
        for header in [
            "",
            "00",
            "00-abc-1-01",
            &format!("00-{TRACE}-{SPAN}"),
            &format!("00-{TRACE}-{SPAN}-1"),
            &format!("00-{TRACE}-{SPAN}-01-later"),
            &format!("ff-{TRACE}-{SPAN}-01"),
            &format!("0-{TRACE}-{SPAN}-01"),
            &format!("00-{no_trace}-{SPAN}-01"),
            &format!("00-{TRACE}-{no_span}-01"),
            &format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            &format!("00-+{}-{SPAN}-01", &TRACE[1..]),
        ] {
            assert_eq!(parent_of(header), None, "{header}");
        }
    }
}
