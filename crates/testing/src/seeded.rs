//! Pseudo-random numbers that are the same in every run.

/// A generator of pseudo-random numbers (splitmix64). Equal seeds give equal sequences on every
/// machine.
pub struct SeededRandom(u64);

impl SeededRandom {
    /// Creates a generator; every seed is a good one, including 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number of the sequence, of all 64-bit numbers.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next_u64() % u64::try_from(bound.max(1)).expect("a length fits"))
            .expect("it is below a length")
    }

    /// Returns one of the items. Panics when there are none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns one of the seeds with up to six changes: bytes removed, inserted, copied or flipped,
    /// one of the words inserted, or the rest replaced by that of another seed.
    pub fn mutate(&mut self, seeds: &[&[u8]], words: &[&[u8]]) -> Vec<u8> {
        let mut bytes = self.choose(seeds).to_vec();
        for _ in 0..=self.below(6) {
            let at = self.below(bytes.len() + 1);
            let end = at + self.below((bytes.len() - at).min(16) + 1);
            match self.below(7) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes.insert(at, self.next_u64().to_le_bytes()[0]),
                2 | 3 => drop(bytes.splice(at..at, self.choose(words).iter().copied())),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    let at = self.below(bytes.len() + 1);
                    drop(bytes.splice(at..at, piece));
                }
                5 => {
                    let other = self.choose(seeds);
                    let from = self.below(other.len() + 1);
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
            }
        }
        bytes
    }
}
