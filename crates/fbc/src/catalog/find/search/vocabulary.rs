//! Sorted words, one after the other: those that begin with given letters lie together and are found by bisection.
//!
//! That also finds typos without looking at every word. Where two words differ by one edit, what comes before the edit
//! is equal, and so is what comes after it: from the words with the letters before, bisection leads to those with the
//! letters after.

use std::cmp::Ordering;
use std::ops::Range;

/// Words in the order of their bytes, each once.
#[derive(Debug)]
pub(super) struct Vocabulary {
    text: Box<str>,
    /// Where each word ends.
    ends: Box<[u32]>,
}

impl Vocabulary {
    /// From words that are sorted.
    pub(super) fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for word in words {
            text.push_str(word);
            ends.push(crate::catalog::id(text.len()));
        }
        Self { text: text.into_boxed_str(), ends: ends.into_boxed_slice() }
    }

    /// The word at this place.
    pub(super) fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.text[start..self.ends[at] as usize]
    }

    /// The places of the words that begin with this.
    pub(super) fn with_prefix(&self, prefix: &str) -> Range<usize> {
        self.narrow(&(0..self.ends.len()), 0, prefix)
    }

    /// Calls with places of words that begin with this but for one edit: a letter too many, too few or wrong, or two
    /// neighbours exchanged. Places may come twice, and those that begin with it literally may be among them.
    pub(super) fn for_each_typo(&self, word: &str, mut each: impl FnMut(Range<usize>)) {
        // The words that begin as the word does, up to the letter that is looked at.
        let mut range = 0..self.ends.len();
        for (at, letter) in word.char_indices() {
            let rest = &word[at + letter.len_utf8()..];
            each(self.narrow(&range, at, rest));
            if let Some(next) = rest.chars().next() {
                let after = &rest[next.len_utf8()..];
                let swapped = self.narrow(&range, at, next.encode_utf8(&mut [0; 4]));
                let swapped = self.narrow(&swapped, at + next.len_utf8(), letter.encode_utf8(&mut [0; 4]));
                each(self.narrow(&swapped, at + next.len_utf8() + letter.len_utf8(), after));
            }
            self.for_each_branch(&range, at, |branch, end| {
                each(self.narrow(&branch, end, rest));
                each(self.narrow(&branch, end, &word[at..]));
            });
            range = self.narrow(&range, at, letter.encode_utf8(&mut [0; 4]));
            if range.is_empty() {
                return;
            }
        }
    }

    /// Calls for each letter that comes next in these words, all equal up to this byte, with the words that have it and
    /// where it ends.
    fn for_each_branch(&self, range: &Range<usize>, at: usize, mut each: impl FnMut(Range<usize>, usize)) {
        let mut start = range.start;
        while start < range.end {
            let Some(letter) = self.get(start)[at..].chars().next() else {
                // The word ends here; only the first can.
                start += 1;
                continue;
            };
            let branch = self.narrow(&(start..range.end), at, letter.encode_utf8(&mut [0; 4]));
            start = branch.end;
            each(branch, at + letter.len_utf8());
        }
    }

    /// Of these words, all equal up to this byte, those that go on like this.
    fn narrow(&self, range: &Range<usize>, at: usize, rest: &str) -> Range<usize> {
        let compare = |place: usize| -> Ordering {
            let word = &self.get(place).as_bytes()[at..];
            word[..word.len().min(rest.len())].cmp(rest.as_bytes())
        };
        let start = bisect(range, |place| compare(place).is_lt());
        start..bisect(&(start..range.end), |place| compare(place).is_eq())
    }
}

/// The first place of a range that is not so, where those that are come first.
fn bisect(range: &Range<usize>, is_so: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (range.start, range.end);
    while start < end {
        let middle = start.midpoint(end);
        if is_so(middle) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

#[cfg(test)]
mod tests;
