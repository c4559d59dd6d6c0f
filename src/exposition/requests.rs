//! Metrics of requests: over HTTP, of GraphQL, of the response cache and of streams.

use std::fmt;

use ::metrics::{Counter, Label as _};
use alpha_graphql::AlphaMetrics;
use graphql::metrics::RequestResult;
use grpc::{CallStatus, GrpcMetrics};

use super::Sources;
use super::page::{Page, Scale};

/// Writes the metrics of calls over gRPC.
pub(super) fn grpc(page: &mut Page<'_>, metrics: &GrpcMetrics) -> fmt::Result {
    let calls = metrics.calls.iter().flat_map(|(call, outcomes)| {
        let labels =
            move |outcome: CallStatus| [("call", call.as_str()), ("code", outcome.as_str())];
        let is_shown = |(outcome, count): &(CallStatus, &Counter)| {
            *outcome == CallStatus::Ok || count.get() > 0
        };
        outcomes
            .iter()
            .filter(is_shown)
            .map(move |(outcome, count)| (labels(outcome), count.get()))
    });
    page.counter(
        "catalogql_grpc_calls",
        "Calls over gRPC, by the status with which their response begins.",
        calls,
    )
}

/// Writes the metrics of catalogd's alpha GraphQL.
pub(super) fn alpha_graphql(page: &mut Page<'_>, metrics: &AlphaMetrics) -> fmt::Result {
    let requests = metrics
        .requests
        .iter()
        .filter(|(result, count)| *result == RequestResult::Ok || count.get() > 0);
    let requests = requests.map(|(result, count)| ([("outcome", result.as_str())], count.get()));
    page.counter(
        "catalogql_alpha_graphql_requests",
        "Requests of catalogd's alpha GraphQL.",
        requests,
    )?;
    let builds = metrics
        .builds
        .iter()
        .map(|(result, count)| ([("result", result.as_str())], count.get()));
    page.counter(
        "catalogql_alpha_graphql_builds",
        "Schemas of catalogs that were made, or could not be.",
        builds,
    )?;
    let help = "Schemas of catalogs that are kept.";
    page.gauge(
        "catalogql_alpha_graphql_schemas",
        help,
        [([], metrics.schemas.get())],
    )?;
    let help = "Bytes of schemas of catalogs that are kept, roughly.";
    page.gauge(
        "catalogql_alpha_graphql_schema_bytes",
        help,
        [([], metrics.schema_bytes.get())],
    )
}

/// Writes the metrics of requests over HTTP.
pub(super) fn http(
    page: &mut Page<'_>,
    Sources {
        exchanges, open, ..
    }: &Sources,
) -> fmt::Result {
    let requests = exchanges.requests.iter().flat_map(|(handler, methods)| {
        methods.iter().flat_map(move |(method, codes)| {
            let labels = move |code| {
                [
                    ("handler", handler.as_str()),
                    ("method", method.as_str()),
                    ("code", code),
                ]
            };
            codes
                .iter()
                .map(move |(code, count)| (labels(code), count.get()))
                .filter(|(_, count)| *count > 0)
        })
    });
    page.counter(
        "catalogql_http_requests",
        "HTTP requests that ended. Probes do not count.",
        requests,
    )?;
    page.histogram(
        "catalogql_http_request_duration_seconds",
        "Time from the headers of a request to the end of its response, or to the beginning of a stream.",
        Scale::Seconds,
        exchanges.durations.iter().map(|(handler, histogram)| ([("handler", handler.as_str())], histogram)),
    )?;
    let in_flight = exchanges
        .in_flight
        .iter()
        .map(|(handler, gauge)| ([("handler", handler.as_str())], gauge.get()));
    page.gauge(
        "catalogql_http_requests_in_flight",
        "HTTP requests whose response has not ended.",
        in_flight,
    )?;
    let bytes = [([], exchanges.response_bytes.get())];
    page.counter(
        "catalogql_http_response_bytes",
        "Bytes of the bodies of HTTP responses.",
        bytes,
    )?;
    let counts = open.counts();
    let connections = [
        ([("state", "busy")], counts.busy),
        ([("state", "idle")], counts.idle),
    ];
    page.gauge(
        "catalogql_connections",
        "Open connections; busy ones have a request or a WebSocket.",
        connections,
    )?;
    let is_used = |code: &(_, &::metrics::Histogram)| code.1.values().count() > 0;
    let catalogd = exchanges
        .catalogd_durations
        .iter()
        .filter(is_used)
        .map(|(code, values)| ([("code", code)], values));
    page.histogram(
        "catalogd_http_request_duration_seconds",
        "Duration of HTTP requests for paths of catalogd, as catalogd counts it.",
        Scale::Seconds,
        catalogd,
    )
}

