//! Numbers by chance that are the same in every run.

/// A sequence of numbers (splitmix64) that its seed decides.
pub struct Seeded(pub u64);

impl Seeded {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).expect("a length fits"))
            .expect("it is below a length")
    }

    /// One of some things.
    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// A seed, changed in a few places.
    pub fn mutate(&mut self, seeds: &[&[u8]], words: &[&[u8]]) -> Vec<u8> {
        let mut bytes = self.pick(seeds).to_vec();
        for _ in 0..=self.below(6) {
            let at = self.below(bytes.len() + 1);
            let end = at + self.below((bytes.len() - at).min(16) + 1);
            match self.below(7) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes.insert(at, self.next().to_le_bytes()[0]),
                2 | 3 => drop(bytes.splice(at..at, self.pick(words).iter().copied())),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    let at = self.below(bytes.len() + 1);
                    drop(bytes.splice(at..at, piece));
                }
                5 => {
                    let other = self.pick(seeds);
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
