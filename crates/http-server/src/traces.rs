//! Export of traces: sends the spans of every crate to a collector by OTLP over HTTP.
//!
//! Spans are queued for a task that sends them in batches. The queue is bounded: a slow or absent
//! collector loses spans, which are counted, and delays nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use axum::http::uri::Scheme;
use metrics::{Counter, Family, labels};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_otlp::{WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{
    Sampler, SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter, SpanProcessor,
};
use reqwest::redirect::Policy;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Length of the queue: maximum number of spans that were not sent yet. A span has about a
/// kilobyte.
pub const WAITING_SPANS: usize = 2_048;

/// Maximum number of spans in a request to the collector.
pub const BATCH_SPANS: usize = 512;

/// Maximum time for which the first span of a batch waits for others.
pub const BATCH_DELAY: Duration = Duration::from_secs(1);

/// Time-out for the collector to receive a batch, with all attempts.
pub const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for the last spans to be sent when the server ends.
pub const LAST_EXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Path at which a collector receives spans (OTLP 1 §HTTP).
const PATH: &str = "/v1/traces";

/// Name of the service in spans, which the environment variable `OTEL_RESOURCE_ATTRIBUTES` may
/// replace.
const SERVICE: &str = "catalogql";

labels! {
    /// Result of the export of a span.
    pub enum SpanResult {
        /// The collector has received it.
        Sent = "sent",
        /// The collector has refused it, or did not answer.
        Failed = "failed",
        /// The queue was full.
        Dropped = "dropped",
    }
}

/// Counts spans by the result of their export.
pub type SpanCounts = Family<SpanResult, Counter>;

/// The collector of spans, and how many it gets.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// URL of the collector, without the path of OTLP.
    pub endpoint: Uri,
    /// Fraction of new traces that is sampled, from 0 to 1. A caller's `traceparent` decides for
    /// its own trace.
    pub sampling_ratio: f64,
    /// Version of the service in spans.
    pub service_version: &'static str,
}

/// Sends spans to a collector.
#[derive(Debug)]
pub struct TraceExporter {
    provider: SdkTracerProvider,
    queue: SpanQueue,
    exporting: JoinHandle<()>,
}

/// An error of setting up traces.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The HTTP client cannot be created.
    #[error("cannot set up TLS to the collector of traces")]
    Client(#[source] reqwest::Error),
    /// The exporter cannot be created, for instance because of a variable of OpenTelemetry.
    #[error("cannot set up OTLP")]
    Exporter(#[source] opentelemetry_otlp::ExporterBuildError),
}

/// Queue of the spans that were not sent yet; `None` ends it. The batch processor of the library
/// does not report how many spans it drops, and blocks a thread while it sends.
#[derive(Clone, Debug)]
struct SpanQueue {
    spans: mpsc::Sender<Option<SpanData>>,
    counts: Arc<SpanCounts>,
}

impl TraceExporter {
    /// Starts to send spans: this becomes the tracer provider of the process.
    pub fn start(options: &TraceOptions, counts: Arc<SpanCounts>) -> Result<Self, TraceError> {
        let resource = Resource::builder_empty()
            .with_attributes([
                KeyValue::new("service.name", SERVICE),
                KeyValue::new("service.version", options.service_version),
            ])
            .with_detector(Box::new(EnvResourceDetector::new()))
            .build();
        let mut exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client(&options.endpoint).map_err(TraceError::Client)?)
            .with_endpoint(format!(
                "{}{PATH}",
                options.endpoint.to_string().trim_end_matches('/')
            ))
            .with_timeout(EXPORT_TIMEOUT)
            .build()
            .map_err(TraceError::Exporter)?;
        exporter.set_resource(&resource);
        let (spans, received) = mpsc::channel(WAITING_SPANS);
        let queue = SpanQueue {
            spans,
            counts: Arc::clone(&counts),
        };
        let provider = SdkTracerProvider::builder()
            // Otherwise a trace of several services would have gaps.
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(
                options.sampling_ratio,
            ))))
            .with_span_processor(queue.clone())
            .with_resource(resource)
            .build();
        global::set_tracer_provider(provider.clone());
        Ok(Self {
            provider,
            queue,
            exporting: tokio::spawn(export(received, exporter, counts)),
        })
    }

    /// Returns the tracer of the service, which begins spans.
    pub fn tracer(&self) -> SdkTracer {
        self.provider.tracer(SERVICE)
    }

    /// Sends the queued spans within [`LAST_EXPORT_TIMEOUT`].
    pub async fn end(self) {
        let last = async {
            // It fails only if the task has ended.
            let _ = self.queue.spans.send(None).await;
            self.exporting.await
        };
        if timeout(LAST_EXPORT_TIMEOUT, last).await.is_err() {
            tracing::warn!("the collector did not receive the last spans in time");
        }
    }
}

