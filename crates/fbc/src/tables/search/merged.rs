//! The search indexes of many catalogs, merged into one.
//!
//! Packages that have one name and the same words in the same fields are one document of it, in
//! however many catalogs they are: a search looks at each document once. It finds what searches of
//! each catalog would find, with the same ranks, because a rank depends on the package and the query
//! only.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::iter;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::query::SearchQuery;
use super::vocabulary::Vocabulary;
use super::{FIELDS, SearchIndex, SearchMatch};
use crate::catalog::Catalog;
use crate::ids::{NONE, id};
use crate::strings::{StringList, StringListBuilder};
use crate::tables::postings::Postings;
use crate::work::{Step, Work, WorkStopped, sort_steps};

/// One search index of many catalogs, which are numbered in the order in which they were added.
#[derive(Default)]
pub struct MergedSearchIndex {
    /// The index of the documents.
    index: SearchIndex,
    /// The name of the packages of each document.
    names: StringList,
    /// Documents by their fingerprints.
    by_fingerprint: HashMap<Fingerprint, u32>,
    fingerprinting: Fingerprinting,
    /// The documents of the packages of each catalog, in its order.
    documents: Vec<Arc<[u32]>>,
    /// The packages of each document, by catalog.
    packages: Postings<IndexedPackage>,
}

/// Maximum size of a merged index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedSearchLimits {
    /// Number of packages of all catalogs, of 12 bytes each, and about 60 bytes for each document.
    pub packages: usize,
    /// Number of words, of about 16 bytes each.
    pub words: usize,
    /// Number of occurrences of words in documents, of 4 bytes each.
    pub postings: usize,
}

/// A package of one of the catalogs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexedPackage {
    /// Number of the catalog.
    pub catalog: u32,
    /// Index in the order of [`Catalog::packages`].
    pub place: u32,
}

/// A document that a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundDocument {
    document: u32,
    /// Its match.
    pub found: SearchMatch,
}

/// Hash of the name of a package, and of its words with their fields. Keys that no catalog can know
/// make it improbable that two packages have the same one.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Fingerprint([u64; 2]);

/// Keys of fingerprints.
#[derive(Clone, Default)]
struct Fingerprinting([RandomState; 2]);

/// Words and postings of documents that are added.
struct Addition<'w> {
    /// Numbers of the words: former ones first, then further ones as they come.
    numbers: HashMap<&'w str, u32>,
    /// Pairs of word and posting.
    postings: Vec<(u32, u32)>,
    names: StringListBuilder,
    title_letters: Vec<u8>,
}

impl MergedSearchIndex {
    /// Adds the packages of further catalogs; `None` if the index would be larger than the limits.
    #[must_use]
    pub fn with<'c>(
        &self,
        catalogs: impl IntoIterator<Item = &'c Catalog>,
        limits: MergedSearchLimits,
    ) -> Option<Self> {
        let mut by_fingerprint = self.by_fingerprint.clone();
        let mut documents = self.documents.clone();
        let mut addition = Addition::new(self);
        let mut packages = self.packages.len();
        for catalog in catalogs {
            packages += catalog.packages().len();
            if packages > limits.packages {
                return None;
            }
            let index = catalog.search_index();
            let fingerprints = self.fingerprinting.of_packages(catalog, index);
            let mut of_catalog = Vec::with_capacity(fingerprints.len());
            // The number of each package's document if it is new.
            let mut added = vec![NONE; fingerprints.len()];
            for (place, fingerprint) in fingerprints.into_iter().enumerate() {
                let next = id(by_fingerprint.len());
                let document = match by_fingerprint.entry(fingerprint) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(vacant) => {
                        added[place] = next;
                        addition.names.push(catalog.index.package_name(place));
                        addition.title_letters.push(index.title_letters[place]);
                        *vacant.insert(next)
                    }
                };
                of_catalog.push(document);
            }
            addition.add_words(index, &added);
            documents.push(of_catalog.into());
            let postings = self.index.postings.len() + addition.postings.len();
            if addition.numbers.len() > limits.words || postings > limits.postings {
                return None;
            }
        }
        let packages = iter::zip(0.., &documents).flat_map(|(catalog, of_catalog)| {
            let places = iter::zip(0.., &**of_catalog);
            places.map(move |(place, &document)| (document, IndexedPackage { catalog, place }))
        });
        let packages = Postings::new(by_fingerprint.len(), packages);
        Some(Self {
            names: std::mem::take(&mut addition.names).finish(),
            index: addition.index(&self.index),
            by_fingerprint,
            fingerprinting: self.fingerprinting.clone(),
            documents,
            packages,
        })
    }

    /// Returns the number of packages of all catalogs.
    pub fn packages(&self) -> usize {
        self.packages.len()
    }

    /// Returns the number of words.
    pub fn words(&self) -> usize {
        self.index.vocabulary.len()
    }

    /// Returns the number of occurrences of words in documents.
    pub fn postings(&self) -> usize {
        self.index.postings.len()
    }

    /// Returns the number of catalogs that were added.
    pub fn catalogs(&self) -> usize {
        self.documents.len()
    }

    /// Finds the documents that match a query: the best rank first, and those of one rank by name.
    /// `None` when the query has no word.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn search(
        &self,
        query: &SearchQuery,
        work: &Work<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, WorkStopped> {
        let name = |document| self.names.get(document);
        let Some(ranks) = self.index.search(name, query, work)? else {
            return Ok(None);
        };
        let mut found: Vec<_> = iter::zip(0.., ranks)
            .filter(|(_, rank)| *rank != NONE)
            .map(|(document, rank)| FoundDocument {
                document,
                found: SearchMatch::from_bits(rank),
            })
            .collect();
        work.draw(Step::SortStep, sort_steps(found.len()))?;
        found.sort_unstable_by_key(|one| (one.found.rank(), name(one.document as usize)));
        Ok(Some(found))
    }

    /// Returns the packages of a document, by catalog.
    pub fn packages_of(&self, found: FoundDocument) -> &[IndexedPackage] {
        self.packages.get(found.document as usize)
    }

    /// The words of all documents.
    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.index.vocabulary
    }
}

