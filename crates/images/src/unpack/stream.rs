//! The uncompressed bytes of one layer, checked against the limits and the digest. This module does
//! not parse archives.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use flate2::bufread::MultiGzDecoder;

use super::error::{io_error, read_error};
use super::{Layer, UnpackError, UnpackLimits};

/// Size in bytes of the buffers for a blob and for its uncompressed bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Binary logarithm of the maximum window of a zstd frame, which the decoder holds in memory: 128
/// MiB, like the limit of the zstd command.
pub const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// First bytes of a gzip stream.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// First bytes of a zstd frame.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bytes of a skippable zstd frame after its first byte, which is 0x50 to 0x5f.
const ZSTD_SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];
/// First bytes of compression formats that are not supported.
const UNSUPPORTED: [(&[u8], &str); 2] = [
    (b"BZh", "bzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
];

/// Size in bytes of the blocks of a tar archive.
const BLOCK: u64 = 512;

/// The uncompressed bytes of a layer.
pub(super) struct LayerStream<'a> {
    bytes: BufReader<Box<dyn Read + 'a>>,
    hash: Option<(DigestHasher, Digest)>,
    layer: u32,
    limits: &'a UnpackLimits,
    counters: &'a StreamCounters,
    /// Number of bytes of blobs that were read before this layer.
    blob_bytes_before: u64,
    /// Number of padding bytes that were added because the archive lacks them.
    padding: u64,
    /// Number of uncompressed bytes of this layer so far.
    uncompressed: u64,
}

/// Counters of the streams of all layers of an image, which are read one after the other.
#[derive(Debug, Default)]
pub(super) struct StreamCounters {
    /// Number of bytes that were read of all blobs.
    blob_bytes: Cell<u64>,
    /// Number of uncompressed bytes of the finished layers.
    uncompressed: Cell<u64>,
    /// Offset in the current layer at which the content of the last entry ends. The reader of the
    /// archive sets it.
    pub(super) content_end: Cell<u64>,
}

