//! A cache with second-chance (clock) eviction, bounded in entries and in bytes.
//!
//! An entry that was hit since it was last queued is queued again instead of evicted, so that
//! entries in use outlive those that were used once. A hit sets a mark and moves nothing, so that
//! readers do not wait for one another. Keys include everything that a value depends on, so that
//! entries never need to be invalidated.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A cache of values, each with its size in bytes.
pub struct SecondChanceCache<K, V> {
    max_entries: usize,
    max_bytes: usize,
    state: RwLock<Entries<K, V>>,
}

struct Entries<K, V> {
    by_key: HashMap<K, Entry<V>>,
    /// Every key, the next candidate for eviction first.
    queue: VecDeque<K>,
    bytes: usize,
    /// Number of entries that were evicted for others, or because no request can hit them any more.
    evictions: u64,
}

/// What a cache holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUsage {
    /// Bytes of all entries.
    pub bytes: usize,
    /// Number of entries that were evicted so far.
    pub evictions: u64,
}

struct Entry<V> {
    value: Arc<V>,
    bytes: usize,
    used: AtomicBool,
}

impl<K: Clone + Eq + Hash, V> fmt::Debug for SecondChanceCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecondChanceCache")
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash, V> SecondChanceCache<K, V> {
    /// Creates a cache with a maximum number of entries and a maximum total size in bytes.
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        let entries = Entries {
            by_key: HashMap::new(),
            queue: VecDeque::new(),
            bytes: 0,
            evictions: 0,
        };
        Self {
            max_entries,
            max_bytes,
            state: RwLock::new(entries),
        }
    }

    /// Returns a value and marks it as used.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        let entries = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.by_key.get(key)?;
        // A mark that is set is not written again: processors would contend for the cache line.
        if !entry.used.load(Ordering::Relaxed) {
            entry.used.store(true, Ordering::Relaxed);
        }
        Some(Arc::clone(&entry.value))
    }

    /// What the cache holds now.
    pub fn usage(&self) -> CacheUsage {
        let entries = self.state.read().unwrap_or_else(PoisonError::into_inner);
        CacheUsage {
            bytes: entries.bytes,
            evictions: entries.evictions,
        }
    }

    /// Inserts a value of so many bytes, unless it alone exceeds the cache or the key is already
    /// cached.
    pub fn insert(&self, key: K, value: &Arc<V>, bytes: usize) {
        if bytes > self.max_bytes || self.max_entries == 0 {
            return;
        }
        let mut entries = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if entries.by_key.contains_key(&key) {
            return;
        }
        while entries.queue.len() >= self.max_entries || entries.bytes + bytes > self.max_bytes {
            entries.evict_one();
        }
        entries.bytes += bytes;
        entries.queue.push_back(key.clone());
        entries.by_key.insert(
            key,
            Entry {
                value: Arc::clone(value),
                bytes,
                used: AtomicBool::new(false),
            },
        );
    }

    /// Evicts every entry for whose key `is_current` is false.
    pub fn retain(&self, mut is_current: impl FnMut(&K) -> bool) {
        let mut entries = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let Entries {
            by_key,
            queue,
            bytes,
            evictions,
        } = &mut *entries;
        let mut evicted = Vec::new();
        queue.retain(|key| {
            let is_retained = is_current(key);
            if !is_retained && let Some(entry) = by_key.remove(key) {
                *bytes -= entry.bytes;
                *evictions += 1;
                evicted.push(entry.value);
            }
            is_retained
        });
        // Freed without holding the lock.
        drop(entries);
        drop(evicted);
    }

    /// Adds so many bytes to the size of an entry.
    pub fn grow(&self, key: &K, bytes: usize) {
        let mut entries = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = entries.by_key.get_mut(key) else {
            return;
        };
        entry.bytes += bytes;
        entries.bytes += bytes;
        while entries.bytes > self.max_bytes {
            entries.evict_one();
        }
    }
}

impl<K: Clone + Eq + Hash, V> Entries<K, V> {
    /// Evicts the first entry of the queue that was not hit; those before it are queued again
    /// without their marks.
    fn evict_one(&mut self) {
        while let Some(key) = self.queue.pop_front() {
            let used = self
                .by_key
                .get_mut(&key)
                .is_some_and(|entry| std::mem::take(entry.used.get_mut()));
            if used {
                self.queue.push_back(key);
            } else if let Some(entry) = self.by_key.remove(&key) {
                self.bytes -= entry.bytes;
                self.evictions += 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of some keys are cached, without marking them as used.
    fn contains(
        cache: &SecondChanceCache<u8, ()>,
        keys: impl IntoIterator<Item = u8>,
    ) -> Vec<bool> {
        let entries = cache.state.read().unwrap();
        keys.into_iter()
            .map(|key| entries.by_key.contains_key(&key))
            .collect()
    }

    #[test]
    fn an_entry_that_was_hit_outlives_one_that_was_not() {
        let cache = SecondChanceCache::new(2, usize::MAX);
        cache.insert(0, &Arc::new(()), 1);
        cache.insert(1, &Arc::new(()), 1);
        assert!(cache.get(&0).is_some());
        cache.insert(2, &Arc::new(()), 1);
        assert_eq!(contains(&cache, 0..3), [true, false, true]);
    }

    #[test]
    fn the_bytes_of_all_entries_are_bounded() {
        for (bytes, expected) in [(20, [true, true]), (19, [false, true])] {
            let cache = SecondChanceCache::new(9, bytes);
            cache.insert(0, &Arc::new(()), 10);
            cache.insert(1, &Arc::new(()), 10);
            cache.insert(1, &Arc::new(()), 10);
            assert_eq!(contains(&cache, 0..2), expected, "{bytes}");
        }
    }

    #[test]
    fn growth_of_an_entry_is_counted() {
        let cache = SecondChanceCache::new(9, 20);
        cache.insert(0, &Arc::new(()), 5);
        cache.insert(1, &Arc::new(()), 5);
        cache.grow(&1, 10);
        assert_eq!(contains(&cache, 0..2), [true, true]);
        cache.grow(&1, 1);
        assert_eq!(contains(&cache, 0..2), [false, true]);
        cache.grow(&0, 100);
        cache.grow(&1, 5);
        assert_eq!(contains(&cache, 0..2), [false, false]);
        cache.insert(2, &Arc::new(()), 20);
        assert_eq!(contains(&cache, 2..3), [true]);
    }

    #[test]
    fn evicted_entries_make_room() {
        let cache = SecondChanceCache::new(3, 30);
        (0..3).for_each(|key| cache.insert(key, &Arc::new(()), 10));
        cache.retain(|key| key % 2 == 1);
        assert_eq!(contains(&cache, 0..3), [false, true, false]);
        cache.insert(3, &Arc::new(()), 20);
        assert_eq!(contains(&cache, 0..4), [false, true, false, true]);
        cache.insert(4, &Arc::new(()), 1);
        assert_eq!(contains(&cache, 0..5), [false, false, false, true, true]);
    }

    #[test]
    fn a_value_larger_than_the_cache_is_not_inserted() {
        let cache = SecondChanceCache::new(9, 10);
        cache.insert(0, &Arc::new(()), 11);
        cache.insert(1, &Arc::new(()), 10);
        assert_eq!(contains(&cache, 0..2), [false, true]);
    }
}
