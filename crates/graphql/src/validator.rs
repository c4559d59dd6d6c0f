//! Validators: what an answer will be, known before it is made.
//!
//! An answer is a function of the build, the limits, the catalogs that are asked for and the request. A hash of these
//! names it, so that a client that has it is told so without executing anything, and what was answered once can be
//! answered again.

use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fbc::Digest;
use http_facts::coding::Coding;
use serde_json::Map;
use serving::{Revision, Snapshot};
use sha2::{Digest as _, Sha256};

use super::PreparedRequest;
use super::dependencies::Catalogs;
use super::errors::Media;
use super::limits::Limits;
use super::second_chance::SecondChanceCache;

/// Bytes of a hash that a key holds: no two of them are ever the same by chance.
const KEY_BYTES: usize = 16;

/// Names the body of an answer, whatever its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    hash: [u8; KEY_BYTES],
    /// The state of the only catalog that the answer is about, or else of all.
    about: Revision,
}

/// What is known of an answer before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validator {
    pub(super) key: Key,
    /// Whether it stays what it is, if it is complete.
    pub(super) is_lasting: bool,
}

/// Bytes of memory, roughly, for URLs that are remembered.
const URL_BYTES: usize = 1 << 20;

/// Memory of a URL that is remembered besides its text.
const BYTES_PER_URL: usize = 200;

/// Makes validators.
pub(super) struct Validators {
    /// What every answer of this process depends on.
    process: Digest,
    urls: ArcSwap<Urls>,
}

/// Validators of answers to URLs, which need not be read again while the same is served.
struct Urls {
    /// What is served.
    revision: Revision,
    /// By the parameters, as they were sent.
    validators: SecondChanceCache<Arc<str>, Validator>,
}

impl Validators {
    /// Those of a server with these limits. `build` tells the answers of this build from those of another.
    pub(super) fn new(build: &str, limits: &Limits) -> Self {
        let process = Digest::new(Sha256::digest(format!("{build:?}{limits:?}")).into());
        Self { process, urls: ArcSwap::from_pointee(Urls::of(Revision::default())) }
    }

    /// The validator of the answer to a URL with these parameters, if it is remembered.
    pub(super) fn recall(&self, snapshot: &Snapshot, parameters: &str) -> Option<Validator> {
        let urls = self.urls.load();
        let validator = (urls.revision == snapshot.revision()).then(|| urls.validators.get(parameters)).flatten();
        validator.map(|validator| *validator)
    }

    /// Remembers the validator of the answer to a URL with these parameters.
    pub(super) fn remember(&self, snapshot: &Snapshot, parameters: &str, validator: Validator) {
        self.forget_former(snapshot);
        let urls = self.urls.load();
        if urls.revision != snapshot.revision() || urls.validators.get(parameters).is_some() {
            return;
        }
        let bytes = BYTES_PER_URL + parameters.len();
        urls.validators.insert(parameters.into(), &Arc::new(validator), bytes);
    }

    /// Lets go of URLs that were read while something else was served.
    pub(super) fn forget_former(&self, snapshot: &Snapshot) {
        if self.urls.load().revision != snapshot.revision() {
            self.urls.store(Arc::new(Urls::of(snapshot.revision())));
        }
    }

    /// The validator of the answer to a request; nothing when its operation is not known, or when it asks for what
    /// cannot be told from what is served.
    pub(super) fn of(&self, snapshot: &Snapshot, known: &PreparedRequest<'_>) -> Option<Validator> {
        let PreparedRequest { request, document, digest, asks_cost } = known;
        let asked = document.asked(request.operation_name.as_deref())?;
        let none = Map::new();
        let variables = request.variables.as_ref().unwrap_or(&none);
        let mut text = Vec::with_capacity(512);
        let mut add = |bytes: &[u8]| {
            // Lengths first, so that no two lists of parts are the same bytes.
            text.extend_from_slice(&bytes.len().to_be_bytes());
            text.extend_from_slice(bytes);
        };
        add(self.process.as_bytes());
        add(digest.as_bytes());
        add(request.operation_name.as_deref().unwrap_or_default().as_bytes());
        add(&[u8::from(*asks_cost)]);
        let mut about = snapshot.revision();
        match asked.catalogs(variables)? {
            Catalogs::All => add(about.as_bytes()),
            Catalogs::Named(names) => {
                // That a catalog is not served is a state of it as well.
                for name in &names {
                    let revision = snapshot.revision_of(name);
                    add(name.as_bytes());
                    add(revision.as_ref().map_or(&[][..], Revision::as_bytes));
                }
                if let Some((first, others)) = names.split_first()
                    && others.iter().all(|name| name == first)
                {
                    about = snapshot.revision_of(first).unwrap_or(about);
                }
            }
        }
        // Members of objects are sorted.
        serde_json::to_writer(&mut text, variables).ok()?;
        let mut hash = [0; KEY_BYTES];
        hash.copy_from_slice(&Sha256::digest(&text)[..KEY_BYTES]);
        Some(Validator { key: Key { hash, about }, is_lasting: asked.is_lasting(variables, snapshot) })
    }
}

impl Urls {
    /// None yet, of what is served.
    fn of(revision: Revision) -> Self {
        Self { revision, validators: SecondChanceCache::new(usize::MAX, URL_BYTES) }
    }
}

impl Key {
    /// A key of these bytes.
    #[cfg(test)]
    pub(super) fn of(hash: [u8; KEY_BYTES]) -> Self {
        Self { hash, about: Revision::default() }
    }

    /// Whether anybody may ask for its answer while this is served. Of answers about several catalogs that is in doubt
    /// once any catalog has changed.
    pub(super) fn is_current(&self, snapshot: &Snapshot) -> bool {
        snapshot.has(&self.about)
    }

    /// The strong entity tag of an answer in this form, with its quotes.
    pub(super) fn tag(&self, media: Media, coding: Option<Coding>) -> String {
        let mut tag = String::with_capacity(48);
        tag.push('"');
        URL_SAFE_NO_PAD.encode_string(self.hash, &mut tag);
        tag.push_str(match media {
            Media::Json => "-json",
            Media::GraphqlResponse => "-gqlr",
        });
        if let Some(coding) = coding {
            tag.push('-');
            tag.push_str(coding.name());
        }
        tag.push('"');
        tag
    }

    /// Its two halves, which are as good as random.
    pub(super) fn halves(&self) -> [u64; 2] {
        let (halves, _) = self.hash.as_chunks();
        [halves[0], halves[1]].map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests;
