//! Counts of packages by the values of a filter condition.

use hashbrown::HashMap;

use crate::tables::facets::FacetValue;
use crate::tables::search::fold::fold_text;
use crate::work::{Step, Work, WorkStopped};

/// Number of packages for each value of one facet, summed over one or several catalogs.
#[derive(Clone, Debug, Default)]
pub struct FacetCounts<'c>(HashMap<FacetValue<'c>, u32>);

impl<'c> FacetCounts<'c> {
    /// Returns at most `first` values with their counts: the most frequent first, equally frequent
    /// ones by value.
    pub fn top(&self, first: usize) -> Vec<(FacetValue<'c>, u32)> {
        let mut values: Vec<_> = self
            .0
            .iter()
            .map(|(&value, &count)| (value, count))
            .collect();
        let order = |a: &(FacetValue<'c>, u32), b: &(FacetValue<'c>, u32)| {
            b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))
        };
        if first < values.len() {
            // There are thousands of keywords; only the returned ones are sorted.
            values.select_nth_unstable_by(first, order);
            values.truncate(first);
        }
        values.sort_unstable_by(order);
        values
    }

    /// Returns all values with their counts, in the order of their enum; `true` comes before
    /// `false`.
    pub fn in_order(&self) -> Vec<(FacetValue<'c>, u32)> {
        let mut values: Vec<_> = self
            .0
            .iter()
            .map(|(&value, &count)| (value, count))
            .collect();
        values.sort_unstable_by_key(|&(value, _)| match value {
            FacetValue::Boolean(is) => FacetValue::Boolean(!is),
            other => other,
        });
        values
    }

    /// Keeps the texts that contain another text; letter case, accents and marks are ignored.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn search(&mut self, text: &str, work: &Work<'_>) -> Result<(), WorkStopped> {
        let wanted = fold_text(text);
        for (value, _) in &self.0 {
            if let FacetValue::Text(text) = value {
                work.draw(Step::ParsedByte, text.len())?;
            }
        }
        self.0.retain(|value, _| match value {
            FacetValue::Text(text) => fold_text(text).contains(&wanted),
            _ => true,
        });
        Ok(())
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no value was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds other counts so many times: those of a content that several catalogs have.
    pub fn add_all(&mut self, other: &Self, times: u32) {
        for (&value, &count) in &other.0 {
            self.add_many(value, count.saturating_mul(times));
        }
    }

    /// Adds `count` packages with a value.
    pub fn add_many(&mut self, value: FacetValue<'c>, count: u32) {
        if count > 0 {
            let sum = self.0.entry(value).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds one package with distinct values.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = FacetValue<'c>>) {
        values
            .into_iter()
            .for_each(|value| *self.0.entry(value).or_default() += 1);
    }
}
