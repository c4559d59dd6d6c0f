//! Completions of an unfinished text: names, display names, categories, providers, keywords and
//! kinds of APIs.
//!
//! A sorted list of parts of folded texts, one from each beginning of a word: completions are found
//! by binary search.

use std::ops::Range;

use crate::ids::id;
use crate::tables::search::fold::fold_text;

/// Maximum number of letters of a text that is completed, and of what follows the beginning of a
/// word; further letters are ignored.
pub const MAX_COMPLETED_LETTERS: usize = 100;

/// Completions of a catalog.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    pub(crate) items: Vec<CompletionItem>,
    /// The folded texts, one behind the other.
    texts: String,
    /// Sorted by their parts of the texts.
    keys: Vec<CompletionKey>,
}

/// A part of a text by whose beginning an item is found.
#[derive(Debug)]
pub(crate) struct CompletionKey {
    /// Bytes of the texts from the beginning of a word on.
    part: Range<u32>,
    pub(crate) found: CompletionMatch,
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

#[derive(Debug)]
pub(crate) struct CompletionItem {
    pub(crate) kind: CompletionKind,
    /// Empty for packages, which have their names.
    pub(crate) text: Box<str>,
    pub(crate) package: Option<u32>,
    /// Group and version of an API, whose kind is the text.
    pub(crate) api: Option<(Box<str>, Box<str>)>,
}

impl Completions {
    /// Adds a completion that begins with a word of a text, or of a display name.
    pub(crate) fn add(&mut self, item: CompletionItem, text: &str, display_name: Option<&str>) {
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
                    part,
                    found,
                    item: at,
                });
            }
        }
    }

    /// Sorts the keys, when all completions have been added.
    pub(crate) fn sort(&mut self) {
        let Self { texts, keys, .. } = self;
        keys.sort_unstable_by(|one, other| one.text(texts).cmp(other.text(texts)));
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
    fn text<'t>(&self, texts: &'t str) -> &'t str {
        &texts[self.part.start as usize..self.part.end as usize]
    }
}

/// Returns the first [`MAX_COMPLETED_LETTERS`] letters of a text.
pub(crate) fn beginning(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_COMPLETED_LETTERS)
        .map_or(text, |(end, _)| &text[..end])
}
