//! Content codings (RFC 9110 §8.4.1): their names, compression in one piece or in steps, and
//! decompression.
//!
//! This module does not decide what is compressed, and does not store the result.

use std::io::{self, Read, Write};
use std::mem;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// A content coding that responses may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// Zstandard (RFC 8878).
    Zstd,
    /// gzip (RFC 1952).
    Gzip,
}

/// The trade-off between the time that compression takes and the size of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionLevel {
    /// For a response that is sent once.
    Fast,
    /// For a result that is stored and sent often.
    Compact,
}

/// Responses shorter than this many bytes are not compressed, because the result would hardly be
/// smaller.
pub const MIN_ENCODED_BYTES: usize = 1024;

/// Compresses a representation in steps. Equal steps give equal bytes; the output of gzip also
/// depends on where one step ends and the next begins. Its memory is bounded by the coding's window
/// (about 1 MiB for zstd, 0.3 MiB for gzip) plus the output that was not taken.
pub struct StreamEncoder(CodingEncoder);

enum CodingEncoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::Encoder<'static, Vec<u8>>),
}

impl Coding {
    /// All supported codings, in the server's order of preference.
    pub const ALL: [Self; 2] = [Self::Zstd, Self::Gzip];

    /// Returns the name of the coding in `Accept-Encoding` and `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Compresses bytes into memory.
    pub fn compress_to_vec(self, bytes: &[u8], level: CompressionLevel) -> Vec<u8> {
        let mut compressed = Vec::with_capacity(bytes.len() / 4);
        self.compress(bytes, level, &mut compressed)
            .expect("writing to a vector does not fail");
        compressed
    }

    /// Decompresses what is read into a writer.
    pub fn decompress(self, from: impl Read, mut to: impl Write) -> io::Result<()> {
        match self {
            Self::Gzip => io::copy(&mut MultiGzDecoder::new(from), &mut to)?,
            Self::Zstd => io::copy(&mut zstd::Decoder::new(from)?, &mut to)?,
        };
        Ok(())
    }

    /// Compresses bytes into a writer.
    pub fn compress(self, bytes: &[u8], level: CompressionLevel, to: impl Write) -> io::Result<()> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(to, level.gzip());
                encoder.write_all(bytes)?;
                encoder.finish()?.flush()
            }
            Self::Zstd => {
                let mut encoder = zstd::Encoder::new(to, level.zstd())?;
                encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
                encoder.write_all(bytes)?;
                encoder.finish()?.flush()
            }
        }
    }
}

impl CompressionLevel {
    pub(crate) fn gzip(self) -> Compression {
        match self {
            Self::Fast => Compression::fast(),
            // zlib-rs' level 6 is 3 to 13 % larger than Go's default, which catalogd sends; level 7
            // is as small or smaller, and takes a fifth to a half longer.
            Self::Compact => Compression::new(7),
        }
    }

    fn zstd(self) -> i32 {
        match self {
            Self::Fast => 1,
            Self::Compact => 6,
        }
    }
}

impl StreamEncoder {
    /// Creates an encoder.
    pub fn new(coding: Coding, level: CompressionLevel) -> io::Result<Self> {
        Ok(Self(match coding {
            Coding::Gzip => CodingEncoder::Gzip(GzEncoder::new(Vec::new(), level.gzip())),
            Coding::Zstd => CodingEncoder::Zstd(zstd::Encoder::new(Vec::new(), level.zstd())?),
        }))
    }

    /// Compresses the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            CodingEncoder::Gzip(encoder) => encoder.write_all(bytes),
            CodingEncoder::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Returns the output since the last call. It may be empty, because encoders hold output back
    /// to compress better.
    pub fn take_output(&mut self) -> Vec<u8> {
        mem::take(match &mut self.0 {
            CodingEncoder::Gzip(encoder) => encoder.get_mut(),
            CodingEncoder::Zstd(encoder) => encoder.get_mut(),
        })
    }

    /// Ends the stream and returns the rest of the output.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self.0 {
            CodingEncoder::Gzip(encoder) => encoder.finish(),
            CodingEncoder::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decompress(coding: Coding, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        coding.decompress(bytes, &mut plain).unwrap();
        plain
    }

    #[test]
    fn what_is_compressed_can_be_read_again() {
        let bytes = b"{\"schema\":\"olm.package\"}\n".repeat(1000);
        for coding in Coding::ALL {
            for level in [CompressionLevel::Fast, CompressionLevel::Compact] {
                let small = coding.compress_to_vec(&bytes, level);
                let is_same = decompress(coding, &small) == bytes;
                assert_eq!(
                    (is_same, small.len() < bytes.len() / 20),
                    (true, true),
                    "{coding:?} {level:?}"
                );
            }
        }
    }

    #[test]
    fn a_compact_text_is_smaller_than_one_that_is_compressed_fast() {
        let text = include_str!("../../../schema.graphql");
        for coding in Coding::ALL {
            let length = |level| coding.compress_to_vec(text.as_bytes(), level).len();
            let fast = length(CompressionLevel::Fast);
            let compact = length(CompressionLevel::Compact);
            assert!(compact < fast, "{coding:?}: {compact} and {fast}");
        }
    }

    #[test]
    fn compression_in_steps_gives_output_before_its_end() {
        let mut random = fastrand::Rng::with_seed(1);
        let bytes: Vec<u8> = (0..1_000_000).map(|_| random.u8(..)).collect();
        for coding in Coding::ALL {
            let mut encoder = StreamEncoder::new(coding, CompressionLevel::Fast).unwrap();
            encoder.write(&bytes).unwrap();
            let taken = encoder.take_output().len();
            let rest = encoder.finish().unwrap().len();
            assert!(rest < bytes.len() / 4, "{coding:?}: {taken}, then {rest}");
        }
    }

    #[test]
    fn compression_in_steps_can_be_read_again_and_equal_steps_give_equal_bytes() {
        let mut random = fastrand::Rng::with_seed(1);
        let bytes: Vec<u8> = (0..300_000).map(|_| random.u8(b'a'..b'e')).collect();
        let compress = |coding, step| {
            let mut encoder = StreamEncoder::new(coding, CompressionLevel::Fast).unwrap();
            let mut output = Vec::new();
            for part in bytes.chunks(step) {
                encoder.write(part).unwrap();
                output.extend(encoder.take_output());
            }
            output.extend(encoder.finish().unwrap());
            output
        };
        for (coding, step) in Coding::ALL
            .into_iter()
            .flat_map(|coding| [(coding, 64 * 1024), (coding, 1000)])
        {
            let output = compress(coding, step);
            assert!(decompress(coding, &output) == bytes, "{coding:?} {step}");
            assert!(
                compress(coding, step) == output,
                "{coding:?} {step}: a strong entity tag names the same bytes"
            );
        }
    }
}
