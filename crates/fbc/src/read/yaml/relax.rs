//! Repairs documents that YAML 1.2 forbids and upstream's parser, of YAML 1.1, accepts: flow collections and quoted
//! scalars that are indented less than their mapping, and a tab after a colon. After such an error, insignificant white
//! space is changed and the document is parsed again. The number of lines stays the same.

use saphyr_parser::ScanError;

/// Maximum number of attempts per document, which keeps reading linear in its size.
const TRIES: usize = 100;

/// Maximum growth by one repair, in added bytes per byte of the text.
const GROWTH: usize = 2;

/// Number of attempts to parse a document.
#[derive(Debug, Default)]
pub(super) struct RelaxAttempts(usize);

impl RelaxAttempts {
    /// Repairs the text for an error of the parser; `None` for other errors, or after too many attempts.
    pub(super) fn relax(&mut self, text: &str, refusal: &ScanError) -> Option<String> {
        self.0 += 1;
        if self.0 >= TRIES {
            return None;
        }
        let place = byte_of(text, refusal.marker().index());
        let relaxed = match refusal.info() {
            "invalid indentation" | "invalid indentation in flow construct" => {
                let line = text[..place].rfind('\n').map_or(0, |at| at + 1);
                indent(text, line, line)?
            }
            "invalid indentation in quoted scalar" => {
                let first = text[place..].find('\n')? + 1;
                indent(text, place + first, quoted_end(text, place)?)?
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
}

/// Indents the lines that begin in a part of the text deeper than all lines before it. `from` must be the start of a line.
fn indent(text: &str, from: usize, to: usize) -> Option<String> {
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let deepest = text[..from].split('\n').map(indentation).max();
    let more = " ".repeat(deepest.unwrap_or(0) + 1);
    let lines = text.get(from..to)?;
    let count = 1 + lines.matches('\n').count();
    if count * more.len() > GROWTH * text.len() {
        return None;
    }
    let lines = format!("{more}{}", lines.replace('\n', &format!("\n{more}")));
    Some(replace(text, from, to, &lines))
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
