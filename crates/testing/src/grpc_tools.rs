//! Clients of gRPC: grpcurl and the health probe of the gRPC ecosystem.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skipped::report_skipped;

/// Script that builds them, and says where.
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/grpc-tools/build.sh");

/// Returns the folder of grpcurl and grpc-health-probe. `None` where they are not built: the calling test then has nothing
/// to look at and returns, and is reported as skipped. Where `CI` is set and not empty, this panics instead.
#[track_caller]
#[must_use]
pub fn grpc_tools() -> Option<PathBuf> {
    let output = Command::new(BUILD).arg("--where").output().expect("there is a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = String::from_utf8(output.stdout).expect("the path is UTF-8");
    let folder = Path::new(folder.trim_end());
    // The one that is built last.
    if folder.join("grpcurl").is_file() {
        return Some(folder.to_owned());
    }
    report_skipped("clients of gRPC", &format!("{} has no grpcurl", folder.display()), "run tests/setup.sh with Go");
    None
}
