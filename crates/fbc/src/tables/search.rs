//! Full-text search over packages: an inverted index from folded words to packages and fields.
//!
//! It covers the summary of each package and its descriptions. Of descriptions only words of usual
//! length are indexed: shorter ones carry no meaning, longer ones are digests or parts of URLs.

pub(crate) mod fold;
mod vocabulary;

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::ids::id;
use crate::index::ContentIndex;
use crate::record::NONE;
use crate::tables::postings::Postings;
use crate::tables::search::fold::{MAX_WORD_LETTERS, fold, for_each_word, truncate_word};
use crate::tables::search::vocabulary::Vocabulary;
use crate::work::{Step, Work, WorkStopped};

/// Maximum number of distinct indexed words of a package, which bounds the index. Words of its
/// name, display name, keywords and provider take precedence over those of descriptions. In real
/// catalogs a package has up to 762.
pub const MAX_PACKAGE_WORDS: usize = 4_096;

/// Maximum number of indexed bytes of a description. In real catalogs the longest has 33,660.
pub const MAX_DESCRIPTION_BYTES: usize = 256 * 1024;

/// Minimum length of an indexed word of a description, in letters.
const MIN_DESCRIPTION_WORD_LETTERS: usize = 2;

/// Minimum length of a query word that may have a typo, in letters: in shorter ones a typo often
/// makes another word.
const MIN_TYPO_WORD_LETTERS: usize = 5;

/// Inverted index from words to packages.
#[derive(Debug)]
pub(crate) struct SearchIndex {
    vocabulary: Vocabulary,
    /// Packages of each word, ascending, each with its best field: `package * FIELDS + field`.
    postings: Postings,
}

/// Rank of a package that a search found, and the fields in which its words were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchMatch(u32);

/// Part of a package in which a word was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchField {
    /// Its name.
    Name,
    /// Its display name.
    DisplayName,
    /// A keyword.
    Keywords,
    /// The name of its provider.
    Provider,
    /// A description.
    Description,
}

/// Field of a package that has a word, best first; the number is the rank of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchField {
    /// The word is the whole name.
    WholeName = 0,
    Name = 1,
    DisplayName = 2,
    Keyword = 3,
    Provider = 4,
    Description = 5,
}

/// Bit from which a match has its fields. A rank is less: at most ten for each of
/// [`MAX_SEARCH_WORDS`](fold::MAX_SEARCH_WORDS).
const FIELDS_BIT: u32 = 16;

/// Factor of the package in a posting, which leaves room for the field. The product fits in a
/// `u32`, because a package has more bytes than this.
const FIELDS: u32 = 8;

/// Collects words and postings while the index is built.
#[derive(Default)]
pub(crate) struct SearchIndexBuilder {
    numbers: HashMap<String, u32>,
    /// Last package of each word.
    last_packages: Vec<u32>,
    /// Pairs of word and posting, by package.
    pairs: Vec<(u32, u32)>,
}

/// Texts of a package that a search covers.
pub(crate) struct PackageTexts<'t> {
    pub(crate) name: &'t str,
    pub(crate) display_name: Option<&'t str>,
    pub(crate) keywords: Vec<&'t str>,
    pub(crate) provider_name: Option<&'t str>,
    pub(crate) descriptions: Vec<Cow<'t, str>>,
}

impl SearchMatch {
    /// The rank: 0 is the best. It is 0 if nothing was searched.
    pub fn rank(self) -> u32 {
        self.0 & ((1 << FIELDS_BIT) - 1)
    }

    /// The fields in which words were found, best first: of each word the best one. None if nothing
    /// was searched.
    pub fn fields(self) -> impl Iterator<Item = SearchField> {
        let fields = [
            (MatchField::Name, SearchField::Name),
            (MatchField::DisplayName, SearchField::DisplayName),
            (MatchField::Keyword, SearchField::Keywords),
            (MatchField::Provider, SearchField::Provider),
            (MatchField::Description, SearchField::Description),
        ];
        // The whole name is a name.
        let bits = self.0 >> FIELDS_BIT;
        let bits = bits | (bits & 1) << MatchField::Name as u32;
        fields
            .into_iter()
            .filter(move |(field, _)| bits >> *field as u32 & 1 == 1)
            .map(|(_, field)| field)
    }

    /// The match as a number, for [`SearchMatch::from_bits`].
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// The match of a number that [`SearchMatch::to_bits`] gave.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

impl SearchField {
    /// Returns the canonical spelling, such as `DISPLAY_NAME`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "NAME",
            Self::DisplayName => "DISPLAY_NAME",
            Self::Keywords => "KEYWORDS",
            Self::Provider => "PROVIDER",
            Self::Description => "DESCRIPTION",
        }
    }
}

