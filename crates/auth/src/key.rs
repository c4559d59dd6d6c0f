//! Cache keys: hashes for which no caller can make a collision.

use std::hash::{Hash, Hasher};

use sha2::{Digest as _, Sha256};

/// A SHA-256.
pub(crate) type Key = [u8; 32];

/// Returns the SHA-256 of a value's parts, each with its end.
pub(crate) fn hash(value: &impl Hash) -> Key {
    let mut hasher = Sha256Hasher(Sha256::new());
    value.hash(&mut hasher);
    hasher.0.finalize().into()
}

struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the whole hash is used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_whose_parts_together_are_alike_have_keys_of_their_own() {
        let values = [
            (Some("ab"), Some("c"), vec![]),
            (Some("a"), Some("bc"), vec![]),
            (Some("abc"), None, vec![]),
            (None, Some("abc"), vec![]),
            (Some("ab"), Some(""), vec!["c"]),
            (Some("ab"), None, vec!["c"]),
            (Some("a"), None, vec!["b", "c"]),
            (Some("a"), None, vec!["bc"]),
            (Some("a"), None, vec!["bc", ""]),
        ];
        let mut keys: Vec<_> = values.iter().map(hash).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), values.len());
    }
}
