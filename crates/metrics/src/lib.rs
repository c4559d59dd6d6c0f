//! Counters, gauges and histograms: atomics that are added to on the path of requests and read when
//! metrics are scraped. Counters and gauges are prometheus-client's.
//!
//! Each crate keeps those of its own work in a struct. This one knows neither the names of metrics
//! nor their text; the program writes both.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use prometheus_client::metrics::counter::Counter;

/// Nanoseconds of a millisecond: the unit in which bounds of durations are written.
pub const MILLISECOND: u64 = 1_000_000;

/// A gauge of what is counted: never below 0.
pub type Gauge = prometheus_client::metrics::gauge::Gauge<u64, AtomicU64>;

/// A distribution of values in buckets with fixed upper bounds. Durations are counted in
/// nanoseconds.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// Number of values up to each bound and above the one before; the last is for values above all
    /// bounds.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// The values of a histogram at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramValues {
    /// Sum of the values.
    pub sum: u64,
    /// Number of values up to each bound and above the one before; the last is for values above all
    /// bounds.
    pub buckets: Vec<u64>,
}

/// A value of a label, from a set that is known when the program is built: no client can create
/// series.
pub trait Label: Copy + 'static {
    /// All values, in the order of their indexes.
    const ALL: &'static [Self];

    /// Returns the position in [`Self::ALL`].
    fn index(self) -> usize;

    /// Returns the text of the value.
    fn as_str(self) -> &'static str;
}

/// One metric for each value of a label. The family of prometheus-client finds a metric by a hash
/// under a lock, which takes 57 ns instead of 8, and has no series before the first value.
pub struct Family<L, M> {
    metrics: Box<[M]>,
    label: PhantomData<fn(L)>,
}

/// Declares an enum whose variants are the values of a label, each with its text.
#[macro_export]
macro_rules! labels {
    ($(#[$doc:meta])* $visibility:vis enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $crate::Label for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn index(self) -> usize {
                self as usize
            }

            fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

impl Histogram {
    /// Creates a histogram with these upper bounds, lowest first.
    pub fn new(bounds: &'static [u64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self {
            bounds,
            buckets,
            sum: AtomicU64::new(0),
        }
    }

    /// Counts a value.
    pub fn observe(&self, value: u64) {
        // Two atomics: the histogram of prometheus-client takes a lock for each value, and its
        // counts can be read in the text of a scrape only.
        // Most values are small, and there are few bounds: a linear search is short.
        let bucket = self
            .bounds
            .iter()
            .position(|bound| value <= *bound)
            .unwrap_or(self.bounds.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts a duration, in nanoseconds.
    pub fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns the upper bounds, lowest first.
    pub fn bounds(&self) -> &'static [u64] {
        self.bounds
    }

    /// Returns the values so far.
    pub fn values(&self) -> HistogramValues {
        let buckets = self
            .buckets
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect();
        HistogramValues {
            sum: self.sum.load(Ordering::Relaxed),
            buckets,
        }
    }
}

impl HistogramValues {
    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl<L: Label, M> Family<L, M> {
    /// Creates the metric of each value.
    pub fn new(mut metric: impl FnMut() -> M) -> Self {
        Self {
            metrics: L::ALL.iter().map(|_| metric()).collect(),
            label: PhantomData,
        }
    }

    /// Returns each value with its metric.
    pub fn iter(&self) -> impl Iterator<Item = (L, &M)> {
        L::ALL.iter().copied().zip(&self.metrics)
    }
}

impl<L: Label, M: Default> Default for Family<L, M> {
    fn default() -> Self {
        Self::new(M::default)
    }
}

impl<L: Label, M> Index<L> for Family<L, M> {
    type Output = M;

    fn index(&self, value: L) -> &M {
        &self.metrics[value.index()]
    }
}

impl<L, M: fmt::Debug> fmt::Debug for Family<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.metrics).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    labels! {
        enum Fruit {
            Apple = "apple",
            Pear = "pear",
        }
    }

    #[test]
    fn a_value_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::new(&[10, 20]);
        for value in [0, 10, 11, 20, 21, 1_000] {
            histogram.observe(value);
        }
        let values = histogram.values();
        assert_eq!(
            values,
            HistogramValues {
                sum: 1_062,
                buckets: vec![2, 2, 2]
            }
        );
        assert_eq!(values.count(), 6);
    }

    #[test]
    fn durations_are_counted_in_nanoseconds() {
        let histogram = Histogram::new(&[MILLISECOND]);
        histogram.observe_duration(Duration::from_millis(1));
        histogram.observe_duration(Duration::from_micros(1_001));
        assert_eq!(
            histogram.values(),
            HistogramValues {
                sum: 2_001_000,
                buckets: vec![1, 1]
            }
        );
    }

    #[test]
    fn each_value_of_a_label_has_a_metric_of_its_own() {
        let family = Family::<Fruit, Counter>::default();
        family[Fruit::Pear].inc_by(2);
        family[Fruit::Apple].inc();
        family[Fruit::Pear].inc();
        let counts: Vec<_> = family
            .iter()
            .map(|(fruit, counter)| (fruit.as_str(), counter.get()))
            .collect();
        assert_eq!(counts, [("apple", 1), ("pear", 3)]);
    }
}
