//! Full-text search over packages: an inverted index from folded words to packages and fields.
//!
//! It covers the summary of each package and its descriptions. Of descriptions only words of usual
//! length are indexed: shorter ones carry no meaning, longer ones are digests or parts of URLs.

pub(crate) mod fold;
pub(crate) mod merged;
pub(crate) mod query;
mod vocabulary;

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use hashbrown::HashMap;

use crate::array::Array;
use crate::ids::{NONE, id};
use crate::index::ContentIndex;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};
use crate::tables::postings::Postings;
use crate::tables::search::fold::{MAX_WORD_LETTERS, fold, for_each_word, truncate_word};
use crate::tables::search::query::{QueryWord, SearchQuery};
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

/// Words that tell no package from another: a name or a display name is the same without them.
const GENERIC_WORDS: [&str; 3] = ["operator", "operators", "community"];

/// Minimum length of a query word that may have a typo, in letters: in shorter ones a typo often
/// makes another word.
const MIN_TYPO_WORD_LETTERS: usize = 5;

/// Inverted index from words to packages.
#[derive(Debug, Default)]
pub(crate) struct SearchIndex {
    vocabulary: Vocabulary,
    /// Packages of each word, ascending, each with its best field: `package * FIELDS + field`.
    postings: Postings,
    /// Length of the title of each package; see [`title_letters`].
    title_letters: Array<u8>,
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

/// Field of a package that has a word, best first. The distance of a match is the number of the
/// field less one, and 0 for whole names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchField {
    /// The word is the whole name, without generic words and what is between words.
    WholeName = 0,
    /// The word is the whole display name, likewise.
    WholeDisplayName = 1,
    Name = 2,
    DisplayName = 3,
    Keyword = 4,
    Provider = 5,
    Description = 6,
}

/// Distance of a match with a typo behind one without.
const TYPO_FIELDS: u8 = 5;

/// Precision with which a word of the query matches words of the vocabulary.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Precision {
    /// It is a whole name, and no other word.
    WholeName,
    /// It is the word.
    Word,
    /// It is the beginning of the words.
    Beginning,
    /// It is the beginning of the words but for a typo.
    Typo,
}

/// Bit from which a rank has its distance; below it is the length of the title.
const DISTANCE_BIT: u32 = 8;

