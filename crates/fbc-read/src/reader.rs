//! Converts the bytes of one file to the canonical lines of its blobs.
//!
//! The reader is a push parser without IO: the caller passes the file piece by piece and takes the
//! events that are ready. It holds about one blob at a time, never a whole file.
//!
//! A canonical line is the blob as JSON on one line, with keys sorted by their bytes at every
//! level, and a line feed. It equals what upstream stores, except that numbers of JSON files keep
//! their text instead of being converted to doubles.
//!
//! ```
//! use fbc_read::{FileReader, ReadEvent, ReadLimits};
//!
//! let mut reader = FileReader::new(ReadLimits::default());
//! reader.push(b"name: etcd\nschema: olm.package\n");
//! reader.finish();
//! let ReadEvent::Blob(blob) = reader.next()? else { panic!("a blob") };
//! assert_eq!(blob.line, b"{\"name\":\"etcd\",\"schema\":\"olm.package\"}\n");
//! # Ok::<(), fbc_read::ReadError>(())
//! ```

use std::collections::VecDeque;

use crate::json::{JsonCursor, JsonError};
use crate::origin::Notice;
use crate::problem::{MAX_PROBLEMS_PER_CODE, ProblemCode, ProblemCounts};

mod canonical;
mod error;
mod json;
mod limits;
mod meta;
mod split;
mod yaml;

pub use error::{AlikeKeys, ReadError, ReadErrorKind};
pub use limits::ReadLimits;

use canonical::CanonicalWriter;
use error::TextError;
pub use yaml::BYTES_PER_INDICATOR;

use split::{DocumentBoundary, DocumentSplitter};

/// Number of bytes in which the format is detected: a file that begins with more white space is
/// YAML.
const DETECTION_BYTES: usize = 4096;

/// Minimum size of [`FileReader::room`].
const MIN_ROOM: usize = 256 * 1024;

/// Initial size of the buffer. A blob that ends beyond it is scanned twice, so a large buffer pays
/// off.
const INITIAL_BUFFER: usize = 1024 * 1024;

/// An event of [`FileReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadEvent<'r> {
    /// The reader needs more of the file: push a piece, or finish.
    NeedInput,
    /// The next blob.
    Blob(CanonicalBlob<'r>),
    /// An oddity that does not reject the file.
    Notice(Notice),
    /// The end of the file.
    End,
}

/// One blob of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanonicalBlob<'r> {
    /// Canonical line, with the line feed.
    pub line: &'r [u8],
    /// Line of the file on which the blob begins, counted from 1.
    pub at: u32,
}

/// Reads one file, which is passed piece by piece.
///
/// ```
/// use fbc_read::{FileReader, ReadEvent, ReadLimits};
///
/// let mut reader = FileReader::new(ReadLimits::default());
/// let mut pieces = [&b"{\"name\": \"etcd\", \"schema\": "[..], b"\"olm.package\"}"].into_iter();
/// let mut lines = Vec::new();
/// loop {
///     match reader.next()? {
///         ReadEvent::NeedInput => match pieces.next() {
///             Some(piece) => reader.push(piece),
///             None => reader.finish(),
///         },
///         ReadEvent::Blob(blob) => lines.extend_from_slice(blob.line),
///         ReadEvent::Notice(notice) => println!("line {}: {}", notice.line, notice.message),
///         ReadEvent::End => break,
///     }
/// }
/// assert_eq!(lines, b"{\"name\":\"etcd\",\"schema\":\"olm.package\"}\n");
/// # Ok::<(), fbc_read::ReadError>(())
/// ```
#[derive(Debug)]
pub struct FileReader {
    limits: ReadLimits,
    /// Unread input is `buffer[start..end]`; the rest is room for more.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_finished: bool,
    /// Line of the file at `buffer[start]`, counted from 0.
    line: usize,
    state: ReaderState,
    writer: CanonicalWriter,
    /// Notices that the caller has not taken yet.
    notices: VecDeque<Notice>,
    /// Number of documents that were read, empty ones included.
    documents: u64,
    /// Numbers of notices of this file.
    noticed: ProblemCounts,
    /// Those of them that the caller is not given: it gets [`MAX_PROBLEMS_PER_CODE`] of each code.
    unlisted: ProblemCounts,
}

#[derive(Debug)]
enum ReaderState {
    /// The format is unknown, because only white space was read.
    Unknown,
    Json {
        /// Number of values read.
        values: usize,
        /// Number of unread bytes from which on parsing is tried again.
        retry_at: usize,
    },
    Yaml {
        splitter: DocumentSplitter,
        /// Error of the text as JSON, until a YAML document has been read.
        json: Option<ReadError>,
    },
    /// The file has been read, or rejected.
    Done,
}

