//! The manifest for krew says what its archives are.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testing::{Folders, digest};

/// Letters of a short description above which krew's index refuses it.
const MAX_SHORT: usize = 50;

#[test]
fn the_manifest_for_krew_names_archives_with_their_digests_which_unpack_to_the_plugin() {
    let folders = Folders::new();
    // It stands for the plugin, whose development build takes 20 s to compress.
    folders.write("plugin", "#!/bin/sh\necho kubectl-catalog\n");
    let program = folders.text("plugin");
    let may_execute = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&program, may_execute).expect("the file is ours");
    let pack = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../release/krew.py");
        let mut command = Command::new(script);
        command.args(["https://example.com/v1.2.3/", &folders.text("out")]);
        command.args([
            format!("x86_64={program}"),
            format!("x86_64-windows={program}"),
        ]);
        let output = command.output().expect("there is Python 3");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice::<Value>(&output.stdout).expect("it is JSON")
    };
    let manifest = pack();
    assert_eq!(pack(), manifest);
    assert_eq!(manifest["metadata"], json!({ "name": "catalog" }));
    let spec = &manifest["spec"];
    assert_eq!(spec["version"], concat!("v", env!("CARGO_PKG_VERSION")));
    assert!(
        spec["shortDescription"]
            .as_str()
            .is_some_and(|text| text.len() < MAX_SHORT && !text.contains("kubectl"))
    );
    let platforms = spec["platforms"].as_array().expect("they are listed");
    let labels: Vec<_> = platforms
        .iter()
        .map(|platform| &platform["selector"]["matchLabels"])
        .collect();
    assert_eq!(
        labels,
        [
            &json!({ "os": "linux", "arch": "amd64" }),
            &json!({ "os": "windows", "arch": "amd64" })
        ]
    );
    for platform in platforms {
        let uri = platform["uri"].as_str().expect("it is text");
        let name = uri
            .strip_prefix("https://example.com/v1.2.3/")
            .expect("it is below the URL");
        let archive = folders.path("out").join(name);
        let bytes = fs::read(&archive).expect("it was written");
        assert_eq!(
            Some(&*digest(&bytes)),
            platform["sha256"]
                .as_str()
                .map(|hex| format!("sha256:{hex}"))
                .as_deref()
        );
        let unpacked = folders.path(&format!("unpacked-{name}"));
        fs::create_dir_all(&unpacked).expect("folders can be made");
        let status = Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(&unpacked)
            .status();
        assert!(status.expect("there is tar").success());
        let plugin = unpacked.join(platform["bin"].as_str().expect("it is text"));
        assert!(
            fs::read(&plugin).expect("it is there") == fs::read(&program).expect("it was written")
        );
        let version = Command::new(&plugin)
            .arg("--version")
            .output()
            .expect("it can be executed");
        assert_eq!(version.stdout, b"kubectl-catalog\n");
        assert!(version.status.success() && unpacked.join("LICENSE").exists());
    }
}
