//! Journal of idempotency keys: the responses to requests that had one, so that a request which is
//! sent again is not applied again.
//!
//! The journal is a sibling file of the directory. It is replaced together with the files of an
//! edit, all or none, so that it has a key exactly if the edit is done.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use edit::file::FileChange;
use fbc_grammar::Digest;
use serde::{Deserialize, Serialize};

use crate::folder::LockedFolder;

/// Maximum number of keys; the oldest is removed first.
pub const MAX_KEYS: usize = 1_000;

/// Maximum length in bytes of a response that is stored whole. The journal is rewritten by each
/// edit, so that it must stay small.
pub const MAX_RESPONSE_BYTES: usize = 4 << 10;

/// Suffix of the file.
const SUFFIX: &str = "edits";

/// Responses by idempotency key, in the order of the edits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    entries: VecDeque<JournalEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct JournalEntry {
    key: String,
    /// SHA-256 of the request, in hexadecimal digits.
    request: String,
    response: String,
}

/// Result of the lookup of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLookup<'a> {
    /// No request had the key.
    New,
    /// The same request had the key, with this response.
    Done(&'a str),
    /// Another request had the key.
    OtherRequest,
}

/// The journal of a directory, as it was read.
#[derive(Clone, Debug)]
pub struct JournalFile {
    /// Bytes of the file; `None` where no request had a key yet.
    bytes: Option<Vec<u8>>,
    journal: Journal,
}

/// A journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{}`", path.display())]
pub struct JournalError {
    /// The file.
    pub path: PathBuf,
    /// Reason of the operating system, or the error in its JSON.
    pub source: io::Error,
}

impl Journal {
    /// Parses a journal.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Returns the bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Looks up the key of a request with this SHA-256.
    pub fn look_up(&self, key: &str, request: Digest) -> KeyLookup<'_> {
        match self.entries.iter().find(|entry| entry.key == key) {
            None => KeyLookup::New,
            Some(entry) if entry.request == request.hex() => KeyLookup::Done(&entry.response),
            Some(_) => KeyLookup::OtherRequest,
        }
    }

    /// Adds the response to a request with a new key.
    pub fn add(&mut self, key: &str, request: Digest, response: String) {
        // The file is rewritten by each edit, so that it must not grow.
        if self.entries.len() >= MAX_KEYS {
            self.entries.pop_front();
        }
        self.entries.push_back(JournalEntry {
            key: key.to_owned(),
            request: request.hex(),
            response,
        });
    }
}

impl JournalFile {
    /// Reads the journal of a directory.
    pub fn read(folder: &LockedFolder) -> Result<Self, JournalError> {
        let path = folder.root().join(folder.sibling_path(SUFFIX));
        let read = match fs::read(&path) {
            Ok(bytes) => Journal::parse(&bytes)
                .map(|journal| Self {
                    bytes: Some(bytes),
                    journal,
                })
                .map_err(io::Error::from),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self {
                bytes: None,
                journal: Journal::default(),
            }),
            Err(error) => Err(error),
        };
        read.map_err(|source| JournalError { path, source })
    }

    /// Looks up the key of a request with this SHA-256.
    pub fn look_up(&self, key: &str, request: Digest) -> KeyLookup<'_> {
        self.journal.look_up(key, request)
    }

    /// Adds the response to a request with a new key; returns the change of the file.
    pub fn add(
        mut self,
        folder: &LockedFolder,
        key: &str,
        request: Digest,
        response: String,
    ) -> FileChange {
        self.journal.add(key, request, response);
        FileChange {
            path: folder.sibling_path(SUFFIX),
            before: self.bytes,
            after: Some(self.journal.to_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_one_request_until_a_thousand_others_came() {
        let one = Digest::new([1; 32]);
        let other = Digest::new([2; 32]);
        let mut journal = Journal::default();
        journal.add("first", one, "{}".to_owned());
        for number in 1..MAX_KEYS {
            journal.add(&number.to_string(), other, "[]".to_owned());
        }
        let journal = &mut Journal::parse(&journal.to_bytes()).unwrap();
        assert_eq!(journal.look_up("first", one), KeyLookup::Done("{}"));
        assert_eq!(journal.look_up("first", other), KeyLookup::OtherRequest);
        assert_eq!(journal.look_up("second", other), KeyLookup::New);
        journal.add("second", one, String::new());
        assert_eq!(journal.look_up("first", one), KeyLookup::New);
        assert_eq!(journal.look_up("1", other), KeyLookup::Done("[]"));
    }
}
