//! Writes one canonical line: JSON on one line, the keys of each object in the order of their bytes, text escaped as
//! Go's encoder does it (without its escapes for HTML).
//!
//! Values are written in the order in which they are read. Where the keys of an object turn out not to be in order, it
//! is remembered how they must stand, and the line is put together once, at the end: whatever is nested in whatever, a
//! byte is moved at most once. This file must not know where values come from.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

mod text;

pub(super) use text::{plain_prefix, unescape, write_char, write_text};

/// What a mapping key was before it became text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    String,
    Bool,
    Integer,
    Float,
    /// A merge key: the member is not part of the object.
    Merge,
}

/// Where a member of an object stands in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Where its key begins, with the quote.
    key: usize,
    /// Where its value begins.
    value: usize,
    /// The first bytes of its key as one number, which mostly decides the order.
    prefix: u64,
    kind: KeyKind,
    /// Whether its key was written with escapes.
    is_escaped: bool,
}

/// A member with its end.
#[derive(Clone, Debug)]
pub(super) struct Span {
    member: Member,
    end: usize,
}

/// Writes one value after another; each is a line when it is complete.
#[derive(Debug, Default)]
pub(super) struct Canonical {
    /// The value, its members in the order in which they were read.
    out: Vec<u8>,
    open: Vec<Open>,
    /// The members of the open objects.
    members: Vec<Member>,
    /// The objects whose members must be put in order, inner before outer.
    shuffled: Vec<Shuffled>,
    /// For each of them its members as they must stand.
    spans: Vec<Range<usize>>,
    /// Keys that were different before they became text.
    collisions: Vec<String>,
    /// The finished line, when it is not `out` itself.
    line: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    is_object: bool,
    start: usize,
    /// Its first member in `members`.
    members: usize,
    /// Whether the keys so far ascend.
    in_order: bool,
}

#[derive(Debug)]
struct Shuffled {
    text: Range<usize>,
    spans: Range<usize>,
}

impl Canonical {
    /// Forgets the value before and begins another.
    pub(super) fn clear(&mut self) {
        self.out.clear();
        self.open.clear();
        self.members.clear();
        self.shuffled.clear();
        self.spans.clear();
        self.collisions.clear();
    }

    /// How many collections are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// How many members the open objects have.
    #[inline]
    pub(super) fn open_members(&self) -> usize {
        self.members.len()
    }

    /// Whether the innermost open collection is an object; none when nothing is open.
    #[inline]
    pub(super) fn innermost_is_object(&self) -> Option<bool> {
        self.open.last().map(|open| open.is_object)
    }

    /// What was written so far, members in the order in which they were read.
    pub(super) fn written(&self) -> &[u8] {
        &self.out
    }

    /// Where a value is to be written: after a comma in an array that has one already.
    #[inline]
    pub(super) fn value(&mut self) -> &mut Vec<u8> {
        if self.innermost_is_object() == Some(false) && self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
        &mut self.out
    }

    /// Where a value that has begun goes on.
    #[inline]
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    pub(super) fn open(&mut self, is_object: bool) {
        self.value();
        self.open.push(Open { is_object, start: self.out.len(), members: self.members.len(), in_order: true });
        self.out.push(if is_object { b'{' } else { b'[' });
    }

    /// Begins a member; its key is to be written here, with quotes.
    #[inline]
    pub(super) fn begin_key(&mut self, kind: KeyKind) -> &mut Vec<u8> {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.members.push(Member { key: self.out.len(), value: 0, prefix: 0, kind, is_escaped: false });
        &mut self.out
    }

