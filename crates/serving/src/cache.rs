//! A cache bounded in bytes, and in entries where that is wished.
//!
//! Storage and eviction are `quick_cache`'s: Clock-PRO, close to S3-FIFO. Entries in use outlive
//! those that were used once, and a key that returns soon after its eviction is kept longer. Keys
//! include everything that a value depends on, so that entries never need to be invalidated.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::{Cache, EntryAction};
use quick_cache::{DefaultHashBuilder, Equivalent, Lifecycle, OptionsBuilder, Weighter};

/// Typical size of an entry in bytes. It sizes only the list of evicted keys: a wrong estimate
/// makes that list longer or shorter.
const TYPICAL_ENTRY_BYTES: usize = 4096;

/// A cache of values, each with its size in bytes.
pub struct BoundedCache<K, V> {
    entries: Cache<K, SizedValue<V>, EntryWeight, DefaultHashBuilder, EvictionCounter>,
    weight: EntryWeight,
    evictions: Arc<AtomicU64>,
}

/// Bytes in a cache, and how many entries it evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUsage {
    /// Bytes of all entries.
    pub bytes: usize,
    /// Number of entries that were evicted for others, or because no request can hit them any more.
    pub evictions: u64,
}

struct SizedValue<V> {
    value: Arc<V>,
    bytes: usize,
}

/// Keys that were missed lately, by their hashes. A cache that admits a value at its second request
/// asks it, or else a walk over many keys would evict what is in use.
#[derive(Debug)]
pub struct RecentMisses {
    /// Second halves of hashes, by the first half. Of two keys with one slot, the later one stays.
    slots: Box<[AtomicU64]>,
}

/// Weighs entries so that one capacity bounds both bytes and entries: a byte weighs as much as
/// there may be entries, and an entry at least as much as its share of the capacity.
#[derive(Clone, Copy)]
struct EntryWeight {
    max_bytes: u64,
    /// `None` for a cache that is bounded in bytes only.
    max_entries: Option<u64>,
}

/// Counts evictions, and drops evicted values after the lock is released.
#[derive(Clone)]
struct EvictionCounter(Arc<AtomicU64>);

