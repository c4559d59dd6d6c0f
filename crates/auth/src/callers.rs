//! Visibility of catalogs: a caller sees those whose content the API server lets it `get`.
//!
//! The permission is `get` on `clustercatalogs/content` of the group `olm.operatorframework.io`,
//! for a catalog by its name. Sessions are cached by credentials until the first of their decisions
//! expires.

use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::future::try_join_all;
use kube::Client;
use serving::{Caller, Catalogs, Renewal, RenewalError, Visibility};
use sha2::{Digest as _, Sha256};

use super::authenticator::{CredentialsKey, RequestCredentials};
use super::cache::{DecisionCache, Expiring};
use super::key::Key;
use super::{
    AuthError, Authorizer, CACHED_DECISIONS, MAX_CONCURRENT_REVIEWS, RequestedAccess,
    ResourceAccess, User,
};

/// Authenticates callers and finds the catalogs that they may see. Clones share everything.
#[derive(Clone)]
pub struct Callers(Arc<CallersState>);

struct CallersState {
    authorizer: Authorizer,
    /// Every catalog.
    published: Catalogs,
    sessions: DecisionCache<CredentialsKey, Arc<CallerSession>>,
    /// Readers of single catalogs, by the SHA-256 of the catalog's name besides.
    named: DecisionCache<(CredentialsKey, Key), Result<Arc<Catalogs>, AuthError>>,
}

/// Visibility of one caller, as cached.
struct CallerSession {
    /// Reader of the visible catalogs; `None` for an anonymous caller that sees none.
    reader: Option<Catalogs>,
    /// Change count of the published set when the caller's permissions were requested; `None` if
    /// the caller may see all catalogs, so that changes do not matter.
    changes: Option<u64>,
}

/// A caller whose reader can be renewed with its credentials.
struct RenewableCaller {
    callers: Weak<CallersState>,
    credentials: RequestCredentials<'static>,
}

impl Callers {
    /// Creates callers that are reviewed with this client. A token must be valid for one of these
    /// audiences; without audiences, for the API server.
    pub fn new(client: Client, audiences: Vec<String>, published: Catalogs) -> Self {
        let authorizer = Authorizer::new(client, audiences);
        let sessions = DecisionCache::new(CACHED_DECISIONS, |session: &Arc<CallerSession>| {
            session.reader.is_none()
        });
        let named = DecisionCache::new(CACHED_DECISIONS, Result::is_err);
        Self(Arc::new(CallersState {
            authorizer,
            published,
            sessions,
            named,
        }))
    }

    /// Authenticates the caller with these credentials. Without credentials it is anonymous.
    ///
    /// # Errors
    /// The token or certificate is not valid, or the API server does not answer.
    pub async fn authenticate(
        &self,
        credentials: &RequestCredentials<'_>,
    ) -> Result<(), AuthError> {
        self.0.authorizer.user_of(credentials).await.map(drop)
    }

    /// Authorizes an action of the caller with these credentials. Anonymous callers are refused.
    ///
    /// # Errors
    /// The action is denied, the token is not valid, or the API server does not answer.
    pub async fn authorize(
        &self,
        credentials: &RequestCredentials<'_>,
        access: RequestedAccess<'_>,
    ) -> Result<(), AuthError> {
        self.0.authorizer.authorize(credentials, access).await
    }

