//! A cluster for `benches/http/soak.py` and the scripts of `tests/conformance`: a control plane and
//! a registry, with the catalog of a directory as the `ClusterCatalog` `c` and a changing one,
//! `churn`.
//!
//! The first line of its output says how to reach it (JSON). For each line of its input, which
//! names a directory, the catalog there becomes the content of `churn`, and a line of output says
//! its digest. It ends with its input.

use std::io::{Write as _, stdin, stdout};
use std::path::Path;

use serde_json::{Value, json};
use testing::{CONFIGS, ControlPlane, MediaTypes, Registry, RegistryImage, control_plane_tools};

/// Folder of the manifests that are applied to the cluster.
const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/base");

/// Namespace and service account of the controller, as in `deploy/base`.
const NAME: &str = "catalogql";

fn main() {
    let directory = std::env::args().nth(1).expect("usage: cluster DIRECTORY");
    let Some(plane) = ControlPlane::start() else {
        panic!("there is no control plane: run tests/setup.sh")
    };
    let registry = Registry::start();
    let serve = |name: &str, directory: &str| {
        let digest = registry.push(name, "latest", &image(Path::new(directory)));
        plane.apply(&[catalog(
            name,
            &format!("{}/{name}@{digest}", registry.address),
        )]);
        digest
    };

    plane.kubectl(&["create", "namespace", NAME]);
    for file in ["crds.yaml", "rbac.yaml", "access.yaml"] {
        plane.kubectl(&["apply", "--server-side", "-f", &format!("{DEPLOY}/{file}")]);
    }
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "--all",
    ]);
    let account = format!("--serviceaccount={NAME}:{NAME}");
    plane.kubectl(&[
        "create",
        "clusterrolebinding",
        "scrape",
        "--clusterrole=catalogql-metrics-reader",
        &account,
    ]);
    let token = plane.kubectl(&[
        "create",
        "token",
        NAME,
        "--namespace",
        NAME,
        "--duration",
        "24h",
    ]);
    serve("c", &directory);

    let kubeconfig = plane.service_account_kubeconfig(NAME, NAME, plane.address);
    let kubectl = control_plane_tools()
        .expect("the control plane runs")
        .join("kubectl");
    let facts = json!({
        "kubeconfig": kubeconfig,
        "adminKubeconfig": plane.kubeconfig(),
        "authenticationConfiguration": plane.file("authentication.json"),
        "kubectl": kubectl,
        "registry": registry.address,
        "token": token.trim(),
    });
    println!("{facts}");
    for line in stdin().lines() {
        println!("{}", serve("churn", &line.expect("the input is UTF-8")));
        stdout().flush().expect("the output is read");
    }
}

/// An image with the files of a directory as its catalog.
fn image(directory: &Path) -> RegistryImage {
    let mut layer = tar::Builder::new(Vec::new());
    layer
        .append_dir_all("configs", directory)
        .expect("the catalog can be read");
    RegistryImage::image(
        MediaTypes::Oci,
        &[layer.into_inner().expect("memory can be written")],
        &[CONFIGS],
    )
}

fn catalog(name: &str, reference: &str) -> Value {
    json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": { "name": name },
        "spec": { "source": { "type": "Image", "image": { "ref": reference } } },
    })
}
