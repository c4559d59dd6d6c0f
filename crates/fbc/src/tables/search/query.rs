//! Queries of a search.
//!
//! Each catalog has its own vocabulary. To find what a word with a typo may begin is the dearest
//! part of a search; over many catalogs it is done once, among the words of all of them.

use super::MIN_TYPO_WORD_LETTERS;
use super::fold::fold;
use super::merged::MergedSearchIndex;
use super::vocabulary::Vocabulary;
use crate::work::{Step, Work, WorkStopped};

/// A full-text query: its folded words.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    words: Vec<QueryWord>,
}

/// A word of a query.
#[derive(Clone, Debug)]
pub(crate) struct QueryWord {
    pub(crate) text: String,
    /// Beginnings of the words of catalogs that this word may mean, if it has a typo; `None` if each
    /// catalog must find them.
    pub(crate) typos: Option<Vec<String>>,
}

impl SearchQuery {
    /// Splits a text into folded words.
    pub fn new(text: &str) -> Self {
        let words = fold(text).into_iter();
        Self {
            words: words.map(|text| QueryWord { text, typos: None }).collect(),
        }
    }

    /// Finds what the words with a typo may mean, among the words of an index that has all catalogs
    /// that are to be searched. The result of a search is the same.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn with_typos_of(
        mut self,
        index: &MergedSearchIndex,
        work: &Work<'_>,
    ) -> Result<Self, WorkStopped> {
        for word in &mut self.words {
            if word.may_have_typo() {
                word.typos = Some(index.vocabulary().typos(&word.text, work)?);
            }
        }
        Ok(self)
    }

    /// Returns the folded words, with a space between them.
    pub fn to_text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| &*word.text).collect();
        words.join(" ")
    }

    pub(crate) fn words(&self) -> &[QueryWord] {
        &self.words
    }
}

impl From<&str> for SearchQuery {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl QueryWord {
    /// Returns whether a typo is likely enough: in short words it often makes another word.
    pub(crate) fn may_have_typo(&self) -> bool {
        self.text.chars().count() >= MIN_TYPO_WORD_LETTERS
    }
}

impl Vocabulary {
    /// Returns what the words begin with that have `prefix` as prefix after one edit, none of which
    /// begins with another.
    fn typos(&self, prefix: &str, work: &Work<'_>) -> Result<Vec<String>, WorkStopped> {
        let mut found = Vec::new();
        self.for_each_typo(prefix, |keys, length| {
            work.draw(Step::Word, 1)?;
            if !keys.is_empty() {
                found.push(&self.get(keys.start)[..length]);
            }
            Ok(())
        })?;
        found.sort_unstable();
        let mut typos: Vec<String> = Vec::new();
        for text in found {
            let is_covered = |kept: &String| text.starts_with(kept.as_str());
            if !typos.last().is_some_and(is_covered) {
                typos.push(text.to_owned());
            }
        }
        Ok(typos)
    }
}
