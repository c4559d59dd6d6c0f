//! The client for Go: its examples are run against the server, and its generated text is what the
//! generator makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::Folders;

use crate::support::{ProgramPage, copy, example};

/// What the client is made of, from the root of the repository.
const SOURCES: [&str; 3] = ["clients/go", "crates/client/documents", "schema.graphql"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether there is Go; the calling test looks at nothing without.
#[track_caller]
fn has_go() -> bool {
    let is_there = Command::new("go")
        .arg("version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !is_there {
        testing::report_skipped("Go", "it is not installed", "install Go 1.26 or newer");
    }
    is_there
}

/// Runs Go in a folder; panics where it fails.
fn go(folder: &Path, arguments: &[&str], server: &str) {
    let mut command = Command::new("go");
    let output = command
        .args(arguments)
        .current_dir(folder)
        .env("CATALOGQL_SERVER", server)
        .output();
    let output = output.expect("Go can be started");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "go {arguments:?}: {text}");
}

#[test]
fn the_examples_of_the_go_client_print_what_they_say() {
    if !has_go() {
        return;
    }
    let server = example();
    let folder = root().join("clients/go");
    go(&folder, &["test", "-count=1", "./..."], &server.url());
    go(&folder, &["vet", "./..."], "");
    let mut statuses = server.statuses();
    statuses.sort_unstable();
    // Of four requests the last one is the third again.
    assert_eq!(statuses, [200, 200, 200, 304]);
}

#[test]
fn a_program_beside_the_repository_uses_the_go_client_as_the_page_says() {
    if !has_go() {
        return;
    }
    let server = example();
    let folders = Folders::new();
    let page = ProgramPage::read();
    let main = page.program("go", "// main.go", &server);
    folders.write("app/main.go", main);
    std::os::unix::fs::symlink(root(), folders.path("catalogql")).expect("links can be made");
    let [init, run] = &page.commands("Go")[..] else {
        panic!("two blocks of commands")
    };
    let mut shell = Command::new("sh");
    let output = shell
        .args(["-ec", &format!("{init}{run}")])
        .current_dir(folders.path("app"))
        .output()
        .expect("there is a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), page.output());
}

#[test]
fn the_generated_text_of_the_go_client_is_what_the_generator_makes() {
    if !has_go() {
        return;
    }
    let folders = Folders::new();
    for source in SOURCES {
        copy(&root().join(source), &folders.path(source));
    }
    let generated = folders.path("clients/go/generated.go");
    let before = fs::read_to_string(&generated).expect("it was generated");
    go(
        &folders.path("clients/go"),
        &["tool", "genqlient", "genqlient.yaml"],
        "",
    );
    let after = fs::read_to_string(&generated).expect("it is generated");
    assert!(
        before == after,
        "run `go tool genqlient genqlient.yaml` in clients/go"
    );
}
