//! Plans an upgrade of the platform: what happens to the packages of a cluster when it goes from one
//! version of `OpenShift` or Kubernetes to a later one, step by step.
//!
//! At each step the cluster reads other catalogs. For each installed bundle, a walk over the states
//! (step, bundle, channel) finds the way with the least work by hand, by the rules of OLM v0 or v1.
//! The crate is pure: it opens no file or socket, reads no clock or environment, and starts no
//! thread.
//!
//! | module | what it is for |
//! |---|---|
//! | `request` | the steps and what is installed, with the rules for requests |
//! | `max_openshift` | OLM's condition on `olm.maxOpenShiftVersion`, to the letter |
//! | `limits` | the platforms that a bundle runs on |
//! | `route` | the catalogs, channels and edges that a bundle meets at each step |
//! | `walk` | the search over states |
//! | `plan` | verdicts, moves and their order |
//! | `matrix` | packages and channels of several catalogs side by side |

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

mod limits;
mod matrix;
mod max_openshift;
mod plan;
mod request;
mod route;
mod walk;

pub use limits::BlockCause;
pub use matrix::{CatalogChannels, ChannelHead, PackageMatrix, package_matrix};
pub use max_openshift::{
    ConditionSubject, MAX_OPENSHIFT_PROPERTY, MaxOpenshiftError, OpenshiftMinor,
    max_openshift_version, upgrade_condition,
};
pub use plan::{
    Block, MoveKind, MoveTime, PackagePlan, PlanAction, PlanMove, PlatformPlan, UpgradeVerdict,
    plan,
};
pub use request::{
    Approval, ClusterBundle, MAX_INSTALLED_BUNDLES, MAX_STEPS, OlmRules, PlatformStep,
    PlatformUpgradeError, PlatformUpgradeRequest, StepCatalog,
};
pub use route::StepBundle;
pub use walk::MAX_STATES;