    /// Returns a reader of the catalogs that the caller with these credentials may see: all if it
    /// may `get` all of them, or else those that it may `get` by name.
    ///
    /// # Errors
    /// The token is not valid, the caller is anonymous and anonymous callers see nothing, or the
    /// API server does not answer.
    pub async fn reader(
        &self,
        credentials: &RequestCredentials<'_>,
    ) -> Result<Catalogs, AuthError> {
        // A cached session does not tell whether the user's certificate is still valid.
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

    /// Returns a reader of one catalog, served or not, for the caller with these credentials.
    /// Neither the result nor the time that it takes depends on which catalogs are served.
    ///
    /// # Errors
    /// The caller may not see the catalog, its token is not valid, or the API server does not
    /// answer.
    pub async fn reader_of(
        &self,
        credentials: &RequestCredentials<'_>,
        name: &str,
    ) -> Result<Catalogs, AuthError> {
        let CallersState {
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
            // Anonymous callers that see nothing must not cause further reviews by requests for
            // invented names.
            self.reader(credentials).await?;
        }
        let user = authorizer.user_of(credentials).await?;
        let decision = authorizer
            .review_access_uncached(&user.value, content(Some(name)))
            .await?;
        let reader = if decision.value.is_allowed {
            Ok(published.visible(Visibility::only([name.to_owned()])))
        } else if credentials.is_none() {
            Err(AuthError::Unauthenticated)
        } else {
            // An authorizer may know which catalogs exist, and its reason may reveal that.
            Err(AuthError::Forbidden {
                user: user.value.name().to_owned(),
                reason: None,
            })
        };
        named.insert(
            &key,
            Expiring {
                value: reader.clone().map(Arc::new),
                expires_at: decision.expires_at.min(user.expires_at),
            },
        );
        reader
    }

    /// Requests the visibility of a caller, and caches it.
    async fn session(
        &self,
        key: CredentialsKey,
        credentials: &RequestCredentials<'_>,
    ) -> Result<Arc<CallerSession>, AuthError> {
        // Before the names are read: catalogs that are published meanwhile are reviewed next time.
        let changes = self.0.published.change_count();
        let user = self.0.authorizer.user_of(credentials).await?;
        let seen = self.visibility(&user.value).await?;
        let session = Arc::new(CallerSession {
            changes: (seen.value != Visibility::All).then_some(changes),
            reader: (!credentials.is_none() || !seen.value.is_empty()).then(|| {
                let credentials = credentials.clone().into_owned();
                let caller = RenewableCaller {
                    callers: Arc::downgrade(&self.0),
                    credentials,
                };
                self.0
                    .published
                    .visible(seen.value)
                    .with_caller(Arc::new(caller))
            }),
        });
        let decision = Expiring {
            value: Arc::clone(&session),
            expires_at: seen.expires_at.min(user.expires_at),
        };
        self.0.sessions.insert(&key, decision);
        Ok(session)
    }

    /// Requests which of the catalogs that are served, or are to be served, a user may see.
    async fn visibility(&self, user: &User) -> Result<Expiring<Visibility>, AuthError> {
        let authorizer = &self.0.authorizer;
        let all = authorizer.review_access(user, content(None)).await?;
        if all.value.is_allowed {
            return Ok(Expiring {
                value: Visibility::All,
                expires_at: all.expires_at,
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
        let mut expires_at = all.expires_at;
        // In parts, so that the reviews of other callers get permits between them.
        for names in names.chunks(MAX_CONCURRENT_REVIEWS) {
            let decisions = try_join_all(
                names
                    .iter()
                    .map(|name| authorizer.review_access(user, content(Some(name)))),
            )
            .await?;
            expires_at = decisions
                .iter()
                .map(|decision| decision.expires_at)
                .fold(expires_at, Ord::min);
            seen.extend(
                names
                    .iter()
                    .zip(decisions)
                    .filter(|(_, decision)| decision.value.is_allowed)
                    .map(|(name, _)| name.clone()),
            );
        }
        Ok(Expiring {
            value: Visibility::only(seen),
            expires_at,
        })
    }
}

impl CallerSession {
    fn reader(&self) -> Result<Catalogs, AuthError> {
        self.reader.clone().ok_or(AuthError::Unauthenticated)
    }
}

impl Caller for RenewableCaller {
    fn renew(&self) -> Renewal<'_> {
        Box::pin(async move {
            let callers = Callers(self.callers.upgrade().ok_or(RenewalError::Undecided)?);
            callers
                .reader(&self.credentials)
                .await
                .map_err(|error| match error {
                    AuthError::Unauthenticated
                    | AuthError::Forbidden { .. }
                    | AuthError::Impersonation => RenewalError::Refused,
                    AuthError::Unavailable => RenewalError::Undecided,
                })
        })
    }
}

impl fmt::Debug for RenewableCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenewableCaller")
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

/// Reading the content of a catalog; without a name, of every one.
fn content(name: Option<&str>) -> RequestedAccess<'_> {
    let group = "olm.operatorframework.io";
    let resource = "clustercatalogs";
    RequestedAccess::Resource(ResourceAccess {
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
