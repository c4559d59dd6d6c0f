//! Resource versions: numbers that grow with each change of what is served.
//!
//! The version of a state, which lists and bookmarks have, is made of the time since which the
//! process shows the state and of a fingerprint of what the caller sees in it. Whoever serves the
//! same to the caller knows it: the process after a restart, and other replicas. The version of an
//! object or an event says which change of its catalog in this process it was; changes lie below
//! the state that they led to. From the highest bit:
//!
//! | bits | of a state | of a change |
//! |---|---|---|
//! | 1 | 0 | 0 |
//! | 34 | tick of its last change | tick, at random within a minute before the state |
//! | 1 | 1 | 0 |
//! | 28 | fingerprint | 18 bits: number within the tick; 10 bits: the caller's view |
//!
//! Numbers stay below 2^63, so that clients may take them for signed integers.

use std::time::Duration;

use jiff::Timestamp;
use serving::Visibility;

use crate::published::hash_parts;
use crate::status::Status;

/// Number of bits of what distinguishes states of one tick, and changes of one tick for one view.
const FINGERPRINT_BITS: u32 = 28;

/// Number of bits of the view: which catalogs the caller sees. A watch that goes on behind a
/// change, after the caller's rights have changed, would otherwise miss what changed with them.
const VIEW_BITS: u32 = 10;

/// Number of bits of a revision below its tick.
const CHANGE_BITS: u32 = FINGERPRINT_BITS - VIEW_BITS;

/// Marks the version of a state.
const STATE: u64 = 1 << FINGERPRINT_BITS;

/// Seconds from 1970 to the first tick, the beginning of 2025. There are enough ticks for 34 years.
const FIRST_TICK: i64 = 1_735_689_600;

/// Ticks in a second. Each change of a catalog takes two at least: more of them would get ahead of
/// the clock, and a process that starts again behind its former self.
const TICKS: i64 = 16;

/// Number of ticks before a state over which the changes are spread that led to it, a minute.
const SPREAD: u64 = 1024;

/// A resource version of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceVersion {
    /// Any state.
    Any,
    /// A state that shows the caller what has this fingerprint.
    State { tick: u64, fingerprint: u64 },
    /// Behind the change of this revision, for a caller of this view.
    Change { revision: u64, view: u64 },
}

impl ResourceVersion {
    /// Parses a resource version; the empty one is any.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        let number = text.parse::<u64>().map_err(|_| {
            Status::bad_request(format!(
                "resourceVersion: Invalid value: \"{text}\": must be a decimal number"
            ))
        })?;
        Ok(Self::from_number(number))
    }

    pub(crate) fn from_number(number: u64) -> Self {
        let tick = number >> (FINGERPRINT_BITS + 1);
        let low = number % STATE;
        if number == 0 {
            Self::Any
        } else if number & STATE == 0 {
            let change = low >> VIEW_BITS;
            let view = low % (1 << VIEW_BITS);
            Self::Change {
                revision: tick << CHANGE_BITS | change,
                view,
            }
        } else {
            Self::State {
                tick,
                fingerprint: low,
            }
        }
    }

    /// Returns the tick at which the client was, 0 for any.
    pub(crate) fn tick(self) -> u64 {
        match self {
            Self::Any => 0,
            Self::State { tick, .. } => tick,
            Self::Change { revision, .. } => tick(revision),
        }
    }

    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Any => 0,
            Self::State { tick, fingerprint } => {
                tick << (FINGERPRINT_BITS + 1) | STATE | fingerprint
            }
            Self::Change { revision, view } => {
                let change = revision % (1 << CHANGE_BITS);
                tick(revision) << (FINGERPRINT_BITS + 1) | change << VIEW_BITS | view
            }
        }
    }
}

/// Returns the tick of a revision.
pub(crate) fn tick(revision: u64) -> u64 {
    revision >> CHANGE_BITS
}

/// Returns the revision of this time before another one.
pub(crate) fn revision_before(revision: u64, time: Duration) -> u64 {
    tick(revision).saturating_sub(time.as_secs() * TICKS.unsigned_abs()) << CHANGE_BITS
}

