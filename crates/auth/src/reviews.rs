//! Reviews that the API server creates: `TokenReview` and `SubjectAccessReview`.

use std::sync::Arc;
use std::time::Duration;

use admission::{FairPermit, FairSemaphore, Peer};
use k8s_openapi::ClusterResourceScope;
use k8s_openapi::api::authentication::v1::{
    TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo,
};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::cache::Expiring;
use crate::key::Key;
use crate::{
    AccessDecision, AuthError, CACHE_TIME, ERROR_CACHE_TIME, MAX_CONCURRENT_REVIEWS, PathAccess,
    REVIEW_PERMIT_TIMEOUT, REVIEW_TIMEOUT, RequestedAccess, ResourceAccess, User,
};

/// The party for which a review is requested. Unknown peers and known users have separate permits,
/// and each party at most half of them, so that invented tokens keep no known user waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewRequester {
    /// The sender of a token that has not been reviewed yet.
    Peer(Peer),
    /// The user to authorize, or whose token was valid the last time. Not its peer, because all
    /// users that a front proxy names have the same one.
    User(Key),
}

/// Sends reviews to the API server. Clones share the permits.
#[derive(Clone)]
pub(crate) struct ReviewClient {
    client: Client,
    /// Audiences of which a token must have one; empty for the API server's own.
    audiences: Arc<[String]>,
    peers: FairSemaphore<Peer>,
    users: FairSemaphore<Key>,
}

impl ReviewClient {
    pub(crate) fn new(client: Client, audiences: Vec<String>) -> Self {
        Self {
            client,
            audiences: audiences.into(),
            peers: FairSemaphore::new(MAX_CONCURRENT_REVIEWS),
            users: FairSemaphore::new(MAX_CONCURRENT_REVIEWS),
        }
    }

    /// Requests the user of a token; `None` if the token is not valid.
    pub(crate) async fn review_token(
        self,
        token: String,
        requester: ReviewRequester,
    ) -> Result<Expiring<Option<Arc<User>>>, AuthError> {
        let audiences = Some(self.audiences.to_vec()).filter(|audiences| !audiences.is_empty());
        let review = TokenReview {
            spec: TokenReviewSpec { token, audiences },
            ..TokenReview::default()
        };
        let review = self.create(requester, review).await?;
        let (user, time) = read_token_status(review.status.unwrap_or_default(), &self.audiences);
        Ok(Expiring::after(time, user.map(Arc::new)))
    }

    /// Requests a decision on an action of a user.
    pub(crate) fn review_access(
        self,
        user: &User,
        access: RequestedAccess<'_>,
    ) -> impl Future<Output = Result<Expiring<AccessDecision>, AuthError>> + Send + use<> {
        let requester = ReviewRequester::User(user.id);
        let spec = access_review_spec(user, access);
        async move {
            let review = SubjectAccessReview {
                spec,
                ..SubjectAccessReview::default()
            };
            let review = self.create(requester, review).await?;
            let decision = AccessDecision::from_status(review.status.unwrap_or_default());
            Ok(Expiring::after(CACHE_TIME, decision))
        }
    }

    /// Waits for a permit; `None` if that takes too long.
    async fn acquire_permit(&self, requester: ReviewRequester) -> Option<FairPermit> {
        match requester {
            ReviewRequester::Peer(peer) => {
                self.peers
                    .acquire_within(REVIEW_PERMIT_TIMEOUT, &peer)
                    .await
            }
            ReviewRequester::User(user) => {
                self.users
                    .acquire_within(REVIEW_PERMIT_TIMEOUT, &user)
                    .await
            }
        }
    }

    /// Creates a review, and returns it with its status.
    async fn create<R>(&self, requester: ReviewRequester, review: R) -> Result<R, AuthError>
    where
        R: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let kind = R::kind(&()).into_owned();
        let error = match self.acquire_permit(requester).await {
            Some(_permit) => {
                let api = Api::<R>::all(self.client.clone());
                let params = PostParams::default();
                match timeout(REVIEW_TIMEOUT, api.create(&params, &review)).await {
                    Ok(Ok(review)) => return Ok(review),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => format!("no answer within {} seconds", REVIEW_TIMEOUT.as_secs()),
                }
            }
            None => format!(
                "too many other questions for {} seconds",
                REVIEW_PERMIT_TIMEOUT.as_secs()
            ),
        };
        tracing::warn!(
            kind,
            error,
            "cannot ask the API server about a caller, denying"
        );
        Err(AuthError::Unavailable)
    }
}

/// Returns the user of a token, if the token is valid for one of the audiences, and the time for
/// which to cache that.
fn read_token_status(status: TokenReviewStatus, wanted: &[String]) -> (Option<User>, Duration) {
    let TokenReviewStatus {
        authenticated,
        user,
        error,
        audiences,
    } = status;
    let audiences = audiences.unwrap_or_default();
    // An API server without support for audiences returns none. Its token is refused, as
    // Kubernetes requires of a client that sends audiences.
    let is_for_us = wanted.is_empty() || audiences.iter().any(|audience| wanted.contains(audience));
    let user =
        user.filter(|user| authenticated == Some(true) && user.username.is_some() && is_for_us);
    let time = if user.is_none() && error.is_some() {
        ERROR_CACHE_TIME
    } else {
        CACHE_TIME
    };
    (user.map(User::authenticated), time)
}