impl<K, V> fmt::Debug for BoundedCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedCache").finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash, V> BoundedCache<K, V> {
    /// Creates a cache with a maximum total size in bytes.
    pub fn with_bytes(max_bytes: usize) -> Self {
        Self::new(None, max_bytes)
    }

    /// Creates a cache with a maximum number of entries and a maximum total size in bytes.
    pub fn with_entries_and_bytes(max_entries: usize, max_bytes: usize) -> Self {
        Self::new(Some(max_entries), max_bytes)
    }

    fn new(max_entries: Option<usize>, max_bytes: usize) -> Self {
        let weight = EntryWeight {
            max_bytes: max_bytes as u64,
            max_entries: max_entries.map(|entries| entries as u64),
        };
        let estimated_entries = max_bytes / TYPICAL_ENTRY_BYTES;
        let options = OptionsBuilder::new()
            // Each shard has its part of the budget, and a value larger than that part would never
            // be cached: with one shard, any value that fits the budget is.
            .shards(1)
            // For the same reason: values larger than the hot part are refused.
            .hot_allocation(1.0)
            .weight_capacity(weight.capacity())
            .estimated_items_capacity(max_entries.unwrap_or(estimated_entries))
            .build()
            .expect("capacities are set");
        let evictions = Arc::<AtomicU64>::default();
        let lifecycle = EvictionCounter(Arc::clone(&evictions));

        Self {
            entries: Cache::with_options(options, weight, DefaultHashBuilder::default(), lifecycle),
            weight,
            evictions,
        }
    }

    /// Returns a value and marks it as used.
    pub fn get<Q>(&self, key: &Q) -> Option<Arc<V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.entries.get(key).map(|entry| entry.value)
    }

    /// Returns the size of the cache and the number of evictions so far.
    pub fn usage(&self) -> CacheUsage {
        CacheUsage {
            bytes: self.weight.to_bytes(self.entries.weight()),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }

    /// Inserts a value of so many bytes, unless it alone exceeds the cache or the key is already
    /// cached.
    pub fn insert(&self, key: K, value: &Arc<V>, bytes: usize) {
        // Checked here, because the cache would count a refused value as an eviction.
        let fits = self.weight.of_bytes(bytes) <= self.weight.capacity();
        if fits && !self.entries.contains_key(&key) {
            let value = Arc::clone(value);
            self.entries.insert(key, SizedValue { value, bytes });
        }
    }

    /// Evicts every entry for whose key `is_current` is false.
    pub fn retain(&self, is_current: impl Fn(&K) -> bool) {
        // `Cache::retain` would drop the values, which may be megabytes, while it holds the lock.
        let stale: Vec<K> = self
            .entries
            .iter()
            .map(|(key, _)| key)
            .filter(|key| !is_current(key))
            .collect();

        for key in stale {
            if self.entries.remove(&key).is_some() {
                self.evictions.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Adds so many bytes to the size of an entry.
    pub fn grow(&self, key: &K, bytes: usize) {
        let grown = self.entries.entry(key, Some(Duration::ZERO), |_, entry| {
            entry.bytes += bytes;
            EntryAction::Retain(())
        });
        // A key that is not cached has a placeholder, which goes with the guard.
        drop(grown);

        // A changed weight evicts nothing by itself; setting the capacity does.
        if self.entries.weight() > self.weight.capacity() {
            self.entries.set_capacity(self.weight.capacity());
        }
    }
}

impl RecentMisses {
    /// Creates a list of this many slots, at least one, of 8 bytes each.
    pub fn with_slots(slots: usize) -> Self {
        let slots = (0..slots.max(1)).map(|_| AtomicU64::new(0)).collect();
        Self { slots }
    }

    /// Records a miss of the key with this hash. Returns whether the key was missed before.
    pub fn was_missed(&self, hash: [u64; 2]) -> bool {
        let [first, second] = hash;
        let slot = usize::try_from(first % self.slots.len() as u64).unwrap_or_default();
        // Without a lock: a first request must cost nothing.
        self.slots[slot].swap(second, Ordering::Relaxed) == second
    }
}

impl<V> Clone for SizedValue<V> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            bytes: self.bytes,
        }
    }
}

impl EntryWeight {
    fn capacity(self) -> u64 {
        self.max_bytes.saturating_mul(self.max_entries.unwrap_or(1))
    }

    fn of_bytes(self, bytes: usize) -> u64 {
        match self.max_entries {
            Some(max_entries) => (bytes as u64)
                .saturating_mul(max_entries)
                .max(self.max_bytes)
                .max(1),
            // An entry without weight would never be evicted.
            None => (bytes as u64).max(1),
        }
    }

