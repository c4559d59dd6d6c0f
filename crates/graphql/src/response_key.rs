//! Validators: names of responses, known before they are executed.
//!
//! A response is a function of the build, the limits, the catalogs in its cache scope and the
//! request. A hash of these names it. The server can therefore answer a conditional request without
//! executing it, and cache the response.

use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fbc_grammar::Digest;
use serde_json::Map;
use serving::{Revision, SecondChanceCache, Snapshot};
use sha2::{Digest as _, Sha256};

use super::dependencies::ScopedCatalogs;
use super::documents::ResolvedRequest;
use super::limits::Limits;

/// Length of the truncated hash in a key, in bytes: long enough that two keys never collide by
/// chance.
const KEY_BYTES: usize = 16;

/// Names the text of a response, whatever its media type and content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ResponseKey {
    hash: [u8; KEY_BYTES],
    /// Revision of the only catalog in the cache scope of the request, or else of the published
    /// set.
    scope: Revision,
}

/// Identity of a response, known before it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validator {
    pub(super) key: ResponseKey,
    pub(super) is_immutable: bool,
}

/// Memory for remembered URLs, in bytes (approximate): as much for requests whose callers see every
/// catalog as for all others.
const URL_BYTES: usize = 1 << 20;

/// Memory of a remembered URL in bytes, besides its text.
const BYTES_PER_URL: usize = 200;

/// Computes response keys, and remembers those of URLs.
pub(super) struct ResponseKeys {
    /// Hash of what every response of this process depends on.
    process: Digest,
    /// Hash of what the server says of itself.
    server: Digest,
    urls: ArcSwap<RememberedUrls>,
}

/// Validators by URL, which need not be parsed again while the same catalogs are served.
struct RememberedUrls {
    /// Revision of the published set when these URLs were parsed.
    revision: Revision,
    /// Validators for requests whose callers see every catalog, by URL parameters, as they were
    /// sent.
    validators: SecondChanceCache<Arc<str>, Validator>,
    /// Validators for all other requests, by the revision of what their callers see and URL
    /// parameters. No request of the one kind finds what the other has left.
    narrowed: SecondChanceCache<NarrowedUrl, Validator>,
}

/// The bytes of a revision, followed by URL parameters.
type NarrowedUrl = Arc<[u8]>;

impl Validator {
    /// Appends the text that names the response, whatever its media type and content coding: 22
    /// characters that may stand in an entity tag.
    pub fn append_to(&self, tag: &mut String) {
        URL_SAFE_NO_PAD.encode_string(self.key.hash, tag);
    }

    /// Returns whether a complete response stays the same whatever is published later, because it
    /// only reads contents that the request names by digest.
    pub fn is_immutable(&self) -> bool {
        self.is_immutable
    }
}

impl ResponseKeys {
    /// Creates the keys of an engine with these limits. `build` separates the responses of this
    /// build from those of others.
    pub(super) fn new(build: &str, limits: &Limits) -> Self {
        let process = Digest::new(Sha256::digest(format!("{build:?}{limits:?}")).into());
        Self {
            process,
            server: Digest::new([0; 32]),
            urls: ArcSwap::from_pointee(RememberedUrls::new(Revision::default())),
        }
    }

    /// Sets what the server says of itself, on which some responses depend.
    pub(super) fn set_server(&mut self, facts: &impl std::fmt::Debug) {
        self.server = Digest::new(Sha256::digest(format!("{facts:?}")).into());
    }

    /// Returns the remembered validator of a URL with these parameters, for what a caller sees.
    pub(super) fn recall(&self, snapshot: &Snapshot, parameters: &str) -> Option<Validator> {
        let urls = self.urls.load();
        let revision = snapshot.revision();
        let validator = if urls.revision == revision {
            urls.validators.get(parameters)
        } else {
            urls.narrowed.get(&*narrowed_url(revision, parameters))
        };
        validator.map(|validator| *validator)
    }

    /// Remembers the validator of a URL with these parameters for a snapshot, which is the
    /// published one or what a caller sees of it.
    pub(super) fn remember(
        &self,
        published: &Snapshot,
        snapshot: &Snapshot,
        parameters: &str,
        validator: Validator,
    ) {
        self.evict_stale(published);
        let urls = self.urls.load();
        let revision = snapshot.revision();
        let bytes = BYTES_PER_URL + parameters.len();
        let validator = Arc::new(validator);
        if urls.revision != revision {
            let bytes = bytes + revision.as_bytes().len();
            urls.narrowed
                .insert(narrowed_url(revision, parameters), &validator, bytes);
        } else if urls.validators.get(parameters).is_none() {
            urls.validators.insert(parameters.into(), &validator, bytes);
        }
    }