/// Bit from which a match has its fields. A rank is less: its distance is at most ten for each of
/// [`MAX_SEARCH_WORDS`](fold::MAX_SEARCH_WORDS).
const FIELDS_BIT: u32 = 24;

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
    title_letters: Vec<u8>,
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
    /// The rank: 0 is the best. It is 0 if nothing was searched. Of two packages with the same
    /// distance the one with the shorter title has the better rank.
    pub fn rank(self) -> u32 {
        self.0 & ((1 << FIELDS_BIT) - 1)
    }

    /// The sum over the words of how far each is from the whole name: 0 to 10.
    pub fn distance(self) -> u32 {
        self.rank() >> DISTANCE_BIT
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
        // A whole name is a name.
        let bits = self.0 >> FIELDS_BIT;
        let bits = bits | (bits & 0b11) << MatchField::Name as u32;
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
    /// Creates an index of numbered words, from pairs of the number of a word and a posting. The
    /// postings of a word are ascending.
    fn new(
        mut words: Vec<(&str, u32)>,
        pairs: impl Iterator<Item = (u32, u32)> + Clone,
        title_letters: Vec<u8>,
    ) -> Self {
        words.sort_unstable();
        let mut places = vec![0; words.len()];
        for (place, (_, number)) in words.iter().enumerate() {
            places[*number as usize] = id(place);
        }
        let pairs = pairs.map(|(number, posting)| (places[number as usize], posting));
        Self {
            postings: Postings::new(words.len(), pairs),
            vocabulary: Vocabulary::new(words.iter().map(|(word, _)| *word)),
            title_letters: Array::new(title_letters),
        }
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.vocabulary.write(sections)?;
        self.postings.write(sections)?;
        sections.array(&self.title_letters)
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let packages = index.packages.len();
        let vocabulary = Vocabulary::read(sections)?;
        let limit = packages.saturating_mul(FIELDS as usize);
        let postings = Postings::read(sections, vocabulary.len(), limit)?;
        let title_letters = sections.array()?;
        sections.check(title_letters.len() == packages)?;
        Ok(Self {
            vocabulary,
            postings,
            title_letters,
        })
    }

    /// Ranks every package, with [`NONE`] for those that do not match, and [`SearchMatch`]es for
    /// the others; `None` when the query has no word. `name` returns the name of a package.
    ///
    /// # Errors
    /// If the work was stopped.
    pub(crate) fn search<'n>(
        &self,
        name: impl Fn(usize) -> &'n str,
        query: &SearchQuery,
        work: &Work<'_>,
    ) -> Result<Option<Vec<u32>>, WorkStopped> {
        let words = query.words();
        if words.is_empty() {
            return Ok(None);
        }
        // One number for each package, whatever the query: memory does not grow with its words.
        let mut ranks = vec![0; self.title_letters.len()];
        let mut best = vec![u8::MAX; ranks.len()];
        let mut fields = vec![0_u8; ranks.len()];
        for (at, word) in words.iter().enumerate() {
            // A repeated word must not count twice in the rank.
            if words[..at].iter().any(|other| other.text == word.text) {
                continue;
            }
            work.draw(Step::Package, ranks.len())?;
            best.fill(u8::MAX);
            self.rank_word(word, &mut best, work)?;
            for ((rank, fields), &best) in ranks.iter_mut().zip(&mut fields).zip(&best) {
                *rank = if best == u8::MAX || *rank == NONE {
                    NONE
                } else {
                    *rank + distance(best)
                };
                *fields |= field_bit(best);
            }
        }
        if words.len() > 1 {
            work.draw(Step::Package, ranks.len())?;
            best.fill(u8::MAX);
            self.rank_joined(words, &mut best, work)?;
            for ((rank, fields), &best) in ranks.iter_mut().zip(&mut fields).zip(&best) {
                if best != u8::MAX && distance(best) < *rank {
                    *rank = distance(best);
                    *fields = field_bit(best);
                }
            }
        }
        for (package, (rank, fields)) in ranks.iter_mut().zip(fields).enumerate() {
            if *rank == NONE {
                continue;
            }
            // No other package has every word in its name.
            let is_whole_name = if *rank <= id(words.len()) {
                work.draw(Step::Word, 1)?;
                fold(name(package))
                    .iter()
                    .eq(words.iter().map(|word| &word.text))
            } else {
                false
            };
            if is_whole_name {
                *rank = 0;
            } else {
                *rank = *rank << DISTANCE_BIT | u32::from(self.title_letters[package]);
            }
            *rank |= u32::from(fields) << FIELDS_BIT;
        }
        Ok(Some(ranks))
    }

    /// Lowers the rank of each package to that of its best match of all words as one, such as
    /// `certmanager` for `cert manager`. Without generic words they must be a whole name: who looks
    /// for `redis operator` means the package `redis` too.
    fn rank_joined(
        &self,
        words: &[QueryWord],
        best: &mut [u8],
        work: &Work<'_>,
    ) -> Result<(), WorkStopped> {
        work.draw(Step::Word, 2)?;
        let words: Vec<&String> = words.iter().map(|word| &word.text).collect();
        let beginning = self.vocabulary.with_prefix(&join(&words));
        self.lower_ranks(beginning, Precision::Beginning, best, work)?;
        let whole = self.vocabulary.find(&join(distinct_words(words)));
        self.lower_ranks(whole, Precision::WholeName, best, work)
    }

    /// Lowers the rank of each package to that of its best match of a word.
    fn rank_word(
        &self,
        searched: &QueryWord,
        best: &mut [u8],
        work: &Work<'_>,
    ) -> Result<(), WorkStopped> {
        let prefix = &searched.text;
        let beginning = self.vocabulary.with_prefix(prefix);
        let whole = self.vocabulary.whole_of(&beginning, prefix);
        self.lower_ranks(whole, Precision::Word, best, work)?;
        self.lower_ranks(beginning, Precision::Beginning, best, work)?;
        if let Some(typos) = &searched.typos {
            for typo in typos {
                work.draw(Step::Word, 1)?;
                let keys = self.vocabulary.with_prefix(typo);
                self.lower_ranks(keys, Precision::Typo, best, work)?;
            }
            return Ok(());
        }
        if !searched.may_have_typo() {
            return Ok(());
        }
        self.vocabulary.for_each_typo(prefix, |keys, _| {
            work.draw(Step::Word, 1)?;
            self.lower_ranks(keys, Precision::Typo, best, work)
        })
    }

    fn lower_ranks(
        &self,
        keys: Range<usize>,
        precision: Precision,
        best: &mut [u8],
        work: &Work<'_>,
    ) -> Result<(), WorkStopped> {
        let postings = self.postings.lists(keys);
        work.draw(Step::Posting, postings.len())?;
        for &posting in postings {
            let field = u8::try_from(posting % FIELDS).expect("a field");
            if let Some(field) = precision.matched_field(field) {
                let best = &mut best[(posting / FIELDS) as usize];
                *best = (*best).min(field);
            }
        }
        Ok(())
    }
}

