//! Interned names: equal strings of a catalog share one number, which compares in constant time.

use std::borrow::Cow;
use std::io;

use hashbrown::HashMap;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::array::{Array, Text};
use crate::ids::id;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// Id of a string in a [`NameTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(crate) struct Name(u32);

/// Interned strings in one buffer.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    text: Text,
    /// End offset of each string.
    ends: Array<u32>,
}

/// Interns strings while a catalog is built; the finished table does not borrow from the lines.
pub(crate) struct NameInterner<'a> {
    text: String,
    ends: Vec<u32>,
    known: HashMap<Cow<'a, str>, Name>,
}

impl Name {
    /// The id of no string, which differs from that of the empty string.
    pub(crate) const NONE: Name = Name(u32::MAX);

    pub(crate) fn is_none(self) -> bool {
        self == Name::NONE
    }

    /// Returns the id as an index for tables with one row per name; must not be called on
    /// [`Name::NONE`].
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn id(self) -> u32 {
        self.0
    }

    pub(crate) fn from_id(id: u32) -> Self {
        Self(id)
    }
}

impl NameTable {
    /// Returns the string; empty for [`Name::NONE`].
    pub(crate) fn get(&self, name: Name) -> &str {
        self.get_optional(name).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether a name is absent or has a string.
    pub(crate) fn has(&self, name: Name) -> bool {
        name.is_none() || name.index() < self.len()
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.text(&self.text)?;
        sections.array(&self.ends)
    }

    pub(crate) fn read(sections: &mut SectionReader) -> Result<Self, StoredIndexError> {
        let names = Self {
            text: sections.text()?,
            ends: sections.array()?,
        };
        sections.check(are_ends(&names.ends, &names.text))?;
        Ok(names)
    }

    pub(crate) fn get_optional(&self, name: Name) -> Option<&str> {
        if name.is_none() {
            return None;
        }
        let at = name.0 as usize;
        let start = if at == 0 {
            0
        } else {
            self.ends[at - 1] as usize
        };
        Some(&self.text[start..self.ends[at] as usize])
    }
}

impl<'a> NameInterner<'a> {
    pub(crate) fn new() -> Self {
        Self {
            text: String::new(),
            ends: Vec::new(),
            known: HashMap::new(),
        }
    }

    pub(crate) fn intern(&mut self, text: Cow<'a, str>) -> Name {
        if let Some(&name) = self.known.get(&text) {
            return name;
        }
        let name = Name(id(self.ends.len()));
        self.text.push_str(&text);
        self.ends.push(id(self.text.len()));
        self.known.insert(text, name);
        name
    }

    pub(crate) fn finish(self) -> NameTable {
        NameTable {
            text: Text::new(self.text),
            ends: Array::new(self.ends),
        }
    }
}

/// Returns whether these are the ends of strings that make up a text.
pub(crate) fn are_ends(ends: &[u32], text: &str) -> bool {
    ends.is_sorted()
        && ends.last().map_or(0, |&end| end as usize) == text.len()
        && ends.iter().all(|&end| text.is_char_boundary(end as usize))
}