    /// Evicts URLs that were parsed while another set of catalogs was published.
    pub(super) fn evict_stale(&self, published: &Snapshot) {
        if self.urls.load().revision != published.revision() {
            self.urls
                .store(Arc::new(RememberedUrls::new(published.revision())));
        }
    }

    /// Returns the validator of the response to a request.
    ///
    /// `None` if the operation does not exist, or if the response depends on more than the catalogs
    /// served now.
    pub(super) fn validator(
        &self,
        snapshot: &Snapshot,
        resolved: &ResolvedRequest<'_>,
    ) -> Option<Validator> {
        let ResolvedRequest {
            request,
            document,
            digest,
            includes_cost,
        } = resolved;
        let dependencies = document.dependencies(request.operation_name.as_deref())?;
        let none = Map::new();
        let variables = request.variables.as_ref().unwrap_or(&none);
        let mut text = KeyText::new(self.process);
        text.add(digest.as_bytes());
        text.add(
            request
                .operation_name
                .as_deref()
                .unwrap_or_default()
                .as_bytes(),
        );
        text.add(&[u8::from(*includes_cost)]);
        if dependencies.reads_server() {
            text.add(self.server.as_bytes());
        }
        let mut scope = snapshot.revision();
        match dependencies.catalogs(variables)? {
            ScopedCatalogs::Every => text.add(scope.as_bytes()),
            ScopedCatalogs::Named(names) => {
                // A response about a catalog that is not served suggests names of others.
                if names.iter().any(|name| snapshot.get(name).is_none()) {
                    text.add(&snapshot.by_name().len().to_be_bytes());
                    snapshot
                        .by_name()
                        .for_each(|served| text.add(served.name.as_bytes()));
                }
                // That a catalog is not served is a state of it as well.
                for name in &names {
                    let revision = snapshot.revision_of(name);
                    text.add(name.as_bytes());
                    text.add(revision.as_ref().map_or(&[][..], Revision::as_bytes));
                }
                if let Some((first, others)) = names.split_first()
                    && others.iter().all(|name| name == first)
                {
                    scope = snapshot.revision_of(first).unwrap_or(scope);
                }
            }
        }
        // Members of objects are sorted.
        serde_json::to_writer(&mut text.0, &dependencies.declared(variables)).ok()?;
        let is_immutable = dependencies.is_immutable(variables, snapshot);
        Some(Validator {
            key: text.key(scope),
            is_immutable,
        })
    }

    /// Returns the key of what another dialect answers to a request, by its parts, about the
    /// catalog of this revision.
    pub(super) fn of_dialect(
        &self,
        dialect: &str,
        catalog: Revision,
        request: &[&[u8]],
    ) -> ResponseKey {
        let mut text = KeyText::new(self.process);
        // Shorter than the digest of a document, which is in its place in other keys.
        text.add(dialect.as_bytes());
        text.add(catalog.as_bytes());
        for part in request {
            text.add(part);
        }
        text.key(catalog)
    }
}

/// What is hashed into a key.
struct KeyText(Vec<u8>);

impl KeyText {
    fn new(process: Digest) -> Self {
        let mut text = Self(Vec::with_capacity(512));
        text.add(process.as_bytes());
        text
    }

    /// Adds a part: its length first, so that no two lists of parts are the same bytes.
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&bytes.len().to_be_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn key(&self, scope: Revision) -> ResponseKey {
        let mut hash = [0; KEY_BYTES];
        hash.copy_from_slice(&Sha256::digest(&self.0)[..KEY_BYTES]);
        ResponseKey { hash, scope }
    }
}

impl RememberedUrls {
    /// Creates an empty set of URLs for a published set.
    fn new(revision: Revision) -> Self {
        let validators = SecondChanceCache::new(usize::MAX, URL_BYTES);
        let narrowed = SecondChanceCache::new(usize::MAX, URL_BYTES);
        Self {
            revision,
            validators,
            narrowed,
        }
    }
}

fn narrowed_url(revision: Revision, parameters: &str) -> NarrowedUrl {
    [revision.as_bytes(), parameters.as_bytes()].concat().into()
}

impl ResponseKey {
    #[cfg(test)]
    pub(super) fn from_hash(hash: [u8; KEY_BYTES]) -> Self {
        Self {
            hash,
            scope: Revision::default(),
        }
    }

    /// Returns whether a request can hit the response while this snapshot is served. For a scope of
    /// several catalogs that is in doubt once any catalog has changed.
    pub(super) fn is_current(&self, snapshot: &Snapshot) -> bool {
        snapshot.has(&self.scope)
    }

    /// Returns the two halves of the hash.
    pub(super) fn halves(&self) -> [u64; 2] {
        let (halves, _) = self.hash.as_chunks();
        [halves[0], halves[1]].map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests;
