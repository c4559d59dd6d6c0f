//! Completions of an unfinished text: names, display names, categories, providers, keywords and
//! kinds of APIs.
//!
//! A sorted list of parts of folded texts, one from each beginning of a word: completions are found
//! by binary search.

use std::borrow::Cow;
use std::io;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::array::{Array, Text};
use crate::gvk::GroupVersionKind;
use crate::ids::{IdRange, NONE, id};
use crate::index::ContentIndex;
use crate::names::{Name, NameInterner, NameTable};
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};
use crate::tables::search::fold::fold_text;

/// Maximum number of letters of a text that is completed, and of what follows the beginning of a
/// word; further letters are ignored.
pub const MAX_COMPLETED_LETTERS: usize = 100;

/// Completions of a catalog.
#[derive(Debug)]
pub(crate) struct Completions {
    /// Texts, groups and versions of the items.
    pub(crate) names: NameTable,
    pub(crate) items: Array<CompletionItem>,
    /// The folded texts, one behind the other.
    texts: Text,
    /// Sorted by their parts of the texts.
    keys: Array<CompletionKey>,
}

/// Collects completions.
pub(crate) struct CompletionsBuilder<'a> {
    names: NameInterner<'a>,
    items: Vec<CompletionItem>,
    texts: String,
    keys: Vec<CompletionKey>,
}

/// A part of a text by whose beginning an item is found.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct CompletionKey {
    /// Bytes of the texts from the beginning of a word on.
    part: IdRange,
    /// Number of the match.
    found: u32,
    pub(crate) item: u32,
}

/// Kind of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompletionKind {
    /// A package.
    Package,
    /// A category.
    Category,
    /// The short name of a provider.
    Provider,
    /// A keyword.
    Keyword,
    /// An API that bundles provide.
    Api,
}

impl CompletionKind {
    /// All kinds, by their numbers.
    const ALL: [Self; 5] = [
        Self::Package,
        Self::Category,
        Self::Provider,
        Self::Keyword,
        Self::Api,
    ];
}

/// Match of a completion, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionMatch {
    /// It begins with the text.
    Beginning,
    /// The display name begins with the text.
    DisplayName,
    /// A word within it, or within the display name, begins with the text.
    Word,
}

impl CompletionMatch {
    /// All matches, by their numbers.
    const ALL: [Self; 3] = [Self::Beginning, Self::DisplayName, Self::Word];
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct CompletionItem {
    /// Number of the kind.
    kind: u32,
    /// Absent for packages, which have their names.
    pub(crate) text: Name,
    /// Id of the package, or [`NONE`].
    pub(crate) package: u32,
    /// Group of an API, whose kind is the text.
    pub(crate) group: Name,
    /// Version of that API.
    pub(crate) version: Name,
}

impl CompletionItem {
    pub(crate) fn kind(&self) -> CompletionKind {
        CompletionKind::ALL[self.kind as usize]
    }
}

impl<'a> CompletionsBuilder<'a> {
    pub(crate) fn new() -> Self {
        Self {
            names: NameInterner::new(),
            items: Vec::new(),
            texts: String::new(),
            keys: Vec::new(),
        }
    }

    /// Adds a package, which is completed by its name and by its display name.
    pub(crate) fn add_package(&mut self, package: u32, name: &str, display_name: Option<&str>) {
        let item = CompletionItem {
            package,
            ..CompletionItem::new(CompletionKind::Package)
        };
        self.add(item, name, display_name);
    }

    /// Adds a text.
    pub(crate) fn add_text(&mut self, kind: CompletionKind, text: &'a str) {
        let item = CompletionItem {
            text: self.names.intern(Cow::Borrowed(text)),
            ..CompletionItem::new(kind)
        };
        self.add(item, text, None);
    }

