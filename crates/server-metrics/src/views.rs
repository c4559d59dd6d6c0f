//! Metrics of the views: GraphQL with its cache and its streams, gRPC, and catalogd's alpha
//! GraphQL.

use std::fmt;

use ::metrics::{Counter, Label as _};
use alpha_graphql::AlphaMetrics;
use graphql::Engine;
use graphql::metrics::RequestResult;
use graphql_http::TransportMetrics;
use grpc::{CallStatus, GrpcMetrics};
use http_server::{MetricsWriter, Scale};

/// Writes the metrics of calls over gRPC.
pub(super) fn grpc(writer: &mut MetricsWriter<'_>, metrics: &GrpcMetrics) -> fmt::Result {
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
    writer.counter(
        "catalogql_grpc_calls",
        "Calls over gRPC, by the status with which their response begins.",
        calls,
    )
}

/// Writes the metrics of catalogd's alpha GraphQL.
pub(super) fn alpha_graphql(writer: &mut MetricsWriter<'_>, metrics: &AlphaMetrics) -> fmt::Result {
    let requests = metrics
        .requests
        .iter()
        .filter(|(result, count)| *result == RequestResult::Ok || count.get() > 0);
    let requests = requests.map(|(result, count)| ([("outcome", result.as_str())], count.get()));
    writer.counter(
        "catalogql_alpha_graphql_requests",
        "Requests of catalogd's alpha GraphQL.",
        requests,
    )?;
    let builds = metrics
        .builds
        .iter()
        .map(|(result, count)| ([("result", result.as_str())], count.get()));
    writer.counter(
        "catalogql_alpha_graphql_builds",
        "Schemas of catalogs that were made, or could not be.",
        builds,
    )?;
    let help = "Schemas of catalogs that are kept.";
    writer.gauge(
        "catalogql_alpha_graphql_schemas",
        help,
        [([], metrics.schemas.get())],
    )?;
    let help = "Bytes of schemas of catalogs that are kept, roughly.";
    writer.gauge(
        "catalogql_alpha_graphql_schema_bytes",
        help,
        [([], metrics.schema_bytes.get())],
    )
}

/// Writes the metrics of GraphQL requests.
pub(super) fn graphql(writer: &mut MetricsWriter<'_>, engine: &Engine) -> fmt::Result {
    let metrics = engine.metrics();
    let requests = metrics.requests.iter().flat_map(|(kind, results)| {
        let labels = move |outcome| [("kind", kind.as_str()), ("outcome", outcome)];
        let results = results.iter().filter(move |(result, _)| result.is_of(kind));
        results.map(move |(result, count)| (labels(result.as_str()), count.get()))
    });
    writer.counter(
        "catalogql_graphql_requests",
        "GraphQL requests; subscriptions count when they start.",
        requests,
    )?;
    writer.histogram(
        "catalogql_graphql_duration_seconds",
        "Time that a phase of a GraphQL request took. Cached documents and responses skip phases.",
        Scale::Seconds,
        engine
            .phases()
            .map(|(phase, histogram)| ([("phase", phase)], histogram)),
    )?;
    writer.histogram(
        "catalogql_graphql_cost",
        "Work that GraphQL executions took, in units of a microsecond.",
        Scale::Units,
        [([], &metrics.work)],
    )?;
    let refused = metrics
        .refused
        .iter()
        .map(|(code, count)| ([("code", code.as_str())], count.get()));
    writer.counter(
        "catalogql_graphql_refused",
        "GraphQL requests that were refused, by the code of the error.",
        refused,
    )
}

/// Writes the metrics of the response cache.
pub(super) fn response_cache(writer: &mut MetricsWriter<'_>, engine: &Engine) -> fmt::Result {
    let metrics = engine.metrics();
    let usage = engine.response_cache_usage();
    writer.gauge(
        "catalogql_response_cache_bytes",
        "Bytes of cached GraphQL responses.",
        [([], usage.bytes)],
    )?;
    let hits = [([], metrics.cache_hits.get())];
    writer.counter(
        "catalogql_response_cache_hits",
        "GraphQL requests whose response was cached.",
        hits,
    )?;
    let help = "GraphQL requests whose response could have been cached and was not.";
    writer.counter(
        "catalogql_response_cache_misses",
        help,
        [([], metrics.cache_misses.get())],
    )?;
    let help = "Cached GraphQL responses that were evicted.";
    writer.counter(
        "catalogql_response_cache_evictions",
        help,
        [([], usage.evictions)],
    )
}

/// Writes the metrics of streams and of responses that are being sent.
pub(super) fn streams(writer: &mut MetricsWriter<'_>, transport: &TransportMetrics) -> fmt::Result {
    let streams = transport
        .streams()
        .iter()
        .map(|(kind, gauge)| ([("transport", kind.as_str())], gauge.get()));
    writer.gauge(
        "catalogql_streams",
        "Running GraphQL subscriptions.",
        streams,
    )?;
    let events = transport
        .events()
        .iter()
        .map(|(kind, count)| ([("transport", kind.as_str())], count.get()));
    writer.counter(
        "catalogql_stream_events",
        "Events of GraphQL subscriptions.",
        events,
    )?;
    let help = "Bytes of GraphQL responses that clients have not read yet.";
    writer.gauge(
        "catalogql_response_bytes_in_flight",
        help,
        [([], transport.bytes_in_flight())],
    )
}
