//! The questions themselves: reviews that the API server is asked to create, when it is their turn.

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

use crate::cache::Answer;
use crate::key::Key;
use crate::{
    Access, CACHE_TIME, Denied, ERROR_CACHE_TIME, PathAccess, QUESTION_TIMEOUT, QUESTIONS,
    ResourceAccess, Right, TURN_TIMEOUT, User,
};

/// For whom a question is asked. Unknown peers and known users have turns of their own, and one of
/// them has half of these, so that invented tokens keep no known user waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Who sent a token, of which is not known yet whose it is.
    Peer(Peer),
    /// The user whose rights are in question, or whose token was good the last time: all users whom
    /// a front proxy names have one peer.
    User(Key),
}

/// Asks the API server. Clones share the turns.
#[derive(Clone)]
pub(crate) struct Reviews {
    client: Client,
    /// Whom a token must be for; empty for the API server.
    audiences: Arc<[String]>,
    peers: FairSemaphore<Peer>,
    users: FairSemaphore<Key>,
}

impl Reviews {
    pub(crate) fn new(client: Client, audiences: Vec<String>) -> Self {
        Self {
            client,
            audiences: audiences.into(),
            peers: FairSemaphore::new(QUESTIONS),
            users: FairSemaphore::new(QUESTIONS),
        }
    }

    /// Asks whose a token is; `None` if it is nobody's.
    pub(crate) async fn token(
        self,
        token: String,
        asker: Asker,
    ) -> Result<Answer<Option<Arc<User>>>, Denied> {
        let audiences = Some(self.audiences.to_vec()).filter(|audiences| !audiences.is_empty());
        let review = TokenReview {
            spec: TokenReviewSpec { token, audiences },
            ..TokenReview::default()
        };
        let status = self.ask(asker, review).await?.status.unwrap_or_default();
        let (user, time) = judge(status, &self.audiences);
        Ok(Answer::lasting(user.map(Arc::new), time))
    }

    /// Asks whether a user may do this.
    pub(crate) fn right(
        self,
        user: &User,
        access: Access<'_>,
    ) -> impl Future<Output = Result<Answer<Right>, Denied>> + Send + use<> {
        let asker = Asker::User(user.id);
        let spec = question(user, access);
        async move {
            let review = SubjectAccessReview {
                spec,
                ..SubjectAccessReview::default()
            };
            let status = self.ask(asker, review).await?.status.unwrap_or_default();
            Ok(Answer::lasting(Right::of(status), CACHE_TIME))
        }
    }

    /// Waits until it is the turn of a question; `None` if that takes too long.
    async fn turn(&self, asker: Asker) -> Option<FairPermit> {
        match asker {
            Asker::Peer(peer) => self.peers.acquire_within(TURN_TIMEOUT, &peer).await,
            Asker::User(user) => self.users.acquire_within(TURN_TIMEOUT, &user).await,
        }
    }

    /// Creates a review, which is the question, and returns it with its answer.
    async fn ask<R>(&self, asker: Asker, review: R) -> Result<R, Denied>
    where
        R: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let kind = R::kind(&()).into_owned();
        let error = match self.turn(asker).await {
            Some(_turn) => {
                let api = Api::<R>::all(self.client.clone());
                let params = PostParams::default();
                match timeout(QUESTION_TIMEOUT, api.create(&params, &review)).await {
                    Ok(Ok(answered)) => return Ok(answered),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => format!("no answer within {} seconds", QUESTION_TIMEOUT.as_secs()),
                }
            }
            None => format!(
                "too many other questions for {} seconds",
                TURN_TIMEOUT.as_secs()
            ),
        };
        tracing::warn!(
            kind,
            error,
            "cannot ask the API server about a caller, denying"
        );
        Err(Denied::Unavailable)
    }
}

/// The user that the API server knows a token of, if it does and the token is for one of the
/// audiences, and for how long to believe that.
fn judge(status: TokenReviewStatus, wanted: &[String]) -> (Option<User>, Duration) {
    let TokenReviewStatus {
        authenticated,
        user,
        error,
        audiences,
    } = status;
    let audiences = audiences.unwrap_or_default();
    // An API server that does not know audiences says none.
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

fn question(User { info: user, .. }: &User, access: Access<'_>) -> SubjectAccessReviewSpec {
    let UserInfo {
        username,
        uid,
        groups,
        extra,
    } = user.clone();
    let spec = SubjectAccessReviewSpec {
        user: username,
        uid,
        groups,
        extra,
        ..Default::default()
    };
    match access {
        Access::Path(PathAccess { verb, path }) => {
            let attributes = NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some(verb.to_owned()),
            };
            SubjectAccessReviewSpec {
                non_resource_attributes: Some(attributes),
                ..spec
            }
        }
        Access::Resource(ResourceAccess {
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
        let (user, time) = judge(status(Some(true), Some("ann"), None), &[]);
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
            assert_eq!(judge(refused, &[]), (None, CACHE_TIME));
        }
        assert_eq!(
            judge(status(None, None, Some("the token has expired")), &[]),
            (None, ERROR_CACHE_TIME)
        );
    }

    #[test]
    fn a_token_for_somebody_else_is_none() {
        let own = ["catalogql".to_owned(), "other".to_owned()];
        let judged = |audiences: Option<&[&str]>, wanted: &[String]| {
            let audiences = audiences.map(|all| all.iter().map(|&one| one.to_owned()).collect());
            name(
                judge(
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
    fn the_question_has_everything_that_rights_may_depend_on() {
        let extra = [("scopes".to_owned(), vec!["a".to_owned()])].into();
        let user = UserInfo {
            username: Some("ann".to_owned()),
            uid: Some("1".to_owned()),
            groups: Some(vec!["ops".to_owned()]),
            extra: Some(extra),
        };
        let asked = question(
            &User::new(user.clone()),
            Access::Path(PathAccess {
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
        assert_eq!(
            (asked.resource_attributes, asked.non_resource_attributes),
            (Some(expected), None)
        );
    }
}
