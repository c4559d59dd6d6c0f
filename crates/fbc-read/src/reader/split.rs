//! Splits a file into YAML documents at lines that begin with `---`.
//!
//! The rules are upstream's and only look at lines: `---` at the beginning of a line also separates
//! within a block scalar. A separator with nothing but separators before it is part of the
//! following document.

use super::error::{ReadErrorKind, TextError};

const SEPARATOR: &[u8] = b"---";

/// Finds the end of the first document of a text, and remembers how far it has searched while the
/// text grows.
#[derive(Debug, Default)]
pub(super) struct DocumentSplitter {
    /// `true` once the first line has been examined.
    has_begun: bool,
    /// No separator begins before this offset.
    searched: usize,
}

/// The end of the first document of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DocumentBoundary {
    /// The end is not known yet: more input is needed.
    Incomplete,
    /// The document is `text[..len]`, and the next one begins at `text[next..]`.
    Document { len: usize, next: usize },
    /// There is no further document.
    End,
}

impl DocumentSplitter {
    /// Finds the end of the document at the start of the text, which must be that of the previous
    /// call, or longer.
    pub(super) fn next_document(
        &mut self,
        text: &[u8],
        is_finished: bool,
    ) -> Result<DocumentBoundary, TextError> {
        if !self.has_begun {
            let is_truncated = text.len() < SEPARATOR.len() && SEPARATOR.starts_with(text);
            if is_truncated && !is_finished {
                return Ok(DocumentBoundary::Incomplete);
            }
            if text.starts_with(SEPARATOR) {
                let Some(next) = separator_end(text, 0, is_finished)? else {
                    return Ok(DocumentBoundary::Incomplete);
                };
                // With its line feed, which may begin the next separator.
                self.searched = next.saturating_sub(1).max(SEPARATOR.len());
            }
            self.has_begun = true;
        }
        let found = memchr::memmem::find(&text[self.searched..], b"\n---");
        if let Some(at) = found {
            self.searched += at;
            let len = self.searched + 1;
            let next = separator_end(text, len, is_finished)?;
            return Ok(next.map_or(DocumentBoundary::Incomplete, |next| {
                DocumentBoundary::Document { len, next }
            }));
        }
        if !is_finished {
            self.searched = self
                .searched
                .max(text.len().saturating_sub(SEPARATOR.len()));
            return Ok(DocumentBoundary::Incomplete);
        }
        Ok(match text.len() {
            0 => DocumentBoundary::End,
            len => DocumentBoundary::Document { len, next: len },
        })
    }
}

/// Returns the end of the separator line at `text[at..]`; `None` if the text ends before it. Only a
/// comment may follow the separator.
fn separator_end(text: &[u8], at: usize, is_finished: bool) -> Result<Option<usize>, TextError> {
    let rest = &text[at + SEPARATOR.len()..];
    let (line, len) = match memchr::memchr(b'\n', rest) {
        Some(len) => (&rest[..len], len + 1),
        None if is_finished => (rest, rest.len()),
        None => return Ok(None),
    };
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(Some(at + SEPARATOR.len() + len));
    }
    Err(TextError {
        line: memchr::memchr_iter(b'\n', &text[..at]).count(),
        kind: ReadErrorKind::Separator(line.chars().take(100).collect()),
    })
}

#[cfg(test)]
mod tests;