impl SearchIndex {
    /// Ranks every package, with [`NONE`] for those that do not match, and [`SearchMatch`]es for
    /// the others; `None` when the query has no word.
    ///
    /// # Errors
    /// If the work was stopped.
    pub(crate) fn search(
        &self,
        index: &ContentIndex,
        text: &str,
        work: &Work<'_>,
    ) -> Result<Option<Vec<u32>>, WorkStopped> {
        let words = fold(text);
        if words.is_empty() {
            return Ok(None);
        }
        // One number for each package, whatever the query: memory does not grow with its words.
        let mut ranks = vec![0; index.packages.len()];
        let mut best = vec![u8::MAX; ranks.len()];
        let mut fields = vec![0_u8; ranks.len()];
        for (at, prefix) in words.iter().enumerate() {
            // A repeated word must not count twice in the rank.
            if words[..at].contains(prefix) {
                continue;
            }
            work.draw(Step::Package, ranks.len())?;
            best.fill(u8::MAX);
            self.rank_word(prefix, &mut best, work)?;
            for ((rank, fields), &best) in ranks.iter_mut().zip(&mut fields).zip(&best) {
                *rank = if best == u8::MAX || *rank == NONE {
                    NONE
                } else {
                    *rank + u32::from(best)
                };
                *fields |= field_bit(best);
            }
        }
        for (package, rank) in ranks.iter_mut().enumerate() {
            // No other package has every word in its name.
            if *rank <= id(words.len()) {
                work.draw(Step::Word, 1)?;
                if fold(index.package_name(package)) == words {
                    *rank = 0;
                }
            }
        }
        for (rank, fields) in ranks
            .iter_mut()
            .zip(fields)
            .filter(|(rank, _)| **rank != NONE)
        {
            *rank |= u32::from(fields) << FIELDS_BIT;
        }
        Ok(Some(ranks))
    }

    /// Lowers the rank of each package to that of its best match of a word.
    fn rank_word(&self, prefix: &str, best: &mut [u8], work: &Work<'_>) -> Result<(), WorkStopped> {
        let mut lower = |keys, least: u8, more: u8| {
            let postings = self.postings.lists(keys);
            work.draw(Step::Posting, postings.len())?;
            for &posting in postings {
                let field = u8::try_from(posting % FIELDS).expect("a field");
                let best = &mut best[(posting / FIELDS) as usize];
                *best = (*best).min(field.max(least) + more);
            }
            Ok(())
        };
        let literal = self.vocabulary.with_prefix(prefix);
        if literal.start < literal.end && self.vocabulary.get(literal.start) == prefix {
            lower(
                literal.start..literal.start + 1,
                MatchField::WholeName as u8,
                0,
            )?;
        }
        lower(literal, MatchField::Name as u8, 0)?;
        if prefix.chars().count() < MIN_TYPO_WORD_LETTERS {
            return Ok(());
        }
        let behind_literal = MatchField::Description as u8;
        self.vocabulary.for_each_typo(prefix, |keys| {
            work.draw(Step::Word, 1)?;
            lower(keys, MatchField::Name as u8, behind_literal)
        })
    }
}

impl SearchIndexBuilder {
    /// Adds the words of a package.
    pub(crate) fn add(&mut self, package: usize, texts: &PackageTexts<'_>) {
        let mut remaining = MAX_PACKAGE_WORDS;
        let package = id(package);
        let mut add = |text: &str, field: MatchField, is_description: bool| {
            for_each_word(text, |word| {
                if remaining > 0
                    && (!is_description || is_indexed_description_word(word))
                    && self.word(truncate_word(word), package, field)
                {
                    remaining -= 1;
                }
            });
        };

        let is_one_word = fold(texts.name).len() == 1;
        let name_field = if is_one_word {
            MatchField::WholeName
        } else {
            MatchField::Name
        };
        // Fields come best first: a word counts in the first field that has it.
        add(texts.name, name_field, false);
        if let Some(text) = texts.display_name {
            add(text, MatchField::DisplayName, false);
        }
        for text in &texts.keywords {
            add(text, MatchField::Keyword, false);
        }
        if let Some(text) = texts.provider_name {
            add(text, MatchField::Provider, false);
        }
        for text in &texts.descriptions {
            add(indexed_part(text), MatchField::Description, true);
        }
    }

    /// Adds a word of a package and returns whether it is new for the package.
    fn word(&mut self, word: &str, package: u32, field: MatchField) -> bool {
        let next = id(self.last_packages.len());
        let number = *self.numbers.entry_ref(word).or_insert(next);
        if number == next {
            self.last_packages.push(NONE);
        }
        let is_new = self.last_packages[number as usize] != package;
        if is_new {
            // Fields come best first.
            self.last_packages[number as usize] = package;
            self.pairs.push((number, package * FIELDS + field as u32));
        }
        is_new
    }

    pub(crate) fn finish(self) -> SearchIndex {
        let mut words: Vec<(String, u32)> = self.numbers.into_iter().collect();
        words.sort_unstable();
        let mut places = vec![0; words.len()];
        for (place, (_, number)) in words.iter().enumerate() {
            places[*number as usize] = id(place);
        }
        let pairs = self
            .pairs
            .iter()
            .map(|&(number, posting)| (places[number as usize], posting));
        let postings = Postings::new(words.len(), pairs);
        SearchIndex {
            vocabulary: Vocabulary::new(words.iter().map(|(word, _)| word.as_str())),
            postings,
        }
    }
}

/// The bit of the field of a match, of a word as it is written or with a typo; none if there is no
/// match.
fn field_bit(rank: u8) -> u8 {
    let behind_literal = MatchField::Description as u8;
    let field = if rank > behind_literal {
        rank - behind_literal
    } else {
        rank
    };
    1_u8.checked_shl(field.into()).unwrap_or(0)
}

/// Tells whether a word of a description is indexed.
fn is_indexed_description_word(word: &str) -> bool {
    let letters = word.chars().count();
    (MIN_DESCRIPTION_WORD_LETTERS..=MAX_WORD_LETTERS).contains(&letters)
}

/// Truncates a description to its indexed bytes.
fn indexed_part(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DESCRIPTION_BYTES)]
}
