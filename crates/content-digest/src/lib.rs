//! SHA-256 digests of contents, layers and blobs: of bytes that are long.

use aws_lc_rs::digest::{self, Context, SHA256};
use fbc_grammar::Digest;

/// Hashes bytes that come piece by piece.
///
/// ```
/// use content_digest::{DigestHasher, digest};
///
/// let mut hasher = DigestHasher::new();
/// hasher.update(b"et");
/// hasher.update(b"cd");
/// assert_eq!(hasher.finish(), digest(b"etcd"));
/// ```
// AWS-LC instead of the crate sha2: a CPU without instructions for SHA-256 hashes 2.5 times as many
// bytes in a second, and half of the time of reading a catalog was hashing.
#[derive(Clone)]
pub struct DigestHasher(Context);

impl DigestHasher {
    /// Creates a hasher of no bytes.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Appends bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes.
    pub fn finish(self) -> Digest {
        wrap(self.0.finish())
    }
}

impl Default for DigestHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for DigestHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DigestHasher").finish_non_exhaustive()
    }
}

/// Returns the digest of bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    wrap(digest::digest(&SHA256, bytes))
}

fn wrap(hash: digest::Digest) -> Digest {
    let bytes = hash.as_ref().try_into();
    Digest::new(bytes.expect("SHA-256 has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc").hex(), expected);

        let mut hasher = DigestHasher::default();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish().hex(), expected);
        assert_eq!(
            DigestHasher::new().finish().hex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