/// Parses the URL of a collector.
pub fn parse_endpoint(text: &str) -> Result<Uri, String> {
    let uri: Option<Uri> = text.parse().ok();
    let is_http = |uri: &Uri| {
        uri.scheme()
            .is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)
    };
    // The path would be appended a second time, and the collector would respond 404 to all spans.
    let has_path = |uri: &Uri| uri.path().trim_end_matches('/').ends_with(PATH);
    uri.filter(|uri| is_http(uri) && uri.query().is_none() && !has_path(uri))
        .ok_or_else(|| {
            format!("write the URL of a collector without {PATH}, such as http://collector:4318")
        })
}

/// Creates the client for a collector. It follows no redirects.
fn client(endpoint: &Uri) -> reqwest::Result<reqwest::Client> {
    // It fails if another part of the program has installed a provider, which serves as well.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let client = reqwest::Client::builder()
        .user_agent(concat!("catalogql/", env!("CARGO_PKG_VERSION")))
        // As in builds without the feature `shared-store`, whose library brings HTTP/2.
        .http1_only()
        .timeout(EXPORT_TIMEOUT)
        .redirect(Policy::none());
    // reqwest fails on a system without root certificates, which spans without TLS do not need.
    let needs_tls = endpoint.scheme() == Some(&Scheme::HTTPS);
    if needs_tls {
        client.build()
    } else {
        client.tls_certs_only([]).build()
    }
}

/// Sends spans in batches until the last one is received.
async fn export(
    mut spans: mpsc::Receiver<Option<SpanData>>,
    exporter: impl SpanExporter,
    counts: Arc<SpanCounts>,
) {
    let mut has_more = true;
    let mut is_failing = false;
    while has_more {
        let mut batch = Vec::new();
        has_more = receive(&mut spans, &mut batch).await;
        if batch.is_empty() {
            continue;
        }
        let count = batch.len() as u64;
        let error = match timeout(EXPORT_TIMEOUT, exporter.export(batch)).await {
            Ok(sent) => sent.err().map(|error| error.to_string()),
            Err(_) => Some("time-out".to_owned()),
        };
        counts[if error.is_none() {
            SpanResult::Sent
        } else {
            SpanResult::Failed
        }]
        .inc_by(count);
        match &error {
            Some(error) if !is_failing => {
                tracing::warn!(error, "cannot send spans to the collector, dropping them");
            }
            None if is_failing => tracing::info!("the collector receives spans again"),
            _ => {}
        }
        is_failing = error.is_some();
    }
}

/// Receives spans until the batch is full, or its first one has waited. Returns whether more may
/// come.
async fn receive(spans: &mut mpsc::Receiver<Option<SpanData>>, batch: &mut Vec<SpanData>) -> bool {
    let Some(Some(first)) = spans.recv().await else {
        return false;
    };
    batch.push(first);
    let rest = async {
        while batch.len() < BATCH_SPANS {
            let Some(Some(span)) = spans.recv().await else {
                return false;
            };
            batch.push(span);
        }
        true
    };
    timeout(BATCH_DELAY, rest).await.unwrap_or(true)
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.spans.try_send(Some(span)).is_err() {
            self.counts[SpanResult::Dropped].inc();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_named_by_the_url_of_http_without_the_path_of_otlp() {
        for text in [
            "http://collector:4318",
            "https://otel.example.com/prefix/",
            "http://[::1]:4318",
            "http://collector:4318/v1/traces/tenant",
        ] {
            assert_eq!(
                parse_endpoint(text).map(|uri| uri.to_string().starts_with(text)),
                Ok(true)
            );
        }
        for text in [
            "collector:4318",
            "grpc://collector:4317",
            "/v1/traces",
            "",
            "http://a?b",
            "http://collector:4318/v1/traces",
            "https://otel.example.com/prefix/v1/traces//",
        ] {
            let expected =
                "write the URL of a collector without /v1/traces, such as http://collector:4318";
            assert_eq!(parse_endpoint(text), Err(expected.to_owned()), "{text}");
        }
    }
}
