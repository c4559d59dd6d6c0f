//! Reads files into canonical lines, several files in parallel, and writes them in catalog order.
//!
//! Each reading thread takes the next file and sends its lines in chunks. The calling thread writes
//! the chunks of the first file, then those of the second, and so on. All queues are bounded: a
//! reader that is ahead waits, so that memory does not grow with the size of the files.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::{mem, thread};

use fbc_read::origin::{FileOrigin, Notice, Origins};
use fbc_read::problem::{MAX_PROBLEMS_PER_CODE, ProblemCounts};
use fbc_read::{FileReader, ReadEvent, ReadLimits};
use store::{ContentWriter, StoreError, WrittenContent};

use crate::directory::{Listing, list};
use crate::image::ImageFiles;
use crate::status::{FileReadError, LoadError};

/// Number of files that are read in parallel.
pub const READERS: usize = 2;

/// Bytes of lines after which a reader sends a chunk.
const CHUNK: usize = 128 * 1024;

/// Maximum bytes of lines for each byte of the files, beyond [`FREE_GROWTH_BYTES`].
//
// Canonical lines are shorter than indented files. Only YAML aliases make them longer, without bound:
// this limit stops a "billion laughs" attack.
pub const MAX_GROWTH: u64 = 8;

/// Bytes of lines that every content may have, however small its files are.
pub const FREE_GROWTH_BYTES: u64 = 16 * 1024 * 1024;

/// Number of documents that every catalog may have, however small its files are: YAML documents and
/// JSON values, including empty ones.
//
// An empty document leaves nothing behind but the time that it takes to read it, so that no other
// limit bounds a file of separators.
pub const FREE_DOCUMENTS: u64 = 500_000;

/// Bytes of files for each document beyond [`FREE_DOCUMENTS`]. Documents of real catalogs have more
/// than 1,000 bytes on average.
pub const BYTES_PER_DOCUMENT: u64 = 128;

/// Number of reads of a directory that changes while it is being read.
pub const ATTEMPTS: usize = 3;

/// Bytes of a file after which a reader sends a chunk, however few lines it has.
const CHUNK_INPUT: u64 = 4 * 1024 * 1024;

/// Number of files that may be read ahead of the one that is being written.
const AHEAD: usize = 2;

/// The files of a catalog, by their positions in catalog order.
pub(super) trait SourceFiles: Sync {
    fn count(&self) -> usize;
    fn path(&self, file: usize) -> &str;
    /// Returns the length of a file in bytes, as listed.
    fn bytes(&self, file: usize) -> u64;
    /// Opens a file. The returned function reads the next bytes into a buffer and returns their
    /// number; 0 at the end.
    fn open(
        &self,
        file: usize,
    ) -> Result<impl FnMut(&mut [u8]) -> Result<usize, LoadError>, LoadError>;
}

/// Some lines of one file. The last chunk of a file may be empty.
struct Chunk {
    /// Canonical lines.
    lines: Vec<u8>,
    /// For each of them, the line of the file on which the blob begins.
    begins: Vec<u32>,
    notices: Vec<Notice>,
    /// Numbers of notices that the file has beyond the listed ones; only in its last chunk.
    unlisted: ProblemCounts,
    /// Bytes of the file that were read for this chunk.
    read: u64,
    /// Number of documents that were read for this chunk.
    documents: u64,
}

/// Collects the origins of a content, and enforces the limits on notices, documents and growth.
struct OriginsBuilder {
    origins: Origins,
    /// Numbers of listed notices.
    listed: ProblemCounts,
    /// Total size of the files in bytes, as listed.
    file_bytes: u64,
    /// Bytes of lines so far.
    line_bytes: u64,
    /// Number of documents so far.
    documents: u64,
}

/// The chunks of one file, as they are read.
type Chunks = Receiver<Result<Chunk, LoadError>>;

/// Buffers of written chunks, for reuse.
//
// Page faults of fresh memory cost more than filling it.
#[derive(Default)]
struct Buffers(Mutex<Vec<Vec<u8>>>);

/// The receiver of chunks has been dropped, because the load has failed.
struct ReceiverDroppedError;

/// Reads every file and writes its lines. `progress` receives the number of bytes read so far.
pub(super) fn read(
    files: &impl SourceFiles,
    writer: &mut ContentWriter<'_>,
    progress: impl Fn(u64),
) -> Result<Origins, LoadError> {
    let next = &Mutex::new(0..files.count());
    let buffers = &Buffers::default();
    thread::scope(|scope| {
        let (order, ordered) = sync_channel(AHEAD);
        for _ in 0..READERS {
            let order = order.clone();
            scope.spawn(move || {
                let mut reader = FileReader::new(ReadLimits::default());
                while let Ok(Some(())) = read_next(files, next, &order, &mut reader, buffers) {}
            });
        }
        drop(order);
        let mut builder = OriginsBuilder::new(files);
        let mut read = 0;
        while let Ok((file, chunks)) = ordered.recv() {
            builder.add_file(files.path(file), &chunks, writer, |bytes, lines| {
                read += bytes;
                progress(read);
                buffers.put(lines);
            })?;
        }
        Ok(builder.origins)
    })
}

