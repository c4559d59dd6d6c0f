//! Asks the API server who a caller is (`TokenReview`) and what it may do (`SubjectAccessReview`), as the servers of
//! Kubernetes do.
//!
//! Answers are cached for a few seconds. What the API server does not answer is denied. [`Callers`] gives a caller a reader
//! of the catalogs that it may see. Of requests, this crate knows the headers that say who sends them ([`Authenticator`]),
//! and not what they ask for.

mod authenticator;
mod authorities;
mod cache;
mod callers;
mod key;
mod subject;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use cache::{Answer, Cache};
use key::Key;

pub use authenticator::{Authenticator, Credentials, bearer_token};
pub use authorities::{Authorities, ClientCertificate};
pub use callers::Callers;

/// How long an answer of the API server is believed: a token that is revoked, or a right that is taken, works for so much
/// longer. The servers of Kubernetes have the same default.
pub const CACHE_TIME: Duration = Duration::from_secs(10);

/// How long a token is refused after the API server could not judge it. Shorter, because it may be a good one.
pub const ERROR_CACHE_TIME: Duration = Duration::from_secs(5);

/// Maximum number of answers of one kind that are cached, so that invented tokens take no more than a megabyte.
pub const CACHED_ANSWERS: usize = 8_192;

/// Maximum number of questions that the API server is asked at a time. Further ones wait.
pub const QUESTIONS: usize = 8;

/// Time-out of a question, retries included.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a token in bytes. A longer one is refused and not sent on.
pub const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Maximum length in bytes of a reason that is passed on. A longer one is left out: reasons are cached.
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
        /// What the API server says why, if anything. It may speak of the object that was named: pass it on only where that is
        /// no catalog.
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
    client: Client,
    /// Whom a token must be for; empty for the API server.
    audiences: Vec<String>,
    /// Users by the SHA-256 of their token; `None` for a token that is refused.
    users: Cache<Key, Option<Arc<User>>>,
    /// Whether a user may, by the user and what it wants.
    rights: Cache<Key, Right>,
    questions: Semaphore,
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
        let (username, groups) = (Some(ANONYMOUS.to_owned()), Some(vec![UNAUTHENTICATED.to_owned()]));
        Self::new(UserInfo { username, groups, ..UserInfo::default() })
    }

    fn new(info: UserInfo) -> Self {
        let UserInfo { username, uid, groups, extra } = &info;
        let id = key::of(&(username, uid, groups, extra));
        Self { info, id }
    }

    /// Who has credentials.
    fn authenticated(mut user: UserInfo) -> Self {
        let groups = user.groups.get_or_insert_default();
        if !groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED) {
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
        Self { is_granted: true, reason: None }
    }

    fn of(SubjectAccessReviewStatus { allowed, denied, reason, .. }: SubjectAccessReviewStatus) -> Self {
        if allowed && denied != Some(true) {
            return Self::granted();
        }
        let reason = reason.filter(|reason| !reason.is_empty() && reason.len() <= MAX_REASON_BYTES);
        Self { is_granted: false, reason: reason.map(Arc::from) }
    }
}

impl Authorizer {
    /// Creates an authorizer that asks with this client. A token must be for one of these audiences, or for the API server
    /// if there are none.
    pub fn new(client: Client, audiences: Vec<String>) -> Self {
        let (users, rights) = (Cache::new(CACHED_ANSWERS), Cache::new(CACHED_ANSWERS));
        Self { client, audiences, users, rights, questions: Semaphore::new(QUESTIONS) }
    }

    /// Decides whether the caller with these credentials may do this. Who has none may do nothing.
    pub async fn authorize(&self, credentials: &Credentials<'_>, access: Access<'_>) -> Result<(), Denied> {
        if credentials.is_none() {
            return Err(Denied::Unauthenticated);
        }
        let user = self.user_of(credentials).await?.value;
        match self.may(&user, access).await?.value {
            Right { is_granted: true, .. } => Ok(()),
            Right { reason, .. } => Err(Denied::Forbidden { user: user.name().to_owned(), reason }),
        }
    }

    /// Returns the user with these credentials.
    pub(crate) async fn user_of(&self, credentials: &Credentials<'_>) -> Result<Answer<Arc<User>>, Denied> {
        match credentials {
            Credentials::Token(token) => self.user(token).await,
            Credentials::User(user) => Ok(Answer::lasting(Arc::clone(user), CACHE_TIME)),
            Credentials::None => Ok(Answer::lasting(Arc::new(User::anonymous()), CACHE_TIME)),
        }
    }

