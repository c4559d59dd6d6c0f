//! Validators: keys of responses, known before execution.
//!
//! A response is a function of the build, the limits, the catalogs in its cache scope and the
//! request. A hash of these is its key. The server can therefore answer a conditional request
//! without executing it, and cache the response.

use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fbc_grammar::Digest;
use serde_json::Map;
use serving::{BoundedCache, Revision, Served, Snapshot};
use sha2::{Digest as _, Sha256};

use super::dependencies::ScopedCatalogs;
use super::documents::ResolvedRequest;
use super::limits::Limits;

/// Length of the truncated hash in a key, in bytes: long enough that two keys never collide by
/// chance.
const KEY_BYTES: usize = 16;

/// Key of the text of a response, for all media types and content codings.
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

/// Memory for validators of URLs, in bytes (approximate). There are two such caches: for requests
/// whose callers see every catalog, and for all others.
const URL_BYTES: usize = 1 << 20;

/// Memory of a URL's validator in bytes, besides its text.
const BYTES_PER_URL: usize = 200;

/// Computes response keys, and caches those of URLs.
pub(super) struct ResponseKeys {
    /// Hash of what every response of this process depends on.
    process: Digest,
    /// Hash of the facts of the type `Server`.
    server: Digest,
    urls: ArcSwap<UrlValidators>,
}

/// Validators by URL. A cached URL is not parsed again while the same catalogs are served.
struct UrlValidators {
    /// Revision of the published set when these URLs were parsed.
    revision: Revision,
    /// Validators for requests whose callers see every catalog, by URL parameters, as they were
    /// sent.
    validators: BoundedCache<Arc<str>, Validator>,
    /// Validators for all other requests, by the revision of the visible catalogs and URL
    /// parameters. No request of one kind finds an entry of the other.
    narrowed: BoundedCache<NarrowedUrl, Validator>,
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
            urls: ArcSwap::from_pointee(UrlValidators::new(Revision::default())),
        }
    }

    /// Sets the facts of the type `Server`, on which some responses depend.
    pub(super) fn set_server(&mut self, facts: &impl std::fmt::Debug) {
        self.server = Digest::new(Sha256::digest(format!("{facts:?}")).into());
    }

    /// Returns the cached validator of a URL with these parameters, for the catalogs that a caller
    /// sees.
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

    /// Caches the validator of a URL with these parameters for a snapshot, which is the published
    /// one or a caller's part of it.
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
                .store(Arc::new(UrlValidators::new(published.revision())));
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

    /// Returns the key of another dialect's response to a request, given by its parts, about the
    /// catalog of this revision.
    pub(super) fn for_dialect(
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

/// Text that is hashed into a key.
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

impl UrlValidators {
    /// Creates an empty set of URLs for a published set.
    fn new(revision: Revision) -> Self {
        let validators = BoundedCache::with_bytes(URL_BYTES);
        let narrowed = BoundedCache::with_bytes(URL_BYTES);
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

    /// Returns whether the response depends on this state of a catalog, and on no other catalog.
    pub(super) fn is_of(&self, served: &Served) -> bool {
        self.scope == served.revision()
    }

    /// Returns the two halves of the hash.
    pub(super) fn halves(&self) -> [u64; 2] {
        let (halves, _) = self.hash.as_chunks();
        [halves[0], halves[1]].map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests;
