//! Interned names: equal strings of a catalog share one number, which compares in constant time.

use std::borrow::Cow;
use std::io;

use hashbrown::HashMap;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::array::Array;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};
use crate::strings::{StringList, StringListBuilder};

/// Id of a string in a [`NameTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(crate) struct Name(u32);

/// Interned strings in one buffer.
#[derive(Debug, Default)]
pub(crate) struct NameTable(StringList);

/// Interns strings while a catalog is built; the finished table does not borrow from the lines.
pub(crate) struct NameInterner<'a> {
    strings: StringListBuilder,
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
        self.0.len()
    }

    /// Returns whether a name is absent or has a string.
    pub(crate) fn has(&self, name: Name) -> bool {
        name.is_none() || name.index() < self.len()
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.0.write(sections)
    }

    pub(crate) fn read(sections: &mut SectionReader) -> Result<Self, StoredIndexError> {
        StringList::read(sections).map(Self)
    }

    /// Reads a section of names of this table in place; none is absent.
    pub(crate) fn read_names(
        &self,
        sections: &mut SectionReader,
    ) -> Result<Array<Name>, StoredIndexError> {
        let names: Array<Name> = sections.array()?;
        sections.check(names.iter().all(|name| name.index() < self.len()))?;
        Ok(names)
    }

    pub(crate) fn get_optional(&self, name: Name) -> Option<&str> {
        if name.is_none() {
            return None;
        }
        Some(self.0.get(name.index()))
    }
}

impl<'a> NameInterner<'a> {
    pub(crate) fn new() -> Self {
        Self {
            strings: StringListBuilder::default(),
            known: HashMap::new(),
        }
    }

    pub(crate) fn intern(&mut self, text: Cow<'a, str>) -> Name {
        if let Some(&name) = self.known.get(&text) {
            return name;
        }
        let name = Name(self.strings.push(&text));
        self.known.insert(text, name);
        name
    }

    pub(crate) fn finish(self) -> NameTable {
        NameTable(self.strings.finish())
    }
}