impl Precision {
    /// The field that a match counts as, of a word in a field; `None` if it is no match.
    fn matched_field(self, field: u8) -> Option<u8> {
        let is_whole = field < MatchField::Name as u8;
        // A word that is only the beginning of a whole name counts as a part of it.
        let part = if is_whole {
            field + MatchField::Name as u8
        } else {
            field
        };
        match self {
            Self::WholeName => is_whole.then_some(field),
            Self::Word => Some(field),
            Self::Beginning => Some(part),
            Self::Typo => Some(part + TYPO_FIELDS),
        }
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

        let name = fold(texts.name);
        let display_name = texts.display_name.map(fold).unwrap_or_default();
        let whole_display_name = join(distinct_words(&display_name));
        let is_in_name = name.contains(&whole_display_name);
        let whole_field = if is_in_name {
            MatchField::WholeName
        } else {
            MatchField::WholeDisplayName
        };
        // Fields come best first: a word counts in the first field that has it.
        add(&join(distinct_words(&name)), MatchField::WholeName, false);
        add(&whole_display_name, whole_field, false);
        add(texts.name, MatchField::Name, false);
        for end in joined_ends(&name) {
            add(&end, MatchField::Name, false);
        }
        if let Some(text) = texts.display_name {
            add(text, MatchField::DisplayName, false);
        }
        for end in joined_ends(&display_name) {
            add(&end, MatchField::DisplayName, false);
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
        let title = if display_name.is_empty() {
            &name
        } else {
            &display_name
        };
        self.title_letters.push(title_letters(title));
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
        let words = self.numbers.iter();
        let words = words.map(|(word, &number)| (word.as_str(), number));
        SearchIndex::new(
            words.collect(),
            self.pairs.iter().copied(),
            self.title_letters,
        )
    }
}

/// Returns the words that tell a package from another: all but the generic ones, or all if each is
/// generic.
fn distinct_words<'w>(words: impl IntoIterator<Item = &'w String>) -> Vec<&'w String> {
    let words: Vec<&String> = words.into_iter().collect();
    let is_distinct = |word: &&String| !GENERIC_WORDS.contains(&word.as_str());
    let distinct: Vec<_> = words.iter().copied().filter(is_distinct).collect();
    if distinct.is_empty() { words } else { distinct }
}

/// Joins words to one, within the limit of a word.
fn join<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let mut joined = String::new();
    for word in words {
        joined.push_str(word.as_ref());
    }
    truncate_word(&joined).to_owned()
}

/// Joins the words of a name from each of them but the last to its end: who writes `certmanager`
/// means `jetstack-cert-manager`.
fn joined_ends(words: &[String]) -> impl Iterator<Item = String> {
    (0..words.len().saturating_sub(1)).map(|start| join(&words[start..]))
}

/// Returns the number of letters of a title, without generic words and what is between words, at
/// least 1 and at most 255.
fn title_letters(words: &[String]) -> u8 {
    let letters: usize = distinct_words(words)
        .iter()
        .map(|word| word.chars().count())
        .sum();
    u8::try_from(letters.max(1)).unwrap_or(u8::MAX)
}

/// The distance of a match in a field.
fn distance(field: u8) -> u32 {
    field.saturating_sub(1).into()
}

/// The bit of the field of a match, of a word as it is written or with a typo; none if there is no
/// match.
fn field_bit(field: u8) -> u8 {
    let field = if field > MatchField::Description as u8 {
        field - TYPO_FIELDS
    } else {
        field
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
