//! `OpenShift`'s `ClusterImagePolicy` and `ImagePolicy`: which signatures images need. They are never
//! written.
//!
//! Their specs are not typed here: one that cannot be read would fail the watch of all, where it must
//! fail alone.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Spec of a `ClusterImagePolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ClusterImagePolicy",
    plural = "clusterimagepolicies"
)]
#[kube(schema = "disabled", derive = "PartialEq")]
#[serde(transparent)]
pub struct ClusterImagePolicySpec(pub Value);

/// Spec of an `ImagePolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ImagePolicy",
    plural = "imagepolicies",
    namespaced
)]
#[kube(schema = "disabled", derive = "PartialEq")]
#[serde(transparent)]
pub struct ImagePolicySpec(pub Value);
