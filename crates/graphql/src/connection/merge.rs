//! Merges the sorted items of several catalogs into one page.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::{ConnectionItem, ConnectionSource};

/// Items of one catalog between the cursors, by index. [`take`] narrows the range to the items on
/// the page.
pub(super) struct ItemRange<'s, 'a> {
    pub(super) source: &'s ConnectionSource<'a>,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The next item of a range.
struct RangeHead<'a, T: ConnectionItem<'a>> {
    item: T,
    key: T::Key<'a>,
    range: usize,
    order: T::Order,
    backwards: bool,
}

/// Takes the first `size` items of all ranges together, or the last ones if `backwards`, in order.
///
/// Narrows each range to its items on the page.
pub(super) fn take<'a, T: ConnectionItem<'a>>(
    ranges: &mut [ItemRange<'_, 'a>],
    order: T::Order,
    size: usize,
    backwards: bool,
) -> Vec<T> {
    let size = ranges
        .iter()
        .map(|range| range.to - range.from)
        .sum::<usize>()
        .min(size);
    if let [range] = ranges {
        if backwards {
            range.from = range.to - size;
        } else {
            range.to = range.from + size;
        }
        return (range.from..range.to)
            .map(|index| range.item(index, order))
            .collect();
    }
    let mut items = Vec::with_capacity(size);
    let mut left: Vec<_> = ranges.iter().map(|range| range.from..range.to).collect();
    let next =
        |range: usize, left: &mut Range<usize>| ranges[range].head(range, left, order, backwards);
    let mut heads: BinaryHeap<RangeHead<'a, T>> = left
        .iter_mut()
        .enumerate()
        .filter_map(|(range, left)| next(range, left))
        .collect();
    let mut taken = vec![0; ranges.len()];
    while items.len() < size {
        let Some(RangeHead { item, range, .. }) = heads.pop() else {
            break;
        };
        items.push(item);
        taken[range] += 1;
        heads.extend(next(range, &mut left[range]));
    }
    for (range, taken) in ranges.iter_mut().zip(taken) {
        if backwards {
            range.from = range.to - taken;
        } else {
            range.to = range.from + taken;
        }
    }
    if backwards {
        items.reverse();
    }
    items
}

impl<'a> ItemRange<'_, 'a> {
    fn item<T: ConnectionItem<'a>>(&self, index: usize, order: T::Order) -> T {
        T::from_place(self.source.served, self.source.places.get(index), order)
    }

    /// Takes the next index of `left` and returns its item.
    fn head<T: ConnectionItem<'a>>(
        &self,
        range: usize,
        left: &mut Range<usize>,
        order: T::Order,
        backwards: bool,
    ) -> Option<RangeHead<'a, T>> {
        let index = if backwards {
            left.next_back()
        } else {
            left.next()
        }?;
        let item: T = self.item(index, order);
        Some(RangeHead {
            item,
            key: item.key(),
            range,
            order,
            backwards,
        })
    }
}

impl<'a, T: ConnectionItem<'a>> Ord for RangeHead<'a, T> {
    /// Compares such that the greatest head is taken next.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = T::compare(self.order, &self.key, &other.key);
        if self.backwards {
            order
        } else {
            order.reverse()
        }
    }
}

impl<'a, T: ConnectionItem<'a>> PartialOrd for RangeHead<'a, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a, T: ConnectionItem<'a>> PartialEq for RangeHead<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<'a, T: ConnectionItem<'a>> Eq for RangeHead<'a, T> {}
