//! Every table over the example, on terminals of three widths, as stored texts.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Server, example};

/// Set to write the stored texts anew.
const UPDATE: &str = "UPDATE_EXPECT";

/// The commands, and how each ends.
const COMMANDS: [(&str, i32); 39] = [
    ("search", 0),
    ("search database -o wide", 0),
    ("get catalogs", 0),
    ("get packages lampglow -o wide", 0),
    ("get channels -p quillstore", 0),
    ("get bundles -p quillstore -o wide", 0),
    ("get metas --schema olm.channel", 0),
    ("get problems", 0),
    ("heads quillstore", 0),
    ("heads quillstore -o wide", 0),
    ("heads quillstore -o name", 0),
    ("versions quillstore --range >=1.2.0", 0),
    ("describe package quillstore", 0),
    ("describe bundle quillstore.v1.4.0", 0),
    ("path quillstore 1.0.0", 0),
    ("path quillstore 1.4.0 1.0.0", 1),
    ("successors quillstore quillstore.v1.1.0@1.1.0", 0),
    ("resolve quillstore --version <2.0.0", 0),
    ("resolve quillstore", 1),
    ("images quillstore --channel stable", 0),
    ("images quillstore --channel stable -o lines", 0),
    ("providers quillstore.example.com/Database", 0),
    ("diff example example", 0),
    ("compare quillstore 1.2.1 1.4.0", 0),
    ("graph quillstore", 0),
    ("graph quillstore -o lanes", 0),
    ("graph lampglow -o svg", 0),
    ("graph quillstore --channel stable -o mermaid", 0),
    ("graph quillstore --channel stable -o dot", 0),
    ("manifest quillstore --channel stable", 0),
    ("manifest quillstore --kind Subscription", 0),
    ("solve --want nightjar", 0),
    (
        "solve --want nightjar --want quillstore:candidate --explain",
        0,
    ),
    (
        "solve --want nightjar:stable --want quillstore@quillstore.v1.0.0",
        1,
    ),
    (
        "solve --want nightjar --want quillstore --installed quillstore.v1.1.0@1.1.0",
        0,
    ),
    ("solve --want quillstore@<1.4 --policy olm-v1", 0),
    ("solve --want nightjar -o mermaid", 0),
    ("solve --want quillstore@<1.4", 1),
    ("heads quillstor", 4),
];

/// Runs a command on a terminal of this width; returns what it shows.
fn on_terminal(server: &Server, width: u32, arguments: &str, status: i32) -> String {
    let words = arguments
        .split(' ')
        .map(|word| format!("'{word}'"))
        .collect::<Vec<_>>()
        .join(" ");
    let program = env!("CARGO_BIN_EXE_kubectl-catalog");
    let line = format!("stty cols {width} rows 50; exec '{program}' {words}");
    let mut command = Command::new("script");
    command
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .stdin(Stdio::null());
    // What the plugin itself would have.
    for (name, value) in server.plugin(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().expect("there is script(1), of util-linux");
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments}: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8(output.stdout)
        .expect("it prints UTF-8")
        .replace("\r\n", "\n")
}

#[test]
fn every_table_of_the_example_is_the_stored_one_on_narrow_usual_and_wide_terminals() {
    let server = example();
    for width in [60, 80, 200] {
        let mut shown = String::new();
        for (arguments, status) in COMMANDS {
            let text = on_terminal(&server, width, arguments, status);
            let _ = write!(shown, "$ kubectl catalog {arguments}\n{text}\n");
        }
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/testdata/at-{width}.txt"));
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&path, &shown).expect("files can be written");
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            shown == stored,
            "{} is not what is printed: {UPDATE}=1 writes it anew\n{shown}",
            path.display()
        );
    }
}