    fn to_bytes(self, weight: u64) -> usize {
        let bytes = weight / self.max_entries.unwrap_or(1).max(1);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

impl<K, V> Weighter<K, SizedValue<V>> for EntryWeight {
    fn weight(&self, _: &K, entry: &SizedValue<V>) -> u64 {
        self.of_bytes(entry.bytes)
    }
}

impl<K, V> Lifecycle<K, SizedValue<V>> for EvictionCounter {
    type RequestState = Vec<(K, SizedValue<V>)>;

    fn on_evict(&self, evicted: &mut Self::RequestState, key: K, value: SizedValue<V>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        evicted.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of some keys are cached, without marking them as used.
    fn contains(cache: &BoundedCache<u8, ()>, keys: impl IntoIterator<Item = u8>) -> Vec<bool> {
        keys.into_iter()
            .map(|key| cache.entries.contains_key(&key))
            .collect()
    }

    #[test]
    fn an_entry_that_was_hit_outlives_one_that_was_not() {
        let cache = BoundedCache::with_entries_and_bytes(2, 1000);
        cache.insert(0, &Arc::new(()), 1);
        cache.insert(1, &Arc::new(()), 1);
        assert!(cache.get(&0).is_some());
        cache.insert(2, &Arc::new(()), 1);
        assert_eq!(contains(&cache, 0..3), [true, false, true]);
    }

    #[test]
    fn entries_in_use_outlive_a_walk_over_others() {
        let cache = BoundedCache::with_bytes(40);
        for key in 0..2 {
            cache.insert(key, &Arc::new(()), 10);
        }
        for key in 10..200 {
            cache.insert(key, &Arc::new(()), 10);
            assert!(cache.get(&0).is_some() && cache.get(&1).is_some(), "{key}");
        }
    }

    #[test]
    fn the_bytes_of_all_entries_are_bounded() {
        for (bytes, expected) in [(20, [true, true]), (19, [false, true])] {
            let cache = BoundedCache::with_bytes(bytes);
            cache.insert(0, &Arc::new(()), 10);
            cache.insert(1, &Arc::new(()), 10);
            cache.insert(1, &Arc::new(()), 10);
            assert_eq!(contains(&cache, 0..2), expected, "{bytes}");
        }
    }

    #[test]
    fn the_bounds_hold_after_every_insertion_and_growth() {
        let cache = BoundedCache::with_entries_and_bytes(5, 1000);
        let mut random = 1_u32;
        for _ in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [key, bytes, action, _] = random.to_be_bytes();
            match action % 3 {
                0 => cache.grow(&(key % 20), bytes.into()),
                1 => drop(cache.get(&(key % 20))),
                _ => cache.insert(key % 20, &Arc::new(()), usize::from(bytes) * 5),
            }

            let sizes: Vec<_> = cache.entries.iter().map(|(_, entry)| entry.bytes).collect();
            assert!(
                sizes.len() <= 5 && sizes.iter().sum::<usize>() <= 1000,
                "{sizes:?}"
            );
        }
        assert!(cache.usage().evictions > 1000);
    }

    #[test]
    fn growth_of_an_entry_is_counted() {
        let cache = BoundedCache::with_bytes(20);
        cache.insert(0, &Arc::new(()), 5);
        cache.insert(1, &Arc::new(()), 5);
        cache.grow(&1, 10);
        assert_eq!(contains(&cache, 0..2), [true, true]);
        assert_eq!(cache.usage().bytes, 20);
        cache.grow(&1, 1);
        assert_eq!(contains(&cache, 0..2), [false, true]);
        cache.grow(&0, 100);
        cache.grow(&1, 5);
        assert_eq!(contains(&cache, 0..2), [false, false]);
        let evictions = 2;
        assert_eq!(
            cache.usage(),
            CacheUsage {
                bytes: 0,
                evictions
            }
        );
        cache.insert(2, &Arc::new(()), 20);
        assert_eq!(contains(&cache, 2..3), [true]);
    }

    #[test]
    fn evicted_entries_make_room() {
        let cache = BoundedCache::with_entries_and_bytes(3, 30);
        (0..3).for_each(|key| cache.insert(key, &Arc::new(()), 10));
        cache.retain(|key| key % 2 == 1);
        assert_eq!(contains(&cache, 0..3), [false, true, false]);
        let evictions = 2;
        assert_eq!(
            cache.usage(),
            CacheUsage {
                bytes: 10,
                evictions
            }
        );
        cache.insert(3, &Arc::new(()), 20);
        assert_eq!(contains(&cache, 0..4), [false, true, false, true]);
    }

    #[test]
    fn a_value_larger_than_the_cache_is_not_inserted() {
        let cache = BoundedCache::with_bytes(10);
        cache.insert(0, &Arc::new(()), 11);
        cache.insert(1, &Arc::new(()), 10);
        assert_eq!(contains(&cache, 0..2), [false, true]);
        assert_eq!(cache.usage().evictions, 0);
    }

    #[test]
    fn a_cache_without_capacity_holds_nothing() {
        for cache in [
            BoundedCache::with_bytes(0),
            BoundedCache::with_entries_and_bytes(0, 10),
            BoundedCache::with_entries_and_bytes(10, 0),
        ] {
            cache.insert(0, &Arc::new(()), 0);
            cache.insert(1, &Arc::new(()), 1);
            assert_eq!(contains(&cache, 0..2), [false, false]);
        }
    }
}
