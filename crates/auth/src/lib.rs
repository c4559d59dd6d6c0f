//! Delegated authentication and authorization: callers are identified by `TokenReview` and client
//! certificates, and authorized by `SubjectAccessReview`, as the servers of Kubernetes do it.
//!
//! Decisions are cached for a few seconds. A request that the API server does not answer is denied.
//! [`Callers`] gives a caller a reader of the catalogs that it may see. Of a request, this crate
//! reads the headers that identify its sender ([`Authenticator`]) and nothing else.

mod authenticator;
mod authorities;
mod cache;
mod callers;
mod jwt;
mod key;
mod review_cache;
mod reviews;
mod subject;

use std::sync::Arc;
use std::time::Duration;

use admission::Peer;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;
use kube::Client;
use sha2::{Digest as _, Sha256};

use cache::Expiring;
use key::Key;
use review_cache::ReviewCache;
use reviews::{ReviewClient, ReviewRequester};

pub use authenticator::{Authenticator, CertifiedUser, RequestCredentials, bearer_token};
pub use authorities::{Authorities, ClientCertificate};
pub use callers::Callers;

/// Time for which a decision of the API server is cached: a revoked token or a removed permission
/// works for so much longer. The servers of Kubernetes have the same default.
pub const CACHE_TIME: Duration = Duration::from_secs(10);

/// Time for which a token is refused after the API server could not judge it. It is shorter,
/// because the token may be valid.
pub const ERROR_CACHE_TIME: Duration = Duration::from_secs(5);

/// Maximum number of cached decisions of one kind, so that invented tokens take no more than a
/// megabyte. Denials are counted apart.
pub const CACHED_DECISIONS: usize = 8_192;

/// Minimum time since a JSON Web Token expired for it to be refused without a `TokenReview`: clocks
/// may differ by less.
pub const EXPIRED_TIME: Duration = Duration::from_mins(5);

/// Maximum number of concurrent reviews of unknown tokens, half of them for one peer, and as many
/// concurrent reviews of known users, half of them for one user. Further ones wait.
pub const MAX_CONCURRENT_REVIEWS: usize = 8;

/// Maximum time that a review waits for its permit.
pub const REVIEW_PERMIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of a review that has its permit, retries included.
pub const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a token in bytes. A longer one is refused and not sent on.
pub const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Maximum length in bytes of the reason of a denial. A longer one is dropped, because reasons are
/// cached.
pub const MAX_REASON_BYTES: usize = 1 << 10;

/// Name and group of a caller without credentials, as the servers of Kubernetes give them.
const ANONYMOUS: &str = "system:anonymous";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// Group of all other callers.
const AUTHENTICATED: &str = "system:authenticated";

/// Group that may do everything, without a review.
const MASTERS: &str = "system:masters";

/// An action to authorize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestedAccess<'a> {
    /// A verb on a path.
    Path(PathAccess),
    /// A verb on a resource.
    Resource(ResourceAccess<'a>),
}

/// A verb on a path, such as `get /metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathAccess {
    /// The method in lower case.
    pub verb: &'static str,
    /// The path.
    pub path: &'static str,
}

/// A verb on a resource of the cluster's API, whether the API server serves it or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceAccess<'a> {
    /// Such as `get`, `list` or `watch`.
    pub verb: &'a str,
    /// The group of its API.
    pub group: &'a str,
    /// The version of its API; `None` for any.
    pub version: Option<&'a str>,
    /// Its name in the plural.
    pub resource: &'a str,
    /// The subresource; `None` for the object itself.
    pub subresource: Option<&'a str>,
    /// `None` for an object without a namespace, and for those of all namespaces.
    pub namespace: Option<&'a str>,
    /// Name of the object; `None` for all of them.
    pub name: Option<&'a str>,
}

