//! Limits of a file that is read.

/// Limits of a file. A file beyond one of them is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Maximum size of a blob in bytes: of its text, including what precedes it after the previous
    /// blob, and of its line.
    pub blob_bytes: usize,
    /// Maximum nesting depth of collections, including the blob itself.
    pub depth: usize,
    /// Maximum number of members of all open objects together: they are held until their object
    /// ends, to be sorted, at about 100 bytes each.
    pub members: usize,
    /// Maximum number of the characters `,[]{}:?*&!"'#` in a YAML document, plus one for each
    /// [`BYTES_PER_INDICATOR`](super::BYTES_PER_INDICATOR) of it. They bound the tokens, of which the parser may hold all of a
    /// flow collection at once, at about 200 bytes each.
    pub indicators: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            blob_bytes: 32 * 1024 * 1024,
            // Upstream's, of both its decoders.
            depth: 10_000,
            members: 1_000_000,
            indicators: 100_000,
        }
    }
}
