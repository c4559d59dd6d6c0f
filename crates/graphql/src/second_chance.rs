//! What is kept for the next request: bounded in entries and in bytes, by a key that tells all that it depends on, so
//! that nothing is ever out of date.
//!
//! What was asked for since it last stood in line gets a second turn, so that what is in use outlives what came once. A
//! reader marks what it finds and moves nothing, so that readers do not wait for one another. It does not know what is
//! kept.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Values that are kept, each with its size in bytes.
pub(super) struct SecondChanceCache<K, V> {
    entries: usize,
    bytes: usize,
    state: RwLock<Line<K, V>>,
}

struct Line<K, V> {
    by_key: HashMap<K, Entry<V>>,
    /// Every key, the next to be dropped first.
    queue: VecDeque<K>,
    bytes: usize,
}

struct Entry<V> {
    value: Arc<V>,
    bytes: usize,
    used: AtomicBool,
}

impl<K: Clone + Eq + Hash, V> SecondChanceCache<K, V> {
    /// Keeps at most so many values of at most so many bytes together.
    pub(super) fn new(entries: usize, bytes: usize) -> Self {
        let line = Line { by_key: HashMap::new(), queue: VecDeque::new(), bytes: 0 };
        Self { entries, bytes, state: RwLock::new(line) }
    }

    /// The value of a key, if it is kept.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        let line = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let entry = line.by_key.get(key)?;
        // What is marked already is not written to, or else processors would take the line from one another.
        if !entry.used.load(Ordering::Relaxed) {
            entry.used.store(true, Ordering::Relaxed);
        }
        Some(Arc::clone(&entry.value))
    }

    /// Keeps a value of so many bytes, unless it alone is larger than all may be. Of two with one key the first stays.
    pub(super) fn insert(&self, key: K, value: &Arc<V>, bytes: usize) {
        if bytes > self.bytes || self.entries == 0 {
            return;
        }
        let mut line = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if line.by_key.contains_key(&key) {
            return;
        }
        while line.queue.len() >= self.entries || line.bytes + bytes > self.bytes {
            line.drop_one();
        }
        line.bytes += bytes;
        line.queue.push_back(key.clone());
        line.by_key.insert(key, Entry { value: Arc::clone(value), bytes, used: AtomicBool::new(false) });
    }

    /// Lets go of what has another key than these.
    pub(super) fn retain(&self, mut is_wanted: impl FnMut(&K) -> bool) {
        let mut line = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let Line { by_key, queue, bytes } = &mut *line;
        let mut unwanted = Vec::new();
        queue.retain(|key| {
            let is_kept = is_wanted(key);
            if !is_kept && let Some(entry) = by_key.remove(key) {
                *bytes -= entry.bytes;
                unwanted.push(entry.value);
            }
            is_kept
        });
        // Freed where nobody waits for it.
        drop(line);
        drop(unwanted);
    }

    /// Counts so many bytes more for a value that is kept.
    pub(super) fn grow(&self, key: &K, bytes: usize) {
        let mut line = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = line.by_key.get_mut(key) else { return };
        entry.bytes += bytes;
        line.bytes += bytes;
        while line.bytes > self.bytes {
            line.drop_one();
        }
    }
}

impl<K: Clone + Eq + Hash, V> Line<K, V> {
    /// Drops the first in line that was not used; the used ones before it go to the end and count as unused.
    fn drop_one(&mut self) {
        while let Some(key) = self.queue.pop_front() {
            let used = self.by_key.get_mut(&key).is_some_and(|entry| std::mem::take(entry.used.get_mut()));
            if used {
                self.queue.push_back(key);
            } else if let Some(entry) = self.by_key.remove(&key) {
                self.bytes -= entry.bytes;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of some keys are kept, without marking them as used.
    fn held(kept: &SecondChanceCache<u8, ()>, keys: impl IntoIterator<Item = u8>) -> Vec<bool> {
        let line = kept.state.read().unwrap();
        keys.into_iter().map(|key| line.by_key.contains_key(&key)).collect()
    }

    #[test]
    fn what_was_asked_for_outlives_what_was_not() {
        let kept = SecondChanceCache::new(2, usize::MAX);
        kept.insert(0, &Arc::new(()), 1);
        kept.insert(1, &Arc::new(()), 1);
        assert!(kept.get(&0).is_some());
        kept.insert(2, &Arc::new(()), 1);
        assert_eq!(held(&kept, 0..3), [true, false, true]);
    }

    #[test]
    fn the_bytes_that_are_kept_are_bounded() {
        for (bytes, expected) in [(20, [true, true]), (19, [false, true])] {
            let kept = SecondChanceCache::new(9, bytes);
            kept.insert(0, &Arc::new(()), 10);
            kept.insert(1, &Arc::new(()), 10);
            kept.insert(1, &Arc::new(()), 10);
            assert_eq!(held(&kept, 0..2), expected, "{bytes}");
        }
    }

    #[test]
    fn what_grows_is_counted() {
        let kept = SecondChanceCache::new(9, 20);
        kept.insert(0, &Arc::new(()), 5);
        kept.insert(1, &Arc::new(()), 5);
        kept.grow(&1, 10);
        assert_eq!(held(&kept, 0..2), [true, true]);
        kept.grow(&1, 1);
        assert_eq!(held(&kept, 0..2), [false, true]);
        kept.grow(&0, 100);
        kept.grow(&1, 5);
        assert_eq!(held(&kept, 0..2), [false, false]);
        kept.insert(2, &Arc::new(()), 20);
        assert_eq!(held(&kept, 2..3), [true]);
    }

    #[test]
    fn what_is_let_go_of_makes_room() {
        let kept = SecondChanceCache::new(3, 30);
        (0..3).for_each(|key| kept.insert(key, &Arc::new(()), 10));
        kept.retain(|key| key % 2 == 1);
        assert_eq!(held(&kept, 0..3), [false, true, false]);
        kept.insert(3, &Arc::new(()), 20);
        assert_eq!(held(&kept, 0..4), [false, true, false, true]);
        kept.insert(4, &Arc::new(()), 1);
        assert_eq!(held(&kept, 0..5), [false, false, false, true, true]);
    }

    #[test]
    fn what_is_larger_than_all_may_be_is_not_kept() {
        let kept = SecondChanceCache::new(9, 10);
        kept.insert(0, &Arc::new(()), 11);
        kept.insert(1, &Arc::new(()), 10);
        assert_eq!(held(&kept, 0..2), [false, true]);
    }
}