    /// The key is written, with escapes or without; the value follows.
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
            && before.last().is_none_or(|before| before.compare(member, &self.out) == Ordering::Less);
    }

    /// The members of the innermost open object, complete as they are.
    pub(super) fn innermost_members(&self) -> impl DoubleEndedIterator<Item = Span> {
        let first = self.open.last().map_or(0, |open| open.members);
        (first..self.members.len()).map(|member| self.span(member))
    }

    /// One of them, by its place.
    pub(super) fn innermost_member(&self, place: usize) -> Span {
        let first = self.open.last().map_or(0, |open| open.members);
        self.span(first + place)
    }

    /// Ends the innermost open collection.
    #[inline]
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        if !open.is_object {
            return self.out.push(b']');
        }
        if !open.in_order {
            self.shuffle(&open);
        }
        self.members.truncate(open.members);
        self.out.push(b'}');
    }

    /// Writes a value that was written before once more.
    pub(super) fn repeat(&mut self, written: Range<usize>) {
        let by = self.value().len() - written.start;
        self.copy(written, by);
    }

    /// Writes a member that was written before once more, into the innermost open object.
    pub(super) fn repeat_member(&mut self, span: &Span) {
        let Member { key, value, kind, is_escaped, .. } = span.member;
        if kind == KeyKind::Merge {
            return;
        }
        let by = self.begin_key(kind).len() - key;
        self.copy(key..value - 1, by);
        self.end_key(is_escaped);
        self.copy(value..span.end, by);
    }

    /// Keys that were different before they became text, of one object each.
    pub(super) fn collisions(&self) -> &[String] {
        &self.collisions
    }

    /// The complete value as a line, with its line feed.
    pub(super) fn finish(&mut self) {
        if self.shuffled.is_empty() {
            self.out.push(b'\n');
            return;
        }
        // From here on the outer before the inner.
        self.shuffled.sort_unstable_by_key(|object| object.text.start);
        self.line.clear();
        self.line.reserve(self.out.len() + 1);
        let mut todo = vec![Piece::Text(0..self.out.len())];
        while let Some(piece) = todo.pop() {
            match piece {
                Piece::Byte(byte) => self.line.push(byte),
                Piece::Text(text) => self.assemble(text, &mut todo),
            }
        }
        self.line.push(b'\n');
    }

    /// The line that was finished.
    pub(super) fn line(&self) -> &[u8] {
        if self.shuffled.is_empty() { &self.out } else { &self.line }
    }

    /// A member of the innermost open object, up to the comma before the next one.
    fn span(&self, member: usize) -> Span {
        let end = match self.members.get(member + 1) {
            Some(next) => next.key - 1,
            None => self.out.len(),
        };
        let member = self.members[member];
        Span { member, end }
    }

    /// Copies the text up to the first object that must be put in order, and says what comes then.
    fn assemble(&mut self, text: Range<usize>, todo: &mut Vec<Piece>) {
        let first = self.shuffled.partition_point(|object| object.text.start < text.start);
        let next = self.shuffled.get(first);
        let Some(object) = next.filter(|object| object.text.start < text.end) else {
            return self.line.extend_from_slice(&self.out[text]);
        };
        self.line.extend_from_slice(&self.out[text.start..object.text.start]);
        todo.push(Piece::Text(object.text.end..text.end));
        self.line.push(b'{');
        todo.push(Piece::Byte(b'}'));
        for (i, span) in self.spans[object.spans.clone()].iter().enumerate().rev() {
            todo.push(Piece::Text(span.clone()));
            if i > 0 {
                todo.push(Piece::Byte(b','));
            }
        }
    }

    /// Copies text, by which many bytes further on, with the order of the objects in it.
    fn copy(&mut self, text: Range<usize>, by: usize) {
        let last = self.shuffled.partition_point(|object| object.text.end <= text.end);
        let first = self.shuffled[..last].partition_point(|object| object.text.end <= text.start);
        for i in first..last {
            let Shuffled { text, spans } = &self.shuffled[i];
            let (start, end) = (text.start + by, text.end + by);
            let begin = self.spans.len();
            for k in spans.clone() {
                let span = &self.spans[k];
                self.spans.push(span.start + by..span.end + by);
            }
            self.shuffled.push(Shuffled { text: start..end, spans: begin..self.spans.len() });
        }
        self.out.extend_from_within(text);
    }

    /// Remembers how the members of an object must stand: sorted, the last of equal keys.
    fn shuffle(&mut self, open: &Open) {
        let first = self.spans.len();
        let mut sorted: Vec<Span> = (open.members..self.members.len())
            .map(|member| self.span(member))
            .filter(|span| span.member.kind != KeyKind::Merge)
            .collect();
        sorted.sort_by(|a, b| a.member.compare(&b.member, &self.out));
        let mut rest = sorted.iter().peekable();
        while let Some(Span { member, end }) = rest.next() {
            match rest.peek() {
                Some(next) if member.compare(&next.member, &self.out) == Ordering::Equal => {
                    if member.kind != next.member.kind {
                        let key = member.key(&self.out);
                        self.collisions.push(String::from_utf8_lossy(&key).into_owned());
                    }
                }
                _ => self.spans.push(member.key..*end),
            }
        }
        self.shuffled.push(Shuffled { text: open.start..self.out.len() + 1, spans: first..self.spans.len() });
    }
}

enum Piece {
    Byte(u8),
    Text(Range<usize>),
}

impl Member {
    /// The bytes of the key.
    #[inline]
    fn key<'o>(&self, out: &'o [u8]) -> Cow<'o, [u8]> {
        let written = &out[self.key + 1..self.value - 2];
        if self.is_escaped { unescape(written) } else { Cow::Borrowed(written) }
    }

    /// By the bytes of the keys.
    #[inline]
    fn compare(&self, other: &Self, out: &[u8]) -> Ordering {
        let by_prefix = self.prefix.cmp(&other.prefix);
        by_prefix.then_with(|| self.key(out).cmp(&other.key(out)))
    }
}

impl Span {
    /// The length of the member as it was written.
    pub(super) fn len(&self) -> usize {
        self.end - self.member.key
    }

    /// The bytes of the key.
    pub(super) fn key<'o>(&self, out: &'o [u8]) -> Cow<'o, [u8]> {
        self.member.key(out)
    }

    /// The value as it was written.
    pub(super) fn value<'o>(&self, out: &'o [u8]) -> &'o [u8] {
        &out[self.member.value..self.end]
    }
}

/// The first eight bytes as a number that is ordered as they are.
#[inline]
fn prefix(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let number = key.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    // A key without bytes has no number to shift.
    number.unbounded_shl(8 * (8 - u32::try_from(key.len()).unwrap_or(0)))
}

#[cfg(test)]
mod tests;
