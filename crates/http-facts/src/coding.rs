//! Content codings of HTTP: what they are called, which a client accepts, and how bytes are compressed with them.
//!
//! It does not know who compresses what, or where the result is kept.

mod accept;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

pub use accept::parse_accept_encoding;

/// A content coding: RFC 9110 §8.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// zstd, RFC 8878.
    Zstd,
    /// gzip, RFC 1952.
    Gzip,
}

/// How much work it is worth to make the result small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionLevel {
    /// It is sent once.
    Fast,
    /// It is kept and sent often.
    Compact,
}

/// Bytes below which nothing is compressed: the result would hardly be smaller.
pub const MIN_ENCODED_BYTES: usize = 1024;

impl Coding {
    /// Every coding; the first is preferred.
    pub const ALL: [Self; 2] = [Self::Zstd, Self::Gzip];

    /// What HTTP calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Bytes compressed in memory.
    pub fn compress_to_vec(self, bytes: &[u8], effort: CompressionLevel) -> Vec<u8> {
        let mut compressed = Vec::with_capacity(bytes.len() / 4);
        self.compress(bytes, effort, &mut compressed).expect("a vector takes whatever is written");
        compressed
    }

    /// Compresses bytes.
    pub fn compress(self, bytes: &[u8], effort: CompressionLevel, to: impl Write) -> io::Result<()> {
        match self {
            Self::Gzip => {
                let level = if effort == CompressionLevel::Fast { Compression::fast() } else { Compression::default() };
                let mut encoder = GzEncoder::new(to, level);
                encoder.write_all(bytes)?;
                encoder.finish()?.flush()
            }
            Self::Zstd => {
                let level = if effort == CompressionLevel::Fast { 1 } else { 6 };
                let mut encoder = zstd::Encoder::new(to, level)?;
                encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
                encoder.write_all(bytes)?;
                encoder.finish()?.flush()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_is_compressed_can_be_read_again() {
        let bytes = b"{\"schema\":\"olm.package\"}\n".repeat(1000);
        for coding in Coding::ALL {
            for effort in [CompressionLevel::Fast, CompressionLevel::Compact] {
                let (mut small, mut again) = (Vec::new(), Vec::new());
                coding.compress(&bytes, effort, &mut small).unwrap();
                match coding {
                    Coding::Gzip => flate2::read::MultiGzDecoder::new(&*small).read_to_end(&mut again),
                    Coding::Zstd => zstd::Decoder::new(&*small).unwrap().read_to_end(&mut again),
                }
                .unwrap();
                assert_eq!((again == bytes, small.len() < bytes.len() / 20), (true, true), "{coding:?} {effort:?}");
            }
        }
    }
}
