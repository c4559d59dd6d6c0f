//! Requirements for the signatures of images from objects of the cluster: `OpenShift`'s
//! `ClusterImagePolicy`, and `ImagePolicy` in the namespace of the controller.
//!
//! Until both kinds are listed, no image is accepted: unknown requirements are not absent ones.

use std::sync::Arc;

use images::{ImagePolicies, ImagePolicyKind};
use kube::api::Api;
use kube::{Client, ResourceExt};
use olm_api::{ClusterImagePolicy, ImagePolicy};
use serde::Serialize;
use tokio::sync::mpsc::UnboundedSender;

use crate::api_error::describe_watch;
use crate::changes::ClusterChange;
use crate::watches::{Informer, ListState};

/// A change of the list of one kind.
#[derive(Clone, Debug)]
pub(crate) struct PolicyList {
    kind: ImagePolicyKind,
    state: PolicyListState,
}

/// Knowledge of the objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PolicyListState {
    /// All objects are listed.
    Listed,
    /// The API server does not serve the kind.
    NotServed,
    /// Nothing is known yet, with the reason.
    Unknown(Option<String>),
}

/// The watched objects with requirements.
pub(crate) struct ImagePolicyWatches {
    cluster: Informer<ClusterImagePolicy>,
    namespace: Informer<ImagePolicy>,
    cluster_list: PolicyListState,
    namespace_list: PolicyListState,
    /// Errors of the last reading, which are logged.
    errors: Vec<String>,
}

impl PolicyListState {
    /// Updates what is known. What was listed stays known while the watch fails; so it does when the
    /// kind is not served any more, because its objects are deleted before, and an API server that
    /// starts may not know the kind for a moment.
    fn update(&mut self, new: Self) {
        match (&*self, &new) {
            (Self::Listed, Self::NotServed | Self::Unknown(_))
            | (Self::NotServed, Self::Unknown(_)) => {}
            _ => *self = new,
        }
    }

    fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

impl ImagePolicyWatches {
    pub(crate) fn start(
        client: &Client,
        namespace: &str,
        changes: &UnboundedSender<ClusterChange>,
    ) -> Self {
        Self {
            cluster: Informer::start_with(
                Api::all(client.clone()),
                |state| Some(change_of(ImagePolicyKind::Cluster, state)),
                changes.clone(),
            ),
            namespace: Informer::start_with(
                Api::namespaced(client.clone(), namespace),
                |state| Some(change_of(ImagePolicyKind::Namespace, state)),
                changes.clone(),
            ),
            cluster_list: PolicyListState::Unknown(None),
            namespace_list: PolicyListState::Unknown(None),
            errors: Vec::new(),
        }
    }

    /// Records a change of a list.
    pub(crate) fn update(&mut self, PolicyList { kind, state }: PolicyList) {
        match kind {
            ImagePolicyKind::Cluster => self.cluster_list.update(state),
            ImagePolicyKind::Namespace => self.namespace_list.update(state),
        }
    }

    /// Returns whether the objects of both kinds are known.
    pub(crate) fn are_known(&self) -> bool {
        self.cluster_list.is_known() && self.namespace_list.is_known()
    }

    /// Reads all objects. The error is the reason why no image is accepted.
    pub(crate) fn read(&mut self) -> Result<ImagePolicies, String> {
        let mut policies = ImagePolicies::default();
        let added = self.add_all(&mut policies);
        let unreadable = policies.unreadable().iter().map(ToString::to_string);
        let errors: Vec<_> = unreadable.chain(added.clone().err()).collect();
        for error in errors.iter().filter(|error| !self.errors.contains(error)) {
            tracing::error!(error, "accepting no new images where the policy is unknown");
        }
        self.errors = errors;
        added.map(|()| policies)
    }

    /// Returns whether the last reading had no error.
    pub(crate) fn are_readable(&self) -> bool {
        self.errors.is_empty()
    }

    fn add_all(&self, policies: &mut ImagePolicies) -> Result<(), String> {
        let kind = ImagePolicyKind::Cluster;
        for object in listed(kind, &self.cluster_list, || self.cluster.objects())? {
            add(policies, kind, &object.name_any(), &object.spec)?;
        }
        let kind = ImagePolicyKind::Namespace;
        for object in listed(kind, &self.namespace_list, || self.namespace.objects())? {
            add(policies, kind, &object.name_any(), &object.spec)?;
        }
        Ok(())
    }
}

fn change_of(kind: ImagePolicyKind, state: ListState<'_>) -> ClusterChange {
    let state = match state {
        ListState::Listed => PolicyListState::Listed,
        ListState::NotServed => PolicyListState::NotServed,
        ListState::Failed(error) => PolicyListState::Unknown(Some(describe_watch(error))),
    };
    ClusterChange::ImagePolicies(PolicyList { kind, state })
}

/// Returns the objects of a kind by their names, so that equal sets are one policy.
fn listed<K: ResourceExt>(
    kind: ImagePolicyKind,
    list: &PolicyListState,
    objects: impl Fn() -> Vec<Arc<K>>,
) -> Result<Vec<Arc<K>>, String> {
    let kind = kind.as_str();
    match list {
        PolicyListState::NotServed => Ok(Vec::new()),
        PolicyListState::Listed => {
            let mut objects = objects();
            objects.sort_by_key(|object| object.name_any());
            Ok(objects)
        }
        PolicyListState::Unknown(None) => Err(format!("the objects {kind} are not listed yet")),
        PolicyListState::Unknown(Some(error)) => {
            Err(format!("cannot list the objects {kind}: {error}"))
        }
    }
}

fn add(
    policies: &mut ImagePolicies,
    kind: ImagePolicyKind,
    name: &str,
    spec: &impl Serialize,
) -> Result<(), String> {
    // A value that was parsed can be written.
    let text = serde_json::to_string(spec).map_err(|error| error.to_string())?;
    let added = policies.add(kind, name, &text);
    added.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_known_stays_known_and_what_was_not_is_told_with_its_reason() {
        let unknown = || PolicyListState::Unknown(None);
        let failed = || PolicyListState::Unknown(Some("forbidden".to_owned()));
        let cases = [
            (unknown(), failed(), failed()),
            (
                unknown(),
                PolicyListState::NotServed,
                PolicyListState::NotServed,
            ),
            (failed(), PolicyListState::Listed, PolicyListState::Listed),
            (
                PolicyListState::NotServed,
                failed(),
                PolicyListState::NotServed,
            ),
            (
                PolicyListState::NotServed,
                PolicyListState::Listed,
                PolicyListState::Listed,
            ),
            (PolicyListState::Listed, failed(), PolicyListState::Listed),
            (
                PolicyListState::Listed,
                PolicyListState::NotServed,
                PolicyListState::Listed,
            ),
        ];
        for (before, new, after) in cases {
            let mut state = before.clone();
            state.update(new.clone());
            assert_eq!(state, after, "{before:?} {new:?}");
        }
        let reason = |list: PolicyListState| {
            let objects = || Vec::<Arc<ImagePolicy>>::new();
            listed(ImagePolicyKind::Namespace, &list, objects).map(|objects| objects.len())
        };
        assert_eq!(
            reason(unknown()),
            Err("the objects ImagePolicy are not listed yet".to_owned())
        );
        assert_eq!(
            reason(failed()),
            Err("cannot list the objects ImagePolicy: forbidden".to_owned())
        );
        assert_eq!(reason(PolicyListState::NotServed), Ok(0));
    }
}
