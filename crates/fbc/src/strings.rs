//! Lists of strings in one text: what names and words have in common.

use std::io;

use crate::array::{Array, Text};
use crate::ids::id;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// An immutable list of strings.
#[derive(Debug, Default)]
pub(crate) struct StringList {
    text: Text,
    /// End offset of each string.
    ends: Array<u32>,
}

/// Collects the strings of a [`StringList`].
#[derive(Default)]
pub(crate) struct StringListBuilder {
    text: String,
    ends: Vec<u32>,
}

impl StringList {
    /// Returns the number of strings.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the string at an index.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> &str {
        let start = if at == 0 {
            0
        } else {
            self.ends[at - 1] as usize
        };
        &self.text[start..self.ends[at] as usize]
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.text(&self.text)?;
        sections.array(&self.ends)
    }

    pub(crate) fn read(sections: &mut SectionReader) -> Result<Self, StoredIndexError> {
        let strings = Self {
            text: sections.text()?,
            ends: sections.array()?,
        };
        let Self { text, ends } = &strings;
        let are_ends = ends.is_sorted()
            && ends.last().map_or(0, |&end| end as usize) == text.len()
            && ends.iter().all(|&end| text.is_char_boundary(end as usize));
        sections.check(are_ends)?;
        Ok(strings)
    }
}

impl StringListBuilder {
    /// Appends a string and returns its index.
    pub(crate) fn push(&mut self, string: &str) -> u32 {
        let at = id(self.ends.len());
        self.text.push_str(string);
        self.ends.push(id(self.text.len()));
        at
    }

    pub(crate) fn finish(self) -> StringList {
        StringList {
            text: Text::new(self.text),
            ends: Array::new(self.ends),
        }
    }
}