/// Error of authentication or authorization.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// It has no token, or one that the API server does not know.
    #[error("Unauthorized")]
    Unauthenticated,
    /// The action is not allowed. The text is that of the servers of Kubernetes.
    #[error("Authorization denied for user {user}")]
    Forbidden {
        /// Name of the user.
        user: String,
        /// Reason that the API server gives, if any. It may describe the named object: do not show
        /// it where that object is a catalog.
        reason: Option<Arc<str>>,
    },
    /// The request has impersonation headers, which only kube-apiserver may evaluate.
    #[error("Impersonation is not supported")]
    Impersonation,
    /// The API server did not answer.
    #[error("cannot ask the API server: try again")]
    Unavailable,
}

/// A user of the cluster, as the API server names it.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    info: UserInfo,
    /// Hash of everything that identifies the user.
    id: Key,
}

/// Authorizes callers by reviews of the API server.
pub struct Authorizer {
    reviews: ReviewClient,
    /// Users by the SHA-256 of their token; `None` for a token that is refused.
    users: ReviewCache<Option<Arc<User>>>,
    /// Decisions by user and action.
    rights: ReviewCache<AccessDecision>,
}

/// Decision on one action of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessDecision {
    pub(crate) is_allowed: bool,
    /// Reason of a denial, if the API server gives one.
    reason: Option<Arc<str>>,
}

impl User {
    /// Returns the user of requests without credentials.
    fn anonymous() -> Self {
        let username = Some(ANONYMOUS.to_owned());
        let groups = Some(vec![UNAUTHENTICATED.to_owned()]);
        Self::new(UserInfo {
            username,
            groups,
            ..UserInfo::default()
        })
    }

    fn new(info: UserInfo) -> Self {
        let UserInfo {
            username,
            uid,
            groups,
            extra,
        } = &info;
        let id = key::hash(&(username, uid, groups, extra));
        Self { info, id }
    }

    /// Returns a user with credentials, which belongs to the group of authenticated users.
    fn authenticated(mut user: UserInfo) -> Self {
        let groups = user.groups.get_or_insert_default();
        if !groups
            .iter()
            .any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED)
        {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self::new(user)
    }

    /// Returns the name of the user.
    pub fn name(&self) -> &str {
        self.info.username.as_deref().unwrap_or_default()
    }

    /// Returns whether it belongs to a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.info.groups.iter().flatten().any(|own| own == group)
    }
}

impl AccessDecision {
    fn allowed() -> Self {
        Self {
            is_allowed: true,
            reason: None,
        }
    }

    fn from_status(
        SubjectAccessReviewStatus {
            allowed,
            denied,
            reason,
            ..
        }: SubjectAccessReviewStatus,
    ) -> Self {
        if allowed && denied != Some(true) {
            return Self::allowed();
        }
        let reason = reason.filter(|reason| !reason.is_empty() && reason.len() <= MAX_REASON_BYTES);
        Self {
            is_allowed: false,
            reason: reason.map(Arc::from),
        }
    }
}

impl Authorizer {
    /// Creates an authorizer that sends reviews with this client. A token must be valid for one of
    /// these audiences; without audiences, for the API server.
    pub fn new(client: Client, audiences: Vec<String>) -> Self {
        let users = ReviewCache::new(Option::is_none);
        let rights = ReviewCache::new(|right: &AccessDecision| !right.is_allowed);
        Self {
            reviews: ReviewClient::new(client, audiences),
            users,
            rights,
        }
    }

    /// Authorizes an action of the caller with these credentials. Anonymous callers are refused.
    pub async fn authorize(
        &self,
        credentials: &RequestCredentials<'_>,
        access: RequestedAccess<'_>,
    ) -> Result<(), AuthError> {
        if credentials.is_none() {
            return Err(AuthError::Unauthenticated);
        }
        let user = self.user_of(credentials).await?.value;
        match self.review_access(&user, access).await?.value {
            AccessDecision {
                is_allowed: true, ..
            } => Ok(()),
            AccessDecision { reason, .. } => Err(AuthError::Forbidden {
                user: user.name().to_owned(),
                reason,
            }),
        }
    }

