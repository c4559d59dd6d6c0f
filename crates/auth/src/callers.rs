//! Which catalogs a caller may see: those whose content the API server lets it `get`.
//!
//! The right is `get` on `clustercatalogs/content` of the group `olm.operatorframework.io`, for a
//! catalog by its name. What is known of a caller is remembered by its credentials until the first
//! of the answers is no longer believed.

use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::future::try_join_all;
use kube::Client;
use serving::{Caller, Catalogs, Renewal, RenewalError, Visibility};
use sha2::{Digest as _, Sha256};

use super::authenticator::{Credentials, CredentialsKey};
use super::cache::{Answer, Cache};
use super::key::Key;
use super::{Access, Authorizer, CACHED_ANSWERS, Denied, QUESTIONS, ResourceAccess, User};

/// Callers, and what they may see of the catalogs that are served. Clones share everything.
#[derive(Clone)]
pub struct Callers(Arc<Shared>);

struct Shared {
    authorizer: Authorizer,
    /// Every catalog.
    published: Catalogs,
    sessions: Cache<CredentialsKey, Arc<Session>>,
    /// Readers of single catalogs, by the SHA-256 of the catalog's name besides.
    named: Cache<(CredentialsKey, Key), Result<Arc<Catalogs>, Denied>>,
}

/// What is known of a caller.
struct Session {
    /// What it may see; `None` for a caller without credentials that may see nothing.
    reader: Option<Catalogs>,
    /// The number of changes of the published set before it was found out which catalogs the caller
    /// may see; `None` if that does not matter, because it may see each.
    changes: Option<u64>,
}

/// The caller with these credentials.
struct Renewable {
    callers: Weak<Shared>,
    credentials: Credentials<'static>,
}

impl Callers {
    /// Creates what decides about callers by asking the API server with this client. A token must
    /// be for one of these audiences, or for the API server if there are none.
    pub fn new(client: Client, audiences: Vec<String>, published: Catalogs) -> Self {
        let authorizer = Authorizer::new(client, audiences);
        let sessions = Cache::new(CACHED_ANSWERS, |session: &Arc<Session>| {
            session.reader.is_none()
        });
        let named = Cache::new(CACHED_ANSWERS, Result::is_err);
        Self(Arc::new(Shared {
            authorizer,
            published,
            sessions,
            named,
        }))
    }

    /// Finds out whether these credentials are somebody's. Those who send none are anonymous.
    ///
    /// # Errors
    /// The token or certificate is not valid, or the API server does not answer.
    pub async fn authenticate(&self, credentials: &Credentials<'_>) -> Result<(), Denied> {
        self.0.authorizer.user_of(credentials).await.map(drop)
    }

    /// Decides whether the caller with these credentials may do this. Who has none may do nothing.
    ///
    /// # Errors
    /// It may not, its token is not valid, or the API server does not answer.
    pub async fn authorize(
        &self,
        credentials: &Credentials<'_>,
        access: Access<'_>,
    ) -> Result<(), Denied> {
        self.0.authorizer.authorize(credentials, access).await
    }

    /// Returns a reader of what the caller with these credentials may see. It may see each catalog
    /// if it may `get` all of them, and else those that it may `get` by name.
    ///
    /// # Errors
    /// The token is not valid, there are no credentials and everybody may see nothing, or the API
    /// server does not answer.
    pub async fn reader(&self, credentials: &Credentials<'_>) -> Result<Catalogs, Denied> {
        // What is remembered of a user does not tell whether its certificate counts still.
        credentials.verify()?;
        let key = credentials.key();
        if let Some(session) = self.0.sessions.get(&key)
            && session
                .changes
                .is_none_or(|changes| changes == self.0.published.change_count())
        {
            return session.reader();
        }
        self.session(key, credentials).await?.reader()
    }

