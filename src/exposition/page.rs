//! Writes metrics of a page, each with its name, its help and its series.

use std::fmt;

use ::metrics::Histogram;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;

/// No exemplars are written.
const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;

/// Labels of one series.
pub(super) type Labels<'a, const N: usize> = [(&'static str, &'a str); N];

/// A page that is being written.
pub(super) struct Page<'e>(pub(super) DescriptorEncoder<'e>);

/// What the values of a histogram are multiplied by, to be in the base unit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scale {
    /// The values are nanoseconds, and seconds are written.
    Seconds,
    /// The values are written as they are.
    Units,
}

impl Page<'_> {
    /// Writes a counter; `_total` is appended to its name.
    pub(super) fn counter<'a, const N: usize, V: EncodeCounterValue>(
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
    pub(super) fn gauge<'a, const N: usize, V: EncodeGaugeValue>(
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
    pub(super) fn histogram<'a, const N: usize>(
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