/// A [`ReadEvent`] without borrowed data.
enum OwnedEvent {
    NeedInput,
    Blob { at: usize },
    Notice(Notice),
    End,
}

impl FileReader {
    /// Creates a reader for one file.
    pub fn new(limits: ReadLimits) -> Self {
        Self {
            limits,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            is_finished: false,
            line: 0,
            state: ReaderState::Unknown,
            writer: CanonicalWriter::default(),
            notices: VecDeque::new(),
            noticed: ProblemCounts::default(),
            documents: 0,
            unlisted: ProblemCounts::default(),
        }
    }

    /// Starts another file, reusing the buffers.
    pub fn restart(&mut self) {
        self.start = 0;
        self.end = 0;
        self.is_finished = false;
        self.line = 0;
        self.state = ReaderState::Unknown;
        self.notices.clear();
        self.noticed = ProblemCounts::default();
        self.documents = 0;
        self.unlisted = ProblemCounts::default();
    }

    /// Returns the number of YAML documents and JSON values of this file that were read so far,
    /// also those that are empty.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the numbers of notices of this file that were no event, because there were too many
    /// of their code.
    pub fn unlisted_notices(&self) -> &ProblemCounts {
        &self.unlisted
    }

    /// Appends the next piece of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len(), bytes.len());
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Returns a buffer of at least 256 KiB for the next piece of the file, which avoids a copy.
    /// Its content is unspecified; [`FileReader::filled`] passes what was written to it.
    pub fn room(&mut self) -> &mut [u8] {
        self.make_room(MIN_ROOM, INITIAL_BUFFER);
        &mut self.buffer[self.end..]
    }

    /// Takes the first `len` bytes of [`FileReader::room`] as the next piece; 0 ends the file, as
    /// for `std::io::Read::read`.
    ///
    /// # Panics
    /// Panics when `len` is larger than the room.
    pub fn filled(&mut self, len: usize) {
        assert!(len <= self.buffer.len() - self.end, "more than the room");
        self.end += len;
        self.is_finished |= len == 0;
    }