    /// Returns the user with a bearer token.
    async fn user(&self, token: &[u8]) -> Result<Answer<Arc<User>>, Denied> {
        let is_possible = !token.is_empty() && token.len() <= MAX_TOKEN_BYTES;
        let text = std::str::from_utf8(token).ok().filter(|_| is_possible).ok_or(Denied::Unauthenticated)?;
        let key = Sha256::digest(token).into();
        if let Some(known) = self.known_user(&key) {
            return known;
        }
        let _turn = self.questions.acquire().await;
        // Another request may have asked meanwhile.
        if let Some(known) = self.known_user(&key) {
            return known;
        }
        let audiences = Some(self.audiences.clone()).filter(|audiences| !audiences.is_empty());
        let spec = TokenReviewSpec { token: text.to_owned(), audiences };
        let review = self.ask(TokenReview { spec, ..TokenReview::default() }).await?;
        let (user, time) = judge(review.status.unwrap_or_default(), &self.audiences);
        let answer = Answer::lasting(user.map(Arc::new), time);
        self.users.insert(key, answer.clone());
        authenticated(answer)
    }

    fn known_user(&self, key: &Key) -> Option<Result<Answer<Arc<User>>, Denied>> {
        self.users.get_until(key).map(authenticated)
    }

    /// Returns whether a user may do this.
    pub(crate) async fn may(&self, user: &User, access: Access<'_>) -> Result<Answer<Right>, Denied> {
        if user.is_in(MASTERS) {
            return Ok(Answer::lasting(Right::granted(), CACHE_TIME));
        }
        let key = key::of(&(user.id, access));
        if let Some(known) = self.rights.get_until(&key) {
            return Ok(known);
        }
        let _turn = self.questions.acquire().await;
        if let Some(known) = self.rights.get_until(&key) {
            return Ok(known);
        }
        let answer = self.ask_right(user, access).await?;
        self.rights.insert(key, answer.clone());
        Ok(answer)
    }

    /// As [`Self::may`], and neither looks at what other requests have asked nor tells them: how long it takes tells
    /// nothing of them.
    pub(crate) async fn may_alone(&self, user: &User, access: Access<'_>) -> Result<Answer<Right>, Denied> {
        if user.is_in(MASTERS) {
            return Ok(Answer::lasting(Right::granted(), CACHE_TIME));
        }
        let _turn = self.questions.acquire().await;
        self.ask_right(user, access).await
    }

    async fn ask_right(&self, user: &User, access: Access<'_>) -> Result<Answer<Right>, Denied> {
        let review = SubjectAccessReview { spec: question(user, access), ..SubjectAccessReview::default() };
        let status = self.ask(review).await?.status.unwrap_or_default();
        Ok(Answer::lasting(Right::of(status), CACHE_TIME))
    }

    /// Creates a review, which is the question, and returns it with its answer.
    async fn ask<R>(&self, review: R) -> Result<R, Denied>
    where
        R: Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let kind = R::kind(&()).into_owned();
        let api = Api::<R>::all(self.client.clone());
        let params = PostParams::default();
        let error = match timeout(QUESTION_TIMEOUT, api.create(&params, &review)).await {
            Ok(Ok(answered)) => return Ok(answered),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} seconds", QUESTION_TIMEOUT.as_secs()),
        };
        tracing::warn!(kind, error, "cannot ask the API server about a caller, denying");
        Err(Denied::Unavailable)
    }
}

fn authenticated(Answer { value, until }: Answer<Option<Arc<User>>>) -> Result<Answer<Arc<User>>, Denied> {
    value.map(|value| Answer { value, until }).ok_or(Denied::Unauthenticated)
}

/// The user that the API server knows a token of, if it does and the token is for one of the audiences, and for how long to
/// believe that.
fn judge(status: TokenReviewStatus, wanted: &[String]) -> (Option<User>, Duration) {
    let TokenReviewStatus { authenticated, user, error, audiences } = status;
    let audiences = audiences.unwrap_or_default();
    // An API server that does not know audiences says none.
    let is_for_us = wanted.is_empty() || audiences.iter().any(|audience| wanted.contains(audience));
    let user = user.filter(|user| authenticated == Some(true) && user.username.is_some() && is_for_us);
    let time = if user.is_none() && error.is_some() { ERROR_CACHE_TIME } else { CACHE_TIME };
    (user.map(User::authenticated), time)
}

