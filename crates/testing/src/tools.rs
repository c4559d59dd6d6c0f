//! Programs of others, and in Go, that scripts of `tests` build once into the user's cache. Where
//! one is not built, `None` is returned: the calling test then has nothing to look at and returns,
//! and is reported as skipped. Where `CI` is set and not empty, that panics instead.

use std::path::PathBuf;
use std::process::Command;

use crate::skipped::report_skipped;

const REMEDY: &str = "run tests/setup.sh with Go installed";

/// Returns the folder of helm, kubeconform, kube-score and `definitions`.
#[track_caller]
#[must_use]
pub fn deploy_tools() -> Option<PathBuf> {
    find(
        "tools for manifests",
        &["deploy-tools/build.sh"],
        "helm",
        REMEDY,
    )
}

/// Returns the folder of grpcurl and grpc-health-probe.
#[track_caller]
#[must_use]
pub fn grpc_tools() -> Option<PathBuf> {
    find(
        "clients of gRPC",
        &["grpc-tools/build.sh"],
        "grpcurl",
        REMEDY,
    )
}

/// Returns the folder of etcd, kube-apiserver and kubectl.
#[track_caller]
#[must_use]
pub fn control_plane_tools() -> Option<PathBuf> {
    let remedy = "run tests/setup.sh with Go installed, or name a folder with etcd, kube-apiserver and kubectl in \
                  KUBEBUILDER_ASSETS";
    find(
        "a control plane of Kubernetes",
        &["control-plane/build.sh"],
        "kubectl",
        remedy,
    )
}

/// Returns the informer of client-go.
#[track_caller]
#[must_use]
pub fn informer() -> Option<PathBuf> {
    find(
        "an informer",
        &["control-plane/program.sh", "informer"],
        "",
        REMEDY,
    )
}

/// Returns the stand-in for a kubelet.
#[track_caller]
pub(crate) fn kubelet() -> Option<PathBuf> {
    find(
        "a stand-in for a kubelet",
        &["control-plane/program.sh", "kubelet"],
        "",
        REMEDY,
    )
}

/// Asks a script with arguments where it builds; `last` is the file of the folder that it builds
/// last, empty where it builds one file.
#[track_caller]
fn find(purpose: &str, script: &[&str], last: &str, remedy: &str) -> Option<PathBuf> {
    let path = format!(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/{}"),
        script[0]
    );
    let output = Command::new(path)
        .args(&script[1..])
        .arg("--where")
        .output()
        .expect("there is a shell");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let path = PathBuf::from(
        String::from_utf8(output.stdout)
            .expect("the path is UTF-8")
            .trim_end(),
    );
    let file = if last.is_empty() {
        path.clone()
    } else {
        path.join(last)
    };
    if !file.is_file() {
        report_skipped(purpose, &format!("there is no {}", file.display()), remedy);
        return None;
    }
    Some(path)
}
