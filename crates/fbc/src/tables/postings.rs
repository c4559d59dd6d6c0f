//! Building blocks of inverted indexes: posting lists and binary search in sorted tables.

use std::cmp::Ordering;
use std::io;
use std::ops::Range;

use crate::array::Array;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// Posting lists: a list of items for each key from 0, stored in two arrays.
#[derive(Debug)]
pub(crate) struct Postings<T: Send + Sync + 'static = u32> {
    /// End of the list of each key in `items`.
    ends: Array<u32>,
    items: Array<T>,
}

impl<T: Copy + Default + Send + Sync> Postings<T> {
    /// Groups pairs of key and item by key, by counting sort: the items of a key keep their order.
    pub(crate) fn new(keys: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut ends = vec![0_u32; keys];
        for (key, _) in pairs.clone() {
            ends[key as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            // The start of the list for now; filling the list moves it to the end.
            total += std::mem::replace(end, total);
        }
        let mut items = vec![T::default(); total as usize];
        for (key, item) in pairs {
            let end = &mut ends[key as usize];
            items[*end as usize] = item;
            *end += 1;
        }
        Self {
            ends: Array::new(ends),
            items: Array::new(items),
        }
    }

    /// Returns the number of items in all lists.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the list of a key.
    pub(crate) fn get(&self, key: usize) -> &[T] {
        self.lists(key..key + 1)
    }

    /// Returns the lists of adjacent keys, concatenated.
    pub(crate) fn lists(&self, keys: Range<usize>) -> &[T] {
        let end_before = |key: usize| {
            if key == 0 {
                0
            } else {
                self.ends[key - 1] as usize
            }
        };
        &self.items[end_before(keys.start)..end_before(keys.end)]
    }
}

impl Postings {
    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.array(&self.ends)?;
        sections.array(&self.items)
    }

    /// Reads lists of numbers below `limit` for so many keys.
    pub(crate) fn read(
        sections: &mut SectionReader,
        keys: usize,
        limit: usize,
    ) -> Result<Self, StoredIndexError> {
        let postings = Self {
            ends: sections.array()?,
            items: sections.ids(limit)?,
        };
        let Self { ends, items } = &postings;
        let end = ends.last().map_or(0, |&end| end as usize);
        sections.check(ends.len() == keys && ends.is_sorted() && end == items.len())?;
        Ok(postings)
    }
}

impl<T: Send + Sync + 'static> Default for Postings<T> {
    fn default() -> Self {
        Self {
            ends: Array::default(),
            items: Array::default(),
        }
    }
}

/// Returns the range of a sorted table that compares equal.
pub(crate) fn equal_range<T>(table: &[T], compare: impl Fn(&T) -> Ordering) -> Range<usize> {
    let start = table.partition_point(|item| compare(item).is_lt());
    let len = table[start..].partition_point(|item| compare(item).is_eq());
    start..start + len
}
