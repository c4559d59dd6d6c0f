//! Cache of the API server's decisions, bounded in time and in entries.

use std::hash::Hash;
use std::time::{Duration, Instant};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};

/// Decisions by key, each until it expires.
///
/// Denials have a cache of their own: any client can send invented tokens, and these must not evict
/// the decisions of known users.
pub(crate) struct DecisionCache<K, V> {
    is_denial: fn(&V) -> bool,
    denials: Cache<K, Expiring<V>>,
    others: Cache<K, Expiring<V>>,
}

/// A value with the time at which it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiring<V> {
    pub(crate) value: V,
    pub(crate) expires_at: Instant,
}

impl<V> Expiring<V> {
    /// Creates a value that expires after a time.
    pub(crate) fn after(time: Duration, value: V) -> Self {
        Self {
            value,
            expires_at: Instant::now() + time,
        }
    }
}

impl<K: Eq + Hash, V: Clone> DecisionCache<K, V> {
    /// Creates a cache with a maximum number of denials, and as many other decisions.
    pub(crate) fn new(max_entries: usize, is_denial: fn(&V) -> bool) -> Self {
        Self {
            is_denial,
            denials: bounded_cache(max_entries),
            others: bounded_cache(max_entries),
        }
    }

    /// Returns a decision that has not expired.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.get_expiring(key).map(|decision| decision.value)
    }

    /// Returns a decision that has not expired, with its expiry.
    pub(crate) fn get_expiring(&self, key: &K) -> Option<Expiring<V>> {
        self.get_at(Instant::now(), key)
    }

    fn get_at(&self, now: Instant, key: &K) -> Option<Expiring<V>> {
        let is_valid = |decision: &Expiring<V>| decision.expires_at > now;
        let other = self.others.get(key).filter(is_valid);
        other.or_else(|| self.denials.get(key).filter(is_valid))
    }

    /// Returns a decision that is no denial, expired or not.
    pub(crate) fn get_stale(&self, key: &K) -> Option<V> {
        self.others.peek(key).map(|decision| decision.value)
    }

    /// Inserts a decision, and removes the one of the other kind.
    pub(crate) fn insert(&self, key: &K, decision: Expiring<V>)
    where
        K: Clone,
    {
        let (own, opposite) = if (self.is_denial)(&decision.value) {
            (&self.denials, &self.others)
        } else {
            (&self.others, &self.denials)
        };

        // In this order: of two decisions that are inserted at once, the later removal leaves at
        // most one. A caller who finds none asks the API server again.
        own.insert(key.clone(), decision);
        opposite.remove(key);
    }

    /// Makes all decisions expire now.
    #[cfg(test)]
    pub(crate) fn expire(&self)
    where
        K: Clone,
    {
        for cache in [&self.denials, &self.others] {
            let decisions: Vec<_> = cache.iter().collect();
            for (key, decision) in decisions {
                let expires_at = Instant::now();
                let value = decision.value;
                cache.insert(key, Expiring { value, expires_at });
            }
        }
    }
}

fn bounded_cache<K: Eq + Hash, V: Clone>(max_entries: usize) -> Cache<K, V> {
    let options = OptionsBuilder::new()
        // Shards would each have a part of the entries, so that a full one evicts early.
        .shards(1)
        .hot_allocation(1.0)
        // A list of evicted keys would take half as much memory again, and CACHED_DECISIONS
        // promises a bound.
        .ghost_allocation(0.0)
        .weight_capacity(max_entries as u64)
        .estimated_items_capacity(max_entries)
        .build()
        .expect("capacities are set");
    Cache::with_options(
        options,
        UnitWeighter,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    fn expiring(value: u8, expires_at: Instant) -> Expiring<u8> {
        Expiring { value, expires_at }
    }

    fn get_all<const N: usize>(
        cache: &DecisionCache<&'static str, u8>,
        now: Instant,
        keys: [&'static str; N],
    ) -> [Option<u8>; N] {
        keys.map(|key| cache.get_at(now, &key).map(|decision| decision.value))
    }

    #[test]
    fn a_decision_is_valid_until_it_expires() {
        let cache = DecisionCache::new(2, |_| false);
        let start = Instant::now();
        cache.insert(&"a", expiring(1, start + TIME));
        let before = start + TIME / 2;
        assert_eq!(cache.get_at(before, &"a"), Some(expiring(1, start + TIME)));
        assert_eq!(cache.get_at(before, &"b"), None);
        assert_eq!(cache.get_at(start + TIME, &"a"), None);
        assert_eq!(cache.get_stale(&"a"), Some(1));
    }

    #[test]
    fn a_full_cache_evicts_one_decision_that_is_not_in_use() {
        let cache = DecisionCache::new(3, |_| false);
        let now = Instant::now();
        for (key, value) in [("a", 1), ("b", 2), ("c", 3)] {
            cache.insert(&key, expiring(value, now + TIME));
        }
        assert_eq!(get_all(&cache, now, ["a", "c"]), [Some(1), Some(3)]);

        cache.insert(&"d", expiring(4, now + TIME));

        assert_eq!(
            get_all(&cache, now, ["a", "b", "c", "d"]),
            [Some(1), None, Some(3), Some(4)]
        );
    }

    #[test]
    fn denials_evict_no_other_decision_and_replace_it() {
        let cache = DecisionCache::new(2, |value| *value == 0);
        let start = Instant::now();
        let expiry = start + TIME;
        for (key, value) in [("a", 1), ("b", 2), ("x", 0), ("y", 0), ("z", 0)] {
            cache.insert(&key, expiring(value, expiry));
        }
        let [a, b, denied @ ..] = get_all(&cache, start, ["a", "b", "x", "y", "z"]);
        assert_eq!([a, b], [Some(1), Some(2)]);
        assert_eq!(denied.iter().flatten().count(), 2);
        assert_eq!(denied[2], Some(0));

        cache.insert(&"a", expiring(0, expiry));
        cache.insert(&"z", expiring(3, expiry));

        assert_eq!(
            get_all(&cache, start, ["a", "b", "z"]),
            [Some(0), Some(2), Some(3)]
        );
    }
}
