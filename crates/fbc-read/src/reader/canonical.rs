//! Writes one canonical line: JSON on one line, with sorted keys, and text escaped as by Go's
//! encoder without its escapes for HTML.
//!
//! Values are written in input order. If the keys of an object are not sorted, their order is
//! noted, and the line is assembled once at the end: each byte is moved at most once, whatever the
//! nesting.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::mem;
use std::ops::Range;

use fbc_grammar::quote::MAX_QUOTED_BYTES;

use crate::json::encode::unescape;
use crate::problem::MAX_PROBLEMS_PER_CODE;

/// Type of a mapping key before its conversion to text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    String,
    Bool,
    Integer,
    Float,
    /// A merge key: the member is not part of the object.
    Merge,
}

/// Location of a member of an object in the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectMember {
    /// Offset of its key, at the quote.
    key: usize,
    /// Offset of its value.
    value: usize,
    /// First bytes of its key as a number, which usually decides comparisons.
    prefix: u64,
    kind: KeyKind,
    /// `true` when its key has escapes.
    is_escaped: bool,
}

/// A member with its end offset.
#[derive(Clone, Debug)]
pub(super) struct MemberSpan {
    member: ObjectMember,
    end: usize,
}

/// Writes values one after the other, each as a canonical line.
#[derive(Debug, Default)]
pub(super) struct CanonicalWriter {
    /// The value, with members in input order.
    out: Vec<u8>,
    open: Vec<OpenCollection>,
    /// Members of all open objects.
    members: Vec<ObjectMember>,
    /// Objects whose members must be reordered, inner before outer.
    unordered: Vec<UnorderedObject>,
    /// Members of the objects in `unordered`, in sorted order.
    spans: Vec<Range<usize>>,
    /// Keys that became equal by the conversion to text, each up to [`MAX_QUOTED_BYTES`]: the first
    /// ones.
    collisions: Vec<String>,
    /// Number of further such keys.
    unlisted_collisions: u64,
    /// The assembled line, if it differs from `out`.
    line: Vec<u8>,
}

#[derive(Debug)]
struct OpenCollection {
    is_object: bool,
    start: usize,
    /// Index of its first member in `members`.
    members: usize,
    /// `true` while the keys are in order, so that closing the object need not sort them.
    in_order: bool,
}

#[derive(Debug)]
struct UnorderedObject {
    text: Range<usize>,
    spans: Range<usize>,
}

impl CanonicalWriter {
    /// Starts another value.
    pub(super) fn clear(&mut self) {
        self.out.clear();
        self.open.clear();
        self.members.clear();
        self.unordered.clear();
        self.spans.clear();
        self.collisions.clear();
        self.unlisted_collisions = 0;
    }

    /// Returns the number of open collections.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of members of all open objects.
    #[inline]
    pub(super) fn open_members(&self) -> usize {
        self.members.len()
    }

    /// Tells whether the innermost open collection is an object; `None` when none is open.
    #[inline]
    pub(super) fn innermost_is_object(&self) -> Option<bool> {
        self.open.last().map(|open| open.is_object)
    }

    /// Returns the output so far, with members in input order.
    pub(super) fn written(&self) -> &[u8] {
        &self.out
    }

    /// Returns the output for a new value, after a comma if an array needs one.
    #[inline]
    pub(super) fn value(&mut self) -> &mut Vec<u8> {
        if self.innermost_is_object() == Some(false) && self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
        &mut self.out
    }

    /// Returns the output for the rest of a value.
    #[inline]
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    pub(super) fn open(&mut self, is_object: bool) {
        self.value();
        self.open.push(OpenCollection {
            is_object,
            start: self.out.len(),
            members: self.members.len(),
            in_order: true,
        });
        self.out.push(if is_object { b'{' } else { b'[' });
    }

    /// Begins a member and returns the output for its key, which must be written with quotes.
    #[inline]
    pub(super) fn begin_key(&mut self, kind: KeyKind) -> &mut Vec<u8> {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.members.push(ObjectMember {
            key: self.out.len(),
            value: 0,
            prefix: 0,
            kind,
            is_escaped: false,
        });
        &mut self.out
    }

