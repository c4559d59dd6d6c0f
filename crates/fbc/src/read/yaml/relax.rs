//! What YAML 1.2 forbids and upstream's parser, of YAML 1.1, allows: text within brackets, braces or quotes that stands
//! further left than its mapping, and a tab behind a colon. Where the parser refuses a document for it, white space
//! that means nothing is changed and the document is tried again. No line is added.

use saphyr_parser::ScanError;

/// How often a document may be tried, so that reading stays linear in its size.
const TRIES: usize = 100;

/// How many blanks may be added at once, in bytes for each byte of the text.
const GROWTH: usize = 2;

/// How often one document was tried.
#[derive(Debug, Default)]
pub(super) struct Tries(usize);

impl Tries {
    /// The text with what it was refused for set right; none when it is refused for another reason, or too often.
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

/// Moves the lines that begin in this part of the text to the right of all before; `from` is the beginning of one.
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

/// Where the scalar that begins with the quote at this place ends.
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

/// Where the character with this number begins.
fn byte_of(text: &str, character: usize) -> usize {
    let place = text.char_indices().nth(character);
    place.map_or(text.len(), |(at, _)| at)
}
