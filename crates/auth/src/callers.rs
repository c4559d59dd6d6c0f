//! Which catalogs a caller may see: those whose content the API server lets it `get`.
//!
//! The right is `get` on `clustercatalogs/content` of the group `olm.operatorframework.io`, for a catalog by its name.
//! What is known of a caller is remembered by its token until the first of the answers is no longer believed.

use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::future::try_join_all;
use kube::Client;
use serving::{Caller, Catalogs, Renewal, Visibility};
use sha2::{Digest as _, Sha256};

use super::cache::{Answer, Cache};
use super::{Access, Authorizer, CACHE_TIME, CACHED_ANSWERS, Denied, QUESTIONS, ResourceAccess, User};

/// Key of the caller without credentials; no token has it as its digest.
const ANONYMOUS_KEY: Key = [0; 32];

/// SHA-256 of a token.
type Key = [u8; 32];

/// Callers, and what they may see of the catalogs that are served. Clones share everything.
#[derive(Clone)]
pub struct Callers(Arc<Shared>);

struct Shared {
    authorizer: Authorizer,
    /// Every catalog.
    published: Catalogs,
    sessions: Cache<Key, Arc<Session>>,
    /// Readers of single catalogs, by the SHA-256 of the token's and of the catalog's name.
    named: Cache<Key, Result<Arc<Catalogs>, Denied>>,
}

/// What is known of a caller.
struct Session {
    /// What it may see; `None` for a caller without credentials that may see nothing.
    reader: Option<Catalogs>,
    /// The number of changes of the published set before it was found out which catalogs the caller may see; `None` if that
    /// does not matter, because it may see each.
    changes: Option<u64>,
}

/// The caller with a token.
struct Bearer {
    callers: Weak<Shared>,
    token: Option<Box<[u8]>>,
}

impl Callers {
    /// Creates what decides about callers by asking the API server with this client. A token must be for one of these
    /// audiences, or for the API server if there are none.
    pub fn new(client: Client, audiences: Vec<String>, published: Catalogs) -> Self {
        let authorizer = Authorizer::new(client, audiences);
        let (sessions, named) = (Cache::new(CACHED_ANSWERS), Cache::new(CACHED_ANSWERS));
        Self(Arc::new(Shared { authorizer, published, sessions, named }))
    }

    /// Returns a reader of what the caller with this bearer token, or without one, may see. It may see each catalog if it
    /// may `get` all of them, and else those that it may `get` by name.
    ///
    /// # Errors
    /// The token is not valid, there is none and everybody may see nothing, or the API server does not answer.
    pub async fn reader(&self, token: Option<&[u8]>) -> Result<Catalogs, Denied> {
        let key = key(token);
        if let Some(session) = self.0.sessions.get(&key)
            && session.changes.is_none_or(|changes| changes == self.0.published.change_count())
        {
            return session.reader();
        }
        self.session(key, token).await?.reader()
    }

    /// Returns a reader of the catalog of this name alone, whether it is served or not, for the caller with this bearer
    /// token or without one. What is denied does not depend on what is served, and neither does the time that it takes.
    ///
    /// # Errors
    /// The caller may not see the catalog, its token is not valid, or the API server does not answer.
    pub async fn reader_of(&self, token: Option<&[u8]>, name: &str) -> Result<Catalogs, Denied> {
        let Shared { authorizer, published, named, .. } = &*self.0;
        let key = Sha256::new().chain_update(key(token)).chain_update(name).finalize().into();
        if let Some(known) = named.get(&key) {
            return known.map(|reader| Catalogs::clone(&reader));
        }
        if token.is_none() {
            // Where everybody may see nothing, requests without credentials for invented names ask nothing more.
            self.reader(token).await?;
        }
        let user = self.user(token).await?;
        let may = authorizer.may_alone(&user.value, content(Some(name))).await?;
        let reader = match token {
            _ if may.value => Ok(published.visible(Visibility::only([name.to_owned()]))),
            Some(_) => Err(Denied::Forbidden { user: user.value.name().to_owned() }),
            None => Err(Denied::Unauthenticated),
        };
        named.insert(key, Answer { value: reader.clone().map(Arc::new), until: may.until.min(user.until) });
        reader
    }

    /// Finds out what a caller may see.
    async fn session(&self, key: Key, token: Option<&[u8]>) -> Result<Arc<Session>, Denied> {
        // Before the names are read: what is published meanwhile is asked about next time.
        let changes = self.0.published.change_count();
        let user = self.user(token).await?;
        let seen = self.visibility(&user.value).await?;
        let session = Arc::new(Session {
            changes: (seen.value != Visibility::All).then_some(changes),
            reader: (token.is_some() || !seen.value.is_empty()).then(|| {
                let caller = Bearer { callers: Arc::downgrade(&self.0), token: token.map(Box::from) };
                self.0.published.visible(seen.value).of_caller(Arc::new(caller))
            }),
        });
        let answer = Answer { value: Arc::clone(&session), until: seen.until.min(user.until) };
        self.0.sessions.insert(key, answer);
        Ok(session)
    }

    async fn user(&self, token: Option<&[u8]>) -> Result<Answer<Arc<User>>, Denied> {
        match token {
            Some(token) => self.0.authorizer.user(token).await,
            None => Ok(Answer::lasting(Arc::new(User::anonymous()), CACHE_TIME)),
        }
    }

    /// Asks which catalogs a user may see, of those that are served or are to be served.
    async fn visibility(&self, user: &User) -> Result<Answer<Visibility>, Denied> {
        let authorizer = &self.0.authorizer;
        let all = authorizer.may(user, content(None)).await?;
        if all.value {
            return Ok(Answer { value: Visibility::All, until: all.until });
        }
        let names: Vec<_> = self.0.published.published().statuses().into_keys().collect();
        let (mut seen, mut until) = (Vec::new(), all.until);
        // In parts, between which other callers have their turn.
        for names in names.chunks(QUESTIONS) {
            let answers = try_join_all(names.iter().map(|name| authorizer.may(user, content(Some(name))))).await?;
            until = answers.iter().map(|answer| answer.until).fold(until, Ord::min);
            seen.extend(names.iter().zip(answers).filter(|(_, may)| may.value).map(|(name, _)| name.clone()));
        }
        Ok(Answer { value: Visibility::only(seen), until })
    }
}

impl Session {
    fn reader(&self) -> Result<Catalogs, Denied> {
        self.reader.clone().ok_or(Denied::Unauthenticated)
    }
}

impl Caller for Bearer {
    fn renew(&self) -> Renewal<'_> {
        Box::pin(async move {
            let callers = Callers(self.callers.upgrade()?);
            callers.reader(self.token.as_deref()).await.ok()
        })
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token is a secret.
        f.debug_struct("Bearer").finish_non_exhaustive()
    }
}

fn key(token: Option<&[u8]>) -> Key {
    token.map_or(ANONYMOUS_KEY, |token| Sha256::digest(token).into())
}

/// Reading the content of a catalog; without a name, of every one.
fn content(name: Option<&str>) -> Access<'_> {
    let (group, resource) = ("olm.operatorframework.io", "clustercatalogs");
    Access::Resource(ResourceAccess {
        verb: "get",
        group,
        resource,
        subresource: Some("content"),
        namespace: None,
        name,
    })
}

#[cfg(test)]
mod tests;
