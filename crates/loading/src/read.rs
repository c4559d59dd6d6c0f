//! Reads files into canonical lines: several files at a time, written in catalog order.
//!
//! Each reading thread takes the next file and sends its lines in chunks; the calling thread writes
//! the chunks of the first file, then those of the second, and so on. Every queue is bounded, so a
//! reader that is ahead waits, and what is held in memory does not grow with the files.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::{mem, thread};

use fbc_read::origin::{FileOrigin, Notice, Origins};
use fbc_read::problem::{MAX_PROBLEMS_PER_CODE, ProblemCounts};
use fbc_read::{FileReader, ReadError, ReadEvent, ReadLimits};
use store::ContentWriter;

use crate::LoadError;
use crate::directory::Listing;
use crate::image::ImageFiles;

/// How many files are read at a time.
pub const READERS: usize = 2;

/// How many bytes of lines a reader collects before it hands them on.
const CHUNK: usize = 128 * 1024;

/// How many bytes of lines a content may have for each byte of its files, beyond
/// [`FREE_GROWTH_BYTES`]. Lines are shorter than the files that people write and programs indent;
/// only aliases of YAML make them longer.
pub const MAX_GROWTH: u64 = 8;

/// How many bytes of lines a content may have however small its files are.
pub const FREE_GROWTH_BYTES: u64 = 16 * 1024 * 1024;

/// Number of documents that a catalog may have however small its files are: YAML documents and JSON
/// values, also empty ones, of which nothing is left but the time that it takes to read them.
pub const FREE_DOCUMENTS: u64 = 500_000;

/// Number of bytes of its files for which a catalog may have one document more than
/// [`FREE_DOCUMENTS`]. Documents of real catalogs have more than 1,000 bytes on average.
pub const BYTES_PER_DOCUMENT: u64 = 128;

/// Bytes of a file after which a reader hands on what it collected, also where that is little.
const CHUNK_INPUT: u64 = 4 * 1024 * 1024;

/// How many files may be waiting for the one that is being written.
const AHEAD: usize = 2;

/// The files of a catalog by their numbers, which are in catalog order.
pub(super) trait Files: Sync {
    fn count(&self) -> usize;
    fn path(&self, file: usize) -> &str;
    /// The length of a file in bytes, when it was listed.
    fn bytes(&self, file: usize) -> u64;
    /// Opens a file: what it gives reads the next bytes into a room and says how many; 0 at the
    /// end.
    fn open(
        &self,
        file: usize,
    ) -> Result<impl FnMut(&mut [u8]) -> Result<usize, LoadError>, LoadError>;
}

/// A file that does not parse.
#[derive(Debug, thiserror::Error)]
#[error("{path}:{}: {}", error.line, error.kind)]
pub struct ReadFailure {
    /// Its path from the root of the catalog.
    pub path: String,
    /// What is wrong with it, and on which line.
    pub error: ReadError,
}

/// Some lines of one file, or of none at its end.
struct Chunk {
    /// Canonical lines.
    lines: Vec<u8>,
    /// For each, the line of the file on which it begins.
    begins: Vec<u32>,
    notices: Vec<Notice>,
    /// Numbers of notices of the file that are not listed; only in its last chunk.
    unlisted: ProblemCounts,
    /// How many bytes of the file were read for it.
    read: u64,
    /// Number of documents that were read for it.
    documents: u64,
}

/// Collects the origins of a content, and bounds its notices, its documents and its growth.
struct OriginsBuilder {
    origins: Origins,
    /// Numbers of notices that files list.
    listed: ProblemCounts,
    /// Size of all files together, in bytes, as listed before they are read.
    file_bytes: u64,
    /// Bytes of lines so far.
    line_bytes: u64,
    /// Number of documents so far.
    documents: u64,
}

/// The chunks of one file, as they are read.
type Chunks = Receiver<Result<Chunk, LoadError>>;

/// Buffers for lines that were written and may be filled again: fresh memory costs more than what
/// is written to it.
#[derive(Default)]
struct Buffers(Mutex<Vec<Vec<u8>>>);