    /// Returns a reader of the catalog of this name alone, whether it is served or not, for the
    /// caller with these credentials. What is denied does not depend on what is served, and neither
    /// does the time that it takes.
    ///
    /// # Errors
    /// The caller may not see the catalog, its token is not valid, or the API server does not
    /// answer.
    pub async fn reader_of(
        &self,
        credentials: &Credentials<'_>,
        name: &str,
    ) -> Result<Catalogs, Denied> {
        let Shared {
            authorizer,
            published,
            named,
            ..
        } = &*self.0;
        let key = (credentials.key(), Sha256::digest(name).into());
        if let Some(known) = named.get(&key) {
            return known.map(|reader| Catalogs::clone(&reader));
        }
        if credentials.is_none() {
            // Where everybody may see nothing, requests without credentials for invented names ask
            // nothing more.
            self.reader(credentials).await?;
        }
        let user = authorizer.user_of(credentials).await?;
        let may = authorizer
            .may_alone(&user.value, content(Some(name)))
            .await?;
        let reader = if may.value.is_granted {
            Ok(published.visible(Visibility::only([name.to_owned()])))
        } else if credentials.is_none() {
            Err(Denied::Unauthenticated)
        } else {
            // What decides may know which catalogs there are, and its reason tell of that.
            Err(Denied::Forbidden {
                user: user.value.name().to_owned(),
                reason: None,
            })
        };
        named.insert(
            key,
            Answer {
                value: reader.clone().map(Arc::new),
                until: may.until.min(user.until),
            },
        );
        reader
    }

    /// Finds out what a caller may see.
    async fn session(
        &self,
        key: CredentialsKey,
        credentials: &Credentials<'_>,
    ) -> Result<Arc<Session>, Denied> {
        // Before the names are read: what is published meanwhile is asked about next time.
        let changes = self.0.published.change_count();
        let user = self.0.authorizer.user_of(credentials).await?;
        let seen = self.visibility(&user.value).await?;
        let session = Arc::new(Session {
            changes: (seen.value != Visibility::All).then_some(changes),
            reader: (!credentials.is_none() || !seen.value.is_empty()).then(|| {
                let credentials = credentials.clone().into_owned();
                let caller = Renewable {
                    callers: Arc::downgrade(&self.0),
                    credentials,
                };
                self.0
                    .published
                    .visible(seen.value)
                    .with_caller(Arc::new(caller))
            }),
        });
        let answer = Answer {
            value: Arc::clone(&session),
            until: seen.until.min(user.until),
        };
        self.0.sessions.insert(key, answer);
        Ok(session)
    }

    /// Asks which catalogs a user may see, of those that are served or are to be served.
    async fn visibility(&self, user: &User) -> Result<Answer<Visibility>, Denied> {
        let authorizer = &self.0.authorizer;
        let all = authorizer.may(user, content(None)).await?;
        if all.value.is_granted {
            return Ok(Answer {
                value: Visibility::All,
                until: all.until,
            });
        }
        let names: Vec<_> = self
            .0
            .published
            .published()
            .statuses()
            .into_keys()
            .collect();
        let mut seen = Vec::new();
        let mut until = all.until;
        // In parts, between which other callers have their turn.
        for names in names.chunks(QUESTIONS) {
            let answers = try_join_all(
                names
                    .iter()
                    .map(|name| authorizer.may(user, content(Some(name)))),
            )
            .await?;
            until = answers
                .iter()
                .map(|answer| answer.until)
                .fold(until, Ord::min);
            seen.extend(
                names
                    .iter()
                    .zip(answers)
                    .filter(|(_, may)| may.value.is_granted)
                    .map(|(name, _)| name.clone()),
            );
        }
        Ok(Answer {
            value: Visibility::only(seen),
            until,
        })
    }
}

impl Session {
    fn reader(&self) -> Result<Catalogs, Denied> {
        self.reader.clone().ok_or(Denied::Unauthenticated)
    }
}

impl Caller for Renewable {
    fn renew(&self) -> Renewal<'_> {
        Box::pin(async move {
            let callers = Callers(self.callers.upgrade().ok_or(RenewalError::Undecided)?);
            callers
                .reader(&self.credentials)
                .await
                .map_err(|denied| match denied {
                    Denied::Unauthenticated | Denied::Forbidden { .. } | Denied::Impersonation => {
                        RenewalError::Refused
                    }
                    Denied::Unavailable => RenewalError::Undecided,
                })
        })
    }
}

impl fmt::Debug for Renewable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewable")
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

/// Reading the content of a catalog; without a name, of every one.
fn content(name: Option<&str>) -> Access<'_> {
    let group = "olm.operatorframework.io";
    let resource = "clustercatalogs";
    Access::Resource(ResourceAccess {
        verb: "get",
        group,
        version: None,
        resource,
        subresource: Some("content"),
        namespace: None,
        name,
    })
}

#[cfg(test)]
mod tests;
