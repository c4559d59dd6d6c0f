//! Merges the sorted items of several catalogs into one page.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::{ConnectionItem, ConnectionSource};

/// Items of one catalog between the cursors, by index. [`take`] narrows the range to the items on the page.
pub(super) struct ItemRange<'s, 'a> {
    pub(super) source: &'s ConnectionSource<'a>,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The next item of a range.
struct RunHead<'a, T: ConnectionItem<'a>> {
    item: T,
    key: T::Key<'a>,
    run: usize,
    order: T::Order,
    backwards: bool,
}

/// Takes the first `size` items of all ranges together, or the last ones if `backwards`, in order.
///
/// Narrows each range to its items on the page.
pub(super) fn take<'a, T: ConnectionItem<'a>>(
    runs: &mut [ItemRange<'_, 'a>],
    order: T::Order,
    size: usize,
    backwards: bool,
) -> Vec<T> {
    let size = runs.iter().map(|run| run.to - run.from).sum::<usize>().min(size);
    if let [run] = runs {
        if backwards {
            run.from = run.to - size;
        } else {
            run.to = run.from + size;
        }
        return (run.from..run.to).map(|index| run.item(index, order)).collect();
    }
    let mut items = Vec::with_capacity(size);
    let mut left: Vec<_> = runs.iter().map(|run| run.from..run.to).collect();
    let next = |run: usize, left: &mut Range<usize>| runs[run].head(run, left, order, backwards);
    let mut heads: BinaryHeap<RunHead<'a, T>> =
        left.iter_mut().enumerate().filter_map(|(run, left)| next(run, left)).collect();
    let mut taken = vec![0; runs.len()];
    while items.len() < size {
        let Some(RunHead { item, run, .. }) = heads.pop() else { break };
        items.push(item);
        taken[run] += 1;
        heads.extend(next(run, &mut left[run]));
    }
    for (run, taken) in runs.iter_mut().zip(taken) {
        if backwards { run.from = run.to - taken } else { run.to = run.from + taken }
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
        run: usize,
        left: &mut Range<usize>,
        order: T::Order,
        backwards: bool,
    ) -> Option<RunHead<'a, T>> {
        let index = if backwards { left.next_back() } else { left.next() }?;
        let item: T = self.item(index, order);
        Some(RunHead { item, key: item.key(), run, order, backwards })
    }
}

impl<'a, T: ConnectionItem<'a>> Ord for RunHead<'a, T> {
    /// The greatest is the next to be taken.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = T::compare(self.order, &self.key, &other.key);
        if self.backwards { order } else { order.reverse() }
    }
}

impl<'a, T: ConnectionItem<'a>> PartialOrd for RunHead<'a, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a, T: ConnectionItem<'a>> PartialEq for RunHead<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<'a, T: ConnectionItem<'a>> Eq for RunHead<'a, T> {}
