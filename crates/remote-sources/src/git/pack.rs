//! Packs: files with the objects that a server sends, many of them as deltas of others.
//!
//! A pack is read twice: from its start to its end, to check its hash and to find its objects, and
//! along the chains of its deltas, to learn their ids. Only objects on one such chain are in memory.
//! Each length is compared with its limit before memory is allocated for it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::ZlibDecoder;
use sha1_checked::{Digest as _, Sha1};

use super::delta;
use super::object::{ObjectHasher, ObjectId, ObjectKind};
use crate::{
    GitReason, MAX_DELTA_DEPTH, MAX_DELTA_MEMORY_BYTES, MAX_DELTA_OBJECT_BYTES, MAX_OBJECTS_BYTES,
    MAX_PACK_BYTES, MAX_PACK_OBJECTS, MAX_READ_BYTES, MAX_STRUCTURE_BYTES,
};

/// First bytes of a pack, and its only version.
const MAGIC: &[u8] = b"PACK\0\0\0\x02";

/// Number of bytes of the hash at the end of a pack.
const TRAILER_BYTES: usize = 20;

/// Number of bytes that are read at one time.
const BUFFER_BYTES: usize = 32 * 1024;

/// Number of bytes that are decompressed at one time.
const DATA_BYTES: usize = 8 * 1024;

/// A pack whose objects are known by their ids.
#[derive(Debug)]
pub(super) struct Pack {
    file: File,
    limits: PackLimits,
    objects: Vec<PackedObject>,
    ids: HashMap<ObjectId, u32>,
    /// Number of bytes that were decompressed or made of deltas since the pack was opened.
    read: AtomicU64,
}

/// Limits of a pack. A pack that exceeds one is refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackLimits {
    /// Maximum length in bytes of the file.
    pub(super) bytes: u64,
    /// Maximum number of objects.
    pub(super) objects: u32,
    /// Maximum number of bytes of all objects, and of the deltas that some are stored as.
    pub(super) objects_bytes: u64,
    /// Maximum number of deltas on a chain.
    pub(super) delta_depth: usize,
    /// Maximum length in bytes of a delta, its base and its result.
    pub(super) delta_object_bytes: u64,
    /// Maximum number of bytes of bases that are held in memory at one time.
    pub(super) delta_memory_bytes: u64,
    /// Maximum length in bytes of a commit, a tag or a tree.
    pub(super) structure_bytes: u64,
    /// Maximum number of bytes that reading the objects makes.
    pub(super) read_bytes: u64,
}

/// An object of a pack.
#[derive(Clone, Copy, Debug)]
struct PackedObject {
    /// Offset of the object in the file.
    start: u64,
    /// Offset of its compressed data.
    data: u64,
    /// Length of the data in bytes, decompressed.
    bytes: u64,
    form: ObjectForm,
}

/// The form in which an object is stored.
#[derive(Clone, Copy, Debug)]
enum ObjectForm {
    Whole(ObjectKind),
    /// A delta of the object at this position in the pack.
    Delta(u32),
    /// A delta of an object whose position is not known yet.
    Unresolved,
}

/// The deltas of a pack, by their bases.
#[derive(Default)]
struct Deltas {
    by_position: HashMap<u32, Vec<u32>>,
    by_id: HashMap<ObjectId, Vec<u32>>,
}

/// An object on a chain, with its deltas that are still to be applied.
struct ChainLink {
    position: u32,
    /// Number of deltas from the object that is none.
    depth: usize,
    data: Vec<u8>,
    deltas: Vec<u32>,
}

/// Reads a pack from its start to its end, and hashes what is read.
struct PackReader<'f> {
    inner: BufReader<FileReader<'f>>,
    hash: Sha1,
    offset: u64,
}

/// Reads a file from an offset on. Several can read one file at the same time.
struct FileReader<'f> {
    file: &'f File,
    offset: u64,
}

/// The head of an object.
struct ObjectHead {
    code: u8,
    bytes: u64,
}

impl Default for PackLimits {
    fn default() -> Self {
        Self {
            bytes: MAX_PACK_BYTES,
            objects: MAX_PACK_OBJECTS,
            objects_bytes: MAX_OBJECTS_BYTES,
            delta_depth: MAX_DELTA_DEPTH,
            delta_object_bytes: MAX_DELTA_OBJECT_BYTES,
            delta_memory_bytes: MAX_DELTA_MEMORY_BYTES,
            structure_bytes: MAX_STRUCTURE_BYTES,
            read_bytes: MAX_READ_BYTES,
        }
    }
}

