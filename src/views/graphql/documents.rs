//! Documents that are kept parsed and validated: bounded, by the sha256 of their text, which is also how clients name
//! those that they need not send again.
//!
//! A document that was asked for since it last stood in line gets a second turn, so that those in use outlive those
//! that came once.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use fbc::Digest;
use sha2::{Digest as _, Sha256};

use super::document::Document;

/// Memory of a parsed document besides what grows with its text.
const BYTES_PER_DOCUMENT: usize = 1_024;

/// Memory of a parsed document for each byte of its text: about 25 where names are long, 60 where they are short.
const BYTES_PER_BYTE: usize = 40;

/// Documents that are kept.
pub(super) struct Documents {
    entries: usize,
    bytes: usize,
    kept: RwLock<Kept>,
}

#[derive(Default)]
struct Kept {
    by_digest: HashMap<Digest, Entry>,
    /// Every digest, the next to be dropped first.
    line: VecDeque<Digest>,
    bytes: usize,
}

struct Entry {
    document: Arc<Document>,
    used: AtomicBool,
}

impl Documents {
    /// Keeps at most so many documents, and at most so many bytes of memory, roughly.
    pub(super) fn new(entries: usize, bytes: usize) -> Self {
        Self { entries, bytes, kept: RwLock::default() }
    }

    /// The document whose text has this digest, if it is kept.
    pub(super) fn get(&self, digest: &Digest) -> Option<Arc<Document>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.by_digest.get(digest)?;
        entry.used.store(true, Ordering::Relaxed);
        Some(Arc::clone(&entry.document))
    }

    /// Keeps a document with the digest of its text, unless it alone is larger than all may be.
    pub(super) fn insert(&self, digest: Digest, document: &Arc<Document>) {
        let size = size(document.text());
        if size > self.bytes || self.entries == 0 {
            return;
        }
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.by_digest.contains_key(&digest) {
            return;
        }
        while kept.line.len() >= self.entries || kept.bytes + size > self.bytes {
            kept.drop_one();
        }
        kept.bytes += size;
        kept.line.push_back(digest);
        kept.by_digest.insert(digest, Entry { document: Arc::clone(document), used: AtomicBool::new(false) });
    }
}

impl Kept {
    /// Drops the first in line that was not used; the used ones before it go to the end and count as unused.
    fn drop_one(&mut self) {
        while let Some(digest) = self.line.pop_front() {
            let used = self.by_digest.get_mut(&digest).is_some_and(|entry| std::mem::take(entry.used.get_mut()));
            if used {
                self.line.push_back(digest);
            } else if let Some(entry) = self.by_digest.remove(&digest) {
                self.bytes -= size(entry.document.text());
                return;
            }
        }
    }
}

/// The digest by which the document of a text is kept.
pub(super) fn digest(text: &str) -> Digest {
    Digest::new(Sha256::digest(text.as_bytes()).into())
}

fn size(text: &str) -> usize {
    BYTES_PER_DOCUMENT + text.len() * BYTES_PER_BYTE
}

#[cfg(test)]
mod tests {
    use super::super::document::Schema;
    use super::super::limits::Limits;
    use super::*;

    fn document(schema: &Schema, key: &str) -> Arc<Document> {
        let text = format!("{{ {key}: __typename }}");
        Arc::new(schema.parse(&text, &Limits::default()).expect("a test document is valid"))
    }

    #[test]
    fn a_document_that_was_asked_for_outlives_one_that_was_not() {
        let schema = Schema::load();
        let [a, b, c] = ["a", "b", "c"].map(|key| document(&schema, key));
        let documents = Documents::new(2, usize::MAX);
        documents.insert(digest(a.text()), &a);
        documents.insert(digest(b.text()), &b);
        assert!(documents.get(&digest(a.text())).is_some());
        documents.insert(digest(c.text()), &c);
        let kept = [&a, &b, &c].map(|document| documents.get(&digest(document.text())).is_some());
        assert_eq!(kept, [true, false, true]);
    }

    #[test]
    fn the_bytes_that_are_kept_are_bounded() {
        let schema = Schema::load();
        let [a, b] = ["a", "b"].map(|key| document(&schema, key));
        let fitting = Documents::new(9, 2 * size(a.text()));
        let tight = Documents::new(9, 2 * size(a.text()) - 1);
        for documents in [&fitting, &tight] {
            documents.insert(digest(a.text()), &a);
            documents.insert(digest(b.text()), &b);
            documents.insert(digest(b.text()), &b);
            assert!(documents.get(&digest(b.text())).is_some());
        }
        assert!(fitting.get(&digest(a.text())).is_some());
        assert!(tight.get(&digest(a.text())).is_none());
    }

    #[test]
    fn a_document_larger_than_all_may_be_is_not_kept() {
        let schema = Schema::load();
        let a = document(&schema, "a");
        let documents = Documents::new(9, size(a.text()) - 1);
        documents.insert(digest(a.text()), &a);
        assert!(documents.get(&digest(a.text())).is_none());
    }
}
