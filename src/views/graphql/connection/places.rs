//! Places of a catalog's order that a connection is over: ranges that rise and do not touch one another.

use std::ops::Range;

/// Places, in rising order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::views::graphql) struct Places {
    /// Each with the number of places before it.
    ranges: Vec<(usize, Range<usize>)>,
    count: usize,
}

impl Places {
    /// The places from 0.
    pub(in crate::views::graphql) fn all(count: usize) -> Self {
        std::iter::once(0..count).collect()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// How many lie before a place.
    pub(super) fn rank(&self, place: usize) -> usize {
        match self.ranges.partition_point(|(_, range)| range.start < place).checked_sub(1) {
            Some(at) => {
                let (before, range) = &self.ranges[at];
                before + place.min(range.end) - range.start
            }
            None => 0,
        }
    }

    /// The place of a rank.
    pub(super) fn place(&self, rank: usize) -> usize {
        let at = self.ranges.partition_point(|(before, _)| *before <= rank) - 1;
        let (before, range) = &self.ranges[at];
        range.start + rank - before
    }
}

impl FromIterator<Range<usize>> for Places {
    /// The ranges must rise and must not overlap; empty ones are left out.
    fn from_iter<I: IntoIterator<Item = Range<usize>>>(ranges: I) -> Self {
        let mut places = Self::default();
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            let before = places.count;
            places.count += range.len();
            places.ranges.push((before, range));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_places_lead_to_one_another() {
        let places: Places = [2..4, 4..4, 7..10].into_iter().collect();
        assert_eq!(places.count(), 5);
        assert_eq!((0..5).map(|rank| places.place(rank)).collect::<Vec<_>>(), [2, 3, 7, 8, 9]);
        let ranks: Vec<_> = (0..12).map(|place| places.rank(place)).collect();
        assert_eq!(ranks, [0, 0, 0, 1, 2, 2, 2, 2, 3, 4, 5, 5]);
    }
}
