//! Names of OLM that tell what a bundle needs of it.

/// Types of properties that declare dependencies, which OLM v1 does not resolve.
pub const UNRESOLVED_TYPES: [&str; 3] =
    ["olm.package.required", "olm.gvk.required", "olm.constraint"];

/// API group of OLM v0.
pub const OLM_V0_GROUP: &str = "operators.coreos.com";

/// Resources of OLM v0 that an operator with rights on them needs OLM v0 for. Rights on
/// `operatorconditions` say nothing: OLM gives them to every operator.
pub const OLM_V0_RESOURCES: [&str; 5] = [
    "subscriptions",
    "installplans",
    "clusterserviceversions",
    "catalogsources",
    "*",
];

/// API group of OLM v1: an operator that names it is prepared for it.
pub const OLM_V1_GROUP: &str = "olm.operatorframework.io";
