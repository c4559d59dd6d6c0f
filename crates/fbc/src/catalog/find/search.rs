//! Full-text search over packages: an inverted index from folded words to the packages that have them, and where.
//!
//! It is built from what a package says of itself in lists and from its descriptions. Of those only words of a usual
//! length count: what is shorter says nothing, and what is longer is a digest or a piece of a URL.

mod fold;
mod vocabulary;

use hashbrown::HashMap;

use super::super::record::NONE;
use super::super::{Bundle, Catalog, CsvMetadata, Package, id};
use super::tables::Postings;
use fold::{fold, for_each_word};
use vocabulary::Vocabulary;

/// Words of a search that count. Each costs a look at the index; no one types as many.
pub const MAX_SEARCH_WORDS: usize = 16;

/// Letters of a search that are looked at: more than the words that count can have.
pub const MAX_SEARCH_LETTERS: usize = 1_024;

/// Letters of a word that count, in a search and in what is searched, and letters of the longest word of a description
/// that is indexed. In real catalogs a word of a name or a keyword has up to 24 letters and one of a description up to
/// 31; longer ones there are digests and pieces of URLs.
pub const MAX_WORD_LETTERS: usize = 40;

/// Different words that a package is found by; those of its name, display name, keywords and provider come first. In
/// real catalogs a package has up to 762. It bounds the index, whatever descriptions hold.
pub const MAX_PACKAGE_WORDS: usize = 4_096;

/// Bytes of a description that are read. In real catalogs the longest has 33,660.
pub const MAX_DESCRIPTION_BYTES: usize = 256 * 1024;

/// Letters of the shortest word of a description that is indexed.
const LEAST_DESCRIBING_LETTERS: usize = 2;

/// Letters of the shortest word of a search that may have a typo: in shorter ones it makes another word too often.
const LEAST_FORGIVING_LETTERS: usize = 5;

/// Words, each with the packages that have it.
#[derive(Debug)]
pub(in crate::catalog) struct SearchIndex {
    vocabulary: Vocabulary,
    /// Per word the packages, rising, each with the best field that has it: `package * FIELDS + field`.
    postings: Postings,
}

/// Where a word stands in a package, best first; the number is the rank of a word found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    /// It is the whole name.
    WholeName = 0,
    Name = 1,
    DisplayName = 2,
    Keyword = 3,
    Provider = 4,
    Description = 5,
}

/// What a posting multiplies the package by to leave room for the field. It stays a `u32`, as a package takes more
/// bytes of the content than this.
const FIELDS: u32 = 8;

/// Collects words while the index is built.
#[derive(Default)]
struct Builder {
    known: HashMap<String, u32>,
    /// For each word the last package that has it.
    last: Vec<u32>,
    /// Words with postings, by package.
    pairs: Vec<(u32, u32)>,
}

impl SearchIndex {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let mut builder = Builder::default();
        catalog.packages().for_each(|package| builder.package(package));
        builder.finish()
    }

    /// The rank of every package, [`NONE`] for what does not match; nothing when the text has no word.
    pub(super) fn search(&self, catalog: &Catalog, text: &str) -> Option<Vec<u32>> {
        let words = fold(text);
        if words.is_empty() {
            return None;
        }
        let mut ranks = vec![0; catalog.packages.len()];
        let mut best = vec![u8::MAX; ranks.len()];
        for (at, word) in words.iter().enumerate() {
            if words[..at].contains(word) {
                continue;
            }
            best.fill(u8::MAX);
            self.rank_word(word, &mut best);
            for (rank, &best) in ranks.iter_mut().zip(&best) {
                *rank = if best == u8::MAX || *rank == NONE { NONE } else { *rank + u32::from(best) };
            }
        }
        for (package, rank) in catalog.packages().zip(&mut ranks) {
            // No other package has every word in its name.
            if *rank <= id(words.len()) && fold(package.name()) == words {
                *rank = 0;
            }
        }
        Some(ranks)
    }

    /// Lowers the rank of each package to that of its best match of one word.
    fn rank_word(&self, word: &str, best: &mut [u8]) {
        let mut lower = |keys, least: u8, more: u8| {
            for &posting in self.postings.of(keys) {
                let field = u8::try_from(posting % FIELDS).expect("a field");
                let best = &mut best[(posting / FIELDS) as usize];
                *best = (*best).min(field.max(least) + more);
            }
        };
        let literal = self.vocabulary.with_prefix(word);
        if literal.start < literal.end && self.vocabulary.get(literal.start) == word {
            lower(literal.start..literal.start + 1, Field::WholeName as u8, 0);
        }
        lower(literal, Field::Name as u8, 0);
        if word.chars().count() >= LEAST_FORGIVING_LETTERS {
            let behind_literal = Field::Description as u8;
            self.vocabulary.for_each_typo(word, |keys| lower(keys, Field::Name as u8, behind_literal));
        }
    }
}

impl Builder {
    fn package(&mut self, package: Package<'_>) {
        let mut left = MAX_PACKAGE_WORDS;
        let place = id(package.place());
        let mut add = |text: &str, field: Field, describes: bool| {
            for_each_word(text, |word| {
                if left > 0 && (!describes || is_describing(word)) && self.word(shortened(word), place, field) {
                    left -= 1;
                }
            });
        };
        let is_one_word = fold(package.name()).len() == 1;
        add(package.name(), if is_one_word { Field::WholeName } else { Field::Name }, false);
        let summary = package.summary();
        summary.display_name().into_iter().for_each(|text| add(text, Field::DisplayName, false));
        summary.keywords().for_each(|text| add(text, Field::Keyword, false));
        summary.provider_name().into_iter().for_each(|text| add(text, Field::Provider, false));
        let mut describe = |text: &str| add(beginning(text), Field::Description, true);
        package.description().into_iter().for_each(|text| describe(&text.decode()));
        let metadata = summary.bundle().and_then(Bundle::metadata);
        metadata.as_ref().and_then(CsvMetadata::description).into_iter().for_each(|text| describe(&text.decode()));
    }

    /// Notes a word, and says whether the package had none like it.
    fn word(&mut self, word: &str, package: u32, field: Field) -> bool {
        let next = id(self.last.len());
        let number = *self.known.entry_ref(word).or_insert(next);
        if number == next {
            self.last.push(NONE);
        }
        let is_new = self.last[number as usize] != package;
        if is_new {
            // Fields come best first.
            self.last[number as usize] = package;
            self.pairs.push((number, package * FIELDS + field as u32));
        }
        is_new
    }

    fn finish(self) -> SearchIndex {
        let mut words: Vec<(String, u32)> = self.known.into_iter().collect();
        words.sort_unstable();
        let mut places = vec![0; words.len()];
        for (place, (_, number)) in words.iter().enumerate() {
            places[*number as usize] = id(place);
        }
        let pairs = self.pairs.iter().map(|&(number, posting)| (places[number as usize], posting));
        let postings = Postings::new(words.len(), pairs);
        SearchIndex { vocabulary: Vocabulary::new(words.iter().map(|(word, _)| word.as_str())), postings }
    }
}

/// Whether a word of a description is worth finding.
fn is_describing(word: &str) -> bool {
    let letters = word.chars().count();
    (LEAST_DESCRIBING_LETTERS..=MAX_WORD_LETTERS).contains(&letters)
}

/// The letters of a word that count.
fn shortened(word: &str) -> &str {
    word.char_indices().nth(MAX_WORD_LETTERS).map_or(word, |(end, _)| &word[..end])
}

/// The part of a description that is read.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DESCRIPTION_BYTES)]
}
