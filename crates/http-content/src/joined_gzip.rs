//! A gzip stream (RFC 1952) that is joined from pieces, of which some were compressed long before:
//! content that many responses share is compressed once.
//!
//! A piece is blocks of DEFLATE (RFC 1951) that end on a byte and refer to nothing before them, so
//! that pieces can follow each other in any order.

use flate2::{Compress, CompressError, Crc, FlushCompress};

use crate::coding::CompressionLevel;

/// Magic number, method, no flags, no time, nothing of the level, and an unknown system (RFC 1952
/// §2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// The last block of a stream, which is empty.
const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];

/// Maximum number of bytes of a block that is not compressed.
const STORED_BLOCK_BYTES: usize = 0xffff;

/// Capacity for the compressed form of the shortest piece, in bytes.
const MIN_ROOM: usize = 64;

/// Length and CRC-32 of a piece, which the trailer of the stream is computed from.
#[derive(Debug, Default)]
pub struct Checksum(Crc);

/// Compresses pieces. Its memory is bounded by the window of gzip, about 0.3 MiB, and the output.
pub struct PieceEncoder(Compress);

/// A gzip stream to which pieces are added.
pub struct JoinedGzip {
    checksum: Crc,
    output: Vec<u8>,
    encoder: PieceEncoder,
}

impl PieceEncoder {
    /// Creates an encoder.
    pub fn new(level: CompressionLevel) -> Self {
        Self(Compress::new(level.gzip(), false))
    }

    /// Compresses a piece.
    ///
    /// # Errors
    /// None in practice: compression into memory with a valid level does not fail.
    pub fn compress(&mut self, bytes: &[u8]) -> Result<(Vec<u8>, Checksum), CompressError> {
        // Refers to nothing before the piece.
        self.0.reset();
        let mut piece = Vec::with_capacity(bytes.len() / 4 + MIN_ROOM);
        loop {
            let taken = usize::try_from(self.0.total_in())
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            self.0
                .compress_vec(&bytes[taken..], &mut piece, FlushCompress::Sync)?;
            // The blocks have ended on a byte when there was room for more.
            if piece.len() < piece.capacity() {
                return Ok((piece, Checksum::from_bytes(bytes)));
            }
            piece.reserve(piece.len());
        }
    }
}

impl Checksum {
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(bytes);
        Self(crc)
    }
}

impl JoinedGzip {
    /// Begins a stream.
    pub fn new() -> Self {
        let encoder = PieceEncoder::new(CompressionLevel::Fast);
        Self {
            checksum: Crc::new(),
            output: HEADER.to_vec(),
            encoder,
        }
    }

    /// Adds bytes as they are.
    pub fn store(&mut self, bytes: &[u8]) {
        self.checksum.update(bytes);
        for block in bytes.chunks(STORED_BLOCK_BYTES) {
            let length = u16::try_from(block.len())
                .expect("a block is no longer")
                .to_le_bytes();
            let complement = length.map(|byte| !byte);
            self.output.push(0);
            self.output.extend_from_slice(&length);
            self.output.extend_from_slice(&complement);
            self.output.extend_from_slice(block);
        }
    }

    /// Compresses bytes, and adds them.
    ///
    /// # Errors
    /// As for [`PieceEncoder::compress`].
    pub fn compress(&mut self, bytes: &[u8]) -> Result<(), CompressError> {
        let (piece, checksum) = self.encoder.compress(bytes)?;
        self.output.extend_from_slice(&piece);
        self.checksum.combine(&checksum.0);
        Ok(())
    }

    /// Adds a compressed piece with this checksum. Returns the output before it; the caller sends
    /// that, and the piece next.
    pub fn follow(&mut self, piece: &Checksum) -> Vec<u8> {
        self.checksum.combine(&piece.0);
        self.take_output()
    }

    /// Returns the output since the last call.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Returns the number of bytes of output that were not taken.
    pub fn waiting(&self) -> usize {
        self.output.len()
    }

    /// Ends the stream and returns the rest of the output.
    pub fn finish(mut self) -> Vec<u8> {
        self.output.extend_from_slice(&LAST_BLOCK);
        self.output
            .extend_from_slice(&self.checksum.sum().to_le_bytes());
        self.output
            .extend_from_slice(&self.checksum.amount().to_le_bytes());
        self.output
    }
}

impl Default for JoinedGzip {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn pieces_in_any_order_are_one_stream_of_their_bytes() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut encoder = PieceEncoder::new(CompressionLevel::Compact);
        let plain: Vec<Vec<u8>> = [0, 1, 3, 70_000, 200_000, 1_000]
            .into_iter()
            .map(|length| (0..length).map(|_| random.u8(b'a'..b'e')).collect())
            .collect();
        let pieces: Vec<_> = plain
            .iter()
            .map(|bytes| encoder.compress(bytes).unwrap())
            .collect();
        for _ in 0..50 {
            let mut stream = JoinedGzip::new();
            let mut sent = Vec::new();
            let mut expected = Vec::new();
            for _ in 0..random.usize(0..8) {
                let at = random.usize(0..plain.len());
                expected.extend_from_slice(&plain[at]);
                match random.u8(0..3) {
                    0 => stream.store(&plain[at]),
                    1 => stream.compress(&plain[at]).unwrap(),
                    _ => {
                        sent.extend(stream.follow(&pieces[at].1));
                        sent.extend_from_slice(&pieces[at].0);
                    }
                }
            }
            sent.extend(stream.finish());
            let mut decoder = GzDecoder::new(&sent[..]);
            let mut unpacked = Vec::new();
            decoder.read_to_end(&mut unpacked).unwrap();
            assert!(
                unpacked == expected,
                "{} bytes for {}",
                unpacked.len(),
                expected.len()
            );
            assert!(
                decoder.into_inner().is_empty(),
                "nothing follows the stream"
            );
        }
    }

    #[test]
    fn a_piece_is_about_as_small_as_a_stream_of_its_own() {
        let bytes = b"{\"schema\":\"olm.package\"}\n".repeat(10_000);
        let alone = crate::coding::Coding::Gzip.compress_to_vec(&bytes, CompressionLevel::Compact);
        let (piece, _) = PieceEncoder::new(CompressionLevel::Compact)
            .compress(&bytes)
            .unwrap();
        assert!(
            piece.len() < alone.len() + 20,
            "{} and {}",
            piece.len(),
            alone.len()
        );
    }
}
