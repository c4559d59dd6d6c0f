//! Answers that are believed for a while, and only so many of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Values by their keys, each until its time is over.
pub(crate) struct Cache<K, V> {
    /// Maximum number of refusals, and of other values.
    max_entries: usize,
    is_refusal: fn(&V) -> bool,
    entries: Mutex<Entries<K, V>>,
}

/// Refusals are apart: anybody can invent what is refused, and shall not cause other values to be
/// forgotten by that.
struct Entries<K, V> {
    refusals: HashMap<K, Answer<V>>,
    others: HashMap<K, Answer<V>>,
}

/// A value, and until when it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer<V> {
    pub(crate) value: V,
    pub(crate) until: Instant,
}

impl<V> Answer<V> {
    /// An answer that is believed for a time from now on.
    pub(crate) fn lasting(value: V, time: Duration) -> Self {
        Self {
            value,
            until: Instant::now() + time,
        }
    }
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// Creates a cache with a maximum number of refusals and of other values.
    pub(crate) fn new(max_entries: usize, is_refusal: fn(&V) -> bool) -> Self {
        let entries = Entries {
            refusals: HashMap::new(),
            others: HashMap::new(),
        };
        Self {
            max_entries,
            is_refusal,
            entries: Mutex::new(entries),
        }
    }

    /// Returns a value whose time is not over.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.get_until(key).map(|answer| answer.value)
    }

    /// Returns a value whose time is not over, with the end of its time.
    pub(crate) fn get_until(&self, key: &K) -> Option<Answer<V>> {
        self.get_at(Instant::now(), key)
    }

    fn get_at(&self, now: Instant, key: &K) -> Option<Answer<V>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |answers: &HashMap<K, Answer<V>>| {
            answers
                .get(key)
                .filter(|answer| answer.until > now)
                .cloned()
        };
        known(&entries.others).or_else(|| known(&entries.refusals))
    }

    /// Returns a value whose time may be over, if it is no refusal and was not forgotten yet.
    pub(crate) fn former(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.others.get(key).map(|answer| answer.value.clone())
    }

    /// Lets the time of all values be over.
    #[cfg(test)]
    pub(crate) fn expire(&self) {
        let mut entries = self.entries.lock().unwrap();
        let Entries { refusals, others } = &mut *entries;
        let now = Instant::now();
        refusals
            .values_mut()
            .chain(others.values_mut())
            .for_each(|answer| answer.until = now);
    }

    /// Inserts a value until its time is over. A full cache forgets the values whose time is over,
    /// and if there are none, all of the same sort: whoever fills it gains nothing by that but
    /// questions, and of these only so many are asked at a time.
    pub(crate) fn insert(&self, key: K, answer: Answer<V>) {
        self.insert_at(Instant::now(), key, answer);
    }

    fn insert_at(&self, now: Instant, key: K, answer: Answer<V>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let Entries { refusals, others } = &mut *entries;
        let (own, former) = if (self.is_refusal)(&answer.value) {
            (refusals, others)
        } else {
            (others, refusals)
        };
        if own.len() >= self.max_entries {
            own.retain(|_, answer| answer.until > now);
        }
        if own.len() >= self.max_entries {
            own.clear();
        }
        former.remove(&key);
        own.insert(key, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    fn answer(value: u8, until: Instant) -> Answer<u8> {
        Answer { value, until }
    }

    #[test]
    fn a_value_is_believed_until_its_time_is_over() {
        let cache = Cache::new(2, |_| false);
        let start = Instant::now();
        cache.insert_at(start, "a", answer(1, start + TIME));
        let before = start + TIME / 2;
        assert_eq!(cache.get_at(before, &"a"), Some(answer(1, start + TIME)));
        assert_eq!(
            (cache.get_at(before, &"b"), cache.get_at(start + TIME, &"a")),
            (None, None)
        );
    }

    #[test]
    fn a_full_cache_forgets_first_what_is_over() {
        let cache = Cache::new(2, |_| false);
        let start = Instant::now();
        let now = start + TIME;
        cache.insert_at(start, "a", answer(1, now));
        cache.insert_at(start, "b", answer(2, now + TIME));
        cache.insert_at(now, "c", answer(3, now + TIME));
        let known = |keys: [&'static str; 3]| {
            keys.map(|key| cache.get_at(now, &key).map(|answer| answer.value))
        };
        assert_eq!(known(["a", "b", "c"]), [None, Some(2), Some(3)]);
        cache.insert_at(now, "d", answer(4, now + TIME));
        assert_eq!(known(["b", "c", "d"]), [None, None, Some(4)]);
    }

    #[test]
    fn refusals_cause_no_other_value_to_be_forgotten_and_replace_it() {
        let cache = Cache::new(2, |value| *value == 0);
        let start = Instant::now();
        let until = start + TIME;
        for (key, value) in [("a", 1), ("b", 2), ("x", 0), ("y", 0), ("z", 0)] {
            cache.insert_at(start, key, answer(value, until));
        }
        let known = |keys: [&'static str; 5]| {
            keys.map(|key| cache.get_at(start, &key).map(|answer| answer.value))
        };
        assert_eq!(
            known(["a", "b", "x", "y", "z"]),
            [Some(1), Some(2), None, None, Some(0)]
        );
        cache.insert_at(start, "a", answer(0, until));
        cache.insert_at(start, "z", answer(3, until));
        assert_eq!(
            known(["a", "b", "x", "y", "z"]),
            [Some(0), Some(2), None, None, Some(3)]
        );
    }
}
