//! The text formats of metrics: a writer that gives each metric its name, its help and its series.

mod classic;

use std::fmt;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use metrics::Histogram;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

/// No exemplars are written.
const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;

/// Initial capacity in bytes of the text: a server with a few catalogs needs no more.
const INITIAL_BYTES: usize = 64 << 10;

/// Labels of one series.
pub type Labels<'a, const N: usize> = [(&'static str, &'a str); N];

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// The text format of Prometheus before that, which tools for people read too.
    Prometheus,
}

/// Writes metrics in a text format.
pub struct MetricsWriter<'e>(DescriptorEncoder<'e>);

/// Unit of the values of a histogram.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// The values are nanoseconds, and seconds are written.
    Seconds,
    /// The values are written as they are.
    Units,
}

/// Passes a function that writes metrics to prometheus-client.
struct FunctionCollector<F>(F);

/// Writes the metrics of a server, which `write` writes one by one.
pub fn render_metrics(
    format: MetricsFormat,
    write: impl Fn(&mut MetricsWriter<'_>) -> fmt::Result + Send + Sync + 'static,
) -> String {
    // A registry for each scrape: catalogs, and with them series, come and go.
    let mut registry = Registry::default();
    registry.register_collector(Box::new(FunctionCollector(write)));
    let mut text = String::with_capacity(INITIAL_BYTES);
    text::encode(&mut text, &registry).expect("writing to a string does not fail");
    match format {
        MetricsFormat::OpenMetrics => text,
        MetricsFormat::Prometheus => classic::from_open_metrics(&text),
    }
}

impl MetricsFormat {
    /// Chooses the format of a response by the headers of the request: `OpenMetrics` where the
    /// scraper names it.
    pub fn negotiate(headers: &HeaderMap) -> Self {
        let mut accepted = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok());
        // Prometheus gives OpenMetrics the higher weight, so that weights need not be compared.
        if accepted.any(|value| value.contains("application/openmetrics-text")) {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// Returns the media type of the format.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

impl<F> Collector for FunctionCollector<F>
where
    F: Fn(&mut MetricsWriter<'_>) -> fmt::Result + Send + Sync + 'static,
{
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0(&mut MetricsWriter(encoder))
    }
}

impl<F> fmt::Debug for FunctionCollector<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionCollector").finish_non_exhaustive()
    }
}

impl fmt::Debug for MetricsWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsWriter").finish_non_exhaustive()
    }
}

impl MetricsWriter<'_> {
    /// Writes a counter; `_total` is appended to its name.
    pub fn counter<'a, const N: usize, V: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels<'a, N>, V)>,
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in series {
            metric
                .encode_family(&labels)?
                .encode_counter(&value, NO_EXEMPLAR)?;
        }
        Ok(())
    }

    /// Writes a gauge.
    pub fn gauge<'a, const N: usize, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels<'a, N>, V)>,
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in series {
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// Writes a histogram.
    pub fn histogram<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        scale: Scale,
        series: impl IntoIterator<Item = (Labels<'a, N>, &'a Histogram)>,
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, histogram) in series {
            let values = histogram.values();
            let bounds = histogram
                .bounds()
                .iter()
                .map(|bound| scale.apply(*bound))
                .chain([f64::INFINITY]);
            let buckets: Vec<_> = bounds.zip(values.buckets.iter().copied()).collect();
            let mut series = metric.encode_family(&labels)?;
            series.encode_histogram::<NoLabelSet>(
                scale.apply(values.sum),
                values.count(),
                &buckets,
                None,
            )?;
        }
        Ok(())
    }
}

impl Scale {
    #[expect(
        clippy::cast_precision_loss,
        reason = "sums above 2^53 are months of nanoseconds"
    )]
    fn apply(self, value: u64) -> f64 {
        match self {
            Self::Seconds => value as f64 / 1e9,
            Self::Units => value as f64,
        }
    }
}
