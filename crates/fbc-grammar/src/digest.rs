//! SHA-256 digests, which identify contents and icons.

use std::fmt;

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
///
/// ```
/// use fbc_grammar::Digest;
///
/// let digest = Digest::new([0xab; 32]);
/// assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
/// assert_eq!(Digest::parse("sha256:ab"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps the 32 bytes of a computed digest.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses `sha256:` and 64 lower-case hexadecimal digits; any other text, also upper case,
    /// gives `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:")?.as_bytes();
        let mut bytes = [0; 32];
        if hex.len() != 64 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Formats the 64 lower-case hexadecimal digits without the algorithm, as used in file names.
    pub fn hex(&self) -> String {
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits
            .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
            .collect()
    }
}

fn digit(hex: u8) -> Option<u8> {
    match hex {
        b'0'..=b'9' => Some(hex - b'0'),
        b'a'..=b'f' => Some(hex - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_as_it_was_read() {
        let text = format!("sha256:{}", "0f".repeat(32));
        assert_eq!(Digest::parse(&text).unwrap().to_string(), text);
    }

    #[test]
    fn only_lower_case_sha256_of_full_length_is_a_digest() {
        for text in [
            "",
            "sha256:",
            "sha512:00",
            &format!("sha256:{}", "0F".repeat(32)),
            &"0f".repeat(32),
        ] {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }
}
