//! The page of metrics that scrapers read, and the listener that serves it.
//!
//! Every number belongs to the crate that counts it, or is read where it is kept when somebody
//! scrapes; here is only how it is called. `docs/reference/metrics.md` lists the metrics.

mod catalogs;
mod classic;
mod controllers;
mod page;
mod process;
mod requests;

use std::fmt;
use std::sync::Arc;

use ::metrics::Counter;
use alpha_graphql::AlphaMetrics;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use controller::ControllerMetrics;
use graphql::Engine;
use graphql_http::TransportMetrics;
use grpc::GrpcMetrics;
use jiff::Timestamp;
use loading::LoadStatistics;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;
use serving::Catalogs;

use crate::exchange::Exchanges;
use crate::listen::{OpenConnections, Ready, Tls};
use crate::traces::SpanCounts;

use page::Page;

/// Where the metrics of a server are read.
#[derive(Clone)]
pub struct Sources {
    /// Requests over HTTP.
    pub exchanges: Arc<Exchanges>,
    /// Spans of traces.
    pub spans: Arc<SpanCounts>,
    /// Connections of the listener that they come to.
    pub open: OpenConnections,
    /// What the readiness probe reports.
    pub ready: Ready,
    /// GraphQL requests and the response cache.
    pub engine: Arc<Engine>,
    /// Streams, and responses in flight.
    pub transport: TransportMetrics,
    /// What is served.
    pub catalogs: Catalogs,
    /// What is wanted and how it was loaded.
    pub loads: LoadStatistics,
    /// Reloads of configuration files.
    pub reloads: Arc<Reloads>,
    /// Reconciliations, where there is a controller.
    pub controller: Option<Arc<ControllerMetrics>>,
    /// Calls over gRPC, where that is served.
    pub grpc: Option<Arc<GrpcMetrics>>,
    /// catalogd's alpha GraphQL, where that is served.
    pub alpha: Option<Arc<AlphaMetrics>>,
    /// The certificate of the server, if it has one.
    pub tls: Option<Tls>,
    /// When the process started.
    pub started: Timestamp,
}

/// How often configuration files were read again.
#[derive(Debug, Default)]
pub struct Reloads {
    /// They could be used.
    pub ok: Counter,
    /// They could not be used, and the last ones still are.
    pub failed: Counter,
}

/// A format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// The text format of Prometheus before that, which tools for people read too.
    Prometheus,
}

/// Initial capacity of a page in bytes: a server with a few catalogs needs no more.
const PAGE_BYTES: usize = 64 << 10;

impl Format {
    /// Chooses the format of a response: `OpenMetrics` where the scraper names it.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut accepted = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let is_named = accepted.any(|value| value.contains("application/openmetrics-text"));
        if is_named {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// The media type of the format.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

impl Sources {
    /// Writes the page. It reads a few files of the kernel and looks at those of the store.
    pub fn page(self, format: Format) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut page = String::with_capacity(PAGE_BYTES);
        text::encode(&mut page, &registry).expect("a string takes all text");
        match format {
            Format::OpenMetrics => page,
            Format::Prometheus => classic::from_open_metrics(&page),
        }
    }
}

impl Collector for Sources {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let page = &mut Page(encoder);
        process::process(page, self)?;
        process::certificate(page, self)?;
        requests::http(page, self)?;
        requests::graphql(page, self)?;
        self.grpc
            .as_ref()
            .map_or(Ok(()), |metrics| requests::grpc(page, metrics))?;
        self.alpha
            .as_ref()
            .map_or(Ok(()), |metrics| requests::alpha_graphql(page, metrics))?;
        requests::cache(page, self)?;
        requests::streams(page, self)?;
        requests::traces(page, self)?;
        catalogs::catalogs(page, self)?;
        catalogs::registries(page)?;
        catalogs::store(page, self)?;
        self.controller
            .as_ref()
            .map_or(Ok(()), |metrics| controllers::controller(page, metrics))
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}