    /// Adds an API, which is completed by its kind.
    pub(crate) fn add_api(&mut self, api: GroupVersionKind<'a>) {
        let item = CompletionItem {
            text: self.names.intern(Cow::Borrowed(api.kind)),
            group: self.names.intern(Cow::Borrowed(api.group)),
            version: self.names.intern(Cow::Borrowed(api.version)),
            ..CompletionItem::new(CompletionKind::Api)
        };
        self.add(item, api.kind, None);
    }

    /// Adds a completion that begins with a word of a text, or of a display name.
    fn add(&mut self, item: CompletionItem, text: &str, display_name: Option<&str>) {
        let at = id(self.items.len());
        self.items.push(item);
        let names = [
            (Some(text), CompletionMatch::Beginning),
            (display_name, CompletionMatch::DisplayName),
        ];
        for (name, whole) in names {
            let folded = name.map(fold_text).unwrap_or_default();
            let first = self.texts.len();
            self.texts.push_str(&folded);
            let begins = folded.match_indices(' ').map(|(space, _)| space + 1);
            for begin in std::iter::once(0)
                .chain(begins)
                .filter(|begin| *begin < folded.len())
            {
                let end = begin + beginning(&folded[begin..]).len();
                let part = id(first + begin)..id(first + end);
                let found = if begin == 0 {
                    whole
                } else {
                    CompletionMatch::Word
                };
                self.keys.push(CompletionKey {
                    part: part.into(),
                    found: found as u32,
                    item: at,
                });
            }
        }
    }

    /// Sorts the keys, when all completions have been added.
    pub(crate) fn finish(mut self) -> Completions {
        let Self { texts, keys, .. } = &mut self;
        keys.sort_unstable_by(|one, other| one.text(texts).cmp(other.text(texts)));
        Completions {
            names: self.names.finish(),
            items: Array::new(self.items),
            texts: Text::new(self.texts),
            keys: Array::new(self.keys),
        }
    }
}

impl CompletionItem {
    fn new(kind: CompletionKind) -> Self {
        Self {
            kind: kind as u32,
            text: Name::NONE,
            package: NONE,
            group: Name::NONE,
            version: Name::NONE,
        }
    }
}

impl Completions {
    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.names.write(sections)?;
        sections.array(&self.items)?;
        sections.text(&self.texts)?;
        sections.array(&self.keys)
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let names = NameTable::read(sections)?;
        let items: Array<CompletionItem> = sections.array()?;
        let packages = index.packages.len();
        let is_item = |item: &CompletionItem| {
            (item.kind as usize) < CompletionKind::ALL.len()
                && (item.package == NONE || (item.package as usize) < packages)
                && [item.text, item.group, item.version]
                    .iter()
                    .all(|&name| names.has(name))
        };
        sections.check(items.iter().all(is_item))?;
        let texts = sections.text()?;
        let keys: Array<CompletionKey> = sections.array()?;
        let is_key = |key: &CompletionKey| {
            (key.item as usize) < items.len()
                && (key.found as usize) < CompletionMatch::ALL.len()
                && texts.get(key.part.places()).is_some()
        };
        sections.check(keys.iter().all(is_key))?;
        Ok(Self {
            names,
            items,
            texts,
            keys,
        })
    }

    /// Returns the keys that begin with a folded text.
    pub(crate) fn with_beginning(&self, text: &str) -> &[CompletionKey] {
        let Self { texts, keys, .. } = self;
        let start = keys.partition_point(|key| key.text(texts) < text);
        let keys = &keys[start..];
        &keys[..keys.partition_point(|key| key.text(texts).starts_with(text))]
    }
}

impl CompletionKey {
    pub(crate) fn found(&self) -> CompletionMatch {
        CompletionMatch::ALL[self.found as usize]
    }

    fn text<'t>(&self, texts: &'t str) -> &'t str {
        &texts[self.part.places()]
    }
}

/// Returns the first [`MAX_COMPLETED_LETTERS`] letters of a text.
pub(crate) fn beginning(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_COMPLETED_LETTERS)
        .map_or(text, |(end, _)| &text[..end])
}
