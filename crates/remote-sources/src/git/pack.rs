//! Packs: files with the objects that a server sends, many of them as deltas of others.
//!
//! A pack is read twice: from its start to its end, to check its hash and to find its objects, and
//! along the chains of its deltas, to learn their ids. Only objects on one such chain are in memory.
//! Each length is compared with its limit before the bytes are made.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::unix::fs::FileExt;

use flate2::bufread::ZlibDecoder;
use sha1_checked::{Digest as _, Sha1};

use super::delta;
use super::object::{ObjectHasher, ObjectId, ObjectKind};
use crate::{
    GitReason, MAX_DELTA_DEPTH, MAX_DELTA_MEMORY_BYTES, MAX_DELTA_OBJECT_BYTES, MAX_OBJECTS_BYTES,
    MAX_PACK_BYTES, MAX_PACK_OBJECTS, MAX_STRUCTURE_BYTES,
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
    objects: Vec<PackedObject>,
    ids: HashMap<ObjectId, u32>,
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

impl Pack {
    /// Reads the pack that begins at an offset of a file and ends with it.
    pub(super) fn open(file: File, offset: u64) -> Result<Self, GitReason> {
        if file.metadata()?.len().saturating_sub(offset) > MAX_PACK_BYTES {
            return Err(GitReason::PackTooLarge(MAX_PACK_BYTES));
        }
        let mut pack = Self {
            file,
            objects: Vec::new(),
            ids: HashMap::new(),
        };
        let mut bytes = 0;
        let deltas = pack.scan(offset, &mut bytes)?;
        pack.resolve(deltas, &mut bytes)?;
        Ok(pack)
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
        if bytes > MAX_STRUCTURE_BYTES {
            return Err(GitReason::StructureTooLarge {
                kind: self.kind(position).name(),
                bytes,
                limit: MAX_STRUCTURE_BYTES,
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
            return Ok((base.bytes, Box::new(self.decoder(base).take(base.bytes))));
        }
        let mut data = self.inflate(chain[chain.len() - 1])?;
        for delta in chain.iter().rev().skip(1) {
            data = delta::apply(&data, &self.inflate(*delta)?)?;
        }
        Ok((data.len() as u64, Box::new(Cursor::new(data))))
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
        if object.bytes > MAX_DELTA_OBJECT_BYTES {
            return Err(GitReason::ObjectTooLarge(object.bytes));
        }
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
        if objects > MAX_PACK_OBJECTS {
            return Err(GitReason::TooManyObjects {
                objects,
                limit: MAX_PACK_OBJECTS,
            });
        }
        let mut deltas = Deltas::default();
        for position in 0..objects {
            let start = reader.offset;
            let head = reader.object_head()?;
            *bytes = bytes.saturating_add(head.bytes);
            check_bytes(*bytes)?;
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
            if id.is_some_and(|id| self.ids.insert(id, position).is_some()) {
                return Err(GitReason::Damaged("an object occurs twice"));
            }
        }
        reader.finish()?;
        Ok(deltas)
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
            if depth > MAX_DELTA_DEPTH {
                return Err(GitReason::DeltaTooDeep(MAX_DELTA_DEPTH));
            }
            let data = delta::apply(&link.data, &self.inflate(position)?)?;
            *bytes = bytes.saturating_add(data.len() as u64);
            check_bytes(*bytes)?;
            let id = ObjectHasher::hash(kind, &data)?;
            self.ids.insert(id, position);
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
                if held > MAX_DELTA_MEMORY_BYTES {
                    return Err(GitReason::DeltaMemory(MAX_DELTA_MEMORY_BYTES));
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

fn check_bytes(bytes: u64) -> Result<(), GitReason> {
    if bytes > MAX_OBJECTS_BYTES {
        return Err(GitReason::TooManyBytes(MAX_OBJECTS_BYTES));
    }
    Ok(())
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
mod tests {
    use std::fs;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    const BLOB: u8 = 3;

    /// A pack that is being written by hand.
    struct PackBuilder {
        bytes: Vec<u8>,
        objects: u32,
    }

    impl PackBuilder {
        fn new() -> Self {
            Self {
                bytes: [MAGIC, &[0; 4]].concat(),
                objects: 0,
            }
        }

        /// Appends an object whose head names this length, and returns where it starts.
        fn object(&mut self, code: u8, length: u64, between: &[u8], data: &[u8]) -> u64 {
            let start = self.bytes.len() as u64;
            let low = u8::try_from(length & 0x0f).unwrap();
            let mut rest = length >> 4;
            let mut byte = code << 4 | low;
            while rest > 0 {
                self.bytes.push(byte | 0x80);
                byte = u8::try_from(rest & 0x7f).unwrap();
                rest >>= 7;
            }
            self.bytes.push(byte);
            self.bytes.extend(between);
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(data).unwrap();
            self.bytes.extend(encoder.finish().unwrap());
            self.objects += 1;
            start
        }

        fn blob(&mut self, text: &str) -> u64 {
            self.object(BLOB, text.len() as u64, b"", text.as_bytes())
        }

        /// Appends a delta of the object that starts at an offset.
        fn delta(&mut self, base: u64, delta: &[u8]) -> u64 {
            let mut distance = self.bytes.len() as u64 - base;
            let mut bytes = vec![u8::try_from(distance & 0x7f).unwrap()];
            while distance > 0x7f {
                distance = (distance >> 7) - 1;
                bytes.insert(0, u8::try_from(distance & 0x7f).unwrap() | 0x80);
            }
            self.object(6, delta.len() as u64, &bytes, delta)
        }

        fn finish(mut self) -> Vec<u8> {
            self.bytes[8..12].copy_from_slice(&self.objects.to_be_bytes());
            let hash = Sha1::digest(&self.bytes);
            self.bytes.extend(&hash[..]);
            self.bytes
        }
    }

    fn opened(bytes: &[u8]) -> Result<Pack, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
        fs::write(&path, bytes).unwrap();
        let file = File::open(path).unwrap();
        Pack::open(file, 0).map_err(|error| error.to_string())
    }

    fn id(text: &str) -> ObjectId {
        ObjectHasher::hash(ObjectKind::Blob, text.as_bytes()).unwrap()
    }

    fn text(pack: &Pack, text: &str) -> String {
        let position = pack.find(id(text)).expect("it is in the pack");
        assert_eq!(pack.kind(position), ObjectKind::Blob);
        let (bytes, mut content) = pack.content(position).unwrap();
        let mut found = String::new();
        content.read_to_string(&mut found).unwrap();
        assert_eq!(bytes, found.len() as u64);
        found
    }

    /// A delta that keeps its base of this length and appends a letter.
    fn appending(length: u8, letter: u8) -> Vec<u8> {
        vec![length, length + 1, 0x90, length, 1, letter]
    }

    /// A base whose chain has this number of deltas.
    fn chain(deltas: u8) -> Vec<u8> {
        let mut pack = PackBuilder::new();
        let mut last = pack.blob("a");
        for length in 1..=deltas {
            last = pack.delta(last, &appending(length, b'b'));
        }
        pack.finish()
    }

    #[test]
    fn objects_are_found_by_their_ids_whether_they_are_whole_or_deltas() {
        let mut pack = PackBuilder::new();
        // A delta by the id of a base that follows.
        let base = id("hello");
        let raw = Sha1::digest(b"blob 5\0hello");
        let by_id = appending(5, b'!');
        pack.object(7, by_id.len() as u64, &raw, &by_id);
        let start = pack.blob("hello");
        let second = pack.delta(start, &appending(5, b'?'));
        pack.delta(second, &appending(6, b'?'));
        let long = "x".repeat(100_000);
        pack.blob(&long);
        let pack = opened(&pack.finish()).unwrap();
        assert!(pack.find(base).is_some());
        for expected in ["hello", "hello!", "hello?", "hello??", &long] {
            assert_eq!(text(&pack, expected), expected);
        }
        assert_eq!(pack.find(id("hell")), None);
    }

    #[test]
    fn a_chain_has_at_most_fifty_deltas() {
        let most = u8::try_from(MAX_DELTA_DEPTH).unwrap();
        let longest = "a".to_owned() + &"b".repeat(MAX_DELTA_DEPTH);
        assert_eq!(text(&opened(&chain(most)).unwrap(), &longest), longest);
        assert_eq!(
            opened(&chain(most + 1)).unwrap_err(),
            "its pack has a chain of more than 50 deltas"
        );
    }

    #[test]
    fn a_pack_that_is_cut_or_changed_anywhere_is_refused() {
        let whole = chain(3);
        for end in 0..whole.len() {
            assert!(opened(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x15;
            assert!(opened(&changed).is_err(), "{at}");
        }
        let more = [&whole[..], b"x"].concat();
        assert_eq!(
            opened(&more).unwrap_err(),
            "the pack is damaged: bytes follow its end"
        );
    }

    #[test]
    fn what_a_pack_says_of_itself_is_compared_with_limits_and_with_its_bytes() {
        let with = |code, length, between: &[u8], data: &[u8]| {
            let mut pack = PackBuilder::new();
            pack.object(code, length, between, data);
            opened(&pack.finish()).unwrap_err()
        };
        let missing = Sha1::digest(b"blob 5\0hello");
        let mut twice = PackBuilder::new();
        twice.blob("a");
        twice.blob("a");
        let mut many = chain(1);
        many[8..12].copy_from_slice(&(MAX_PACK_OBJECTS + 1).to_be_bytes());
        let mut bomb = PackBuilder::new();
        let base = bomb.blob("a");
        // 2^40 bytes.
        bomb.delta(base, &[1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x90, 1]);
        for (refused, expected) in [
            (
                with(BLOB, 4, b"", b"hello"),
                "an object is longer than its head says",
            ),
            (
                with(BLOB, 6, b"", b"hello"),
                "an object is shorter than its head says",
            ),
            (with(5, 5, b"", b"hello"), "an object is of an unknown kind"),
            (
                with(6, 5, &[1], b"hello"),
                "the base of a delta is no object",
            ),
            (
                with(7, 5, &missing, b"hello"),
                "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0 is missing",
            ),
            (
                with(BLOB, MAX_OBJECTS_BYTES + 1, b"", b""),
                "more than 17179869184 bytes",
            ),
            (
                opened(&twice.finish()).unwrap_err(),
                "an object occurs twice",
            ),
            (
                opened(&many).unwrap_err(),
                "1000001 objects and the limit is 1000000",
            ),
            (
                opened(&bomb.finish()).unwrap_err(),
                "an object of 1099511627776 bytes",
            ),
        ] {
            assert!(refused.contains(expected), "{expected}: {refused}");
        }
    }
}
