//! What several modules need: the definitions of the objects that describe catalogs.

use testing::ControlPlane;

/// What is applied to a cluster.
const BASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/base");

/// Creates the definitions of the objects that describe catalogs, and waits until the API server serves them.
pub(crate) fn define_catalogs(plane: &ControlPlane) {
    plane.kubectl(&["apply", "--server-side", "-f", &format!("{BASE}/crds.yaml")]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
}
