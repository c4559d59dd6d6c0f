//! The span of a request: its attributes, and the trace that it continues.

use axum::http::{HeaderMap, StatusCode};
use futures_util::future::Either;
use opentelemetry::trace::{
    FutureExt as _, Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;

/// The span of a request.
pub(crate) struct RequestSpan(Context);

impl RequestSpan {
    /// Begins the span of a request, as a part of the trace that its headers name; `None` if it is
    /// not sampled.
    pub(crate) fn begin(
        tracer: &SdkTracer,
        headers: &HeaderMap,
        method: &'static str,
        handler: &'static str,
    ) -> Option<Self> {
        let parent = match parent(headers) {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
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

    /// Returns the id of the trace that the request is a part of.
    pub(crate) fn trace_id(&self) -> TraceId {
        self.0.span().span_context().trace_id()
    }

    /// Runs the future of a response in the context of a span, if there is one.
    pub(crate) fn run<F: Future>(
        span: Option<&Self>,
        response: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        match span {
            Some(Self(context)) => Either::Left(response.with_context(context.clone())),
            None => Either::Right(response),
        }
    }

    /// Ends the span. `bytes` is the length of the response's body; there is no status if the
    /// client left before the response began.
    pub(crate) fn end(self, status: Option<StatusCode>, bytes: u64) {
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

/// Adds attributes to the span of the request in whose context the caller runs, if it has one.
pub fn add_span_attributes(attributes: impl IntoIterator<Item = (&'static str, &'static str)>) {
    let context = Context::current();
    let span = context.span();
    for (name, value) in attributes {
        span.set_attribute(KeyValue::new(name, value));
    }
}

/// Returns the parent span of a request, by its header `traceparent` (W3C Trace Context §3.2).
pub(crate) fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    // `tracestate` is not kept: its length is the client's choice, and it would wait in the queue
    // of spans. The propagator of the library takes ids of any length.
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
