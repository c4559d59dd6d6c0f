//! A sorted vocabulary: words with a common prefix are adjacent and found by binary search.
//!
//! It finds typos without visiting every word. Two words that differ by one edit share the prefix
//! before the edit and the text after it: binary search among the words with that prefix finds
//! those that continue with that text.

use std::cmp::Ordering;
use std::io;
use std::ops::Range;

use crate::sections::{SectionReader, SectionWriter, StoredIndexError};
use crate::strings::{StringList, StringListBuilder};

/// Distinct words, sorted by their bytes.
#[derive(Debug, Default)]
pub(super) struct Vocabulary(StringList);

impl Vocabulary {
    /// Creates a vocabulary from sorted, distinct words.
    pub(super) fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut strings = StringListBuilder::default();
        for word in words {
            strings.push(word);
        }
        Self(strings.finish())
    }

    /// Returns the number of words.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.0.write(sections)
    }

    pub(super) fn read(sections: &mut SectionReader) -> Result<Self, StoredIndexError> {
        StringList::read(sections).map(Self)
    }

    /// Returns the word at an index.
    #[inline]
    pub(super) fn get(&self, at: usize) -> &str {
        self.0.get(at)
    }

    /// Returns the index of a word, as a range that is empty if there is no such word.
    pub(super) fn find(&self, word: &str) -> Range<usize> {
        self.whole_of(&self.with_prefix(word), word)
    }

    /// Returns the index of a word, as a range, among the words that begin with it.
    pub(super) fn whole_of(&self, beginning: &Range<usize>, word: &str) -> Range<usize> {
        let Range { start, end } = *beginning;
        let has_word = start < end && self.get(start) == word;
        start..start + usize::from(has_word)
    }

    /// Returns the indexes of the words with a prefix.
    pub(super) fn with_prefix(&self, prefix: &str) -> Range<usize> {
        self.narrow(&(0..self.len()), 0, prefix)
    }

    /// Iterates over the words.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Calls `each` with the indexes of words that have `word` as prefix after one edit: an
    /// additional, missing or wrong letter, or two transposed letters; and with the length of that
    /// prefix in bytes. Indexes may repeat and may include exact matches of the prefix.
    ///
    /// # Errors
    /// The first error of `each`, which ends the walk.
    pub(super) fn for_each_typo<E>(
        &self,
        word: &str,
        mut each: impl FnMut(Range<usize>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        // The words that share the prefix before the current letter.
        let mut range = 0..self.len();
        for (at, letter) in word.char_indices() {
            let rest = &word[at + letter.len_utf8()..];
            each(self.narrow(&range, at, rest), at + rest.len())?;
            if let Some(next) = rest.chars().next() {
                let after = &rest[next.len_utf8()..];
                let swapped = self.narrow(&range, at, next.encode_utf8(&mut [0; 4]));
                let swapped = self.narrow(
                    &swapped,
                    at + next.len_utf8(),
                    letter.encode_utf8(&mut [0; 4]),
                );
                let end = at + next.len_utf8() + letter.len_utf8();
                each(self.narrow(&swapped, end, after), end + after.len())?;
            }
            self.for_each_branch(&range, at, |branch, end| {
                each(self.narrow(&branch, end, rest), end + rest.len())?;
                let tail = &word[at..];
                each(self.narrow(&branch, end, tail), end + tail.len())
            })?;
            range = self.narrow(&range, at, letter.encode_utf8(&mut [0; 4]));
            if range.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Calls `each` for each next letter of these words, which are equal up to byte `at`, with the
    /// words that have this letter and the offset of its end.
    fn for_each_branch<E>(
        &self,
        range: &Range<usize>,
        at: usize,
        mut each: impl FnMut(Range<usize>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = range.start;
        while start < range.end {
            let Some(letter) = self.get(start)[at..].chars().next() else {
                // The word ends here; only the first can.
                start += 1;
                continue;
            };
            let branch = self.narrow(&(start..range.end), at, letter.encode_utf8(&mut [0; 4]));
            start = branch.end;
            each(branch, at + letter.len_utf8())?;
        }
        Ok(())
    }

    /// Narrows a range of words, which are equal up to byte `at`, to those that continue with
    /// `rest`.
    #[inline]
    fn narrow(&self, range: &Range<usize>, at: usize, rest: &str) -> Range<usize> {
        let compare = |place: usize| -> Ordering {
            let word = &self.get(place).as_bytes()[at..];
            word[..word.len().min(rest.len())].cmp(rest.as_bytes())
        };
        let start = bisect(range, |place| compare(place).is_lt());
        // Most edits of a word are in no vocabulary, and then one look tells.
        if start == range.end || compare(start).is_ne() {
            return start..start;
        }
        start..bisect(&(start + 1..range.end), |place| compare(place).is_eq())
    }
}

/// Finds the first index of a range for which the predicate is false, as `partition_point` does.
fn bisect(range: &Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let mut start = range.start;
    let mut end = range.end;
    while start < end {
        let middle = start.midpoint(end);
        if holds(middle) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

#[cfg(test)]
mod tests;
