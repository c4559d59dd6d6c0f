//! Places: the items of one catalog in a connection, as indexes into the catalog's lists.

use std::ops::Range;
use std::rc::Rc;

/// Places in the order of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Places<'a> {
    /// Consecutive places.
    Range(Range<u32>),
    /// Consecutive places, the last one first.
    Reversed(Range<u32>),
    /// All places, in an order that the catalog keeps.
    Sorted(&'a [u32]),
    /// Any places.
    List(Rc<[RankedPlace]>),
    /// Any places, which are a part of a list that several catalogs share.
    Part {
        list: Rc<[RankedPlace]>,
        range: Range<usize>,
    },
}

/// A place with how a search found its item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankedPlace {
    /// Index into the catalog's list of packages, bundles, blobs or problems.
    pub(crate) place: u32,
    /// Bits of the [`fbc::SearchMatch`] of a package; 0 without a search.
    pub(crate) rank: u32,
}

impl Places<'_> {
    /// The first `count` places.
    pub(crate) fn all(count: usize) -> Self {
        Self::range(0..count)
    }

    /// The first `count` places, the last one first.
    pub(crate) fn all_reversed(count: usize) -> Self {
        Self::Reversed(0..u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Consecutive places; no catalog has more than 2^32 objects.
    pub(crate) fn range(range: Range<usize>) -> Self {
        let place = |place| u32::try_from(place).unwrap_or(u32::MAX);
        Self::Range(place(range.start)..place(range.end))
    }

    /// Number of places.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Range(range) | Self::Reversed(range) => range.len(),
            Self::Sorted(places) => places.len(),
            Self::List(list) => list.len(),
            Self::Part { range, .. } => range.len(),
        }
    }

    /// Returns the place at an index, which must be below [`Places::count`].
    pub(super) fn get(&self, index: usize) -> RankedPlace {
        match self {
            Self::Range(range) => RankedPlace {
                place: range.start + u32::try_from(index).unwrap_or(u32::MAX),
                rank: 0,
            },
            Self::Reversed(range) => RankedPlace {
                place: range.end - 1 - u32::try_from(index).unwrap_or(u32::MAX),
                rank: 0,
            },
            Self::Sorted(places) => RankedPlace {
                place: places[index],
                rank: 0,
            },
            Self::List(list) => list[index],
            Self::Part { list, range } => list[range.start + index],
        }
    }

    /// Returns the first index for whose place `is_before` is false; it must be true for all places
    /// before.
    pub(super) fn partition_point(&self, mut is_before: impl FnMut(RankedPlace) -> bool) -> usize {
        let mut from = 0;
        let mut to = self.count();
        while from < to {
            let middle = usize::midpoint(from, to);
            if is_before(self.get(middle)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }
}

impl FromIterator<u32> for Places<'_> {
    fn from_iter<I: IntoIterator<Item = u32>>(places: I) -> Self {
        Self::List(
            places
                .into_iter()
                .map(|place| RankedPlace { place, rank: 0 })
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_leads_to_its_place() {
        let places = |places: &Places<'_>| {
            (0..places.count())
                .map(|at| places.get(at).place)
                .collect::<Vec<_>>()
        };
        assert_eq!(places(&Places::range(3..6)), [3, 4, 5]);
        assert_eq!(places(&[7, 2].into_iter().collect()), [7, 2]);
        assert_eq!(places(&Places::all_reversed(3)), [2, 1, 0]);
        assert_eq!(places(&Places::all_reversed(0)), [0; 0]);
        assert_eq!(places(&Places::Sorted(&[1, 0, 2])), [1, 0, 2]);
        let list = [5, 6, 7, 8].map(|place| RankedPlace { place, rank: 0 });
        let part = Places::Part {
            list: list.into(),
            range: 1..3,
        };
        assert_eq!(places(&part), [6, 7]);
    }

    #[test]
    fn what_comes_before_is_counted_by_halves() {
        let places = Places::range(10..20);
        for end in 9..=20 {
            assert_eq!(
                places.partition_point(|ranked| ranked.place < end),
                (end.max(10) - 10) as usize
            );
        }
    }
}
