//! Interned names: equal strings of a catalog share one number, which compares in constant time.

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::ids::id;

/// Id of a string in a [`NameTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name(u32);

/// Interned strings in one buffer.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    text: String,
    /// End offset of each string.
    ends: Vec<u32>,
}

/// Interns strings while a catalog is built; the finished table does not borrow from the lines.
pub(crate) struct NameInterner<'a> {
    names: NameTable,
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
}

impl NameTable {
    /// Returns the string; empty for [`Name::NONE`].
    pub(crate) fn get(&self, name: Name) -> &str {
        self.get_optional(name).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
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
            names: NameTable::default(),
            known: HashMap::new(),
        }
    }

    pub(crate) fn intern(&mut self, text: Cow<'a, str>) -> Name {
        if let Some(&name) = self.known.get(&text) {
            return name;
        }
        let name = Name(id(self.names.ends.len()));
        self.names.text.push_str(&text);
        self.names.ends.push(id(self.names.text.len()));
        self.known.insert(text, name);
        name
    }

    pub(crate) fn finish(mut self) -> NameTable {
        self.names.text.shrink_to_fit();
        self.names.ends.shrink_to_fit();
        self.names
    }
}
