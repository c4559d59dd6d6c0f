//! Writes a YAML document as sigs.k8s.io/yaml does, so that files that `opm` wrote differ only
//! where they were changed: two spaces, sequences as deep as their key, keys in natural order, no
//! line longer than it has to be.

mod scalar;

use crate::value::{Members, Value};

/// Longest key that stands on one line with its value, in bytes.
const SIMPLE_KEY: usize = 128;

/// Writes a document without the line that begins it.
pub(super) fn write(value: &Value, out: &mut String) {
    let mut writer = Writer { out };
    match value {
        Value::Object(members) if !members.is_empty() => writer.mapping(members, 0),
        Value::Array(items) if !items.is_empty() => writer.sequence(items, 0),
        plain => {
            writer.scalar(plain, 0);
            writer.out.push('\n');
        }
    }
}

struct Writer<'o> {
    out: &'o mut String,
}

impl Writer<'_> {
    /// Writes the members of a mapping. The first begins where the output ends, the others on lines
    /// of their own.
    fn mapping(&mut self, members: &Members, indent: usize) {
        let mut keys: Vec<_> = members.iter().collect();
        keys.sort_by_cached_key(|(key, _)| natural_order(key));
        for (at, (key, value)) in keys.into_iter().enumerate() {
            if at > 0 {
                self.indent(indent);
            }
            if key.len() > SIMPLE_KEY || key.contains(scalar::is_break) {
                self.out.push_str("? ");
                scalar::write(self.out, key, indent, true);
                self.out.push('\n');
                self.indent(indent);
            } else {
                scalar::write_key(self.out, key);
            }
            self.out.push(':');
            match value {
                Value::Object(members) if !members.is_empty() => {
                    self.line(indent + 2);
                    self.mapping(members, indent + 2);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.line(indent);
                    self.sequence(items, indent);
                }
                plain => {
                    self.out.push(' ');
                    self.scalar(plain, indent);
                    self.out.push('\n');
                }
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.indent(indent);
            }
            self.out.push_str("- ");
            match item {
                Value::Object(members) if !members.is_empty() => self.mapping(members, indent + 2),
                Value::Array(items) if !items.is_empty() => self.sequence(items, indent + 2),
                plain => {
                    self.scalar(plain, indent);
                    self.out.push('\n');
                }
            }
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::Number(digits) => self.out.push_str(&scalar::number(digits)),
            Value::String(text) => scalar::write(self.out, text, indent, false),
            Value::Array(_) => self.out.push_str("[]"),
            Value::Object(_) => self.out.push_str("{}"),
        }
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.indent(indent);
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// A piece of a key, in the order of keys: other characters, numbers by their value, letters.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Other(char),
    /// Digits without leading zeros by length and then by text, and with them by length.
    Number(usize, String, usize),
    Letter(char),
}

/// The order that yaml.v2 sorts keys in: `a2` before `a10`.
fn natural_order(key: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = key;
    while let Some(c) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let number = rest[..digits].trim_start_matches('0');
            pieces.push(Piece::Number(number.len(), number.to_owned(), digits));
            rest = &rest[digits..];
        } else {
            pieces.push(if c.is_alphabetic() {
                Piece::Letter(c)
            } else {
                Piece::Other(c)
            });
            rest = &rest[c.len_utf8()..];
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(json: &str) -> String {
        let mut out = String::new();
        write(&Value::parse(json).unwrap(), &mut out);
        out
    }

    #[test]
    fn collections_are_written_in_blocks() {
        let json = r#"{"a10":[[1,[2]],{"k":"v","l":[]},{}],"a2":{"b":null},"B":true,"-":0.5}"#;
        let expected =
            "'-': 0.5\nB: true\na2:\n  b: null\na10:\n- - 1\n  - - 2\n- k: v\n  l: []\n- {}\n";
        assert_eq!(yaml(json), expected);
    }
}
