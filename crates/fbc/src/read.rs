//! The bytes of one file → the canonical line of each of its blobs.
//!
//! Push style and without IO: the caller hands over the file piece by piece and takes what is ready. At any time about
//! one blob is held, never a whole file. Which files count, and in which order, is no question here.
//!
//! A canonical line is the blob as JSON on one line, its keys in the order of their bytes at every level, ending in a
//! line feed: what upstream stores, but that numbers of JSON files keep their text instead of going through a double.
//!
//! ```
//! use fbc::read::{FileReader, ReadLimits, Step};
//!
//! let mut reader = FileReader::new(ReadLimits::default());
//! reader.push(b"name: etcd\nschema: olm.package\n");
//! reader.finish();
//! let Step::Blob(blob) = reader.next()? else { panic!("a blob") };
//! assert_eq!(blob.line, b"{\"name\":\"etcd\",\"schema\":\"olm.package\"}\n");
//! # Ok::<(), fbc::read::ReadError>(())
//! ```

use std::collections::VecDeque;

use crate::origin::Notice;
use crate::problem::Code;

mod canonical;
mod error;
mod json;
mod meta;
mod split;
mod yaml;

pub use error::{AlikeKeys, ReadError, ReadErrorKind};

use canonical::Canonical;
use error::Fault;
use split::Cut;

/// How many bytes are enough to tell JSON from YAML: in a file that begins with more white space, all is YAML.
const PEEK: usize = 4096;

/// The least room that is offered for a piece of the file.
const PIECE: usize = 256 * 1024;

/// The room at the beginning. What is cut at the end of a piece is read twice: the larger, the less.
const ROOM: usize = 1024 * 1024;

/// What a file may ask for. Each limit refuses the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The largest blob, in bytes: of its text (with what stands around it, up to the blob before) and of its line.
    pub blob_bytes: usize,
    /// How deep collections may be nested, the blob itself counted.
    pub depth: usize,
    /// How many members the objects around a place may have so far, all together: they are held until their object
    /// ends, to be put in order, at about 100 bytes each.
    pub members: usize,
    /// How many of the characters `,[]{}:?*&!"'#` a YAML document above 256 KiB may have. They bound the number of
    /// tokens, of which the parser may hold all of a flow collection at once, at about 200 bytes each.
    pub indicators: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            blob_bytes: 32 * 1024 * 1024,
            // Upstream's, of both its decoders.
            depth: 10_000,
            members: 1_000_000,
            indicators: 2_000_000,
        }
    }
}

/// What comes next in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'r> {
    /// Nothing without more of the file: push a piece, or finish.
    More,
    /// A blob.
    Blob(Blob<'r>),
    /// Something odd that refuses nothing.
    Notice(Notice),
    /// The file was read.
    End,
}

/// One blob of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob<'r> {
    /// Its canonical line, with the line feed.
    pub line: &'r [u8],
    /// The line of the file on which it begins, from 1.
    pub at: u32,
}

/// Reads one file.
#[derive(Debug)]
pub struct FileReader {
    limits: ReadLimits,
    /// What was pushed and not read yet is `buffer[start..end]`; behind it is room.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_finished: bool,
    /// The line of the file on which `buffer[start]` stands, from 0.
    line: usize,
    mode: Mode,
    writer: Canonical,
    notices: VecDeque<Notice>,
}

#[derive(Debug)]
enum Mode {
    /// Nothing was seen but white space.
    Unknown,
    Json {
        /// How many values were read.
        values: usize,
        /// With fewer bytes than these there is no use in trying again.
        enough: usize,
    },
    Yaml {
        cut: Cut,
        /// Why the text is not read as JSON, as long as no document was read instead.
        json: Option<ReadError>,
    },
    /// All was read, or the file was refused.
    Done,
}

/// A [`Step`] that borrows nothing.
enum Found {
    More,
    Blob { at: usize },
    Notice(Notice),
    End,
}

impl FileReader {
    /// A reader for one file.
    pub fn new(limits: ReadLimits) -> Self {
        Self {
            limits,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            is_finished: false,
            line: 0,
            mode: Mode::Unknown,
            writer: Canonical::default(),
            notices: VecDeque::new(),
        }
    }

    /// Forgets the file, read to its end or not, and begins another one with the memory of this one.
    pub fn restart(&mut self) {
        self.start = 0;
        self.end = 0;
        self.is_finished = false;
        self.line = 0;
        self.mode = Mode::Unknown;
        self.notices.clear();
    }

    /// Hands over the next piece of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len(), bytes.len());
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Room for the next piece of the file, at least 256 KiB, so that it can be read into place. What is in it has no
    /// meaning; what was written to it counts after [`FileReader::filled`].
    pub fn room(&mut self) -> &mut [u8] {
        self.make_room(PIECE, ROOM);
        &mut self.buffer[self.end..]
    }