/// Reads a directory, and reads it again if it has changed meanwhile: a mixture of two states must
/// not become a content. Returns the listing that was read.
pub(crate) fn read_unchanged<'a>(
    mut listing: Listing,
    writer: impl Fn() -> Result<ContentWriter<'a>, StoreError>,
    progress: impl Fn(u64, u64),
) -> Result<(Listing, WrittenContent<'a>, Origins), LoadError> {
    let root = listing.root().to_owned();
    for _ in 0..ATTEMPTS {
        let mut writer = writer()?;
        let total = listing.bytes();
        let result = read(&listing, &mut writer, |read| progress(read, total));
        let now = list(&root);
        let is_unchanged = now
            .as_ref()
            .is_ok_and(|now| now.revision() == listing.revision());
        match (result, now) {
            (Ok(origins), _) if is_unchanged => return Ok((listing, writer.finish()?, origins)),
            // A failure of the store has nothing to do with the change.
            (Err(error @ LoadError::Store(_)), _) => return Err(error),
            (Err(error), _) if is_unchanged => return Err(error),
            (_, Ok(now)) => listing = now,
            (_, Err(error)) => return Err(error.into()),
        }
    }
    Err(LoadError::Unstable {
        root,
        attempts: ATTEMPTS,
    })
}

impl OriginsBuilder {
    fn new(files: &impl SourceFiles) -> Self {
        let file_bytes = (0..files.count()).map(|file| files.bytes(file)).sum();
        let origins = Origins::default();
        let listed = ProblemCounts::default();
        Self {
            origins,
            listed,
            file_bytes,
            line_bytes: 0,
            documents: 0,
        }
    }

    /// Writes the chunks of one file until its reader is done. `written` receives the bytes of the
    /// file that were read for a chunk, and the buffer of the chunk.
    fn add_file(
        &mut self,
        path: &str,
        chunks: &Chunks,
        writer: &mut ContentWriter<'_>,
        mut written: impl FnMut(u64, Vec<u8>),
    ) -> Result<(), LoadError> {
        let mut origin = FileOrigin {
            path: path.to_owned(),
            ..FileOrigin::default()
        };
        for chunk in chunks {
            let chunk = chunk?;
            self.check_growth(chunk.lines.len())?;
            self.check_documents(chunk.documents)?;
            writer.write(&chunk.lines)?;
            origin.lines.extend(chunk.begins);
            origin.bytes += chunk.read;
            self.add_notices(&mut origin.notices, chunk.notices);
            self.origins.unlisted.add_all(&chunk.unlisted);
            written(chunk.read, chunk.lines);
        }
        origin.lines.shrink_to_fit();
        self.origins.files.push(origin);
        Ok(())
    }

    /// Lists notices up to the limit of their code, and counts the others.
    fn add_notices(&mut self, listed: &mut Vec<Notice>, notices: Vec<Notice>) {
        for notice in notices {
            if self.listed.of_code(notice.code) < MAX_PROBLEMS_PER_CODE {
                self.listed.add(notice.code, 1);
                listed.push(notice);
            } else {
                self.origins.unlisted.add(notice.code, 1);
            }
        }
    }

    /// Rejects a content with more documents than files of its size may have.
    fn check_documents(&mut self, documents: u64) -> Result<(), LoadError> {
        self.documents += documents;
        let max = FREE_DOCUMENTS.saturating_add(self.file_bytes / BYTES_PER_DOCUMENT);
        if self.documents > max {
            return Err(LoadError::TooManyDocuments { max });
        }
        Ok(())
    }

    /// Rejects a content that is much larger than its files.
    fn check_growth(&mut self, lines: usize) -> Result<(), LoadError> {
        self.line_bytes += lines as u64;
        let max = self
            .file_bytes
            .saturating_mul(MAX_GROWTH)
            .saturating_add(FREE_GROWTH_BYTES);
        if self.line_bytes > max {
            return Err(LoadError::Grown {
                file_bytes: self.file_bytes,
                max,
            });
        }
        Ok(())
    }
}

/// Takes the next file and reads it; returns `None` after the last one.
fn read_next(
    files: &impl SourceFiles,
    next: &Mutex<Range<usize>>,
    order: &SyncSender<(usize, Chunks)>,
    reader: &mut FileReader,
    buffers: &Buffers,
) -> Result<Option<()>, ReceiverDroppedError> {
    let (sender, chunks) = sync_channel(2);
    let file = {
        // Held until the file is queued, so that files are queued in catalog order. The other
        // readers could not queue theirs earlier anyway.
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = next.next() else {
            return Ok(None);
        };
        order
            .send((file, chunks))
            .map_err(|_| ReceiverDroppedError)?;
        file
    };
    reader.restart();
    if let Err(error) = read_file(files, file, reader, buffers, &sender) {
        sender.send(Err(error)).map_err(|_| ReceiverDroppedError)?;
    }
    Ok(Some(()))
}

