//! The uncompressed bytes of one layer: counted, held to the limits and checked against their digest. It does not know
//! what an archive is.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use fbc::Digest;
use flate2::bufread::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use super::error::{io_error, reading};
use super::{Layer, UnpackError, UnpackLimits};

/// How many bytes are read at once, of a blob and of what it is uncompressed to.
const BUFFER: usize = 64 * 1024;

/// How far a zstd frame may refer back, as a power of two: 128 MiB, which the decoder holds in memory. zstd's own
/// programs refuse more as well.
pub const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// What a blob begins with, by how it is compressed.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// A frame that zstd skips; its first byte is 0x50 to 0x5f.
const ZSTD_SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];
const UNKNOWN: [(&[u8], &str); 2] = [(b"BZh", "bzip2"), (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz")];

/// What the parts of an archive are multiples of.
const BLOCK: u64 = 512;

/// A layer that is being read.
pub(super) struct Stream<'a> {
    bytes: BufReader<Box<dyn Read + 'a>>,
    hash: Option<(Sha256, Digest)>,
    layer: u32,
    limits: &'a UnpackLimits,
    /// Bytes of all blobs so far, and what it was when this layer began.
    read: &'a Cell<u64>,
    read_before: u64,
    /// Where the contents end that its headers told of so far.
    contents: &'a Cell<u64>,
    /// Bytes that were made up because the archive lacks them.
    padding: u64,
    /// Uncompressed bytes of this layer so far, and of the layers before it.
    uncompressed: u64,
    before: u64,
}

/// A blob that says how much of it was read.
struct Blob<'a> {
    file: File,
    read: &'a Cell<u64>,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a> Stream<'a> {
    /// Opens a layer, of which earlier ones had so many uncompressed bytes.
    pub(super) fn open(
        layer: &Layer,
        number: u32,
        limits: &'a UnpackLimits,
        before: u64,
        read: &'a Cell<u64>,
        contents: &'a Cell<u64>,
        progress: &'a mut dyn FnMut(u64),
    ) -> Result<Self, UnpackError> {
        let file = File::open(&layer.blob).map_err(|source| io_error("open", &layer.blob, source))?;
        let read_before = read.get();
        let blob = BufReader::with_capacity(BUFFER, Blob { file, read, progress });
        let bytes = uncompressed(blob, number)?;
        Ok(Self {
            bytes: BufReader::with_capacity(BUFFER, bytes),
            hash: layer.diff_id.map(|expected| (Sha256::new(), expected)),
            layer: number,
            limits,
            read,
            read_before,
            contents,
            padding: 0,
            uncompressed: 0,
            before,
        })
    }

    /// Reads what follows the archive, which is nothing but padding, and checks the whole. Says how many bytes all
    /// layers have so far.
    pub(super) fn finish(mut self) -> Result<u64, UnpackError> {
        let mut room = vec![0; BUFFER];
        loop {
            match self.read(&mut room) {
                Ok(0) => break,
                Ok(read) if room[..read].iter().all(|byte| *byte == 0) => {}
                Ok(_) => return Err(UnpackError::TrailingData { layer: self.layer }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(reading(self.layer, error)),
            }
        }
        if let Some((hash, expected)) = self.hash {
            let found = Digest::new(hash.finalize().into());
            if found != expected {
                return Err(UnpackError::DigestMismatch { layer: self.layer, expected, found });
            }
        }
        Ok(self.before + self.uncompressed)
    }

    /// Fills up the block of the last content, which some writers leave as it is (`umoci insert` up to 0.4.7): whoever
    /// reads archives as Go does takes it for whole. What ends within a content is not filled up.
    fn pad(&mut self, room: &mut [u8]) -> usize {
        let (at, contents) = (self.uncompressed + self.padding, self.contents.get());
        let missing = if at < contents { 0 } else { contents.next_multiple_of(BLOCK).saturating_sub(at) };
        let padding = room.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
        room[..padding].fill(0);
        self.padding += padding as u64;
        padding
    }

    fn check(&self) -> Result<(), UnpackError> {
        let UnpackLimits { uncompressed, ratio, ratio_from, .. } = *self.limits;
        if self.before + self.uncompressed > uncompressed {
            return Err(UnpackError::TooManyUncompressed { layer: self.layer, limit: uncompressed });
        }
        let blob = self.read.get() - self.read_before;
        if self.uncompressed > ratio_from && self.uncompressed > blob.saturating_mul(ratio) {
            return Err(UnpackError::RatioExceeded { layer: self.layer, limit: ratio });
        }
        Ok(())
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(room)?;
        if read == 0 {
            return Ok(self.pad(room));
        }
        self.uncompressed += read as u64;
        self.check().map_err(io::Error::other)?;
        if let Some((hash, _)) = &mut self.hash {
            hash.update(&room[..read]);
        }
        Ok(read)
    }
}

impl Read for Blob<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(room)?;
        self.read.set(self.read.get() + read as u64);
        (self.progress)(self.read.get());
        Ok(read)
    }
}

/// Uncompresses a blob as its first bytes say.
fn uncompressed<'a>(mut blob: BufReader<Blob<'a>>, layer: u32) -> Result<Box<dyn Read + 'a>, UnpackError> {
    let damaged = |source| reading(layer, source);
    let start = blob.fill_buf().map_err(damaged)?;
    if let Some((_, coding)) = UNKNOWN.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Err(UnpackError::UnknownCoding { layer, coding });
    }
    let is_skippable = start.first().is_some_and(|byte| byte >> 4 == 5) && start[1..].starts_with(ZSTD_SKIPPABLE);
    if start.starts_with(GZIP) {
        return Ok(Box::new(MultiGzDecoder::new(blob)));
    }
    if start.starts_with(ZSTD) || is_skippable {
        let mut decoder = zstd::Decoder::with_buffer(blob).map_err(damaged)?;
        decoder.window_log_max(MAX_ZSTD_WINDOW_LOG).map_err(damaged)?;
        return Ok(Box::new(decoder));
    }
    Ok(Box::new(blob))
}
