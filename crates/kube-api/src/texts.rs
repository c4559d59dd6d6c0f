//! Texts of manifests, kept outside the heap. What the manifests of a content say does not depend
//! on the request, nor on the object that the content comes from: it is written once, when they are
//! listed, and lists and responses copy it. For lists that are compressed, each text is compressed
//! once.
//!
//! Texts are kept as long as a state has their content, up to a budget for all contents. What is
//! not kept is made from the canonical lines whenever it is needed.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http_content::coding::CompressionLevel;
use http_content::joined_gzip::{Checksum, PieceEncoder};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of bytes of texts that are kept, compressed forms included.
pub const KEPT_TEXT_BYTES: usize = 256 * 1024 * 1024;

/// Number of bytes of a unit in which kept texts are counted.
const UNIT_BYTES: usize = 1024;

/// A file in which texts are kept.
pub trait TextFile: Write + Send {
    /// Returns what was written, mapped into memory.
    fn map(self: Box<Self>) -> io::Result<Bytes>;
}

/// Creates a file for texts.
pub type CreateTextFile = Arc<dyn Fn() -> io::Result<Box<dyn TextFile>> + Send + Sync>;

/// Where texts are kept, and how much room is left.
#[derive(Clone)]
pub(crate) struct TextRoom {
    create: Option<CreateTextFile>,
    units: Arc<Semaphore>,
}

/// The texts of the manifests of one content.
#[derive(Debug)]
pub(crate) struct Texts {
    room: TextRoom,
    /// `None` inside where they are not kept.
    plain: OnceLock<Option<Kept<()>>>,
    deflated: OnceLock<Option<Kept<Checksum>>>,
}

/// Texts in a file, each with a value.
#[derive(Debug)]
struct Kept<T> {
    bytes: Bytes,
    /// By the places of packages in their catalog.
    texts: Vec<(usize, Range<usize>, T)>,
    _room: OwnedSemaphorePermit,
}

/// Texts that are being written to a file.
pub(crate) struct TextWriter<T> {
    room: TextRoom,
    /// `None` after a text that could not be kept.
    file: Option<(Box<dyn TextFile>, OwnedSemaphorePermit)>,
    length: usize,
    texts: Vec<(usize, Range<usize>, T)>,
}

/// A text that is kept. Clones are cheap.
#[derive(Clone, Debug)]
pub(crate) struct KeptText {
    texts: Arc<Texts>,
    place: usize,
    /// The text itself.
    pub(crate) plain: Bytes,
}

impl TextRoom {
    /// Creates room for this many bytes.
    pub(crate) fn new(create: Option<CreateTextFile>, bytes: usize) -> Self {
        Self {
            create,
            units: Arc::new(Semaphore::new(bytes / UNIT_BYTES)),
        }
    }

    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()?;
        Arc::clone(&self.units).try_acquire_many_owned(units).ok()
    }

    fn writer<T>(&self) -> TextWriter<T> {
        let file = self
            .create
            .as_ref()
            .and_then(|create| Some((create().ok()?, self.take(0)?)));
        TextWriter {
            room: self.clone(),
            file,
            length: 0,
            texts: Vec::new(),
        }
    }
}

impl<T> TextWriter<T> {
    /// Adds the text of the package at a place, which is higher than the places before it.
    pub(crate) fn push(&mut self, place: usize, text: &[u8], value: T) {
        let Some((mut file, mut room)) = self.file.take() else {
            return;
        };
        let end = self.length + text.len();
        // What has begun a unit has taken it.
        let more = self
            .room
            .take(end.next_multiple_of(UNIT_BYTES) - self.length.next_multiple_of(UNIT_BYTES));
        let Some(more) = more.filter(|_| file.write_all(text).is_ok()) else {
            return;
        };
        room.merge(more);
        self.texts.push((place, self.length..end, value));
        self.length = end;
        self.file = Some((file, room));
    }

    /// Returns the texts, if all are kept.
    fn finish(self) -> Option<Kept<T>> {
        let (file, room) = self.file?;
        Some(Kept {
            bytes: file.map().ok()?,
            texts: self.texts,
            _room: room,
        })
    }
}

impl<T> Kept<T> {
    fn get(&self, place: usize) -> Option<(Bytes, &T)> {
        let at = self
            .texts
            .binary_search_by_key(&place, |(place, ..)| *place)
            .ok()?;
        let (_, range, value) = &self.texts[at];
        Some((self.bytes.slice(range.clone()), value))
    }
}

