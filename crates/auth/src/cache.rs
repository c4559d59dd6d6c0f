//! Answers that are believed for a while, and only so many of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Values by their keys, each until its time is over.
pub(crate) struct Cache<K, V> {
    max_entries: usize,
    entries: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// Creates a cache with a maximum number of entries.
    pub(crate) fn new(max_entries: usize) -> Self {
        Self { max_entries, entries: Mutex::default() }
    }

    /// Returns a value whose time is not over.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.get_at(Instant::now(), key)
    }

    fn get_at(&self, now: Instant, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|(until, _)| *until > now).map(|(_, value)| value.clone())
    }

    /// Inserts a value for a time. A full cache forgets the values whose time is over, and if there are none, all of them:
    /// whoever fills it gains nothing by that but questions, and of these only so many are asked at a time.
    pub(crate) fn insert(&self, key: K, value: V, time: Duration) {
        self.insert_at(Instant::now(), key, value, time);
    }

    fn insert_at(&self, now: Instant, key: K, value: V, time: Duration) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= self.max_entries {
            entries.retain(|_, (until, _)| *until > now);
        }
        if entries.len() >= self.max_entries {
            entries.clear();
        }
        entries.insert(key, (now + time, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    #[test]
    fn a_value_is_believed_until_its_time_is_over() {
        let (cache, start) = (Cache::new(2), Instant::now());
        cache.insert_at(start, "a", 1, TIME);
        let before = start + TIME / 2;
        assert_eq!((cache.get_at(before, &"a"), cache.get_at(before, &"b")), (Some(1), None));
        assert_eq!(cache.get_at(start + TIME, &"a"), None);
    }

    #[test]
    fn a_full_cache_forgets_first_what_is_over() {
        let (cache, start) = (Cache::new(2), Instant::now());
        cache.insert_at(start, "a", 1, TIME);
        cache.insert_at(start + TIME / 2, "b", 2, TIME);
        let now = start + TIME;
        cache.insert_at(now, "c", 3, TIME);
        assert_eq!(["a", "b", "c"].map(|key| cache.get_at(now, &key)), [None, Some(2), Some(3)]);
        cache.insert_at(now, "d", 4, TIME);
        assert_eq!(["b", "c", "d"].map(|key| cache.get_at(now, &key)), [None, None, Some(4)]);
    }
}
