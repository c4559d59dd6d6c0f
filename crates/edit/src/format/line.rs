//! Writes canonical lines as JSON without parsing them to values: a pass over the text that copies
//! it, for commands that print whole catalogs.
//!
//! Canonical lines have sorted keys, no white space, and text escaped as it is written, so that
//! only members of known shapes change places. Whatever is unusual is left to
//! [`Format::write`](super::Format::write).

use std::ops::Range;

use memchr::memchr2;

use super::{SORTED, Shape, begin_line, end_line, shape_of};
use crate::bundle::is_large_property as is_large;

/// A canonical line with its members.
#[derive(Clone, Debug)]
pub struct Line<'l> {
    text: &'l str,
    /// Keys, without quotes, and places of the values.
    members: Vec<(&'l str, Range<usize>)>,
}

/// A line that is not written by copying it: keys of an unusual case, or text that is not
/// canonical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unusual;

/// Length in bytes of strings that are searched word by word, which is faster than a call for keys
/// and most values.
const SHORT_BYTES: usize = 32;

/// One in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of each byte of a word.
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// A position in the text of a line.
struct Cursor<'l> {
    text: &'l str,
    at: usize,
}

impl<'l> Line<'l> {
    /// Finds the members of a line; `None` for one that is not a canonical object.
    pub fn new(text: &'l str) -> Option<Self> {
        let text = text.trim_ascii_end();
        let mut cursor = Cursor { text, at: 0 };
        let members = cursor.members().ok()?;
        (cursor.at == text.len()).then_some(Self { text, members })
    }

    /// Returns the text of a string member; `None` if it is not there, is not a string or has
    /// escapes.
    pub fn str(&self, key: &str) -> Option<&'l str> {
        let (_, range) = self.members.iter().find(|(own, _)| *own == key)?;
        let text = self.text[range.clone()]
            .strip_prefix('"')?
            .strip_suffix('"')?;
        (!text.contains('\\')).then_some(text)
    }

    /// Appends the line as `opm render` writes it, a bundle [arranged](crate::bundle::arranged).
    /// Returns whether that was possible; nothing is appended otherwise.
    pub fn write(&self, out: &mut String) -> bool {
        let length = out.len();
        let schema = self.str("schema").unwrap_or_default();
        let shape = shape_of(schema);
        let is_usual =
            has_usual_keys(&self.members, shape) && has_usual_keys(&self.members, &SCHEMA);
        if !is_usual
            || write_members(
                self.text,
                &self.members,
                shape,
                0,
                out,
                schema == "olm.bundle",
            )
            .is_err()
        {
            out.truncate(length);
            return false;
        }
        out.push('\n');
        true
    }
}

/// The key that every blob has.
static SCHEMA: Shape = Shape(&[("schema", &SORTED)]);

/// Returns whether known keys have their usual case.
fn has_usual_keys(members: &[(&str, Range<usize>)], shape: &Shape) -> bool {
    let is_known = |key: &str| {
        shape
            .0
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(key))
    };
    members
        .iter()
        .all(|(key, _)| is_known(key).is_none_or(|(known, _)| known == key))
}

/// Writes an object whose members may change places.
fn write_members(
    text: &str,
    members: &[(&str, Range<usize>)],
    shape: &'static Shape,
    depth: usize,
    out: &mut String,
    is_bundle: bool,
) -> Result<(), Unusual> {
    let listed = shape
        .0
        .iter()
        .filter_map(|(key, shape)| Some((members.iter().find(|(own, _)| own == key)?, *shape)));
    let is_listed = |key: &str| shape.0.iter().any(|(listed, _)| *listed == key);
    let others = members
        .iter()
        .filter(|(key, _)| !is_listed(key))
        .map(|member| (member, &SORTED));
    out.push('{');
    for (at, ((key, range), shape)) in listed.chain(others).enumerate() {
        begin_line(at, depth + 1, out);
        out.extend(["\"", key, "\": "]);
        let mut cursor = Cursor {
            text,
            at: range.start,
        };
        let written = match *key {
            "properties" if is_bundle => {
                cursor.write_sorted(shape, "{\"type\":\"", is_large, depth + 1, out)
            }
            "relatedImages" if is_bundle => {
                cursor.write_sorted(shape, "{\"image\":\"", |image| image, depth + 1, out)
            }
            _ => cursor.write(shape, depth + 1, out),
        };
        written?;
    }
    if members.is_empty() {
        out.push('}');
        return Ok(());
    }
    end_line(depth, out);
    out.push('}');
    Ok(())
}

