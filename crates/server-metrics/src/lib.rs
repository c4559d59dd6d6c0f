//! Metrics of the whole program: their names, help and labels.
//!
//! Every number belongs to the crate that counts it. States, such as catalogs, sizes and
//! connections, are not counted: they are read when metrics are scraped.
//! `docs/reference/metrics.md` lists the metrics.

mod catalogs;
mod controllers;
mod program;
mod views;

use std::fmt;
use std::sync::Arc;

use ::metrics::Counter;
use alpha_graphql::AlphaMetrics;
use controller::ControllerMetrics;
use graphql::Engine;
use graphql_http::TransportMetrics;
use grpc::GrpcMetrics;
use http_server::{
    ConnectionCounter, MetricsFormat, MetricsWriter, RequestMetrics, ServerReadiness, SpanCounts,
    Tls, render_metrics, write_catalogd_metrics, write_certificate_metrics,
    write_connection_metrics, write_process_metrics, write_request_metrics, write_span_metrics,
};
use jiff::Timestamp;
use loading::LoadStatistics;
use serving::Catalogs;
use webhooks::WebhookMetrics;

/// Metrics of a server. Clones read the same ones.
#[derive(Clone)]
pub struct ServerMetrics {
    /// Requests over HTTP.
    pub requests: Arc<RequestMetrics>,
    /// Spans of traces.
    pub spans: Arc<SpanCounts>,
    /// Connections of the main listener.
    pub connections: ConnectionCounter,
    /// Readiness of the server.
    pub ready: ServerReadiness,
    /// GraphQL requests and the response cache.
    pub engine: Arc<Engine>,
    /// GraphQL streams, and responses in flight.
    pub transport: TransportMetrics,
    /// The published set.
    pub catalogs: Catalogs,
    /// Loads of the wanted catalogs.
    pub loads: LoadStatistics,
    /// Reloads of configuration files.
    pub reloads: Arc<ReloadCounters>,
    /// Reconciliations, if there is a controller.
    pub controller: Option<Arc<ControllerMetrics>>,
    /// Calls over gRPC, if it is served.
    pub grpc: Option<Arc<GrpcMetrics>>,
    /// Requests of catalogd's alpha GraphQL, if it is served.
    pub alpha: Option<Arc<AlphaMetrics>>,
    /// TLS of the server, if it has a certificate.
    pub tls: Option<Tls>,
    /// Events for webhooks, if there are any.
    pub webhooks: Option<Arc<WebhookMetrics>>,
    /// Whether requests may cause fetches of bundle images.
    pub fetches_bundle_images: bool,
    /// When the process started.
    pub started: Timestamp,
}

/// Counts reloads of configuration files.
#[derive(Debug, Default)]
pub struct ReloadCounters {
    /// Reloads of valid files.
    pub ok: Counter,
    /// Reloads that failed, after which the last configuration is kept.
    pub failed: Counter,
}

impl ServerMetrics {
    /// Writes the metrics as text. It reads a few files of the kernel and the folder of the store.
    pub fn render(self, format: MetricsFormat) -> String {
        render_metrics(format, move |writer| self.write(writer))
    }

    fn write(&self, writer: &mut MetricsWriter<'_>) -> fmt::Result {
        program::program(writer, self)?;
        write_process_metrics(writer, self.started)?;
        if let Some(tls) = &self.tls {
            write_certificate_metrics(writer, tls)?;
        }

        write_request_metrics(writer, &self.requests)?;
        write_connection_metrics(writer, &self.connections)?;
        write_catalogd_metrics(writer, &self.requests)?;

        views::graphql(writer, &self.engine)?;
        if let Some(metrics) = &self.grpc {
            views::grpc(writer, metrics)?;
        }
        if let Some(metrics) = &self.alpha {
            views::alpha_graphql(writer, metrics)?;
        }
        views::response_cache(writer, &self.engine)?;
        views::streams(writer, &self.transport)?;
        write_span_metrics(writer, &self.spans)?;

        catalogs::catalogs(writer, self)?;
        catalogs::registries(writer)?;
        if self.fetches_bundle_images {
            catalogs::bundle_images(writer)?;
        }
        catalogs::store(writer, &self.loads)?;
        catalogs::shared_store(writer, &self.loads)?;
        if let Some(metrics) = &self.webhooks {
            catalogs::webhooks(writer, metrics)?;
        }
        match &self.controller {
            Some(metrics) => controllers::controller(writer, metrics),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for ServerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerMetrics").finish_non_exhaustive()
    }
}