/// The reader who sent this has nobody any more who wants it.
struct Unwanted;

/// Reads every file and writes its lines. `progress` is told how many bytes were read so far.
pub(super) fn read(
    files: &impl Files,
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
            builder.add_file(files.path(file), &chunks, writer, buffers, |bytes| {
                read += bytes;
                progress(read);
            })?;
        }
        Ok(builder.origins)
    })
}

impl OriginsBuilder {
    fn new(files: &impl Files) -> Self {
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

    /// Writes the chunks of one file until its reader is done.
    fn add_file(
        &mut self,
        path: &str,
        chunks: &Chunks,
        writer: &mut ContentWriter<'_>,
        buffers: &Buffers,
        mut progress: impl FnMut(u64),
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
            progress(chunk.read);
            buffers.put(chunk.lines);
        }
        origin.lines.shrink_to_fit();
        self.origins.files.push(origin);
        Ok(())
    }

    /// Adds the notices that may be listed, and counts the others.
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

    /// Refuses a content with more documents than files of its size need.
    fn check_documents(&mut self, documents: u64) -> Result<(), LoadError> {
        self.documents += documents;
        let max = FREE_DOCUMENTS.saturating_add(self.file_bytes / BYTES_PER_DOCUMENT);
        if self.documents > max {
            return Err(LoadError::TooManyDocuments { max });
        }
        Ok(())
    }

    /// Refuses a content that would be much larger than the files that it is read from.
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

/// Reads the next file that nobody reads yet; `None` when there is no more.
fn read_next(
    files: &impl Files,
    next: &Mutex<Range<usize>>,
    order: &SyncSender<(usize, Chunks)>,
    reader: &mut FileReader,
    buffers: &Buffers,
) -> Result<Option<()>, Unwanted> {
    let (sender, chunks) = sync_channel(2);
    let file = {
        // Held until the file has its place in the order; the other readers would have to wait for
        // theirs anyway.
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = next.next() else {
            return Ok(None);
        };
        order.send((file, chunks)).map_err(|_| Unwanted)?;
        file
    };
    reader.restart();
    if let Err(error) = read_file(files, file, reader, buffers, &sender) {
        sender.send(Err(error)).map_err(|_| Unwanted)?;
    }
    Ok(Some(()))
}

fn read_file(
    files: &impl Files,
    file: usize,
    reader: &mut FileReader,
    buffers: &Buffers,
    sender: &SyncSender<Result<Chunk, LoadError>>,
) -> Result<(), LoadError> {
    let mut open = files.open(file)?;
    let mut chunk = Chunk::empty(buffers);
    let mut handed_on = 0;
    loop {
        let failure = |error| ReadFailure {
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
        chunk.documents = reader.documents() - handed_on;
        let is_full = chunk.lines.len() >= CHUNK || chunk.read >= CHUNK_INPUT;
        if is_full {
            handed_on = reader.documents();
        }
        if is_full
            && sender
                .send(Ok(mem::replace(&mut chunk, Chunk::empty(buffers))))
                .is_err()
        {
            return Ok(());
        }
    }
    chunk.documents = reader.documents() - handed_on;
    chunk.unlisted = reader.unlisted_notices().clone();
    // When nobody receives it the load was given up already.
    let _ = sender.send(Ok(chunk));
    Ok(())
}

impl Files for Listing {
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
        Ok(move |room: &mut [u8]| Ok(open.read(room)?))
    }
}

impl Files for ImageFiles {
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
        Ok(move |room: &mut [u8]| {
            let read = self.unpacked.read(content, at, room)?;
            at += read as u64;
            Ok(read)
        })
    }
}

impl Chunk {
    fn empty(buffers: &Buffers) -> Self {
        let lines = buffers.take();
        let unlisted = ProblemCounts::default();
        Self {
            lines,
            begins: Vec::new(),
            notices: Vec::new(),
            unlisted,
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