    /// Ends the file: no more pieces follow.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Returns the next event. After an error the only event is [`ReadEvent::End`].
    #[expect(
        clippy::should_implement_trait,
        reason = "no iterator can lend its items"
    )]
    pub fn next(&mut self) -> Result<ReadEvent<'_>, ReadError> {
        let found = self.advance();
        if !matches!(
            found,
            Ok(OwnedEvent::NeedInput | OwnedEvent::Blob { .. } | OwnedEvent::Notice(_))
        ) {
            self.state = ReaderState::Done;
        }
        Ok(match found? {
            OwnedEvent::NeedInput => ReadEvent::NeedInput,
            OwnedEvent::Notice(notice) => ReadEvent::Notice(notice),
            OwnedEvent::End => ReadEvent::End,
            OwnedEvent::Blob { at } => ReadEvent::Blob(CanonicalBlob {
                line: self.writer.line(),
                at: line_number(at),
            }),
        })
    }

    /// Ensures a minimum size of the room, and a minimum size of the buffer if it must grow.
    fn make_room(&mut self, room: usize, buffer: usize) {
        if self.buffer.len() - self.end >= room {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < room {
            // Doubling moves the bytes of a large blob a constant number of times.
            let size = (2 * self.end).max(self.end + room).max(buffer);
            self.buffer.resize(size, 0);
        }
    }

    fn advance(&mut self) -> Result<OwnedEvent, ReadError> {
        loop {
            if let Some(notice) = self.notices.pop_front() {
                return Ok(OwnedEvent::Notice(notice));
            }
            let found = match self.state {
                ReaderState::Unknown => self.detect_format(),
                ReaderState::Json { values, retry_at } => self.next_json(values, retry_at)?,
                ReaderState::Yaml { .. } => self.next_yaml()?,
                ReaderState::Done => Some(OwnedEvent::End),
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }

    /// Detects the format: a file whose first character is a brace is JSON.
    fn detect_format(&mut self) -> Option<OwnedEvent> {
        let text = &self.buffer[self.start..self.end];
        let peeked = &text[..text.len().min(DETECTION_BYTES)];
        let blank = leading_space(peeked);
        let is_decided =
            self.is_finished || text.len() >= DETECTION_BYTES || blank + 4 <= peeked.len();
        if !is_decided {
            return Some(OwnedEvent::NeedInput);
        }
        self.state = if peeked.get(blank) == Some(&b'{') {
            ReaderState::Json {
                values: 0,
                retry_at: 0,
            }
        } else {
            ReaderState::Yaml {
                splitter: DocumentSplitter::default(),
                json: None,
            }
        };
        None
    }

    fn next_json(
        &mut self,
        values: usize,
        retry_at: usize,
    ) -> Result<Option<OwnedEvent>, ReadError> {
        let text = &self.buffer[self.start..self.end];
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let begin = text.iter().position(|byte| !is_blank(byte));
        if begin.is_none() && self.is_finished {
            return Ok(Some(OwnedEvent::End));
        }
        if begin.is_none() && values > 1 {
            // White space that no YAML can begin with any more.
            self.consume(text.len());
            return Ok(Some(OwnedEvent::NeedInput));
        }
        if text.len() < retry_at && !self.is_finished {
            return Ok(Some(OwnedEvent::NeedInput));
        }
        let limit = self.limits.blob_bytes;
        let begin = begin.unwrap_or(text.len());
        match json::convert(text, begin, &self.limits, &mut self.writer) {
            Ok(Some(end)) if end - begin > limit => Err(self.too_large(begin)),
            Ok(Some(end)) => self.json_value(values, begin, end),
            Ok(None) if text.len() > limit => Err(self.too_large(begin)),
            Ok(None) if self.is_finished => {
                let kind = ReadErrorKind::Json("unexpected EOF".to_owned());
                let line = newlines(text);
                self.fall_back(values, TextError { line, kind })
            }
            Ok(None) => {
                // Half as much again: all tries together read each byte at most three times.
                let retry_at = (text.len() + text.len() / 2).min(limit + 1);
                self.state = ReaderState::Json { values, retry_at };
                Ok(Some(OwnedEvent::NeedInput))
            }
            Err(error) => self.fall_back(values, error),
        }
    }

    /// Returns the event of a converted JSON value.
    fn json_value(
        &mut self,
        values: usize,
        begin: usize,
        end: usize,
    ) -> Result<Option<OwnedEvent>, ReadError> {
        let line = newlines(&self.buffer[self.start..self.start + begin]);
        if let Err(kind) = self.check_blob() {
            return self.fall_back(values, TextError { line, kind });
        }
        let at = self.line + line;
        self.documents += 1;
        self.consume(end);
        self.state = ReaderState::Json {
            values: values + 1,
            retry_at: 0,
        };
        Ok(self.take_written(at))
    }

    /// Falls back to YAML after invalid JSON, unless two values have been read.
    fn fall_back(
        &mut self,
        values: usize,
        error: TextError,
    ) -> Result<Option<OwnedEvent>, ReadError> {
        let error = self.error(error);
        if values > 1 {
            return Err(error);
        }
        let text = &self.buffer[self.start..self.end];
        let blank = leading_space(text);
        let line_end = memchr::memchr(b'\n', &text[..blank]);
        if line_end.is_none()
            && blank == text.len()
            && !self.is_finished
            && blank <= self.limits.blob_bytes
        {
            // The amount of white space decides where YAML begins.
            self.state = ReaderState::Json {
                values,
                retry_at: blank + 1,
            };
            return Ok(Some(OwnedEvent::NeedInput));
        }
        self.consume(line_end.map_or(blank, |at| at + 1));
        self.state = ReaderState::Yaml {
            splitter: DocumentSplitter::default(),
            json: Some(error),
        };
        Ok(None)
    }

    fn next_yaml(&mut self) -> Result<Option<OwnedEvent>, ReadError> {
        match self.yaml_document() {
            // For text that is neither, the JSON error is reported.
            Err(error) => match &mut self.state {
                ReaderState::Yaml { json, .. } => Err(json.take().unwrap_or(error)),
                _ => Err(error),
            },
            found => found,
        }
    }

    fn yaml_document(&mut self) -> Result<Option<OwnedEvent>, ReadError> {
        let text = &self.buffer[self.start..self.end];
        let ReaderState::Yaml { splitter, .. } = &mut self.state else {
            return Ok(None);
        };
        let splitter = match splitter.next_document(text, self.is_finished) {
            Ok(splitter) => splitter,
            Err(error) => return Err(self.error(error)),
        };
        let limit = self.limits.blob_bytes;
        let document = match splitter {
            DocumentBoundary::End => return Ok(Some(OwnedEvent::End)),
            DocumentBoundary::Incomplete if text.len() > limit => return Err(self.too_large(0)),
            DocumentBoundary::Incomplete => return Ok(Some(OwnedEvent::NeedInput)),
            DocumentBoundary::Document { len, .. } if len > limit => return Err(self.too_large(0)),
            DocumentBoundary::Document { len, next } => (len, next),
        };
        let (len, next) = document;
        let read = yaml::convert(&text[..len], &self.limits, &mut self.writer);
        let read = read.map_err(|error| self.error(error))?;
        if let Err(kind) = self.check_blob() {
            let line = read.line;
            return Err(self.error(TextError { line, kind }));
        }
        self.documents += 1;
        let is_empty = self.writer.written() == b"null";
        let at = self.line + if is_empty { 0 } else { read.line };
        let event = self.take_written(at);
        let (collisions, unlisted) = self.writer.take_collisions();
        for key in collisions {
            self.note(ProblemCode::KeysCollide, at, || {
                format!("keys of one mapping are alike as text: {key:?}; the last one counts")
            });
        }
        self.unlisted.add(ProblemCode::KeysCollide, unlisted);
        if let Some(line) = read.unread {
            self.note(ProblemCode::TextNotRead, self.line + line, || {
                "text after the first node of a document was not read".to_owned()
            });
        }
        self.consume(next);
        self.state = ReaderState::Yaml {
            splitter: DocumentSplitter::default(),
            json: None,
        };
        Ok(event)
    }

    /// Checks that the converted value can be a blob, or is null.
    fn check_blob(&self) -> Result<(), ReadErrorKind> {
        let written = self.writer.written();
        if written.len() > self.limits.blob_bytes {
            return Err(ReadErrorKind::TooLarge(self.limits.blob_bytes));
        }
        Err(ReadErrorKind::NotAMapping(match written.first() {
            Some(b'{' | b'n') | None => return Ok(()),
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "bool",
            Some(_) => "number",
        }))
    }

    /// Returns the converted blob, or queues a notice that the document is empty.
    fn take_written(&mut self, at: usize) -> Option<OwnedEvent> {
        if self.writer.written().first() != Some(&b'{') {
            self.note(ProblemCode::DocumentEmpty, at, || {
                "a document holds nothing".to_owned()
            });
            return None;
        }
        self.writer.finish();
        Some(OwnedEvent::Blob { at })
    }

    /// Queues a notice, or only counts it when the file has enough of its code.
    fn note(&mut self, code: ProblemCode, line: usize, message: impl FnOnce() -> String) {
        self.noticed.add(code, 1);
        if self.noticed.of_code(code) > MAX_PROBLEMS_PER_CODE {
            return self.unlisted.add(code, 1);
        }
        self.notices.push_back(Notice {
            code,
            message: message(),
            line: line_number(line),
        });
    }

    fn consume(&mut self, len: usize) {
        self.line += newlines(&self.buffer[self.start..self.start + len]);
        self.start += len;
    }

    fn too_large(&self, begin: usize) -> ReadError {
        let line = newlines(&self.buffer[self.start..self.start + begin]);
        let kind = ReadErrorKind::TooLarge(self.limits.blob_bytes);
        self.error(TextError { line, kind })
    }

    /// Converts an error in the unread input to one with its line in the file.
    fn error(&self, error: TextError) -> ReadError {
        ReadError {
            line: line_number(self.line + error.line),
            kind: error.kind,
        }
    }
}

/// Converts text to one canonical JSON value; `None` when it is not exactly one value, or nested
/// deeper than `depth`.
///
/// Unlike a blob it may have any type, and the rules for keys of blobs do not apply.
pub fn json_value(text: &str, depth: usize) -> Option<Vec<u8>> {
    // In an array, numbers are delimited and objects are not checked as blobs.
    let array = format!("[{text}]");
    let limits = ReadLimits {
        depth: depth + 1,
        ..ReadLimits::default()
    };
    let mut writer = CanonicalWriter::default();
    let end = json::convert(array.as_bytes(), 0, &limits, &mut writer).ok()??;
    if end < array.len() {
        return None;
    }
    writer.finish();
    let mut values = Vec::new();
    let mut cursor = JsonCursor::new(writer.line());
    let elements = cursor.array(|cursor| {
        values.push(cursor.value()?.raw());
        Ok::<_, JsonError>(())
    });
    match (elements, values.as_slice()) {
        (Ok(()), [value]) => Some(value.to_vec()),
        _ => None,
    }
}

fn newlines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// Converts a line counted from 0.
fn line_number(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

/// Counts the bytes of leading Unicode white space.
fn leading_space(text: &[u8]) -> usize {
    let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    valid.len() - valid.trim_start().len()
}

#[cfg(test)]
mod tests;