fn question(User { info: user, .. }: &User, access: Access<'_>) -> SubjectAccessReviewSpec {
    let UserInfo { username, uid, groups, extra } = user.clone();
    let spec = SubjectAccessReviewSpec { user: username, uid, groups, extra, ..Default::default() };
    match access {
        Access::Path(PathAccess { verb, path }) => {
            let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some(verb.to_owned()) };
            SubjectAccessReviewSpec { non_resource_attributes: Some(attributes), ..spec }
        }
        Access::Resource(ResourceAccess { verb, group, version, resource, subresource, namespace, name }) => {
            let attributes = ResourceAttributes {
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                version: version.map(str::to_owned),
                resource: Some(resource.to_owned()),
                subresource: subresource.map(str::to_owned),
                namespace: namespace.map(str::to_owned),
                name: name.map(str::to_owned),
                ..ResourceAttributes::default()
            };
            SubjectAccessReviewSpec { resource_attributes: Some(attributes), ..spec }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(authenticated: Option<bool>, user: Option<&str>, error: Option<&str>) -> TokenReviewStatus {
        let user = user.map(|name| UserInfo { username: Some(name.to_owned()), ..UserInfo::default() });
        TokenReviewStatus { authenticated, user, error: error.map(str::to_owned), audiences: None }
    }

    fn name(user: Option<User>) -> Option<String> {
        user.map(|user| user.name().to_owned())
    }

    #[test]
    fn a_token_is_good_only_where_the_answer_says_so_and_names_its_user() {
        let (user, time) = judge(status(Some(true), Some("ann"), None), &[]);
        assert_eq!(user.as_ref().map(|user| user.is_in(AUTHENTICATED)), Some(true));
        assert_eq!((name(user).as_deref(), time), (Some("ann"), CACHE_TIME));
        for refused in [
            status(Some(false), Some("ann"), None),
            status(None, Some("ann"), None),
            status(Some(true), None, None),
            TokenReviewStatus::default(),
        ] {
            assert_eq!(judge(refused, &[]), (None, CACHE_TIME));
        }
        assert_eq!(judge(status(None, None, Some("the token has expired")), &[]), (None, ERROR_CACHE_TIME));
    }

    #[test]
    fn a_token_for_somebody_else_is_none() {
        let own = ["catalogql".to_owned(), "other".to_owned()];
        let judged = |audiences: Option<&[&str]>, wanted: &[String]| {
            let audiences = audiences.map(|all| all.iter().map(|&one| one.to_owned()).collect());
            name(judge(TokenReviewStatus { audiences, ..status(Some(true), Some("ann"), None) }, wanted).0)
        };
        assert_eq!(judged(Some(&["x", "other"]), &own).as_deref(), Some("ann"));
        for audiences in [None, Some(&[][..]), Some(&["https://kubernetes.default.svc"])] {
            assert_eq!(judged(audiences, &own), None);
            assert_eq!(judged(audiences, &[]).as_deref(), Some("ann"));
        }
    }

    #[test]
    fn a_right_is_granted_only_without_a_denial_and_a_reason_is_that_of_a_refusal() {
        let right = |allowed, denied, reason: &str| {
            let (reason, evaluation_error) = (Some(reason.to_owned()), None);
            let Right { is_granted, reason } =
                Right::of(SubjectAccessReviewStatus { allowed, denied, evaluation_error, reason });
            (is_granted, reason.map(|reason| reason.len()))
        };
        assert_eq!(right(true, None, "bound"), (true, None));
        assert_eq!(right(true, Some(false), "bound"), (true, None));
        assert_eq!(right(true, Some(true), "never"), (false, Some(5)));
        assert_eq!(right(false, None, ""), (false, None));
        assert_eq!(right(false, None, &"x".repeat(MAX_REASON_BYTES)), (false, Some(MAX_REASON_BYTES)));
        assert_eq!(right(false, None, &"x".repeat(MAX_REASON_BYTES + 1)), (false, None));
    }

    #[test]
    fn the_question_has_everything_that_rights_may_depend_on() {
        let extra = [("scopes".to_owned(), vec!["a".to_owned()])].into();
        let user = UserInfo {
            username: Some("ann".to_owned()),
            uid: Some("1".to_owned()),
            groups: Some(vec!["ops".to_owned()]),
            extra: Some(extra),
        };
        let asked = question(&User::new(user.clone()), Access::Path(PathAccess { verb: "get", path: "/metrics" }));
        let path = asked.non_resource_attributes.unwrap();
        assert_eq!((path.verb.as_deref(), path.path.as_deref()), (Some("get"), Some("/metrics")));
        assert_eq!(
            (asked.user, asked.uid, asked.groups, asked.extra),
            (user.username.clone(), user.uid.clone(), user.groups.clone(), user.extra.clone())
        );
        assert_eq!(asked.resource_attributes, None);
        let [verb, group, resource] = ["get", "olm.operatorframework.io", "clustercatalogs"];
        let (version, subresource) = (None, Some("content"));
        let access = ResourceAccess { verb, group, version, resource, subresource, namespace: None, name: Some("a") };
        let asked = question(&User::new(user), Access::Resource(access));
        let text = |text: &str| Some(text.to_owned());
        let expected = ResourceAttributes {
            verb: text(verb),
            group: text(group),
            resource: text(resource),
            subresource: text("content"),
            name: text("a"),
            ..ResourceAttributes::default()
        };
        assert_eq!((asked.resource_attributes, asked.non_resource_attributes), (Some(expected), None));
    }
}