/// Writes what became of the spans of traces.
pub(super) fn traces(page: &mut Page<'_>, Sources { spans, .. }: &Sources) -> fmt::Result {
    let results = spans
        .iter()
        .map(|(result, count)| ([("result", result.as_str())], count.get()));
    let help = "Spans by what became of them: sent to the collector, failed to be, or dropped because too many waited.";
    page.counter("catalogql_trace_spans", help, results)
}

/// Writes the metrics of GraphQL requests.
pub(super) fn graphql(page: &mut Page<'_>, Sources { engine, .. }: &Sources) -> fmt::Result {
    let metrics = engine.metrics();
    let requests = metrics.requests.iter().flat_map(|(kind, results)| {
        let labels = move |outcome| [("kind", kind.as_str()), ("outcome", outcome)];
        let results = results.iter().filter(move |(result, _)| result.is_of(kind));
        results.map(move |(result, count)| (labels(result.as_str()), count.get()))
    });
    page.counter(
        "catalogql_graphql_requests",
        "GraphQL requests; subscriptions count when they start.",
        requests,
    )?;
    page.histogram(
        "catalogql_graphql_duration_seconds",
        "Time that a phase of a GraphQL request took. Cached documents and responses skip phases.",
        Scale::Seconds,
        engine
            .phases()
            .map(|(phase, histogram)| ([("phase", phase)], histogram)),
    )?;
    page.histogram(
        "catalogql_graphql_cost",
        "Work that GraphQL executions took, in units of a microsecond.",
        Scale::Units,
        [([], &metrics.work)],
    )?;
    let refused = metrics
        .refused
        .iter()
        .map(|(code, count)| ([("code", code.as_str())], count.get()));
    page.counter(
        "catalogql_graphql_refused",
        "GraphQL requests that were refused, by the code of the error.",
        refused,
    )
}

/// Writes the metrics of the response cache.
pub(super) fn cache(page: &mut Page<'_>, Sources { engine, .. }: &Sources) -> fmt::Result {
    let metrics = engine.metrics();
    let usage = engine.response_cache_usage();
    page.gauge(
        "catalogql_response_cache_bytes",
        "Bytes of cached GraphQL responses.",
        [([], usage.bytes)],
    )?;
    let hits = [([], metrics.cache_hits.get())];
    page.counter(
        "catalogql_response_cache_hits",
        "GraphQL requests whose response was cached.",
        hits,
    )?;
    let help = "GraphQL requests whose response could have been cached and was not.";
    page.counter(
        "catalogql_response_cache_misses",
        help,
        [([], metrics.cache_misses.get())],
    )?;
    let help = "Cached GraphQL responses that were evicted.";
    page.counter(
        "catalogql_response_cache_evictions",
        help,
        [([], usage.evictions)],
    )
}

/// Writes the metrics of streams and of responses that are being sent.
pub(super) fn streams(page: &mut Page<'_>, Sources { transport, .. }: &Sources) -> fmt::Result {
    let streams = transport
        .streams()
        .iter()
        .map(|(kind, gauge)| ([("transport", kind.as_str())], gauge.get()));
    page.gauge(
        "catalogql_streams",
        "Running GraphQL subscriptions.",
        streams,
    )?;
    let events = transport
        .events()
        .iter()
        .map(|(kind, count)| ([("transport", kind.as_str())], count.get()));
    page.counter(
        "catalogql_stream_events",
        "Events of GraphQL subscriptions.",
        events,
    )?;
    let help = "Bytes of GraphQL responses that clients have not read yet.";
    page.gauge(
        "catalogql_response_bytes_in_flight",
        help,
        [([], transport.bytes_in_flight())],
    )
}