/// Finds the first quote or backslash.
#[inline]
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<8>().filter(|_| at < SHORT_BYTES) {
        let word = u64::from_le_bytes(*chunk);
        let found = (zero_bytes(word ^ (ONES * u64::from(b'"')))
            | zero_bytes(word ^ (ONES * u64::from(b'\\'))))
            & HIGHS;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', &text[at..]).map(|found| at + found)
}

/// Sets the high bit of each byte that is zero. Only the lowest set bit is reliable.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

impl<'l> Cursor<'l> {
    fn peek(&self) -> Result<u8, Unusual> {
        self.text.as_bytes().get(self.at).copied().ok_or(Unusual)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Unusual> {
        if self.eat(byte) { Ok(()) } else { Err(Unusual) }
    }

    /// Passes a string, and returns it with its quotes.
    fn string(&mut self) -> Result<&'l str, Unusual> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            let found = quote_or_backslash(&self.text.as_bytes()[self.at..]).ok_or(Unusual)?;
            self.at += found + 1;
            if self.text.as_bytes()[self.at - 1] == b'"' {
                return Ok(&self.text[start..self.at]);
            }
            self.at += 1;
        }
    }

    /// Passes a key with its colon, and returns it without quotes.
    fn key(&mut self) -> Result<&'l str, Unusual> {
        let key = self.string()?;
        self.expect(b':')?;
        Ok(&key[1..key.len() - 1])
    }

    /// Passes a number, `true`, `false` or `null`.
    fn plain(&mut self) -> Result<&'l str, Unusual> {
        let rest = &self.text.as_bytes()[self.at..];
        let end = rest
            .iter()
            .position(|byte| b",]}".contains(byte))
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(Unusual);
        }
        self.at += end;
        Ok(&self.text[self.at - end..self.at])
    }

    /// Passes a value.
    fn skip(&mut self) -> Result<(), Unusual> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => _ = self.string()?,
                b'{' | b'[' => {
                    (depth, self.at) = (depth + 1, self.at + 1);
                    continue;
                }
                b'}' | b']' => {
                    (depth, self.at) = (depth.checked_sub(1).ok_or(Unusual)?, self.at + 1);
                }
                b',' | b':' if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => _ = self.plain()?,
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Passes an object, and returns its members.
    fn members(&mut self) -> Result<Vec<(&'l str, Range<usize>)>, Unusual> {
        let mut members = Vec::new();
        self.expect(b'{')?;
        while !self.eat(b'}') {
            if !members.is_empty() {
                self.expect(b',')?;
            }
            let key = self.key()?;
            let start = self.at;
            self.skip()?;
            members.push((key, start..self.at));
        }
        Ok(members)
    }

    fn write(
        &mut self,
        shape: &'static Shape,
        depth: usize,
        out: &mut String,
    ) -> Result<(), Unusual> {
        match self.peek()? {
            b'"' => out.push_str(self.string()?),
            b'{' => self.write_object(shape, depth, out)?,
            b'[' => {
                self.at += 1;
                if self.eat(b']') {
                    out.push_str("[]");
                    return Ok(());
                }
                out.push('[');
                for at in 0.. {
                    begin_line(at, depth + 1, out);
                    self.write(shape, depth + 1, out)?;
                    if self.eat(b']') {
                        break;
                    }
                    self.expect(b',')?;
                }
                end_line(depth, out);
                out.push(']');
            }
            _ => out.push_str(self.plain()?),
        }
        Ok(())
    }

    /// Writes an object as it comes, if its keys stand in the order of their shape, and else by its
    /// members.
    fn write_object(
        &mut self,
        shape: &'static Shape,
        depth: usize,
        out: &mut String,
    ) -> Result<(), Unusual> {
        let start = self.at;
        let length = out.len();
        if self.write_in_order(shape, depth, out)? {
            return Ok(());
        }
        self.at = start;
        out.truncate(length);
        let members = self.members()?;
        if !has_usual_keys(&members, shape) {
            return Err(Unusual);
        }
        write_members(self.text, &members, shape, depth, out, false)
    }

    /// Writes an object as it comes; `false` as soon as its keys stand in another order than that
    /// of their shape.
    fn write_in_order(
        &mut self,
        shape: &'static Shape,
        depth: usize,
        out: &mut String,
    ) -> Result<bool, Unusual> {
        self.expect(b'{')?;
        if self.eat(b'}') {
            out.push_str("{}");
            return Ok(true);
        }
        out.push('{');
        let mut listed = shape.0.iter();
        for at in 0.. {
            let key = self.key()?;
            let of_key = match shape.0 {
                [] => &SORTED,
                _ => match listed.find(|(known, _)| *known == key) {
                    Some((_, shape)) => *shape,
                    None => return Ok(false),
                },
            };
            begin_line(at, depth + 1, out);
            out.extend(["\"", key, "\": "]);
            self.write(of_key, depth + 1, out)?;
            if self.eat(b'}') {
                break;
            }
            self.expect(b',')?;
        }
        end_line(depth, out);
        out.push('}');
        Ok(true)
    }

    /// Writes an array of objects sorted by what their first members say, whose text begins in this
    /// way: keys are sorted, so that others would stand in front of that member in an unusual
    /// object.
    fn write_sorted<K: Ord>(
        &mut self,
        shape: &'static Shape,
        begin: &str,
        order: impl Fn(&'l str) -> K,
        depth: usize,
        out: &mut String,
    ) -> Result<(), Unusual> {
        let start = self.at;
        if !self.eat(b'[') || self.eat(b']') {
            self.at = start;
            return self.write(shape, depth, out);
        }
        out.push('[');
        let before = out.len();
        let mut items = Vec::new();
        loop {
            let first = self.text[self.at..]
                .strip_prefix(begin)
                .and_then(|rest| rest.split('"').next());
            let first = first.filter(|text| !text.contains('\\')).ok_or(Unusual)?;
            begin_line(items.len(), depth + 1, out);
            let start = out.len();
            self.write(shape, depth + 1, out)?;
            items.push((order(first), start..out.len()));
            if self.eat(b']') {
                break;
            }
            self.expect(b',')?;
        }
        if !items.is_sorted_by_key(|(order, _)| order) {
            items.sort_by(|(a, _), (b, _)| a.cmp(b));
            let written = out.split_off(before);
            for (at, (_, range)) in items.into_iter().enumerate() {
                begin_line(at, depth + 1, out);
                out.push_str(&written[range.start - before..range.end - before]);
            }
        }
        end_line(depth, out);
        out.push(']');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::bundle::arranged;
    use crate::format::with_usual_keys;
    use crate::value::Value;

    /// What is written of a line by way of its value.
    fn expected(line: &str) -> String {
        let mut out = String::new();
        Format::Json.write(
            &arranged(with_usual_keys(&Value::parse(line).unwrap())),
            &mut out,
        );
        out
    }

    fn written(line: &str) -> Option<String> {
        let mut out = "before".to_owned();
        let is_written = Line::new(line)?.write(&mut out);
        let out = out.strip_prefix("before").expect("nothing else is touched");
        assert!(is_written || out.is_empty());
        is_written.then(|| out.to_owned())
    }

    #[test]
    fn a_line_is_written_as_its_value_is() {
        for line in [
            "{}",
            r#"{"schema":"x"}"#,
            r#"{"a":[],"b":{},"c":[[1,-2.50e3],[{}]],"d":"\"\\\n é","e":null,"schema":"olm.unknown","t":true}"#,
            r#"{"defaultChannel":"a","description":"d","icon":{"base64data":"eA==","mediatype":"m"},"name":"p","schema":"olm.package"}"#,
            r#"{"entries":[{"name":"a","replaces":"b","skipRange":"<1","skips":["c","d"]},{"name":"b"}],"name":"c","package":"p","schema":"olm.channel"}"#,
            r#"{"image":"i","name":"n","package":"p","properties":[{"type":"olm.csv.metadata","value":{"b":1,"c":[]}},{"type":"olm.gvk","value":{"group":"g"}},{"extra":0,"type":"x","value":0}],"schema":"olm.bundle"}"#,
            r#"{"image":"i","name":"n","package":"p","properties":[{"type":"olm.bundle.object","value":{}},{"type":"olm.csv.metadata","value":1},{"type":"a","value":2}],"relatedImages":[{"image":"j","name":"n"},{"image":"i"},{"image":"i","name":"m"}],"schema":"olm.bundle","x":1}"#,
            r#"{"image":"i","properties":[],"relatedImages":[],"schema":"olm.bundle"}"#,
            r#"{"image":"i","properties":null,"schema":"olm.bundle"}"#,
            r#"{"entries":[{"message":"m","reference":{"name":"n","schema":"olm.bundle"}}],"package":"p","schema":"olm.deprecations"}"#,
        ] {
            let is_unusual = line.contains("extra");
            assert_eq!(
                written(line).unwrap_or_else(|| expected(line)),
                expected(line),
                "{line}"
            );
            assert_eq!(written(line).is_none(), is_unusual, "{line}");
        }
    }

    #[test]
    fn what_is_unusual_is_left_alone() {
        for line in [
            r#"{"Name":"n","schema":"olm.package"}"#,
            r#"{"entries":[{"Name":"n"}],"schema":"olm.channel"}"#,
            r#"{"properties":[1],"schema":"olm.bundle"}"#,
            r#"{"a":"#,
            r#"{"a":1"#,
            r#"{"a":1}}"#,
            r#"{"a":[1"#,
            r#"{"a""#,
            "[1]",
            "",
        ] {
            assert_eq!(written(line), None, "{line}");
        }
    }

    #[test]
    fn random_values_are_written_as_they_are_by_way_of_values() {
        let mut random = fastrand::Rng::with_seed(9);
        for _ in 0..2_000 {
            let mut value = random_value(&mut random, 4);
            let schemas = [
                "olm.package",
                "olm.channel",
                "olm.bundle",
                "olm.deprecations",
                "x",
            ];
            if let Value::Object(members) = &mut value {
                members.insert(
                    "schema".to_owned(),
                    Value::text(schemas[random.usize(..schemas.len())]),
                );
                let line = value.to_json();
                if let Some(text) = written(&line) {
                    assert_eq!(text, expected(&line), "{line}");
                }
            }
        }
    }

    fn random_value(random: &mut fastrand::Rng, depth: usize) -> Value {
        let keys = [
            "schema",
            "name",
            "properties",
            "type",
            "value",
            "entries",
            "icon",
            "skips",
            "relatedImages",
            "é\"",
            "a",
        ];
        match random.usize(..if depth == 0 { 3 } else { 6 }) {
            0 => Value::Number("-1.50".to_owned()),
            1 => Value::text(["", "olm.csv.metadata", "\u{2028}\\\"é"][random.usize(..3)]),
            2 => Value::Bool(random.bool()),
            3 => Value::Array(
                (0..random.usize(..4))
                    .map(|_| random_value(random, depth - 1))
                    .collect(),
            ),
            _ => {
                let mut members = crate::value::Members::new();
                for _ in 0..random.usize(..5) {
                    members.insert(
                        keys[random.usize(..keys.len())].to_owned(),
                        random_value(random, depth - 1),
                    );
                }
                Value::Object(members)
            }
        }
    }
}
