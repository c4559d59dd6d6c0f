//! Asks the API server who a caller is (`TokenReview`) and what it may do (`SubjectAccessReview`),
//! as the servers of Kubernetes do.
//!
//! Answers are cached for a few seconds. What the API server does not answer is denied. [`Callers`]
//! gives a caller a reader of the catalogs that it may see. Of requests, this crate knows the
//! headers that say who sends them ([`Authenticator`]), and not what they ask for.

mod answers;
mod authenticator;
mod authorities;
mod cache;
mod callers;
mod jwt;
mod key;
mod reviews;
mod subject;

use std::sync::Arc;
use std::time::Duration;

use admission::Peer;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;
use kube::Client;
use sha2::{Digest as _, Sha256};

use answers::Answers;
use cache::Answer;
use key::Key;
use reviews::{Asker, Reviews};

pub use authenticator::{Authenticator, CertifiedUser, Credentials, bearer_token};
pub use authorities::{Authorities, ClientCertificate};
pub use callers::Callers;

/// How long an answer of the API server is believed: a token that is revoked, or a right that is
/// taken, works for so much longer. The servers of Kubernetes have the same default.
pub const CACHE_TIME: Duration = Duration::from_secs(10);

/// How long a token is refused after the API server could not judge it. Shorter, because it may be
/// a good one.
pub const ERROR_CACHE_TIME: Duration = Duration::from_secs(5);

/// Maximum number of answers of one kind that are cached, so that invented tokens take no more than
/// a megabyte. Refusals are counted apart.
pub const CACHED_ANSWERS: usize = 8_192;

/// Minimum time since a JSON Web Token expired for it to be refused without a `TokenReview`: clocks
/// may differ by less.
pub const EXPIRED_TIME: Duration = Duration::from_mins(5);

/// Maximum number of questions about unknown tokens that the API server is asked at a time, half of
/// them for one peer, and of questions about known callers, half of them about one user. Further
/// ones wait.
pub const QUESTIONS: usize = 8;

/// Maximum time until it is the turn of a question.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Time-out of a question when it is its turn, retries included.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a token in bytes. A longer one is refused and not sent on.
pub const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Maximum length in bytes of a reason that is passed on. A longer one is left out: reasons are
/// cached.
pub const MAX_REASON_BYTES: usize = 1 << 10;

/// Name and group of a caller without credentials, as the servers of Kubernetes give them.
const ANONYMOUS: &str = "system:anonymous";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// Group of all other callers.
const AUTHENTICATED: &str = "system:authenticated";

/// Group that may do everything, without a question.
const MASTERS: &str = "system:masters";

/// What a caller wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access<'a> {
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
    /// What of the object; `None` for all of it.
    pub subresource: Option<&'a str>,
    /// `None` for an object without a namespace, and for those of all namespaces.
    pub namespace: Option<&'a str>,
    /// Name of the object; `None` for all of them.
    pub name: Option<&'a str>,
}

/// Why a caller may not do what it wants to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It has no token, or one that the API server does not know.
    #[error("Unauthorized")]
    Unauthenticated,
    /// It has no right. The text is that of the servers of Kubernetes.
    #[error("Authorization denied for user {user}")]
    Forbidden {
        /// Its name.
        user: String,
        /// What the API server says why, if anything. It may speak of the object that was named:
        /// pass it on only where that is no catalog.
        reason: Option<Arc<str>>,
    },
    /// It asks to act as somebody else, which only kube-apiserver may evaluate.
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
    /// Of all that is known of the user.
    id: Key,
}

/// Decides by the API server's answers.
pub struct Authorizer {
    reviews: Reviews,
    /// Users by the SHA-256 of their token; `None` for a token that is refused.
    users: Answers<Option<Arc<User>>>,
    /// Whether a user may, by the user and what it wants.
    rights: Answers<Right>,
}

/// Whether a user may do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) is_granted: bool,
    /// Why not, as far as the API server says that.
    reason: Option<Arc<str>>,
}

impl User {
    /// Who sends no credentials.
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
        let id = key::of(&(username, uid, groups, extra));
        Self { info, id }
    }

    /// Who has credentials.
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

    /// Its name.
    pub fn name(&self) -> &str {
        self.info.username.as_deref().unwrap_or_default()
    }

    /// Returns whether it belongs to a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.info.groups.iter().flatten().any(|own| own == group)
    }
}

impl Right {
    fn granted() -> Self {
        Self {
            is_granted: true,
            reason: None,
        }
    }