/// Returns where the ranges of revisions begin of changes of so many objects each, behind a state
/// with the revision `last`, and the revision of the state that they lead to.
///
/// The ranges are spread at random over the ticks before it, each beginning with one. Were they one
/// behind the other, who sees only some of the catalogs could tell by the gaps how many others have
/// changed, and how many objects these have.
pub(crate) fn spread(now: Timestamp, last: u64, sizes: &[u64]) -> (Vec<u64>, u64) {
    let seconds = now.as_second() - FIRST_TICK;
    let ticks = seconds * TICKS + i64::from(now.subsec_nanosecond()) * TICKS / 1_000_000_000;
    let taken = |size: u64| size.div_ceil(1 << CHANGE_BITS).max(1);
    let total: u64 = sizes.iter().copied().map(taken).sum();
    let lowest = tick(last) + 1;
    let end = u64::try_from(ticks).unwrap_or_default().max(lowest + total);
    let free = (end - lowest - total).min(SPREAD);
    let mut gaps: Vec<_> = sizes.iter().map(|_| fastrand::u64(0..=free)).collect();
    gaps.sort_unstable();
    let mut order: Vec<_> = (0..sizes.len()).collect();
    fastrand::shuffle(&mut order);
    let mut ranges = vec![0; sizes.len()];
    let mut next = end - free - total;
    for (at, gap) in order.into_iter().zip(gaps) {
        ranges[at] = (next + gap) << CHANGE_BITS;
        next += taken(sizes[at]);
    }
    (ranges, end << CHANGE_BITS)
}

/// Returns the fingerprint of catalogs, by those of each. Sets that differ have the same one once
/// in 270 million times.
pub(crate) fn fingerprint<'c>(catalogs: impl Iterator<Item = &'c [u8; 16]>) -> u64 {
    let hash = hash_parts(catalogs.map(<[u8; 16]>::as_slice));
    u64::from(u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])) % STATE
}

/// Returns the view of whoever sees these catalogs: 0 for all, else by their names. Sets that
/// differ have the same view once in a thousand times.
pub(crate) fn view(visibility: &Visibility) -> u64 {
    let Visibility::Only(names) = visibility else {
        return 0;
    };
    let hash = hash_parts(names.iter().map(String::as_bytes));
    1 + u64::from(u16::from_le_bytes([hash[0], hash[1]])) % ((1 << VIEW_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_says_what_it_was_made_of() {
        let last = (1 << CHANGE_BITS) - 1;
        for version in [
            ResourceVersion::State {
                tick: 1,
                fingerprint: 0,
            },
            ResourceVersion::State {
                tick: (1 << 34) - 1,
                fingerprint: STATE - 1,
            },
            ResourceVersion::Change {
                revision: 1,
                view: 0,
            },
            ResourceVersion::Change {
                revision: 7 << CHANGE_BITS | last,
                view: (1 << VIEW_BITS) - 1,
            },
        ] {
            assert_eq!(ResourceVersion::from_number(version.number()), version);
            assert!(version.number() < 1 << 63);
        }
    }

    #[test]
    fn numbers_grow_from_change_to_change_and_to_the_state_that_they_lead_to() {
        let now: Timestamp = "2030-01-01T00:00:00.5Z".parse().unwrap();
        let change = |revision| {
            ResourceVersion::Change {
                revision,
                view: (1 << VIEW_BITS) - 1,
            }
            .number()
        };
        let state = |revision| {
            ResourceVersion::State {
                tick: tick(revision),
                fingerprint: 0,
            }
            .number()
        };
        let (_, mut last) = spread(now, 0, &[]);
        for sizes in [
            &[1][..],
            &[2, 1, 5],
            &[3 << CHANGE_BITS, 1],
            &[1; 2_000],
            &[1],
        ] {
            let (ranges, next) = spread(now, last, sizes);
            let mut ranges: Vec<_> = ranges
                .into_iter()
                .zip(sizes)
                .map(|(first, size)| [first, first + size])
                .collect();
            ranges.sort_unstable();
            assert!(ranges.iter().flatten().is_sorted(), "{ranges:?}");
            let first = ranges[0][0];
            let end = ranges[ranges.len() - 1][1];
            assert!(
                state(last) < change(first) && change(end - 1) < state(next),
                "{last} {ranges:?} {next}"
            );
            last = next;
        }
        let ticks = |now| tick(spread(now, 0, &[1]).1);
        assert_eq!(
            ticks(now.checked_add(Duration::from_secs(1)).unwrap()) - ticks(now),
            16
        );
    }

    #[test]
    fn where_a_range_begins_tells_nothing_of_other_changes() {
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        // How often the range of one object begins in each quarter of the time over which all are
        // spread.
        let quarters = |others: &[u64]| {
            let mut quarters = [0_u64; 4];
            for _ in 0..4_000 {
                let (ranges, state) = spread(now, 0, &[&[1], others].concat());
                let before = tick(state) - tick(ranges[0]);
                assert_eq!(ranges[0] % (1 << CHANGE_BITS), 0);
                quarters[usize::try_from(before * 4 / (SPREAD + 16)).unwrap()] += 1;
            }
            quarters
        };
        for others in [&[][..], &[100_000], &[1; 10]] {
            let quarters = quarters(others);
            assert!(
                quarters.iter().all(|count| (800..1_200).contains(count)),
                "{others:?} {quarters:?}"
            );
        }
    }
}
