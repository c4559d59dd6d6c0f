//! Merging the runs of several catalogs into one page.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::{Item, Source};

/// The ranks of a source that lie between the cursors; [`take`] narrows it to those on the page.
pub(super) struct Run<'s, 'a> {
    pub(super) source: &'s Source<'a>,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The next item of a run.
struct Head<T> {
    item: T,
    run: usize,
    backwards: bool,
}

/// Takes the first items of all runs together, or the last ones, in order.
///
/// Afterwards each run is where its items on the page begin and end.
pub(super) fn take<'a, T: Item<'a>>(runs: &mut [Run<'_, 'a>], size: usize, backwards: bool) -> Vec<T> {
    let size = runs.iter().map(|run| run.to - run.from).sum::<usize>().min(size);
    if let [run] = runs {
        if backwards {
            run.from = run.to - size;
        } else {
            run.to = run.from + size;
        }
        return (run.from..run.to).map(|rank| run.item(rank)).collect();
    }
    let mut items = Vec::with_capacity(size);
    let mut left: Vec<_> = runs.iter().map(|run| run.from..run.to).collect();
    let mut heads: BinaryHeap<Head<T>> =
        left.iter_mut().enumerate().filter_map(|(at, left)| runs[at].head(at, left, backwards)).collect();
    let mut taken = vec![0; runs.len()];
    while items.len() < size {
        let Some(Head { item, run, .. }) = heads.pop() else { break };
        items.push(item);
        taken[run] += 1;
        heads.extend(runs[run].head(run, &mut left[run], backwards));
    }
    for (run, taken) in runs.iter_mut().zip(taken) {
        if backwards { run.from = run.to - taken } else { run.to = run.from + taken }
    }
    if backwards {
        items.reverse();
    }
    items
}

impl<'a> Run<'_, 'a> {
    fn item<T: Item<'a>>(&self, rank: usize) -> T {
        T::at(self.source.served, self.source.places.place(rank))
    }

    /// Takes the next rank of what is left of this run.
    fn head<T: Item<'a>>(&self, run: usize, left: &mut Range<usize>, backwards: bool) -> Option<Head<T>> {
        let rank = if backwards { left.next_back() } else { left.next() }?;
        Some(Head { item: self.item(rank), run, backwards })
    }
}

impl<'a, T: Item<'a>> Ord for Head<T> {
    /// The greatest is the next to be taken.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.item.order(other.item);
        if self.backwards { order } else { order.reverse() }
    }
}

impl<'a, T: Item<'a>> PartialOrd for Head<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a, T: Item<'a>> PartialEq for Head<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<'a, T: Item<'a>> Eq for Head<T> {}