impl Fingerprinting {
    /// Returns the fingerprints of the packages of a catalog.
    fn of_packages(&self, catalog: &Catalog, index: &SearchIndex) -> Vec<Fingerprint> {
        let [first, second] = &self.0;
        let hashers = [first.build_hasher(), second.build_hasher()];
        let mut hashers = vec![hashers; index.title_letters.len()];
        for (at, word) in index.vocabulary.iter().enumerate() {
            // Vocabularies are sorted: equal packages have equal words in one order.
            let word = [first.hash_one(word), second.hash_one(word)];
            for &posting in index.postings.get(at) {
                let hashers = &mut hashers[(posting / FIELDS) as usize];
                for (hasher, word) in iter::zip(hashers, word) {
                    hasher.write_u64(word);
                    hasher.write_u32(posting % FIELDS);
                }
            }
        }
        let finish = |(place, hashers): (usize, [DefaultHasher; 2])| {
            let name = catalog.index.package_name(place);
            Fingerprint(hashers.map(|mut hasher| {
                hasher.write(name.as_bytes());
                hasher.write_u8(index.title_letters[place]);
                hasher.finish()
            }))
        };
        hashers.into_iter().enumerate().map(finish).collect()
    }
}

impl<'w> Addition<'w> {
    /// Begins with the words and documents of an index, but not with its postings.
    fn new(former: &'w MergedSearchIndex) -> Self {
        let mut names = StringListBuilder::default();
        for document in 0..former.names.len() {
            names.push(former.names.get(document));
        }
        Self {
            numbers: iter::zip(former.index.vocabulary.iter(), 0..).collect(),
            postings: Vec::new(),
            names,
            title_letters: former.index.title_letters.to_vec(),
        }
    }

    /// Adds the words of the packages that have a document.
    fn add_words(&mut self, index: &'w SearchIndex, documents: &[u32]) {
        if documents.iter().all(|&document| document == NONE) {
            return;
        }
        for (at, word) in index.vocabulary.iter().enumerate() {
            for &posting in index.postings.get(at) {
                let document = documents[(posting / FIELDS) as usize];
                if document == NONE {
                    continue;
                }
                let next = id(self.numbers.len());
                let number = *self.numbers.entry(word).or_insert(next);
                let posting = document * FIELDS + posting % FIELDS;
                self.postings.push((number, posting));
            }
        }
    }

    /// Returns the index of all documents; `former` has the postings of those that were there.
    fn index(self, former: &SearchIndex) -> SearchIndex {
        let kept = iter::zip(0.., 0..former.vocabulary.len()).flat_map(|(number, word)| {
            let postings = former.postings.get(word).iter();
            postings.map(move |&posting| (number, posting))
        });
        // Further documents have higher numbers, so that the lists are ascending.
        let pairs = kept.chain(self.postings.iter().copied());
        SearchIndex::new(
            self.numbers.into_iter().collect(),
            pairs,
            self.title_letters,
        )
    }
}
