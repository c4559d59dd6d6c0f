//! Writes a YAML document as sigs.k8s.io/yaml does, so that files that `opm` wrote differ only
//! where they were changed: two spaces, sequences as deep as their key, keys in natural order, no
//! line longer than it has to be.

mod scalar;

use crate::value::{BlobValue, Members};

/// Maximum length in bytes of a key that stands on one line with its value. libyaml's limit for
/// simple keys.
const SIMPLE_KEY: usize = 128;

/// Writes a document without the line that begins it.
pub(super) fn write(value: &BlobValue, out: &mut String) {
    let mut writer = YamlWriter { out };
    match value {
        BlobValue::Object(members) if !members.is_empty() => writer.mapping(members, 0),
        BlobValue::Array(items) if !items.is_empty() => writer.sequence(items, 0),
        plain => {
            writer.scalar(plain, 0);
            writer.out.push('\n');
        }
    }
}

struct YamlWriter<'o> {
    out: &'o mut String,
}

impl YamlWriter<'_> {
    /// Writes the members of a mapping. The first begins where the output ends, the others on lines
    /// of their own.
    fn mapping(&mut self, members: &Members, indent: usize) {
        let mut keys: Vec<_> = members.iter().collect();
        keys.sort_by_cached_key(|(key, _)| natural_order(key));
        for (at, (key, value)) in keys.into_iter().enumerate() {
            if at > 0 {
                self.indent(indent);
            }
            // Other keys are written as complex ones, on lines of their own.
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
                BlobValue::Object(members) if !members.is_empty() => {
                    self.line(indent + 2);
                    self.mapping(members, indent + 2);
                }
                BlobValue::Array(items) if !items.is_empty() => {
                    // yaml.v2 does not indent a sequence below its key.
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

    fn sequence(&mut self, items: &[BlobValue], indent: usize) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.indent(indent);
            }
            self.out.push_str("- ");
            match item {
                BlobValue::Object(members) if !members.is_empty() => {
                    self.mapping(members, indent + 2);
                }
                BlobValue::Array(items) if !items.is_empty() => self.sequence(items, indent + 2),
                plain => {
                    self.scalar(plain, indent);
                    self.out.push('\n');
                }
            }
        }
    }

    fn scalar(&mut self, value: &BlobValue, indent: usize) {
        match value {
            BlobValue::Null => self.out.push_str("null"),
            BlobValue::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            BlobValue::Number(digits) => self.out.push_str(&scalar::number(digits)),
            BlobValue::String(text) => scalar::write(self.out, text, indent, false),
            BlobValue::Array(_) => self.out.push_str("[]"),
            BlobValue::Object(_) => self.out.push_str("{}"),
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

/// Part of a key. The variants are in the order of keys: other characters, numbers, letters.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum KeySegment {
    Other(char),
    /// A number, by its value and then by its leading zeros.
    Number {
        /// Number of digits without leading zeros.
        length: usize,
        /// The digits without leading zeros.
        digits: String,
        /// Number of digits with leading zeros.
        full_length: usize,
    },
    Letter(char),
}

/// Returns what yaml.v2 sorts keys by: `a2` comes before `a10`.
fn natural_order(key: &str) -> Vec<KeySegment> {
    let mut segments = Vec::new();
    let mut rest = key;
    while let Some(c) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let number = rest[..digits].trim_start_matches('0');
            segments.push(KeySegment::Number {
                length: number.len(),
                digits: number.to_owned(),
                full_length: digits,
            });
            rest = &rest[digits..];
        } else {
            segments.push(if c.is_alphabetic() {
                KeySegment::Letter(c)
            } else {
                KeySegment::Other(c)
            });
            rest = &rest[c.len_utf8()..];
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(json: &str) -> String {
        let mut out = String::new();
        write(&BlobValue::parse(json).unwrap(), &mut out);
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
