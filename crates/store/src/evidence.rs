//! Evidence of sources: bytes that a source gave besides its content, such as the signatures of an
//! image. The store does not interpret them, and removes them with the record that refers to them.

use std::path::PathBuf;

use fbc_grammar::Digest;

use super::crash_points::FileKind;
use super::{EVIDENCE, Store, StoreError, lock_mutex};

impl Store {
    /// Returns the evidence that was kept with the last content of a source; `None` if there is
    /// none, or it is damaged.
    pub fn evidence(&self, key: &str) -> Option<Vec<u8>> {
        let digest = self.record(key)?.evidence?;
        let bytes = std::fs::read(self.evidence_path(&digest)).ok()?;
        (content_digest::digest(&bytes) == digest).then_some(bytes)
    }

    /// Replaces the evidence of the last content of a source, if there is one.
    pub fn set_evidence(&self, key: &str, evidence: &[u8]) -> Result<(), StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        let Some(mut record) = self.record(key) else {
            return Ok(());
        };
        let digest = self.write_evidence(Some(evidence))?;
        if record.evidence == digest {
            return Ok(());
        }
        record.evidence = digest;
        self.write_file(&self.record_path(key), &record.to_json(), FileKind::Record)?;
        self.collect_garbage()
    }

    /// Writes evidence, to which no record refers yet. The caller must hold the write lock.
    pub(super) fn write_evidence(
        &self,
        evidence: Option<&[u8]>,
    ) -> Result<Option<Digest>, StoreError> {
        let Some(bytes) = evidence else {
            return Ok(None);
        };
        let digest = content_digest::digest(bytes);
        let path = self.evidence_path(&digest);
        self.write_file(&path, bytes, FileKind::Evidence)?;
        Ok(Some(digest))
    }

    /// Path of evidence by its digest.
    pub(super) fn evidence_path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(EVIDENCE)
            .join(format!("{}.json", digest.hex()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::{keep_text, open};
    use super::*;

    /// The files of evidence in a store.
    fn count(store: &Store) -> usize {
        fs::read_dir(store.folder.join(EVIDENCE)).unwrap().count()
    }

    #[test]
    fn evidence_is_kept_with_the_content_of_its_source_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        store.set_evidence("a", b"none").unwrap();
        assert_eq!((store.evidence("a"), count(&store)), (None, 0));

        keep_text(&store, "a", "a\n");
        store.set_evidence("a", b"first").unwrap();
        store.set_evidence("a", b"second").unwrap();
        drop(store);
        let store = open(folder.path());
        assert_eq!(
            (store.evidence("a"), count(&store)),
            (Some(b"second".to_vec()), 1)
        );

        keep_text(&store, "a", "b\n");
        assert_eq!((store.evidence("a"), count(&store)), (None, 0));
    }

    #[test]
    fn damaged_evidence_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        keep_text(&store, "a", "a\n");
        store.set_evidence("a", b"first").unwrap();
        let path = store.evidence_path(&content_digest::digest(b"first"));
        fs::write(&path, "other").unwrap();
        assert_eq!(store.evidence("a"), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(store.evidence("a"), None);
        assert!(store.get("a").is_some());

        store.set_evidence("a", b"first").unwrap();
        assert_eq!(store.evidence("a"), Some(b"first".to_vec()));
    }
}
