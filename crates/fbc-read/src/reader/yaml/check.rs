//! Checks the text of a document in addition to the parser, which is more lenient than upstream's
//! in some places and may hold too many tokens at once.

use std::borrow::Cow;

use saphyr_parser::Span;

use super::super::error::{ReadErrorKind, TextError};
use super::super::limits::ReadLimits;

/// Number of bytes of a document for which it may have one indicator more than
/// [`ReadLimits::indicators`]. The tokens of a document take no more than about 12 times its bytes
/// then; of the documents of real catalogs that are larger than 256 KiB, none has more than one
/// indicator in 20 bytes.
pub const BYTES_PER_INDICATOR: usize = 16;

/// Characters that begin or end a token.
const INDICATORS: &[u8] = b",[]{}:?*&!\"'#";

/// Table of the bytes that are indicators.
const IS_INDICATOR: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < INDICATORS.len() {
        table[INDICATORS[i] as usize] = true;
        i += 1;
    }
    table
};

/// Validates the text of a document: UTF-8, no forbidden characters, not too many indicators.
pub(super) fn check<'t>(text: &'t [u8], limits: &ReadLimits) -> Result<Cow<'t, str>, TextError> {
    let fault = |at: usize, kind| TextError {
        line: memchr::memchr_iter(b'\n', &text[..at]).count(),
        kind,
    };
    let text = std::str::from_utf8(text)
        .map_err(|error| fault(error.valid_up_to(), ReadErrorKind::Utf8))?;
    let has_controls = text.as_bytes().chunks(1024).any(|chunk| {
        // No early exit, so that the compiler vectorizes the loop.
        let found = |found, &byte| found | is_control_byte(byte);
        chunk.iter().fold(false, found)
    });
    if has_controls || !text.is_ascii() {
        let mut characters = text.char_indices();
        if let Some((at, c)) = characters.find(|&(_, c)| is_forbidden(c)) {
            return Err(fault(at, ReadErrorKind::ControlCharacter(c.into())));
        }
    }
    // A shorter text cannot have more.
    if text.len() > limits.indicators {
        let limit = limits.indicators + text.len() / BYTES_PER_INDICATOR;
        let indicators = text.bytes().filter(|&byte| IS_INDICATOR[usize::from(byte)]);
        if indicators.count() > limit {
            return Err(fault(0, ReadErrorKind::TooManyIndicators(limit)));
        }
    }
    // YAML 1.1 has one more line break; within a text it is folded to a blank like the others.
    if !text.is_ascii() && text.contains('\u{85}') {
        return Ok(Cow::Owned(text.replace('\u{85}', " ")));
    }
    Ok(Cow::Borrowed(text))
}

/// Finds `\/` in double-quoted scalars, which YAML 1.1 forbids and the parser accepts.
#[derive(Debug)]
pub(super) struct EscapedSlashes<'t> {
    text: &'t str,
    /// The last position: the parser counts characters, and positions ascend.
    characters: usize,
    bytes: usize,
}

impl<'t> EscapedSlashes<'t> {
    /// Creates the check; `None` when the document has no `\/` at all, as almost all documents.
    pub(super) fn find_in(text: &'t str) -> Option<Self> {
        memchr::memmem::find(text.as_bytes(), b"\\/")?;
        Some(Self {
            text,
            characters: 0,
            bytes: 0,
        })
    }

    /// Rejects them in a double-quoted scalar.
    pub(super) fn check(&mut self, scalar: Span) -> Result<(), ReadErrorKind> {
        let from = self.byte(scalar.start.index());
        let to = self.byte(scalar.end.index());
        let mut rest = &self.text[from..to];
        while let Some(at) = rest.find('\\') {
            match rest[at + 1..].chars().next() {
                Some('/') => {
                    let text = "found unknown escape character".to_owned();
                    return Err(ReadErrorKind::Yaml(text));
                }
                Some(escaped) => rest = &rest[at + 1 + escaped.len_utf8()..],
                None => break,
            }
        }
        Ok(())
    }

    /// Returns the byte offset of a character, by index.
    fn byte(&mut self, character: usize) -> usize {
        let ahead = character.saturating_sub(self.characters);
        let rest = &self.text[self.bytes..];
        let found = rest.char_indices().nth(ahead);
        self.bytes += found.map_or(rest.len(), |(at, _)| at);
        self.characters += ahead;
        self.bytes
    }
}

fn is_control_byte(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t' && byte != b'\n' && byte != b'\r') || byte == 0x7f
}

fn is_forbidden(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => true,
        _ => false,
    }
}
