//! Asks the API server who a caller is (`TokenReview`) and what it may do (`SubjectAccessReview`), as the servers of
//! Kubernetes do.
//!
//! Answers are cached for a few seconds. What the API server does not answer is denied. This crate knows neither the
//! requests that it decides about nor HTTP.

mod cache;

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use cache::Cache;

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

/// What a caller wants to do: a verb on a path, such as `get /metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathAccess {
    /// The method in lower case.
    pub verb: &'static str,
    /// The path.
    pub path: &'static str,
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
    },
    /// The API server did not answer.
    #[error("cannot ask the API server: try again")]
    Unavailable,
}

/// Decides by the API server's answers.
pub struct Authorizer {
    client: Client,
    /// Users by the SHA-256 of their token; `None` for a token that is refused.
    users: Cache<[u8; 32], Option<UserInfo>>,
    /// Whether a user may, by the SHA-256 of the user and what it wants.
    rights: Cache<[u8; 32], bool>,
    questions: Semaphore,
}

impl Authorizer {
    /// Creates an authorizer that asks with this client.
    pub fn new(client: Client) -> Self {
        let (users, rights) = (Cache::new(CACHED_ANSWERS), Cache::new(CACHED_ANSWERS));
        Self { client, users, rights, questions: Semaphore::new(QUESTIONS) }
    }

    /// Decides whether the caller with this bearer token may do this.
    pub async fn authorize(&self, token: Option<&str>, access: PathAccess) -> Result<(), Denied> {
        let token = token.filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN_BYTES);
        let user = self.user(token.ok_or(Denied::Unauthenticated)?).await?;
        if self.may(&user, access).await? {
            Ok(())
        } else {
            Err(Denied::Forbidden { user: user.username.unwrap_or_default() })
        }
    }

    async fn user(&self, token: &str) -> Result<UserInfo, Denied> {
        let key = Sha256::digest(token).into();
        if let Some(user) = self.users.get(&key) {
            return user.ok_or(Denied::Unauthenticated);
        }
        let _turn = self.questions.acquire().await;
        // Another request may have asked meanwhile.
        if let Some(user) = self.users.get(&key) {
            return user.ok_or(Denied::Unauthenticated);
        }
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let review = self.ask(TokenReview { spec, ..TokenReview::default() }).await?;
        let (user, time) = judge(review.status.unwrap_or_default());
        self.users.insert(key, user.clone(), time);
        user.ok_or(Denied::Unauthenticated)
    }

    async fn may(&self, user: &UserInfo, access: PathAccess) -> Result<bool, Denied> {
        // `Debug` quotes texts, so that no two are alike.
        let key = Sha256::digest(format!("{user:?}{access:?}")).into();
        if let Some(may) = self.rights.get(&key) {
            return Ok(may);
        }
        let _turn = self.questions.acquire().await;
        if let Some(may) = self.rights.get(&key) {
            return Ok(may);
        }
        let review = SubjectAccessReview { spec: question(user, access), ..SubjectAccessReview::default() };
        let status = self.ask(review).await?.status;
        let may =
            status.is_some_and(|SubjectAccessReviewStatus { allowed, denied, .. }| allowed && denied != Some(true));
        self.rights.insert(key, may, CACHE_TIME);
        Ok(may)
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

/// The user that the API server knows a token of, if it does, and for how long to believe that.
fn judge(TokenReviewStatus { authenticated, user, error, .. }: TokenReviewStatus) -> (Option<UserInfo>, Duration) {
    let user = user.filter(|user| authenticated == Some(true) && user.username.is_some());
    let time = if user.is_none() && error.is_some() { ERROR_CACHE_TIME } else { CACHE_TIME };
    (user, time)
}

fn question(user: &UserInfo, PathAccess { verb, path }: PathAccess) -> SubjectAccessReviewSpec {
    let UserInfo { username, uid, groups, extra } = user.clone();
    let non_resource_attributes =
        Some(NonResourceAttributes { path: Some(path.to_owned()), verb: Some(verb.to_owned()) });
    SubjectAccessReviewSpec { user: username, uid, groups, extra, non_resource_attributes, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(authenticated: Option<bool>, user: Option<&str>, error: Option<&str>) -> TokenReviewStatus {
        let user = user.map(|name| UserInfo { username: Some(name.to_owned()), ..UserInfo::default() });
        TokenReviewStatus { authenticated, user, error: error.map(str::to_owned), audiences: None }
    }

    #[test]
    fn a_token_is_good_only_where_the_answer_says_so_and_names_its_user() {
        let (user, time) = judge(status(Some(true), Some("ann"), None));
        assert_eq!((user.and_then(|user| user.username).as_deref(), time), (Some("ann"), CACHE_TIME));
        for refused in [
            status(Some(false), Some("ann"), None),
            status(None, Some("ann"), None),
            status(Some(true), None, None),
            TokenReviewStatus::default(),
        ] {
            assert_eq!(judge(refused), (None, CACHE_TIME));
        }
        assert_eq!(judge(status(None, None, Some("the token has expired"))), (None, ERROR_CACHE_TIME));
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
        let asked = question(&user, PathAccess { verb: "get", path: "/metrics" });
        let path = asked.non_resource_attributes.unwrap();
        assert_eq!((path.verb.as_deref(), path.path.as_deref()), (Some("get"), Some("/metrics")));
        assert_eq!(
            (asked.user, asked.uid, asked.groups, asked.extra),
            (user.username, user.uid, user.groups, user.extra)
        );
        assert_eq!(asked.resource_attributes, None);
    }
}
