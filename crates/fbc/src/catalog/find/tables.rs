//! What inverted indexes are made of: sorted tables, and lists of numbers one after the other.

use std::cmp::Ordering;
use std::ops::Range;

/// For each key from 0 a list of numbers, in two arrays.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// Where the list of each key ends.
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Postings {
    /// Sorts pairs of key and number into lists for this many keys. The numbers of a key keep their order.
    pub(super) fn new(keys: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut ends = vec![0_u32; keys];
        for (key, _) in pairs.clone() {
            ends[key as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            // For now where the list begins; filling it moves that to its end.
            total += std::mem::replace(end, total);
        }
        let mut items = vec![0; total as usize];
        for (key, item) in pairs {
            let end = &mut ends[key as usize];
            items[*end as usize] = item;
            *end += 1;
        }
        Self { ends, items }
    }

    /// The list of one key.
    pub(super) fn get(&self, key: usize) -> &[u32] {
        self.of(key..key + 1)
    }

    /// The lists of neighbouring keys, one after the other.
    pub(super) fn of(&self, keys: Range<usize>) -> &[u32] {
        let end_before = |key: usize| if key == 0 { 0 } else { self.ends[key - 1] as usize };
        &self.items[end_before(keys.start)..end_before(keys.end)]
    }
}

/// Where a sorted table equals what is looked for.
pub(super) fn equal_range<T>(table: &[T], compare: impl Fn(&T) -> Ordering) -> Range<usize> {
    let start = table.partition_point(|item| compare(item).is_lt());
    let len = table[start..].partition_point(|item| compare(item).is_eq());
    start..start + len
}