    /// Takes the first `len` bytes of the room as the next piece; 0 ends the file, as for `std::io::Read::read`.
    ///
    /// # Panics
    /// When the room is shorter.
    pub fn filled(&mut self, len: usize) {
        assert!(len <= self.buffer.len() - self.end, "more than the room");
        self.end += len;
        self.is_finished |= len == 0;
    }

    /// Says that no more pieces come.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// What comes next. After an error there is nothing more.
    #[expect(clippy::should_implement_trait, reason = "no iterator can lend its items")]
    pub fn next(&mut self) -> Result<Step<'_>, ReadError> {
        let found = self.advance();
        if !matches!(found, Ok(Found::More | Found::Blob { .. } | Found::Notice(_))) {
            self.mode = Mode::Done;
        }
        Ok(match found? {
            Found::More => Step::More,
            Found::Notice(notice) => Step::Notice(notice),
            Found::End => Step::End,
            Found::Blob { at } => Step::Blob(Blob { line: self.writer.line(), at: line_number(at) }),
        })
    }

    /// Makes the room at least so large, and the buffer at least so large when it must grow.
    fn make_room(&mut self, room: usize, buffer: usize) {
        if self.buffer.len() - self.end >= room {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < room {
            // Grown by doubling, so that a large blob is moved a constant number of times.
            let size = (2 * self.end).max(self.end + room).max(buffer);
            self.buffer.resize(size, 0);
        }
    }

    fn advance(&mut self) -> Result<Found, ReadError> {
        loop {
            if let Some(notice) = self.notices.pop_front() {
                return Ok(Found::Notice(notice));
            }
            let found = match self.mode {
                Mode::Unknown => self.tell_format(),
                Mode::Json { values, enough } => self.next_json(values, enough)?,
                Mode::Yaml { .. } => self.next_yaml()?,
                Mode::Done => Some(Found::End),
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }

    /// A file is read as JSON when its first character is a brace.
    fn tell_format(&mut self) -> Option<Found> {
        let text = &self.buffer[self.start..self.end];
        let peeked = &text[..text.len().min(PEEK)];
        let blank = leading_space(peeked);
        let is_decided = self.is_finished || text.len() >= PEEK || blank + 4 <= peeked.len();
        if !is_decided {
            return Some(Found::More);
        }
        self.mode = if peeked.get(blank) == Some(&b'{') {
            Mode::Json { values: 0, enough: 0 }
        } else {
            Mode::Yaml { cut: Cut::default(), json: None }
        };
        None
    }

    fn next_json(&mut self, values: usize, enough: usize) -> Result<Option<Found>, ReadError> {
        let text = &self.buffer[self.start..self.end];
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let begin = text.iter().position(|byte| !is_blank(byte));
        if begin.is_none() && self.is_finished {
            return Ok(Some(Found::End));
        }
        if begin.is_none() && values > 1 {
            // White space that no YAML can begin with any more.
            self.consume(text.len());
            return Ok(Some(Found::More));
        }
        if text.len() < enough && !self.is_finished {
            return Ok(Some(Found::More));
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
                self.fall_back(values, Fault { line, kind })
            }
            Ok(None) => {
                // Half as much again: all tries together read each byte at most three times.
                let enough = (text.len() + text.len() / 2).min(limit + 1);
                self.mode = Mode::Json { values, enough };
                Ok(Some(Found::More))
            }
            Err(fault) => self.fall_back(values, fault),
        }
    }

    /// Takes the JSON value that was written.
    fn json_value(&mut self, values: usize, begin: usize, end: usize) -> Result<Option<Found>, ReadError> {
        let line = newlines(&self.buffer[self.start..self.start + begin]);
        if let Err(kind) = self.check_blob() {
            return self.fall_back(values, Fault { line, kind });
        }
        let at = self.line + line;
        self.consume(end);
        self.mode = Mode::Json { values: values + 1, enough: 0 };
        Ok(self.take_written(at))
    }

    /// Text that is no JSON may be YAML, unless two values were read already.
    fn fall_back(&mut self, values: usize, fault: Fault) -> Result<Option<Found>, ReadError> {
        let error = self.error(fault);
        if values > 1 {
            return Err(error);
        }
        let text = &self.buffer[self.start..self.end];
        let blank = leading_space(text);
        let line_end = memchr::memchr(b'\n', &text[..blank]);
        if line_end.is_none() && blank == text.len() && !self.is_finished && blank <= self.limits.blob_bytes {
            // How much white space there is decides where YAML begins.
            self.mode = Mode::Json { values, enough: blank + 1 };
            return Ok(Some(Found::More));
        }
        self.consume(line_end.map_or(blank, |at| at + 1));
        self.mode = Mode::Yaml { cut: Cut::default(), json: Some(error) };
        Ok(None)
    }

    fn next_yaml(&mut self) -> Result<Option<Found>, ReadError> {
        match self.yaml_document() {
            // When a text is neither, the fault that it has as JSON is told.
            Err(error) => match &mut self.mode {
                Mode::Yaml { json, .. } => Err(json.take().unwrap_or(error)),
                _ => Err(error),
            },
            found => found,
        }
    }

    fn yaml_document(&mut self) -> Result<Option<Found>, ReadError> {
        let text = &self.buffer[self.start..self.end];
        let Mode::Yaml { cut, .. } = &mut self.mode else {
            return Ok(None);
        };
        let cut = match cut.document(text, self.is_finished) {
            Ok(cut) => cut,
            Err(fault) => return Err(self.error(fault)),
        };
        let limit = self.limits.blob_bytes;
        let document = match cut {
            split::Found::End => return Ok(Some(Found::End)),
            split::Found::More if text.len() > limit => return Err(self.too_large(0)),
            split::Found::More => return Ok(Some(Found::More)),
            split::Found::Document { len, .. } if len > limit => return Err(self.too_large(0)),
            split::Found::Document { len, next } => (len, next),
        };
        let (len, next) = document;
        let read = yaml::convert(&text[..len], &self.limits, &mut self.writer);
        let read = read.map_err(|fault| self.error(fault))?;
        if let Err(kind) = self.check_blob() {
            let line = read.line;
            return Err(self.error(Fault { line, kind }));
        }
        let is_empty = self.writer.written() == b"null";
        let at = self.line + if is_empty { 0 } else { read.line };
        for key in self.writer.collisions() {
            let message = format!("keys of one mapping are alike as text: {key:?}; the last one counts");
            self.notices.push_back(notice(Code::KeysCollide, message, at));
        }
        if let Some(line) = read.unread {
            let message = "text after the first node of a document was not read".to_owned();
            let line = self.line + line;
            self.notices.push_back(notice(Code::TextNotRead, message, line));
        }
        self.consume(next);
        self.mode = Mode::Yaml { cut: Cut::default(), json: None };
        Ok(self.take_written(at))
    }

    /// Whether what was written can be a blob, or nothing.
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

    /// The blob that was written, or a notice that there is none.
    fn take_written(&mut self, at: usize) -> Option<Found> {
        if self.writer.written().first() == Some(&b'{') {
            self.writer.finish();
            return Some(Found::Blob { at });
        }
        let message = "a document holds nothing".to_owned();
        self.notices.push_front(notice(Code::DocumentEmpty, message, at));
        None
    }

    fn consume(&mut self, len: usize) {
        self.line += newlines(&self.buffer[self.start..self.start + len]);
        self.start += len;
    }

    fn too_large(&self, begin: usize) -> ReadError {
        let line = newlines(&self.buffer[self.start..self.start + begin]);
        let kind = ReadErrorKind::TooLarge(self.limits.blob_bytes);
        self.error(Fault { line, kind })
    }

    /// The fault with its line in the file.
    fn error(&self, fault: Fault) -> ReadError {
        ReadError { line: line_number(self.line + fault.line), kind: fault.kind }
    }
}

/// The one JSON value that a text is, in canonical form; `None` when it is none, more than one, or nested deeper.
///
/// Unlike a blob it may be of any type, and its keys are bound by no rule.
pub(crate) fn json_value(text: &str, depth: usize) -> Option<Vec<u8>> {
    // In an array, a number has an end and an object is no blob.
    let array = format!("[{text}]");
    let limits = ReadLimits { depth: depth + 1, ..ReadLimits::default() };
    let mut writer = Canonical::default();
    let end = json::convert(array.as_bytes(), 0, &limits, &mut writer).ok()??;
    if end < array.len() {
        return None;
    }
    writer.finish();
    let mut values = Vec::new();
    let mut cursor = crate::json::Cursor::new(writer.line());
    let elements = cursor.array(|cursor| {
        values.push(cursor.value()?.0);
        Ok::<_, crate::json::Fault>(())
    });
    match (elements, values.as_slice()) {
        (Ok(()), [value]) => Some(value.to_vec()),
        _ => None,
    }
}

fn notice(code: Code, message: String, line: usize) -> Notice {
    Notice { code, message, line: line_number(line) }
}

fn newlines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// From a line counted from 0.
fn line_number(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

/// How many bytes of white space, of any script, a text begins with.
fn leading_space(text: &[u8]) -> usize {
    let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    valid.len() - valid.trim_start().len()
}

#[cfg(test)]
mod tests;