    fn of(
        SubjectAccessReviewStatus {
            allowed,
            denied,
            reason,
            ..
        }: SubjectAccessReviewStatus,
    ) -> Self {
        if allowed && denied != Some(true) {
            return Self::granted();
        }
        let reason = reason.filter(|reason| !reason.is_empty() && reason.len() <= MAX_REASON_BYTES);
        Self {
            is_granted: false,
            reason: reason.map(Arc::from),
        }
    }
}

impl Authorizer {
    /// Creates an authorizer that asks with this client. A token must be for one of these
    /// audiences, or for the API server if there are none.
    pub fn new(client: Client, audiences: Vec<String>) -> Self {
        let users = Answers::new(Option::is_none);
        let rights = Answers::new(|right: &Right| !right.is_granted);
        Self {
            reviews: Reviews::new(client, audiences),
            users,
            rights,
        }
    }

    /// Decides whether the caller with these credentials may do this. Who has none may do nothing.
    pub async fn authorize(
        &self,
        credentials: &Credentials<'_>,
        access: Access<'_>,
    ) -> Result<(), Denied> {
        if credentials.is_none() {
            return Err(Denied::Unauthenticated);
        }
        let user = self.user_of(credentials).await?.value;
        match self.may(&user, access).await?.value {
            Right {
                is_granted: true, ..
            } => Ok(()),
            Right { reason, .. } => Err(Denied::Forbidden {
                user: user.name().to_owned(),
                reason,
            }),
        }
    }

    /// Returns the user with these credentials.
    pub(crate) async fn user_of(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Answer<Arc<User>>, Denied> {
        match credentials {
            Credentials::Token(token, peer) => self.user(token, *peer).await,
            Credentials::User(user) => {
                Ok(Answer::lasting(Arc::clone(user.verified()?), CACHE_TIME))
            }
            Credentials::None => Ok(Answer::lasting(Arc::new(User::anonymous()), CACHE_TIME)),
        }
    }

    /// Returns the user with a bearer token that this peer sent.
    async fn user(&self, token: &[u8], peer: Peer) -> Result<Answer<Arc<User>>, Denied> {
        let is_possible = !token.is_empty() && token.len() <= MAX_TOKEN_BYTES;
        let text = std::str::from_utf8(token)
            .ok()
            .filter(|_| is_possible)
            .ok_or(Denied::Unauthenticated)?;
        let key = Sha256::digest(token).into();
        if let Some(known) = self.users.known(&key) {
            return authenticated(known);
        }
        if jwt::is_void(text) {
            return Err(Denied::Unauthenticated);
        }
        // A user whose token was good before does not wait behind tokens that others at its address
        // invent.
        let former = self.users.former(&key).flatten();
        let asker = former.map_or(Asker::Peer(peer), |user| Asker::User(user.id));
        authenticated(
            self.users
                .get(key, self.reviews.clone().token(text.to_owned(), asker))
                .await?,
        )
    }

    /// Returns whether a user may do this.
    pub(crate) async fn may(
        &self,
        user: &User,
        access: Access<'_>,
    ) -> Result<Answer<Right>, Denied> {
        if user.is_in(MASTERS) {
            return Ok(Answer::lasting(Right::granted(), CACHE_TIME));
        }
        let key = key::of(&(user.id, access));
        match self.rights.known(&key) {
            Some(known) => Ok(known),
            None => {
                self.rights
                    .get(key, self.reviews.clone().right(user, access))
                    .await
            }
        }
    }

    /// As [`Self::may`], and neither looks at what other requests have asked nor tells them: how
    /// long it takes tells nothing of them.
    pub(crate) async fn may_alone(
        &self,
        user: &User,
        access: Access<'_>,
    ) -> Result<Answer<Right>, Denied> {
        if user.is_in(MASTERS) {
            return Ok(Answer::lasting(Right::granted(), CACHE_TIME));
        }
        self.reviews.clone().right(user, access).await
    }
}

fn authenticated(
    Answer { value, until }: Answer<Option<Arc<User>>>,
) -> Result<Answer<Arc<User>>, Denied> {
    value
        .map(|value| Answer { value, until })
        .ok_or(Denied::Unauthenticated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_granted_only_without_a_denial_and_a_reason_is_that_of_a_refusal() {
        let right = |allowed, denied, reason: &str| {
            let reason = Some(reason.to_owned());
            let evaluation_error = None;
            let Right { is_granted, reason } = Right::of(SubjectAccessReviewStatus {
                allowed,
                denied,
                evaluation_error,
                reason,
            });
            (is_granted, reason.map(|reason| reason.len()))
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
