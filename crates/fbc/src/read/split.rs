//! Where one YAML document of a file ends: at a line that begins with `---`, whatever stands around it.
//!
//! The rules are upstream's, and are about lines alone: also `---` at the beginning of a line within a block of text
//! separates. A separator with nothing but separators before it is part of the document that follows.

use super::error::{Fault, ReadErrorKind};

const SEPARATOR: &[u8] = b"---";

/// How far the document at the beginning of a text was looked through, so that no byte is looked at twice.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// Whether the first line was looked at.
    is_begun: bool,
    /// No separator begins before this place.
    searched: usize,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The text may go on.
    More,
    /// The document is `text[..len]`, and the next one begins at `text[next..]`.
    Document { len: usize, next: usize },
    /// There is no document.
    End,
}

impl Cut {
    /// Looks for the end of the document that begins with the text. The text is the same as before, or longer.
    pub(super) fn document(&mut self, text: &[u8], is_finished: bool) -> Result<Found, Fault> {
        if !self.is_begun {
            let is_cut = text.len() < SEPARATOR.len() && SEPARATOR.starts_with(text);
            if is_cut && !is_finished {
                return Ok(Found::More);
            }
            if text.starts_with(SEPARATOR) {
                let Some(next) = separator_end(text, 0, is_finished)? else {
                    return Ok(Found::More);
                };
                // With its line feed, which may begin the next separator.
                self.searched = next.saturating_sub(1).max(SEPARATOR.len());
            }
            self.is_begun = true;
        }
        let found = memchr::memmem::find(&text[self.searched..], b"\n---");
        if let Some(at) = found {
            self.searched += at;
            let len = self.searched + 1;
            let next = separator_end(text, len, is_finished)?;
            return Ok(next.map_or(Found::More, |next| Found::Document { len, next }));
        }
        if !is_finished {
            self.searched = self.searched.max(text.len().saturating_sub(SEPARATOR.len()));
            return Ok(Found::More);
        }
        Ok(match text.len() {
            0 => Found::End,
            len => Found::Document { len, next: len },
        })
    }
}

/// Where the line of the separator at `text[at..]` ends, if the text goes on so far. Only a comment may follow it.
fn separator_end(text: &[u8], at: usize, is_finished: bool) -> Result<Option<usize>, Fault> {
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
    Err(Fault {
        line: memchr::memchr_iter(b'\n', &text[..at]).count(),
        kind: ReadErrorKind::Separator(line.chars().take(100).collect()),
    })
}

#[cfg(test)]
mod tests;