fn access_review_spec(user: &User, access: RequestedAccess<'_>) -> SubjectAccessReviewSpec {
    let UserInfo {
        username,
        uid,
        groups,
        extra,
    } = user.info.clone();
    let spec = SubjectAccessReviewSpec {
        user: username,
        uid,
        groups,
        extra,
        ..Default::default()
    };
    match access {
        RequestedAccess::Path(PathAccess { verb, path }) => {
            let attributes = NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some(verb.to_owned()),
            };
            SubjectAccessReviewSpec {
                non_resource_attributes: Some(attributes),
                ..spec
            }
        }
        RequestedAccess::Resource(ResourceAccess {
            verb,
            group,
            version,
            resource,
            subresource,
            namespace,
            name,
        }) => {
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
            SubjectAccessReviewSpec {
                resource_attributes: Some(attributes),
                ..spec
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AUTHENTICATED;

    fn status(
        authenticated: Option<bool>,
        user: Option<&str>,
        error: Option<&str>,
    ) -> TokenReviewStatus {
        let user = user.map(|name| UserInfo {
            username: Some(name.to_owned()),
            ..UserInfo::default()
        });
        TokenReviewStatus {
            authenticated,
            user,
            error: error.map(str::to_owned),
            audiences: None,
        }
    }

    fn name(user: Option<User>) -> Option<String> {
        user.map(|user| user.name().to_owned())
    }

    #[test]
    fn a_token_is_good_only_where_the_answer_says_so_and_names_its_user() {
        let (user, time) = read_token_status(status(Some(true), Some("ann"), None), &[]);
        assert_eq!(
            user.as_ref().map(|user| user.is_in(AUTHENTICATED)),
            Some(true)
        );
        assert_eq!((name(user).as_deref(), time), (Some("ann"), CACHE_TIME));
        for refused in [
            status(Some(false), Some("ann"), None),
            status(None, Some("ann"), None),
            status(Some(true), None, None),
            TokenReviewStatus::default(),
        ] {
            assert_eq!(read_token_status(refused, &[]), (None, CACHE_TIME));
        }
        assert_eq!(
            read_token_status(status(None, None, Some("the token has expired")), &[]),
            (None, ERROR_CACHE_TIME)
        );
    }

    #[test]
    fn a_token_for_other_audiences_is_not_valid() {
        let own = ["catalogql".to_owned(), "other".to_owned()];
        let judged = |audiences: Option<&[&str]>, wanted: &[String]| {
            let audiences = audiences.map(|all| all.iter().map(|&one| one.to_owned()).collect());
            name(
                read_token_status(
                    TokenReviewStatus {
                        audiences,
                        ..status(Some(true), Some("ann"), None)
                    },
                    wanted,
                )
                .0,
            )
        };
        assert_eq!(judged(Some(&["x", "other"]), &own).as_deref(), Some("ann"));
        for audiences in [
            None,
            Some(&[][..]),
            Some(&["https://kubernetes.default.svc"]),
        ] {
            assert_eq!(judged(audiences, &own), None);
            assert_eq!(judged(audiences, &[]).as_deref(), Some("ann"));
        }
    }

    #[test]
    fn an_access_review_has_every_attribute_that_a_decision_may_depend_on() {
        let extra = [("scopes".to_owned(), vec!["a".to_owned()])].into();
        let user = UserInfo {
            username: Some("ann".to_owned()),
            uid: Some("1".to_owned()),
            groups: Some(vec!["ops".to_owned()]),
            extra: Some(extra),
        };
        let asked = access_review_spec(
            &User::new(user.clone()),
            RequestedAccess::Path(PathAccess {
                verb: "get",
                path: "/metrics",
            }),
        );
        let path = asked.non_resource_attributes.unwrap();
        assert_eq!(
            (path.verb.as_deref(), path.path.as_deref()),
            (Some("get"), Some("/metrics"))
        );
        assert_eq!(
            (asked.user, asked.uid, asked.groups, asked.extra),
            (
                user.username.clone(),
                user.uid.clone(),
                user.groups.clone(),
                user.extra.clone()
            )
        );
        assert_eq!(asked.resource_attributes, None);
        let [verb, group, resource] = ["get", "olm.operatorframework.io", "clustercatalogs"];
        let version = None;
        let subresource = Some("content");
        let access = ResourceAccess {
            verb,
            group,
            version,
            resource,
            subresource,
            namespace: None,
            name: Some("a"),
        };
        let asked = access_review_spec(&User::new(user), RequestedAccess::Resource(access));
        let text = |text: &str| Some(text.to_owned());
        let expected = ResourceAttributes {
            verb: text(verb),
            group: text(group),
            resource: text(resource),
            subresource: text("content"),
            name: text("a"),
            ..ResourceAttributes::default()
        };
        assert_eq!(
            (asked.resource_attributes, asked.non_resource_attributes),
            (Some(expected), None)
        );
    }
}