impl Pack {
    /// Reads the pack that begins at an offset of a file and ends with it.
    pub(super) fn open(file: File, offset: u64, limits: PackLimits) -> Result<Self, GitReason> {
        if file.metadata()?.len().saturating_sub(offset) > limits.bytes {
            return Err(GitReason::PackTooLarge(limits.bytes));
        }
        let mut pack = Self {
            file,
            limits,
            objects: Vec::new(),
            ids: HashMap::new(),
            read: AtomicU64::new(0),
        };
        let mut bytes = 0;
        let deltas = pack.scan(offset, &mut bytes)?;
        pack.resolve(deltas, &mut bytes)?;
        Ok(pack)
    }

    /// Returns the ids of all objects with their positions.
    pub(super) fn ids(&self) -> impl Iterator<Item = (ObjectId, u32)> {
        self.ids.iter().map(|(id, position)| (*id, *position))
    }

    /// Returns the position of an object.
    pub(super) fn find(&self, id: ObjectId) -> Option<u32> {
        self.ids.get(&id).copied()
    }

    /// Returns the kind of the object at a position.
    pub(super) fn kind(&self, position: u32) -> ObjectKind {
        self.chain(position).1
    }

    /// Reads a commit, a tag or a tree.
    pub(super) fn structure(&self, position: u32) -> Result<Vec<u8>, GitReason> {
        let (bytes, mut content) = self.content(position)?;
        let limit = self.limits.structure_bytes;
        if bytes > limit {
            return Err(GitReason::StructureTooLarge {
                kind: self.kind(position).name(),
                bytes,
                limit,
            });
        }
        let mut data = Vec::new();
        content.read_to_end(&mut data)?;
        Ok(data)
    }

    /// Returns the length in bytes and the data of an object.
    pub(super) fn content(&self, position: u32) -> Result<(u64, Box<dyn Read + '_>), GitReason> {
        let (chain, _) = self.chain(position);
        let base = self.object(chain[chain.len() - 1]);
        if chain.len() == 1 {
            self.count_read(base.bytes)?;
            return Ok((base.bytes, Box::new(self.decoder(base).take(base.bytes))));
        }
        let mut data = self.inflate(chain[chain.len() - 1])?;
        for delta in chain.iter().rev().skip(1) {
            data = self.apply(&data, *delta)?;
        }
        Ok((data.len() as u64, Box::new(Cursor::new(data))))
    }

    /// Applies the delta at a position to its base.
    fn apply(&self, base: &[u8], position: u32) -> Result<Vec<u8>, GitReason> {
        let data = delta::apply(
            base,
            &self.inflate(position)?,
            self.limits.delta_object_bytes,
        )?;
        self.count_read(data.len() as u64)?;
        Ok(data)
    }

    /// Counts bytes that are decompressed or made of a delta.
    fn count_read(&self, bytes: u64) -> Result<(), GitReason> {
        let read = self.read.fetch_add(bytes, Ordering::Relaxed);
        let limit = self.limits.read_bytes;
        if read.saturating_add(bytes) > limit {
            return Err(GitReason::TooManyBytesRead(limit));
        }
        Ok(())
    }

    /// Returns an object with the bases that it is made of, and its kind. Each base is nearer to its
    /// own end of the chain, so that no chain is a circle.
    fn chain(&self, position: u32) -> (Vec<u32>, ObjectKind) {
        let mut chain = vec![position];
        loop {
            match self.object(chain[chain.len() - 1]).form {
                ObjectForm::Delta(base) => chain.push(base),
                ObjectForm::Whole(kind) => return (chain, kind),
                // A pack with such an object is refused.
                ObjectForm::Unresolved => return (chain, ObjectKind::Blob),
            }
        }
    }

    fn object(&self, position: u32) -> PackedObject {
        self.objects[position as usize]
    }

