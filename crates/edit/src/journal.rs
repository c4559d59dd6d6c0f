//! What was answered to requests that had an idempotency key, so that a request that is sent again
//! is not done again.
//!
//! The journal is a file beside the directory of the catalog. It is replaced with the files of an
//! edit, all or none, so that a key is in it exactly if its edit is done.

use std::collections::VecDeque;

use fbc_grammar::Digest;
use serde::{Deserialize, Serialize};

/// Maximum number of keys; the oldest is forgotten first.
pub const MAX_KEYS: usize = 1_000;

/// Maximum length in bytes of a response that is kept whole, so that a journal is written in a
/// moment.
pub const MAX_RESPONSE_BYTES: usize = 4 << 10;

/// Answers by keys, in the order of the edits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    entries: VecDeque<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    key: String,
    /// SHA-256 of the request.
    request: String,
    response: String,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known<'a> {
    /// Nothing.
    New,
    /// The request was done, with this response.
    Done(&'a str),
    /// Another request had the key.
    OtherRequest,
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

    /// Looks up the key of a request, given the SHA-256 of the request.
    pub fn look_up(&self, key: &str, request: Digest) -> Known<'_> {
        match self.entries.iter().find(|entry| entry.key == key) {
            None => Known::New,
            Some(entry) if entry.request == request.hex() => Known::Done(&entry.response),
            Some(_) => Known::OtherRequest,
        }
    }

    /// Adds the response to a request with a new key.
    pub fn add(&mut self, key: &str, request: Digest, response: String) {
        if self.entries.len() >= MAX_KEYS {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry {
            key: key.to_owned(),
            request: request.hex(),
            response,
        });
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
        assert_eq!(journal.look_up("first", one), Known::Done("{}"));
        assert_eq!(journal.look_up("first", other), Known::OtherRequest);
        assert_eq!(journal.look_up("second", other), Known::New);
        journal.add("second", one, String::new());
        assert_eq!(journal.look_up("first", one), Known::New);
        assert_eq!(journal.look_up("1", other), Known::Done("[]"));
    }
}
