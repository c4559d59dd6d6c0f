//! Metrics of the server itself: requests, connections, the certificate, and spans.

use std::fmt;
use std::time::SystemTime;

use metrics::Label as _;

use crate::connection_slots::ConnectionCounter;
use crate::metrics_text::{MetricsWriter, Scale};
use crate::requests::RequestMetrics;
use crate::tls::Tls;
use crate::traces::SpanCounts;

/// Writes the metrics of requests over HTTP.
pub fn write_request_metrics(
    writer: &mut MetricsWriter<'_>,
    metrics: &RequestMetrics,
) -> fmt::Result {
    let requests = metrics.handlers.iter().flat_map(|handler| {
        handler.requests.iter().flat_map(move |(method, statuses)| {
            let labels = move |code| {
                [
                    ("handler", handler.name),
                    ("method", method.as_str()),
                    ("code", code),
                ]
            };
            // Otherwise each handler would have a hundred series that stay 0.
            let ended = statuses.iter().filter(|(_, count)| count.get() > 0);
            ended.map(move |(code, count)| (labels(code), count.get()))
        })
    });
    writer.counter(
        "catalogql_http_requests",
        "HTTP requests that ended. Probes do not count.",
        requests,
    )?;
    let durations = metrics
        .handlers
        .iter()
        .map(|handler| ([("handler", handler.name)], &handler.durations));
    let help = "Time from the headers of a request to the end of its response, or to the beginning of a stream.";
    writer.histogram(
        "catalogql_http_request_duration_seconds",
        help,
        Scale::Seconds,
        durations,
    )?;
    let in_flight = metrics
        .handlers
        .iter()
        .map(|handler| ([("handler", handler.name)], handler.in_flight.get()));
    writer.gauge(
        "catalogql_http_requests_in_flight",
        "HTTP requests whose response has not ended.",
        in_flight,
    )?;
    writer.counter(
        "catalogql_http_response_bytes",
        "Bytes of the bodies of HTTP responses.",
        [([], metrics.response_bytes.get())],
    )
}

/// Writes catalogd's own metric of durations, with its name and its labels, so that its dashboards
/// hold.
pub fn write_catalogd_metrics(
    writer: &mut MetricsWriter<'_>,
    metrics: &RequestMetrics,
) -> fmt::Result {
    let durations = metrics
        .catalogd_durations
        .iter()
        .filter(|(_, durations)| durations.values().count() > 0)
        .map(|(code, durations)| ([("code", code)], durations));
    writer.histogram(
        "catalogd_http_request_duration_seconds",
        "Duration of HTTP requests for paths of catalogd, as catalogd counts it.",
        Scale::Seconds,
        durations,
    )
}

/// Writes the number of open connections.
pub fn write_connection_metrics(
    writer: &mut MetricsWriter<'_>,
    connections: &ConnectionCounter,
) -> fmt::Result {
    let counts = connections.counts();
    writer.gauge(
        "catalogql_connections",
        "Open connections; busy ones have a request or a WebSocket.",
        [
            ([("state", "busy")], counts.busy),
            ([("state", "idle")], counts.idle),
        ],
    )
}

/// Writes when the certificate of the server expires, if its date can be read.
pub fn write_certificate_metrics(writer: &mut MetricsWriter<'_>, tls: &Tls) -> fmt::Result {
    let file = tls.files().certificate.display().to_string();
    let expires = tls
        .not_after()
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let expires = expires.map(|time| ([("file", file.as_str())], time.as_secs_f64()));
    let help = "When the certificate expires that new connections get.";
    writer.gauge(
        "catalogql_tls_certificate_not_after_timestamp_seconds",
        help,
        expires,
    )
}

/// Writes the number of spans by their result.
pub fn write_span_metrics(writer: &mut MetricsWriter<'_>, spans: &SpanCounts) -> fmt::Result {
    let results = spans
        .iter()
        .map(|(result, count)| ([("result", result.as_str())], count.get()));
    let help = "Spans by what became of them: sent to the collector, failed to be, or dropped because too many waited.";
    writer.counter("catalogql_trace_spans", help, results)
}