    /// Returns the user with these credentials.
    pub(crate) async fn user_of(
        &self,
        credentials: &RequestCredentials<'_>,
    ) -> Result<Expiring<Arc<User>>, AuthError> {
        match credentials {
            RequestCredentials::Token(token, peer) => self.user(token, *peer).await,
            RequestCredentials::User(user) => {
                Ok(Expiring::after(CACHE_TIME, Arc::clone(user.verified()?)))
            }
            RequestCredentials::None => {
                Ok(Expiring::after(CACHE_TIME, Arc::new(User::anonymous())))
            }
        }
    }

    /// Returns the user with a bearer token that this peer sent.
    async fn user(&self, token: &[u8], peer: Peer) -> Result<Expiring<Arc<User>>, AuthError> {
        let is_possible = !token.is_empty() && token.len() <= MAX_TOKEN_BYTES;
        let text = std::str::from_utf8(token)
            .ok()
            .filter(|_| is_possible)
            .ok_or(AuthError::Unauthenticated)?;
        let key = Sha256::digest(token).into();
        if let Some(user) = self.users.get(&key) {
            return authenticated(user);
        }
        if jwt::is_malformed_or_expired(text) {
            return Err(AuthError::Unauthenticated);
        }

        // A user whose token was valid before must not wait behind tokens that others at its
        // address invent.
        let requester = match self.users.get_stale(&key).flatten() {
            Some(user) => ReviewRequester::User(user.id),
            None => ReviewRequester::Peer(peer),
        };
        let review = self
            .reviews
            .clone()
            .review_token(text.to_owned(), requester);
        authenticated(self.users.get_or_request(key, review).await?)
    }

    /// Returns the decision on an action of a user, from the cache if possible.
    pub(crate) async fn review_access(
        &self,
        user: &User,
        access: RequestedAccess<'_>,
    ) -> Result<Expiring<AccessDecision>, AuthError> {
        if user.is_in(MASTERS) {
            return Ok(Expiring::after(CACHE_TIME, AccessDecision::allowed()));
        }
        let key = key::hash(&(user.id, access));
        if let Some(decision) = self.rights.get(&key) {
            return Ok(decision);
        }
        let review = self.reviews.clone().review_access(user, access);
        self.rights.get_or_request(key, review).await
    }

    /// Returns the decision on an action of a user without reading or filling the cache, so that
    /// the time that it takes reveals nothing about other requests.
    pub(crate) async fn review_access_uncached(
        &self,
        user: &User,
        access: RequestedAccess<'_>,
    ) -> Result<Expiring<AccessDecision>, AuthError> {
        if user.is_in(MASTERS) {
            return Ok(Expiring::after(CACHE_TIME, AccessDecision::allowed()));
        }
        self.reviews.clone().review_access(user, access).await
    }
}

fn authenticated(user: Expiring<Option<Arc<User>>>) -> Result<Expiring<Arc<User>>, AuthError> {
    let expires_at = user.expires_at;
    user.value
        .map(|value| Expiring { value, expires_at })
        .ok_or(AuthError::Unauthenticated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_allowed_only_without_a_denial_and_only_denials_have_reasons() {
        let right = |allowed, denied, reason: &str| {
            let reason = Some(reason.to_owned());
            let evaluation_error = None;
            let AccessDecision { is_allowed, reason } =
                AccessDecision::from_status(SubjectAccessReviewStatus {
                    allowed,
                    denied,
                    evaluation_error,
                    reason,
                });
            (is_allowed, reason.map(|reason| reason.len()))
        };
        assert_eq!(right(true, None, "bound"), (true, None));
        assert_eq!(right(true, Some(false), "bound"), (true, None));
        assert_eq!(right(true, Some(true), "never"), (false, Some(5)));
        assert_eq!(right(false, None, ""), (false, None));
        assert_eq!(
            right(false, None, &"x".repeat(MAX_REASON_BYTES)),
            (false, Some(MAX_REASON_BYTES))
        );
        assert_eq!(
            right(false, None, &"x".repeat(MAX_REASON_BYTES + 1)),
            (false, None)
        );
    }
}