fn read_file(
    files: &impl SourceFiles,
    file: usize,
    reader: &mut FileReader,
    buffers: &Buffers,
    sender: &SyncSender<Result<Chunk, LoadError>>,
) -> Result<(), LoadError> {
    let mut open = files.open(file)?;
    let mut chunk = Chunk::empty(buffers);
    let mut sent_documents = 0;
    loop {
        let failure = |error| FileReadError {
            path: files.path(file).to_owned(),
            error,
        };
        match reader.next().map_err(failure)? {
            ReadEvent::NeedInput => {
                let read = open(reader.room())?;
                reader.filled(read);
                chunk.read += read as u64;
            }
            ReadEvent::Blob(blob) => {
                chunk.lines.extend_from_slice(blob.line);
                chunk.begins.push(blob.at);
            }
            ReadEvent::Notice(notice) => chunk.notices.push(notice),
            ReadEvent::End => break,
        }
        chunk.documents = reader.documents() - sent_documents;
        if chunk.lines.len() >= CHUNK || chunk.read >= CHUNK_INPUT {
            sent_documents = reader.documents();
            let full = mem::replace(&mut chunk, Chunk::empty(buffers));
            if sender.send(Ok(full)).is_err() {
                return Ok(());
            }
        }
    }
    chunk.documents = reader.documents() - sent_documents;
    chunk.unlisted = reader.unlisted_notices().clone();
    // The receiver has been dropped if the load has failed.
    let _ = sender.send(Ok(chunk));
    Ok(())
}

impl SourceFiles for Listing {
    fn count(&self) -> usize {
        self.files().len()
    }

    fn path(&self, file: usize) -> &str {
        &self.files()[file].path
    }

    fn bytes(&self, file: usize) -> u64 {
        self.files()[file].bytes
    }

    fn open(
        &self,
        file: usize,
    ) -> Result<impl FnMut(&mut [u8]) -> Result<usize, LoadError>, LoadError> {
        let mut open = self.open(&self.files()[file])?;
        Ok(move |buffer: &mut [u8]| Ok(open.read(buffer)?))
    }
}

impl SourceFiles for ImageFiles {
    fn count(&self) -> usize {
        self.files.len()
    }

    fn path(&self, file: usize) -> &str {
        &self.files[file].path
    }

    fn bytes(&self, file: usize) -> u64 {
        self.files[file].content.bytes
    }

    fn open(
        &self,
        file: usize,
    ) -> Result<impl FnMut(&mut [u8]) -> Result<usize, LoadError>, LoadError> {
        let content = self.files[file].content;
        let mut at = 0;
        Ok(move |buffer: &mut [u8]| {
            let read = self.unpacked.read(content, at, buffer)?;
            at += read as u64;
            Ok(read)
        })
    }
}

impl Chunk {
    fn empty(buffers: &Buffers) -> Self {
        Self {
            lines: buffers.take(),
            begins: Vec::new(),
            notices: Vec::new(),
            unlisted: ProblemCounts::default(),
            read: 0,
            documents: 0,
        }
    }
}

impl Buffers {
    fn take(&self) -> Vec<u8> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use fbc_read::ProblemCode;

    use super::*;

    fn builder(file_bytes: u64) -> OriginsBuilder {
        let origins = Origins::default();
        let listed = ProblemCounts::default();
        OriginsBuilder {
            origins,
            listed,
            file_bytes,
            line_bytes: 0,
            documents: 0,
        }
    }

    #[test]
    fn a_content_has_as_many_documents_as_its_files_justify() {
        let mut builder = builder(10 * BYTES_PER_DOCUMENT);
        assert!(builder.check_documents(FREE_DOCUMENTS).is_ok());
        assert!(builder.check_documents(10).is_ok());
        let error = builder.check_documents(1).unwrap_err();
        assert!(
            matches!(error, LoadError::TooManyDocuments { max } if max == FREE_DOCUMENTS + 10),
            "{error}"
        );
    }

    #[test]
    fn a_content_grows_as_far_as_its_files_justify() {
        let free = usize::try_from(FREE_GROWTH_BYTES).unwrap();
        let mut builder = builder(10);
        assert!(builder.check_growth(free).is_ok());
        assert!(builder.check_growth(80).is_ok());
        let error = builder.check_growth(1).unwrap_err();
        assert!(
            matches!(error, LoadError::Grown { file_bytes: 10, max } if max == FREE_GROWTH_BYTES + 80),
            "{error}"
        );
    }

    #[test]
    fn the_files_of_a_catalog_list_a_thousand_notices_of_a_code_together() {
        let notice = |code| Notice {
            code,
            message: String::new(),
            line: 1,
        };
        let mut builder = builder(0);
        let mut first = Vec::new();
        let mut second = Vec::new();
        builder.add_notices(&mut first, vec![notice(ProblemCode::DocumentEmpty); 999]);
        let more = [ProblemCode::KeysCollide, ProblemCode::DocumentEmpty].repeat(3);
        builder.add_notices(&mut second, more.into_iter().map(notice).collect());
        assert_eq!((first.len(), second.len()), (999, 4));
        assert_eq!(
            builder.origins.unlisted,
            [(ProblemCode::DocumentEmpty, 2)].into_iter().collect()
        );
    }
}
