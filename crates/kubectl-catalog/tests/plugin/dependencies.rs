//! What the plugin is made of.

use std::process::Command;

/// Crates that read catalogs, images and archives, or keep them: those of the server, and
/// libraries.
const FOREIGN: [&str; 9] = [
    "catalogql",
    "fbc",
    "images",
    "loading",
    "oci-client",
    "serving",
    "store",
    "tar",
    "zstd",
];

#[test]
fn nothing_in_the_plugin_reads_images_or_archives() {
    let cargo = std::env::var_os("CARGO").expect("cargo runs the tests");
    let mut command = Command::new(cargo);
    command.args([
        "tree",
        "--package=kubectl-catalog",
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
    ]);
    let output = command
        .args(["--locked", "--offline", "--all-features"])
        .output()
        .expect("cargo can be started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
    let names: Vec<_> = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        names.contains(&"catalogql-client") && names.contains(&"flate2"),
        "{text}"
    );
    let found: Vec<_> = FOREIGN
        .into_iter()
        .filter(|foreign| names.contains(foreign))
        .collect();
    assert_eq!(found, [] as [&str; 0]);
}