    fn decoder(&self, object: PackedObject) -> ZlibDecoder<BufReader<FileReader<'_>>> {
        ZlibDecoder::new(BufReader::with_capacity(
            BUFFER_BYTES,
            FileReader {
                file: &self.file,
                offset: object.data,
            },
        ))
    }

    /// Decompresses the data of an object: its own, or those of its delta.
    fn inflate(&self, position: u32) -> Result<Vec<u8>, GitReason> {
        let object = self.object(position);
        let limit = self.limits.delta_object_bytes;
        if object.bytes > limit {
            return Err(GitReason::ObjectTooLarge {
                bytes: object.bytes,
                limit,
            });
        }
        self.count_read(object.bytes)?;
        let mut data = Vec::with_capacity(usize::try_from(object.bytes).unwrap_or_default());
        self.decoder(object)
            .take(object.bytes)
            .read_to_end(&mut data)?;
        Ok(data)
    }

    /// Finds all objects, and the ids of those that are not deltas. Adds up their bytes.
    fn scan(&mut self, offset: u64, bytes: &mut u64) -> Result<Deltas, GitReason> {
        let file = self.file.try_clone()?;
        let mut reader = PackReader::new(&file, offset);
        if reader.array::<8>()? != MAGIC {
            return Err(GitReason::Damaged(
                "it does not begin as a pack of version 2",
            ));
        }
        let objects = u32::from_be_bytes(reader.array()?);
        let limit = self.limits.objects;
        if objects > limit {
            return Err(GitReason::TooManyObjects { objects, limit });
        }
        let mut deltas = Deltas::default();
        for position in 0..objects {
            let start = reader.offset;
            let head = reader.object_head()?;
            self.add_bytes(bytes, head.bytes)?;
            let form = match head.code {
                1 => ObjectForm::Whole(ObjectKind::Commit),
                2 => ObjectForm::Whole(ObjectKind::Tree),
                3 => ObjectForm::Whole(ObjectKind::Blob),
                4 => ObjectForm::Whole(ObjectKind::Tag),
                6 => {
                    let base = start.checked_sub(reader.distance()?);
                    let base = base.and_then(|base| self.at(base));
                    let base =
                        base.ok_or(GitReason::Damaged("the base of a delta is no object"))?;
                    deltas.by_position.entry(base).or_default().push(position);
                    ObjectForm::Delta(base)
                }
                7 => {
                    let base = ObjectId::from_bytes(&reader.array::<20>()?);
                    let base = base.ok_or(GitReason::Damaged("an id has another length"))?;
                    deltas.by_id.entry(base).or_default().push(position);
                    ObjectForm::Unresolved
                }
                _ => return Err(GitReason::Damaged("an object is of an unknown kind")),
            };
            let data = reader.offset;
            let id = reader.skip_data(form, head.bytes)?;
            self.objects.push(PackedObject {
                start,
                data,
                bytes: head.bytes,
                form,
            });
            if let Some(id) = id {
                self.insert(id, position)?;
            }
        }
        reader.finish()?;
        Ok(deltas)
    }

    fn insert(&mut self, id: ObjectId, position: u32) -> Result<(), GitReason> {
        match self.ids.insert(id, position) {
            Some(_) => Err(GitReason::Damaged("an object occurs twice")),
            None => Ok(()),
        }
    }

    /// Adds to the number of bytes of all objects.
    fn add_bytes(&self, bytes: &mut u64, more: u64) -> Result<(), GitReason> {
        *bytes = bytes.saturating_add(more);
        let limit = self.limits.objects_bytes;
        if *bytes > limit {
            return Err(GitReason::TooManyBytes(limit));
        }
        Ok(())
    }

    /// Returns the position of the object that starts at an offset.
    fn at(&self, start: u64) -> Option<u32> {
        let found = self
            .objects
            .binary_search_by_key(&start, |object| object.start);
        u32::try_from(found.ok()?).ok()
    }

    /// Applies all deltas, from their bases on, to find the ids of their objects.
    fn resolve(&mut self, mut deltas: Deltas, bytes: &mut u64) -> Result<(), GitReason> {
        let mut whole: Vec<_> = self.ids.iter().map(|(id, at)| (*at, *id)).collect();
        whole.sort_unstable();
        for (position, id) in whole {
            let found = deltas.take(position, id);
            if !found.is_empty() {
                self.resolve_chain(position, found, &mut deltas, bytes)?;
            }
        }
        match deltas.by_id.keys().next() {
            Some(base) => Err(GitReason::Missing(base.to_string())),
            None => Ok(()),
        }
    }

    /// Applies the deltas of one object, those of the results, and so on.
    fn resolve_chain(
        &mut self,
        base: u32,
        found: Vec<u32>,
        deltas: &mut Deltas,
        bytes: &mut u64,
    ) -> Result<(), GitReason> {
        let kind = self.kind(base);
        let data = self.inflate(base)?;
        let mut held = data.len() as u64;
        let mut chain = vec![ChainLink {
            position: base,
            depth: 0,
            data,
            deltas: found,
        }];
        while let Some(link) = chain.last_mut() {
            let Some(position) = link.deltas.pop() else {
                break;
            };
            let depth = link.depth + 1;
            if depth > self.limits.delta_depth {
                return Err(GitReason::DeltaTooDeep(self.limits.delta_depth));
            }
            let data = self.apply(&link.data, position)?;
            self.add_bytes(bytes, data.len() as u64)?;
            let id = ObjectHasher::hash(kind, &data)?;
            self.insert(id, position)?;
            self.objects[position as usize].form = ObjectForm::Delta(link.position);

            // The data of an object without further deltas are of no more use: a long chain holds
            // only its last objects.
            if link.deltas.is_empty() {
                held = held.saturating_sub(link.data.len() as u64);
                chain.pop();
            }
            let deltas = deltas.take(position, id);
            if !deltas.is_empty() {
                held += data.len() as u64;
                let limit = self.limits.delta_memory_bytes;
                if held > limit {
                    return Err(GitReason::DeltaMemory(limit));
                }
                chain.push(ChainLink {
                    position,
                    depth,
                    data,
                    deltas,
                });
            }
        }
        Ok(())
    }
}

