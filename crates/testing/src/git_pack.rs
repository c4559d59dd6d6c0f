//! Packs of git written object by object, including malformed ones that git would not write.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1_checked::{Digest as _, Sha1};

/// Codes of objects that are stored whole, and of deltas.
const BLOB: u8 = 3;
const DELTA_BY_OFFSET: u8 = 6;
const DELTA_BY_ID: u8 = 7;

/// A pack under construction.
#[derive(Clone, Debug)]
pub struct GitPack {
    bytes: Vec<u8>,
    objects: u32,
}

impl Default for GitPack {
    fn default() -> Self {
        Self {
            bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(),
            objects: 0,
        }
    }
}

impl GitPack {
    /// Appends an object whose head has this code and claims this length, and returns its offset.
    /// `base` stands between the head and the compressed data.
    pub fn object(&mut self, code: u8, length: u64, base: &[u8], data: &[u8]) -> u64 {
        let start = self.bytes.len() as u64;
        let mut byte = (code & 7) << 4 | low_bits(length, 4);
        let mut rest = length >> 4;
        while rest > 0 {
            self.bytes.push(byte | 0x80);
            byte = low_bits(rest, 7);
            rest >>= 7;
        }
        self.bytes.push(byte);
        self.bytes.extend_from_slice(base);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).expect("memory can be written");
        self.bytes
            .extend(encoder.finish().expect("memory can be written"));
        self.objects += 1;
        start
    }

    /// Appends a blob, and returns its offset.
    pub fn blob(&mut self, data: &[u8]) -> u64 {
        self.object(BLOB, data.len() as u64, b"", data)
    }

    /// Appends a delta of the object at an offset, and returns its own offset.
    pub fn delta(&mut self, base: u64, delta: &[u8]) -> u64 {
        let mut distance = self.bytes.len() as u64 - base;
        let mut bytes = vec![low_bits(distance, 7)];
        while distance > 0x7f {
            distance = (distance >> 7) - 1;
            bytes.insert(0, low_bits(distance, 7) | 0x80);
        }
        self.object(DELTA_BY_OFFSET, delta.len() as u64, &bytes, delta)
    }

    /// Appends a delta of the object with an id, and returns its offset.
    pub fn delta_by_id(&mut self, base: [u8; 20], delta: &[u8]) -> u64 {
        self.object(DELTA_BY_ID, delta.len() as u64, &base, delta)
    }

    /// Returns the pack, with the number of its objects and its hash.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes[8..12].copy_from_slice(&self.objects.to_be_bytes());
        Self::seal(self.bytes)
    }

    /// Appends the hash to the bytes of a pack.
    #[must_use]
    pub fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
        let hash = Sha1::digest(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }

    /// Returns the id of an object.
    #[must_use]
    pub fn id(kind: &str, data: &[u8]) -> [u8; 20] {
        let head = format!("{kind} {}\0", data.len());
        Sha1::digest([head.as_bytes(), data].concat()).into()
    }
}

fn low_bits(number: u64, bits: u32) -> u8 {
    u8::try_from(number & ((1 << bits) - 1)).expect("at most 7 bits are taken")
}
