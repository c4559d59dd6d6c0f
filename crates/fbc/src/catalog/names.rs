//! Names, each kept once: strings of a catalog become numbers that compare at once.

use std::borrow::Cow;

use hashbrown::HashMap;

/// A string of [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name(u32);

/// Interned strings, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each string ends.
    ends: Vec<u32>,
}

/// Interns strings while a catalog is built; what it borrows from the lines is not kept.
pub(crate) struct Interner<'a> {
    names: Names,
    known: HashMap<Cow<'a, str>, Name>,
}

impl Name {
    /// No string at all, which is not the empty one.
    pub(crate) const NONE: Name = Name(u32::MAX);

    pub(crate) fn is_none(self) -> bool {
        self == Name::NONE
    }

    /// Its place in a table of as many things as there are names; not for [`Name::NONE`].
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Names {
    /// The string; empty for [`Name::NONE`].
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
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        Some(&self.text[start..self.ends[at] as usize])
    }
}

impl<'a> Interner<'a> {
    pub(crate) fn new() -> Self {
        Self { names: Names::default(), known: HashMap::new() }
    }

    pub(crate) fn intern(&mut self, text: Cow<'a, str>) -> Name {
        if let Some(&name) = self.known.get(&text) {
            return name;
        }
        let name = Name(super::id(self.names.ends.len()));
        self.names.text.push_str(&text);
        self.names.ends.push(super::id(self.names.text.len()));
        self.known.insert(text, name);
        name
    }

    pub(crate) fn finish(mut self) -> Names {
        self.names.text.shrink_to_fit();
        self.names.ends.shrink_to_fit();
        self.names
    }
}
