//! The standard streams, for texts of catalogs: on a terminal, what such a text could make it do is
//! not written.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Stderr, Stdout, Write};

/// A stream that writes to a terminal only what is shown: text, line ends, tabs and colours.
/// Elsewhere it writes what it is given.
#[derive(Debug)]
pub struct TerminalWriter<W: Write> {
    inner: W,
    is_terminal: bool,
    /// Begin of a line whose end has not been written. An escape sequence may come in parts, so that
    /// it is judged with its whole line.
    line: Vec<u8>,
}

/// The standard output.
pub fn stdout() -> TerminalWriter<Stdout> {
    let inner = io::stdout();
    TerminalWriter {
        is_terminal: inner.is_terminal(),
        inner,
        line: Vec::new(),
    }
}

/// The standard error output.
pub fn stderr() -> TerminalWriter<Stderr> {
    let inner = io::stderr();
    TerminalWriter {
        is_terminal: inner.is_terminal(),
        inner,
        line: Vec::new(),
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.inner.write(bytes);
        }
        self.line.extend_from_slice(bytes);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            let lines: Vec<_> = self.line.drain(..=end).collect();
            self.inner
                .write_all(shown(&String::from_utf8_lossy(&lines)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.inner
            .write_all(shown(&String::from_utf8_lossy(&line)).as_bytes())?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for TerminalWriter<W> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// The text with a space for each character that a terminal would obey: control characters, but for
/// those that begin a colour, and what changes the direction of the text behind it.
fn shown(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find(is_obeyed) {
        let (before, obeyed) = rest.split_at(at);
        out += before;
        let length = colour(obeyed);
        out += if length > 0 { &obeyed[..length] } else { " " };
        rest = &obeyed[length.max(obeyed.chars().next().map_or(0, char::len_utf8))..];
    }
    if rest.len() == text.len() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out + rest)
    }
}

/// Length of the escape sequence for a colour that a text begins with; 0 if it begins with none.
fn colour(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';');
    end.filter(|end| parameters[*end..].starts_with('m'))
        .map_or(0, |end| "\u{1b}[".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text that a stream receives for these parts.
    fn written(is_terminal: bool, parts: &[&str]) -> String {
        let mut out = Vec::new();
        let mut writer = TerminalWriter {
            inner: &mut out,
            is_terminal,
            line: Vec::new(),
        };
        for part in parts {
            writer.write_all(part.as_bytes()).unwrap();
        }
        drop(writer);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_gets_text_and_colours_and_nothing_else_that_it_would_obey() {
        for (text, expected) in [
            ("name\tétcd\n", "name\tétcd\n"),
            ("\u{1b}[1;33mbold\u{1b}[0m\n", "\u{1b}[1;33mbold\u{1b}[0m\n"),
            ("\u{1b}]52;c;aGk=\u{7}x", " ]52;c;aGk= x"),
            ("\u{1b}[2J\u{1b}[31", " [2J [31"),
            ("\u{9b}2J\r\u{8}\u{7f}\0x", " 2J    x"),
            ("\u{202e}abc\u{2066}", " abc "),
            ("\u{1b}", " "),
        ] {
            assert_eq!(written(true, &[text]), expected, "{text:?}");
            assert_eq!(written(false, &[text]), text);
        }
    }

    #[test]
    fn a_colour_may_come_in_parts() {
        assert_eq!(
            written(true, &["\u{1b}[", "3", "1m", "red\n", "\u{1b}"]),
            "\u{1b}[31mred\n "
        );
    }
}