    /// Ends a key; the value follows.
    #[inline]
    pub(super) fn end_key(&mut self, is_escaped: bool) {
        self.out.push(b':');
        let value = self.out.len();
        let Some(open) = self.open.last_mut() else {
            return;
        };
        let Some((member, before)) = self.members[open.members..].split_last_mut() else {
            return;
        };
        member.value = value;
        member.is_escaped = is_escaped;
        member.prefix = prefix(&member.key(&self.out));
        open.in_order &= member.kind != KeyKind::Merge
            && before
                .last()
                .is_none_or(|before| before.compare(member, &self.out) == Ordering::Less);
    }

    /// Iterates over the members of the innermost open object.
    pub(super) fn innermost_members(&self) -> impl DoubleEndedIterator<Item = MemberSpan> {
        let first = self.open.last().map_or(0, |open| open.members);
        (first..self.members.len()).map(|member| self.span(member))
    }

    /// Returns a member of the innermost open object, by index.
    pub(super) fn innermost_member(&self, place: usize) -> MemberSpan {
        let first = self.open.last().map_or(0, |open| open.members);
        self.span(first + place)
    }

    /// Closes the innermost open collection.
    #[inline]
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        if !open.is_object {
            return self.out.push(b']');
        }
        if !open.in_order {
            self.note_order(&open);
        }
        self.members.truncate(open.members);
        self.out.push(b'}');
    }

    /// Repeats a value from earlier output.
    pub(super) fn repeat(&mut self, written: Range<usize>) {
        let offset = self.value().len() - written.start;
        self.copy(written, offset);
    }

    /// Repeats a member from earlier output in the innermost open object.
    pub(super) fn repeat_member(&mut self, span: &MemberSpan) {
        let ObjectMember {
            key,
            value,
            kind,
            is_escaped,
            ..
        } = span.member;
        if kind == KeyKind::Merge {
            return;
        }
        let offset = self.begin_key(kind).len() - key;
        self.copy(key..value - 1, offset);
        self.end_key(is_escaped);
        self.copy(value..span.end, offset);
    }

    /// Takes the first keys that became equal within their object by the conversion to text, and
    /// the number of others.
    pub(super) fn take_collisions(&mut self) -> (Vec<String>, u64) {
        (
            mem::take(&mut self.collisions),
            mem::take(&mut self.unlisted_collisions),
        )
    }

    fn note_collision(&mut self, member: &ObjectMember) {
        if self.collisions.len() as u64 >= MAX_PROBLEMS_PER_CODE {
            self.unlisted_collisions += 1;
            return;
        }
        let key = member.key(&self.out);
        self.collisions
            .push(String::from_utf8_lossy(&key[..key.len().min(MAX_QUOTED_BYTES)]).into_owned());
    }

    /// Completes the line, with its line feed.
    pub(super) fn finish(&mut self) {
        if self.unordered.is_empty() {
            self.out.push(b'\n');
            return;
        }
        // Outer objects before inner ones.
        self.unordered
            .sort_unstable_by_key(|object| object.text.start);
        self.line.clear();
        self.line.reserve(self.out.len() + 1);
        let mut pending = vec![LinePiece::Text(0..self.out.len())];
        while let Some(piece) = pending.pop() {
            match piece {
                LinePiece::Byte(byte) => self.line.push(byte),
                LinePiece::Text(text) => self.assemble(text, &mut pending),
            }
        }
        self.line.push(b'\n');
    }

    /// Returns the line after [`CanonicalWriter::finish`].
    pub(super) fn line(&self) -> &[u8] {
        if self.unordered.is_empty() {
            &self.out
        } else {
            &self.line
        }
    }

    /// Returns a member of the innermost open object, up to the comma before the next one.
    fn span(&self, member: usize) -> MemberSpan {
        let end = match self.members.get(member + 1) {
            Some(next) => next.key - 1,
            None => self.out.len(),
        };
        let member = self.members[member];
        MemberSpan { member, end }
    }

    /// Copies text up to the first object that must be reordered, and pushes the remaining pieces.
    fn assemble(&mut self, text: Range<usize>, pending: &mut Vec<LinePiece>) {
        let first = self
            .unordered
            .partition_point(|object| object.text.start < text.start);
        let next = self.unordered.get(first);
        let Some(object) = next.filter(|object| object.text.start < text.end) else {
            return self.line.extend_from_slice(&self.out[text]);
        };
        self.line
            .extend_from_slice(&self.out[text.start..object.text.start]);
        pending.push(LinePiece::Text(object.text.end..text.end));
        self.line.push(b'{');
        pending.push(LinePiece::Byte(b'}'));
        for (i, span) in self.spans[object.spans.clone()].iter().enumerate().rev() {
            pending.push(LinePiece::Text(span.clone()));
            if i > 0 {
                pending.push(LinePiece::Byte(b','));
            }
        }
    }

    /// Copies text `offset` bytes further on, with the noted order of the objects in it.
    fn copy(&mut self, text: Range<usize>, offset: usize) {
        let last = self
            .unordered
            .partition_point(|object| object.text.end <= text.end);
        let first = self.unordered[..last].partition_point(|object| object.text.end <= text.start);
        for i in first..last {
            let UnorderedObject { text, spans } = &self.unordered[i];
            let start = text.start + offset;
            let end = text.end + offset;
            let begin = self.spans.len();
            for k in spans.clone() {
                let span = &self.spans[k];
                self.spans.push(span.start + offset..span.end + offset);
            }
            self.unordered.push(UnorderedObject {
                text: start..end,
                spans: begin..self.spans.len(),
            });
        }
        self.out.extend_from_within(text);
    }

    /// Notes the order of the members of an object: sorted, and of equal keys the last.
    fn note_order(&mut self, open: &OpenCollection) {
        let first = self.spans.len();
        // Indexes, because a hostile blob may have a million members.
        let mut sorted: Vec<usize> = (open.members..self.members.len())
            .filter(|&member| self.members[member].kind != KeyKind::Merge)
            .collect();
        sorted.sort_by(|&a, &b| self.members[a].compare(&self.members[b], &self.out));
        for (at, &index) in sorted.iter().enumerate() {
            let MemberSpan { member, end } = self.span(index);
            let next = sorted.get(at + 1).map(|&next| self.members[next]);
            match next.filter(|next| member.compare(next, &self.out) == Ordering::Equal) {
                Some(next) if member.kind != next.kind => self.note_collision(&member),
                Some(_) => {}
                None => self.spans.push(member.key..end),
            }
        }
        self.unordered.push(UnorderedObject {
            text: open.start..self.out.len() + 1,
            spans: first..self.spans.len(),
        });
    }
}

