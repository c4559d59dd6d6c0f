//! Repairs documents that YAML 1.2 forbids and upstream's parser, of YAML 1.1, accepts: flow
//! collections and quoted scalars that are indented less than their mapping, and a tab after a
//! colon. After such an error, insignificant white space is changed and the document is parsed
//! again. The number of lines stays the same.

use saphyr_parser::ScanError;

/// Maximum number of attempts per document, which keeps reading linear in its size.
const TRIES: usize = 100;

/// Maximum number of bytes of a document that are parsed again after repairs: a large one has fewer
/// attempts.
const REPARSED_BYTES: usize = 64 << 20;

/// Maximum growth of a document by all its repairs, in added bytes per byte of it.
const GROWTH: usize = 2;

/// Growth that any document may have, in bytes: that of a small one may be large beside it.
const SMALL_GROWTH: usize = 1 << 20;

/// Attempts to parse a document.
#[derive(Debug)]
pub(super) struct RelaxAttempts {
    tries: usize,
    /// Bytes that may be parsed again.
    bytes: usize,
    /// Maximum size of the text after repairs.
    maximum: usize,
}

impl RelaxAttempts {
    /// Begins with a document as it is.
    pub(super) fn new(text: &str) -> Self {
        Self {
            tries: TRIES,
            bytes: REPARSED_BYTES,
            maximum: text.len() + (GROWTH * text.len()).max(SMALL_GROWTH),
        }
    }

    /// Repairs the text for an error of the parser; `None` for other errors, or after too many
    /// attempts.
    pub(super) fn relax(&mut self, text: &str, refusal: &ScanError) -> Option<String> {
        self.tries = self.tries.checked_sub(1).filter(|tries| *tries > 0)?;
        self.bytes = self.bytes.checked_sub(text.len())?;
        let place = byte_of(text, refusal.marker().index());
        let relaxed = match refusal.info() {
            "invalid indentation" | "invalid indentation in flow construct" => {
                let line = text[..place].rfind('\n').map_or(0, |at| at + 1);
                self.indent(text, line, line)?
            }
            "invalid indentation in quoted scalar" => {
                let first = text[place..].find('\n')? + 1;
                self.indent(text, place + first, quoted_end(text, place)?)?
            }
            "':' must be followed by a valid YAML whitespace" => {
                let from = text[..place].trim_end_matches([' ', '\t']).len();
                let blanks = " ".repeat(place - from);
                replace(text, from, place, &blanks)
            }
            _ => return None,
        };
        (relaxed != text).then_some(relaxed)
    }

    /// Indents the lines that begin in a part of the text deeper than all lines before it, if there
    /// is room. `from` must be the start of a line.
    fn indent(&self, text: &str, from: usize, to: usize) -> Option<String> {
        let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let deepest = text[..from].split('\n').map(indentation).max();
        let more = deepest.unwrap_or(0) + 1;
        let lines = text.get(from..to)?;
        let count = 1 + lines.matches('\n').count();
        if text.len() + count * more > self.maximum {
            return None;
        }
        let more = " ".repeat(more);
        let lines = format!("{more}{}", lines.replace('\n', &format!("\n{more}")));
        Some(replace(text, from, to, &lines))
    }
}

/// Returns the end of the quoted scalar that begins at an offset.
fn quoted_end(text: &str, place: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(place)?;
    let mut at = place + 1;
    loop {
        match bytes.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            &byte if byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => {
                at += 2;
            }
            &byte if byte == quote => return Some(at),
            _ => at += 1,
        }
    }
}

fn replace(text: &str, from: usize, to: usize, with: &str) -> String {
    [&text[..from], with, &text[to..]].concat()
}

/// Returns the byte offset of a character, by index.
fn byte_of(text: &str, character: usize) -> usize {
    let place = text.char_indices().nth(character);
    place.map_or(text.len(), |(at, _)| at)
}