impl Deltas {
    /// Removes the deltas of an object, and returns their positions.
    fn take(&mut self, position: u32, id: ObjectId) -> Vec<u32> {
        let mut found = self.by_position.remove(&position).unwrap_or_default();
        found.extend(self.by_id.remove(&id).unwrap_or_default());
        found
    }
}

impl<'f> PackReader<'f> {
    fn new(file: &'f File, offset: u64) -> Self {
        Self {
            inner: BufReader::with_capacity(BUFFER_BYTES, FileReader { file, offset }),
            hash: Sha1::new(),
            offset,
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], GitReason> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes).map_err(cut_off)?;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, GitReason> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// Reads the kind and the length of an object: four bits in the first byte, seven in the others.
    fn object_head(&mut self) -> Result<ObjectHead, GitReason> {
        let first = self.byte()?;
        let mut bytes = u64::from(first & 0x0f);
        let mut more = first & 0x80 != 0;
        let mut shift = 4;
        while more {
            if shift > 53 {
                return Err(GitReason::Damaged("the length of an object is too long"));
            }
            let byte = self.byte()?;
            bytes |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            more = byte & 0x80 != 0;
        }
        Ok(ObjectHead {
            code: first >> 4 & 7,
            bytes,
        })
    }

    /// Reads the distance of a delta to its base: seven bits in each byte, highest first, each but
    /// the last one more than it says.
    fn distance(&mut self) -> Result<u64, GitReason> {
        let mut byte = self.byte()?;
        let mut distance = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            if distance > MAX_PACK_BYTES {
                return Err(GitReason::Damaged("the base of a delta is no object"));
            }
            byte = self.byte()?;
            distance = (distance + 1) << 7 | u64::from(byte & 0x7f);
        }
        Ok(distance)
    }

    /// Reads the data of an object, and returns the id if it is no delta.
    fn skip_data(&mut self, form: ObjectForm, bytes: u64) -> Result<Option<ObjectId>, GitReason> {
        let mut hasher = match form {
            ObjectForm::Whole(kind) => Some(ObjectHasher::new(kind, bytes)),
            ObjectForm::Delta(_) | ObjectForm::Unresolved => None,
        };
        let mut decoder = ZlibDecoder::new(self);
        let mut buffer = [0; DATA_BYTES];
        let mut left = bytes;
        loop {
            let read = decoder.read(&mut buffer).map_err(cut_off)?;
            if read == 0 {
                break;
            }
            let after = left.checked_sub(read as u64);
            left = after.ok_or(GitReason::Damaged("an object is longer than its head says"))?;
            if let Some(hasher) = &mut hasher {
                hasher.update(&buffer[..read]);
            }
        }
        if left > 0 {
            return Err(GitReason::Damaged(
                "an object is shorter than its head says",
            ));
        }
        hasher.map(ObjectHasher::finish).transpose()
    }

    /// Compares the hash at the end, behind which nothing follows.
    fn finish(mut self) -> Result<(), GitReason> {
        let result = self.hash.clone().try_finalize();
        let trailer: [u8; TRAILER_BYTES] = self.array()?;
        if result.has_collision() || result.hash()[..] != trailer {
            return Err(GitReason::Damaged("its hash is another one than it says"));
        }
        if !self.fill_buf()?.is_empty() {
            return Err(GitReason::Damaged("bytes follow its end"));
        }
        Ok(())
    }
}

impl Read for PackReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let read = available.len().min(buffer.len());
        buffer[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for PackReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.hash.update(&self.inner.buffer()[..bytes]);
        self.offset += bytes as u64;
        self.inner.consume(bytes);
    }
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Classifies an error of reading a pack: it ends too early, its compression is damaged, or the disk
/// is.
fn cut_off(error: io::Error) -> GitReason {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => GitReason::Damaged("it ends too early"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            GitReason::Damaged("its compressed data cannot be read")
        }
        _ => GitReason::Io(error),
    }
}

#[cfg(test)]
mod tests;