/// A blob that counts the bytes that are read of it.
struct CountingBlob<'a> {
    file: File,
    read: &'a Cell<u64>,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a> LayerStream<'a> {
    /// Opens a layer. `progress` is called with the number of bytes that were read of all blobs.
    pub(super) fn open(
        layer: &Layer,
        number: u32,
        limits: &'a UnpackLimits,
        counters: &'a StreamCounters,
        progress: &'a mut dyn FnMut(u64),
    ) -> Result<Self, UnpackError> {
        let file =
            File::open(&layer.blob).map_err(|source| io_error("open", &layer.blob, source))?;
        counters.content_end.set(0);
        let blob_bytes_before = counters.blob_bytes.get();
        let blob = BufReader::with_capacity(
            BUFFER_BYTES,
            CountingBlob {
                file,
                read: &counters.blob_bytes,
                progress,
            },
        );
        let bytes = decompress(blob, number)?;
        Ok(Self {
            bytes: BufReader::with_capacity(BUFFER_BYTES, bytes),
            hash: layer
                .diff_id
                .map(|expected| (DigestHasher::new(), expected)),
            layer: number,
            limits,
            counters,
            blob_bytes_before,
            padding: 0,
            uncompressed: 0,
        })
    }

    /// Reads the first bytes, up to the length of a buffer. Returns their number.
    pub(super) fn read_start(&mut self, buffer: &mut [u8]) -> Result<usize, UnpackError> {
        let mut length = 0;
        while length < buffer.len() {
            match self.read(&mut buffer[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(self.layer, error)),
            }
        }
        Ok(length)
    }

    /// Reads the rest of the layer like [`Self::finish`]. The archive must have its end: two blocks of
    /// zeros.
    pub(super) fn finish_with_end(self) -> Result<(), UnpackError> {
        let counters = self.counters;
        let before = counters.uncompressed.get();
        self.finish()?;
        let bytes = counters.uncompressed.get() - before;
        let end = counters.content_end.get().next_multiple_of(BLOCK);
        if bytes < end + 2 * BLOCK {
            return Err(UnpackError::NoEnd);
        }
        Ok(())
    }

    /// Reads the rest of the layer, which must be padding, and verifies the digest.
    pub(super) fn finish(mut self) -> Result<(), UnpackError> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match self.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) if buffer[..read].iter().all(|byte| *byte == 0) => {}
                // Some readers ignore data after the end of the archive and others read on: two tools
                // could see different catalogs.
                Ok(_) => return Err(UnpackError::TrailingData { layer: self.layer }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(self.layer, error)),
            }
        }
        if let Some((hash, expected)) = self.hash {
            let found = hash.finish();
            if found != expected {
                return Err(UnpackError::DigestMismatch {
                    layer: self.layer,
                    expected,
                    found,
                });
            }
        }
        let before = self.counters.uncompressed.get();
        self.counters.uncompressed.set(before + self.uncompressed);
        Ok(())
    }

    /// Pads the block of the last content, which some writers do not (`umoci insert` up to 0.4.7)
    /// and Go's reader does not require. An archive that ends in the middle of a content is not
    /// padded.
    fn pad(&mut self, buffer: &mut [u8]) -> usize {
        let at = self.uncompressed + self.padding;
        let content_end = self.counters.content_end.get();
        let missing = if at < content_end {
            0
        } else {
            content_end.next_multiple_of(BLOCK).saturating_sub(at)
        };
        let padding = buffer
            .len()
            .min(usize::try_from(missing).unwrap_or(usize::MAX));
        buffer[..padding].fill(0);
        self.padding += padding as u64;
        padding
    }

    /// Checks the bytes read so far against the limits.
    fn check(&self) -> Result<(), UnpackError> {
        let UnpackLimits {
            uncompressed,
            ratio,
            ratio_from,
            ..
        } = *self.limits;
        if self.counters.uncompressed.get() + self.uncompressed > uncompressed {
            return Err(UnpackError::TooManyUncompressed {
                layer: self.layer,
                limit: uncompressed,
            });
        }
        let blob = self.counters.blob_bytes.get() - self.blob_bytes_before;
        // Stops a decompression bomb long before the limit on all uncompressed bytes.
        if self.uncompressed > ratio_from && self.uncompressed > blob.saturating_mul(ratio) {
            return Err(UnpackError::RatioExceeded {
                layer: self.layer,
                limit: ratio,
            });
        }
        Ok(())
    }
}

impl Read for LayerStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        if read == 0 {
            return Ok(self.pad(buffer));
        }
        self.uncompressed += read as u64;
        self.check().map_err(io::Error::other)?;
        if let Some((hash, _)) = &mut self.hash {
            hash.update(&buffer[..read]);
        }
        Ok(read)
    }
}

impl Read for CountingBlob<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        (self.progress)(self.read.get());
        Ok(read)
    }
}

/// Decompresses a blob according to its first bytes.
fn decompress<'a>(
    mut blob: BufReader<CountingBlob<'a>>,
    layer: u32,
) -> Result<Box<dyn Read + 'a>, UnpackError> {
    let damaged = |source| read_error(layer, source);
    let start = blob.fill_buf().map_err(damaged)?;
    if let Some((_, coding)) = UNSUPPORTED
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
    {
        return Err(UnpackError::UnknownCoding { layer, coding });
    }
    let is_skippable =
        start.first().is_some_and(|byte| byte >> 4 == 5) && start[1..].starts_with(ZSTD_SKIPPABLE);
    if start.starts_with(GZIP) {
        return Ok(Box::new(MultiGzDecoder::new(blob)));
    }
    if start.starts_with(ZSTD) || is_skippable {
        let mut decoder = zstd::Decoder::with_buffer(blob).map_err(damaged)?;
        decoder
            .window_log_max(MAX_ZSTD_WINDOW_LOG)
            .map_err(damaged)?;
        return Ok(Box::new(decoder));
    }
    Ok(Box::new(blob))
}