impl Texts {
    pub(crate) fn new(room: &TextRoom) -> Arc<Self> {
        Arc::new(Self {
            room: room.clone(),
            plain: OnceLock::new(),
            deflated: OnceLock::new(),
        })
    }

    /// Returns a writer for the texts, unless they were written.
    pub(crate) fn writer(&self) -> Option<TextWriter<()>> {
        self.plain.get().is_none().then(|| self.room.writer())
    }

    /// Keeps what was written, unless something is kept already.
    pub(crate) fn keep(&self, written: TextWriter<()>) {
        let _ = self.plain.set(written.finish());
    }

    /// Returns the text of the package at a place, if it is kept.
    pub(crate) fn get(self: &Arc<Self>, place: usize) -> Option<KeptText> {
        let (plain, ()) = self.plain.get()?.as_ref()?.get(place)?;
        Some(KeptText {
            texts: Arc::clone(self),
            place,
            plain,
        })
    }

    /// Returns whether there is nothing to compress, because it is done or too short.
    pub(crate) fn is_deflated(&self, shortest: usize) -> bool {
        let plain = self.plain.get().and_then(Option::as_ref);
        self.deflated.get().is_some() || plain.is_none_or(|plain| plain.bytes.len() < shortest)
    }

    /// Compresses the texts, where that has not been done. It takes a second for 25 MB.
    pub(crate) fn deflate(&self) {
        let Some(plain) = self.plain.get().and_then(Option::as_ref) else {
            return;
        };
        self.deflated.get_or_init(|| {
            let mut encoder = PieceEncoder::new(CompressionLevel::Compact);
            let mut writer = self.room.writer();
            for (place, range, ()) in &plain.texts {
                let (piece, checksum) = encoder.compress(&plain.bytes[range.clone()]).ok()?;
                writer.push(*place, &piece, checksum);
            }
            writer.finish()
        });
    }
}

impl KeptText {
    /// Returns the compressed text with the checksum of its bytes, if there is one.
    pub(crate) fn deflated(&self) -> Option<(Bytes, &Checksum)> {
        self.texts.deflated.get()?.as_ref()?.get(self.place)
    }
}

impl fmt::Debug for TextRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRoom")
            .field("units", &self.units.available_permits())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in memory.
    struct Memory(Vec<u8>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl TextFile for Memory {
        fn map(self: Box<Self>) -> io::Result<Bytes> {
            Ok(self.0.into())
        }
    }

    fn keep(room: &TextRoom, texts: &[(usize, &[u8])]) -> Arc<Texts> {
        let kept = Texts::new(room);
        let mut writer = kept.writer().unwrap();
        for (place, text) in texts {
            writer.push(*place, text, ());
        }
        kept.keep(writer);
        kept
    }

    #[test]
    fn texts_are_found_by_their_places_until_the_room_is_used_up() {
        let room = TextRoom::new(
            Some(Arc::new(|| Ok(Box::new(Memory(Vec::new()))))),
            4 * UNIT_BYTES,
        );
        let long = vec![b'x'; 2 * UNIT_BYTES];
        let first = keep(&room, &[(1, b"one"), (4, &long)]);
        assert_eq!(first.get(1).unwrap().plain, b"one"[..]);
        assert_eq!(first.get(4).unwrap().plain, long);
        assert!(first.get(2).is_none() && first.writer().is_none());
        assert!(
            keep(&room, &[(0, b"two"), (1, &long)]).get(0).is_none(),
            "of texts without room none is kept"
        );
        assert_eq!(
            keep(&room, &[(0, b"two")]).get(0).unwrap().plain,
            b"two"[..]
        );
        first.deflate();
        assert!(first.get(4).unwrap().deflated().unwrap().0.len() < 100);
        assert_eq!(room.units.available_permits(), 0);
        drop(first);
        assert_eq!(room.units.available_permits(), 4);
    }

    #[test]
    fn without_a_file_nothing_is_kept() {
        let nowhere = TextRoom::new(None, KEPT_TEXT_BYTES);
        let full: CreateTextFile = Arc::new(|| Err(io::ErrorKind::StorageFull.into()));
        for room in [nowhere, TextRoom::new(Some(full), KEPT_TEXT_BYTES)] {
            let texts = keep(&room, &[(0, b"one")]);
            texts.deflate();
            assert!(texts.get(0).is_none() && texts.writer().is_none());
        }
    }
}
