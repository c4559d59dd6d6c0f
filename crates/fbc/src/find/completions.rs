//! Completions of an unfinished text: names, display names, categories, providers, keywords and
//! kinds of APIs.
//!
//! A sorted list of parts of folded texts, one from each beginning of a word: completions are found
//! by binary search.

use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use super::super::{Catalog, GroupVersionKind, Package, id};
use super::search::fold_text;
use crate::version::compare_api_versions;
use crate::work::{Step, Work, WorkStopped, sort_steps};

/// Maximum number of letters of a text that is completed, and of what follows the beginning of a
/// word; further letters are ignored.
pub const MAX_COMPLETED_LETTERS: usize = 100;

/// Completions of a catalog.
#[derive(Debug, Default)]
pub(in crate::catalog) struct Completions {
    items: Vec<CompletionItem>,
    /// The folded texts, one behind the other.
    texts: String,
    /// Sorted by their parts of the texts.
    keys: Vec<CompletionKey>,
}

/// What can be found by its beginning.
#[derive(Debug)]
struct CompletionKey {
    /// Bytes of the texts from the beginning of a word on.
    part: Range<u32>,
    found: CompletionMatch,
    item: u32,
}

/// A completion of a text.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'c> {
    /// How it matches; the best comes first.
    pub found: CompletionMatch,
    /// What it is.
    pub kind: CompletionKind,
    /// The whole text: the name of a package, the kind of an API.
    pub text: &'c str,
    /// Index of the package in the order of [`Catalog::packages`]; `None` for other kinds.
    pub package: Option<u32>,
    /// The API in its newest version; `None` for other kinds.
    pub api: Option<GroupVersionKind<'c>>,
}

/// What a completion is.
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

/// How a completion matches, best first.
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
struct CompletionItem {
    kind: CompletionKind,
    /// Empty for packages, which have their names.
    text: Box<str>,
    package: Option<u32>,
    /// Group and version of an API, whose kind is the text.
    api: Option<(Box<str>, Box<str>)>,
}

impl Catalog {
    /// Finds completions of a text of some kinds, or of every kind if there are none, best first
    /// and then by kind and text. Letter case, accents, and everything but letters and digits are
    /// ignored. Nothing completes an empty text.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn complete(
        &self,
        text: &str,
        kinds: &[CompletionKind],
        work: &Work<'_>,
    ) -> Result<Vec<Completion<'_>>, WorkStopped> {
        let text = fold_text(beginning(text));
        let text = beginning(&text);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        work.draw(Step::Word, 1)?;
        let Completions { items, texts, keys } = self.completions();
        let start = keys.partition_point(|key| key.text(texts) < text);
        let keys = &keys[start..];
        let keys = &keys[..keys.partition_point(|key| key.text(texts).starts_with(text))];
        work.draw(Step::FacetValue, keys.len())?;
        work.draw(Step::SortStep, 2 * sort_steps(keys.len()))?;
        let is_wanted = |item: &CompletionItem| kinds.is_empty() || kinds.contains(&item.kind);
        let wanted = keys
            .iter()
            .filter(|key| is_wanted(&items[key.item as usize]));
        let mut found: Vec<_> = wanted.map(|key| (key.item, key.found)).collect();
        found.sort_unstable();
        found.dedup_by_key(|(at, _)| *at);
        let mut found: Vec<_> = found
            .into_iter()
            .map(|(at, found)| self.completion(&items[at as usize], found))
            .collect();
        found.sort_by(|one, other| {
            (one.found, one.kind, one.text).cmp(&(other.found, other.kind, other.text))
        });
        Ok(found)
    }

    fn completion<'c>(
        &'c self,
        item: &'c CompletionItem,
        found: CompletionMatch,
    ) -> Completion<'c> {
        let text = item
            .package
            .map_or(&*item.text, |place| self.package_at(place as usize).name());
        let api = item.api.as_ref().map(|(group, version)| GroupVersionKind {
            group,
            version,
            kind: text,
        });
        Completion {
            found,
            kind: item.kind,
            text,
            package: item.package,
            api,
        }
    }
}

impl Completions {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let mut completions = Self::default();
        for package in catalog.packages() {
            completions.add_package(package);
        }
        let mut categories = HashSet::new();
        let mut providers = HashSet::new();
        let mut keywords = HashSet::new();
        for summary in catalog.packages().map(Package::summary) {
            categories.extend(summary.categories());
            providers.extend(summary.provider_short_name());
            keywords.extend(summary.keywords());
        }
        let texts = [
            (CompletionKind::Category, categories),
            (CompletionKind::Provider, providers),
            (CompletionKind::Keyword, keywords),
        ];
        for (kind, texts) in texts {
            for text in texts {
                completions.add(
                    CompletionItem {
                        kind,
                        text: text.into(),
                        package: None,
                        api: None,
                    },
                    text,
                    None,
                );
            }
        }
        for (GroupVersionKind { group, kind, .. }, version) in newest_versions(catalog) {
            let api = Some((group.into(), version.into()));
            let item = CompletionItem {
                kind: CompletionKind::Api,
                text: kind.into(),
                package: None,
                api,
            };
            completions.add(item, kind, None);
        }
        let Self { texts, keys, .. } = &mut completions;
        keys.sort_unstable_by(|one, other| one.text(texts).cmp(other.text(texts)));
        completions
    }

    fn add_package(&mut self, package: Package<'_>) {
        let item = CompletionItem {
            kind: CompletionKind::Package,
            text: "".into(),
            package: Some(id(package.place())),
            api: None,
        };
        self.add(item, package.name(), package.summary().display_name());
    }

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
                    part,
                    found,
                    item: at,
                });
            }
        }
    }
}

impl CompletionKey {
    fn text<'t>(&self, texts: &'t str) -> &'t str {
        &texts[self.part.start as usize..self.part.end as usize]
    }
}

/// Returns the first [`MAX_COMPLETED_LETTERS`] letters of a text.
fn beginning(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_COMPLETED_LETTERS)
        .map_or(text, |(end, _)| &text[..end])
}

/// Returns the newest version of each API that bundles provide, by its group and kind; the version
/// of the key is empty.
fn newest_versions(catalog: &Catalog) -> HashMap<GroupVersionKind<'_>, &str> {
    let mut newest = HashMap::new();
    for api in catalog
        .bundles()
        .flat_map(|bundle| bundle.provided_apis().collect::<Vec<_>>())
    {
        let version = newest
            .entry(GroupVersionKind { version: "", ..api })
            .or_insert(api.version);
        if compare_api_versions(api.version, version).is_gt() {
            *version = api.version;
        }
    }
    newest
}
