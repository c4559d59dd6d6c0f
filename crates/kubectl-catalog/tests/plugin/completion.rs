//! Completion by cobra's protocol, and by a real kubectl.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{Server, example};

/// A folder for the `PATH` with the plugin under both of its names.
fn installed(server: &Server) -> String {
    let program = env!("CARGO_BIN_EXE_kubectl-catalog");
    let folder = server.folders.path("bin");
    std::fs::create_dir_all(&folder).expect("folders can be made");
    for name in ["kubectl-catalog", "kubectl_complete-catalog"] {
        symlink(program, folder.join(name)).expect("links can be made");
    }
    server.folders.text("bin")
}

/// What is offered for the last of these words.
fn completed(server: &Server, words: &[&str]) -> String {
    let mut command = Command::new(server.folders.path("bin").join("kubectl_complete-catalog"));
    command
        .args(words)
        .env("CATALOGQL_SERVER", server.url())
        .env("XDG_CACHE_HOME", server.folders.path("cache"));
    let output = command.output().expect("it can be started");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

#[test]
fn commands_flags_and_names_are_completed() {
    let server = example();
    installed(&server);
    assert_eq!(
        completed(&server, &["hea"]),
        "heads\tList the channels of packages with their heads\n:4\n"
    );
    assert_eq!(
        completed(&server, &["heads", "quill"]),
        "quillstore\tQuillstore\n:4\n"
    );
    assert_eq!(
        completed(&server, &["heads", "example/quill"]),
        "example/quillstore\tQuillstore\n:4\n"
    );
    assert_eq!(
        completed(&server, &["get", "cha"]),
        "channels\tChannels with their heads\n:4\n"
    );
    assert_eq!(
        completed(&server, &["heads", "--catalog", ""]),
        "example\n:4\n"
    );
    assert_eq!(completed(&server, &["diff", "ex"]), "example\n:4\n");
    assert_eq!(
        completed(&server, &["versions", "quillstore", "--channel", "st"]),
        "stable\t1.4.0\n:4\n"
    );
    assert_eq!(
        completed(&server, &["path", "quillstore", "1.2."]),
        "1.2.1\tquillstore.v1.2.1\n1.2.0\tquillstore.v1.2.0\n:4\n"
    );
    assert_eq!(completed(&server, &["search", "-o", "y"]), "yaml\n:4\n");
    assert!(completed(&server, &["resolve", "quillstore", "--inst"]).starts_with("--installed\t"));
    // Without a server, nothing is offered and nothing is said.
    let mut server = server;
    server.stop();
    assert_eq!(
        completed(&server, &["heads", "nothing-of-this-name"]),
        ":4\n"
    );
}

#[test]
fn kubectl_runs_the_plugin_and_its_completion() {
    let Some(programs) = testing::control_plane_tools() else {
        return;
    };
    let kubectl = programs.join("kubectl");
    let server = example();
    let path = format!(
        "{}:{}",
        installed(&server),
        std::env::var("PATH").unwrap_or_default()
    );
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&kubectl);
        command
            .args(arguments)
            .env("PATH", &path)
            .env("CATALOGQL_SERVER", server.url())
            .env("HOME", server.folders.path("home"));
        let output = command
            .env("XDG_CACHE_HOME", server.folders.path("cache"))
            .output()
            .expect("kubectl can be started");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let (succeeded, stdout) = run(&["catalog", "get", "packages", "quillstore", "-o", "name"]);
    assert_eq!(
        (succeeded, stdout.as_str()),
        (true, "package/example/quillstore\n")
    );
    let (succeeded, stdout) = run(&["__complete", "catalog", "heads", "quill"]);
    assert!(
        succeeded && stdout.starts_with("quillstore\tQuillstore\n:4\n"),
        "{stdout}"
    );
    let (succeeded, stdout) = run(&["plugin", "list"]);
    assert!(
        succeeded && stdout.contains("/kubectl-catalog\n"),
        "{stdout}"
    );
}
