//! Cache of the position of each bundle's `ClusterServiceVersion` among its properties, because
//! finding it takes as long as decoding it.
//!
//! The positions depend on the content alone, so the cache cannot be observed.

use std::sync::atomic::{AtomicU16, Ordering};

/// For each bundle [`UNKNOWN`], [`NOWHERE`], or one more than the index among its properties.
pub(crate) struct CsvPositions(Box<[AtomicU16]>);

const UNKNOWN: u16 = 0;
const NOWHERE: u16 = u16::MAX;

impl CsvPositions {
    /// Creates a cache of unknown positions.
    pub(crate) fn new(bundles: usize) -> Self {
        Self((0..bundles).map(|_| AtomicU16::new(UNKNOWN)).collect())
    }

    /// Returns the first value that `read` returns for a property of the bundle, and remembers the
    /// property.
    pub(crate) fn read_or_find<P, T>(
        &self,
        bundle: usize,
        mut properties: impl Iterator<Item = P>,
        mut read: impl FnMut(P) -> Option<T>,
    ) -> Option<T> {
        let known = self.0.get(bundle)?;
        // Relaxed, because a position guards no other memory, and every thread finds the same one.
        match known.load(Ordering::Relaxed) {
            NOWHERE => None,
            UNKNOWN => {
                let found = properties
                    .enumerate()
                    .find_map(|(at, property)| Some((at, read(property)?)));
                // An index beyond 16 bits is searched for at each call.
                let place = found
                    .as_ref()
                    .map_or(NOWHERE, |(at, _)| u16::try_from(at + 1).unwrap_or(UNKNOWN));
                known.store(
                    if found.is_some() && place == NOWHERE {
                        UNKNOWN
                    } else {
                        place
                    },
                    Ordering::Relaxed,
                );
                found.map(|(_, value)| value)
            }
            place => properties.nth(usize::from(place) - 1).and_then(read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_once_is_not_looked_for_again() {
        let positions = CsvPositions::new(3);
        let read = |bundle: usize, properties: &[Option<char>]| {
            let mut looks = 0;
            let value = positions.read_or_find(bundle, properties.iter(), |property| {
                looks += 1;
                *property
            });
            (value, looks)
        };
        let found = [None, None, Some('x'), Some('y')];
        assert_eq!(read(0, &found), (Some('x'), 3));
        assert_eq!(read(0, &found), (Some('x'), 1));
        assert_eq!(read(1, &[None, None]), (None, 2));
        assert_eq!(read(1, &[None, None]), (None, 0));
        assert_eq!(read(2, &found), (Some('x'), 3));
    }

    #[test]
    fn a_place_that_is_too_far_to_be_remembered_is_looked_for_each_time() {
        for (place, again) in [(65_533, 1), (65_534, 65_535), (70_000, 70_001)] {
            let positions = CsvPositions::new(1);
            let mut looks = 0;
            for _ in 0..2 {
                looks = 0;
                let read = |at: usize| {
                    looks += 1;
                    (at == place).then_some(at)
                };
                assert_eq!(positions.read_or_find(0, 0..80_000, read), Some(place));
            }
            assert_eq!(looks, again, "{place}");
        }
    }
}