enum LinePiece {
    Byte(u8),
    Text(Range<usize>),
}

impl ObjectMember {
    /// Decodes the key.
    #[inline]
    fn key<'o>(&self, out: &'o [u8]) -> Cow<'o, [u8]> {
        let written = &out[self.key + 1..self.value - 2];
        if self.is_escaped {
            unescape(written)
        } else {
            Cow::Borrowed(written)
        }
    }

    /// Compares members by the bytes of their keys.
    #[inline]
    fn compare(&self, other: &Self, out: &[u8]) -> Ordering {
        let by_prefix = self.prefix.cmp(&other.prefix);
        by_prefix.then_with(|| self.key(out).cmp(&other.key(out)))
    }
}

impl MemberSpan {
    /// Returns the length of the member in the output.
    pub(super) fn len(&self) -> usize {
        self.end - self.member.key
    }

    /// Decodes the key.
    pub(super) fn key<'o>(&self, out: &'o [u8]) -> Cow<'o, [u8]> {
        self.member.key(out)
    }

    /// Returns the value as written.
    pub(super) fn value<'o>(&self, out: &'o [u8]) -> &'o [u8] {
        &out[self.member.value..self.end]
    }
}

/// Returns the first eight bytes as a number with the same order.
#[inline]
fn prefix(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let number = key
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte));
    // A key without bytes has no number to shift.
    number.unbounded_shl(8 * (8 - u32::try_from(key.len()).unwrap_or(0)))
}

#[cfg(test)]
mod tests;
