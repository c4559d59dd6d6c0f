//! `watch`: what it prints while catalogs change, and how it ends.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};
use testing::eventually;

use crate::support::Server;

const ONE: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0";

const TWO: &str = "
    package etcd default=stable
    channel stable: v1.1.0 <- v1.2.0 <- v1.3.0";

/// Requests that the plugin sends before it waits for events: the subscription, and then what is served.
const REQUESTS: usize = 2;

/// Starts `watch`, and waits until it knows what is served: later changes are reported, and earlier ones are not.
fn watch(server: &Server, arguments: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let before = server.statuses().len();
    let mut child = server.plugin(&[&["watch"], arguments].concat());
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    eventually(|| (server.statuses().len() >= before + REQUESTS).then_some(()));
    let lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    (child, lines)
}

fn words(lines: &mut Lines<BufReader<ChildStdout>>) -> Vec<String> {
    let line = lines.next().expect("it goes on").expect("it prints text");
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn each_change_of_a_catalog_is_printed_at_once_until_nobody_reads() {
    let server = Server::start();
    server.serve_fixture("community", ONE, 0);
    let (child, mut lines) = watch(&server, &[]);
    server.serve_fixture("community", TWO, 0);
    assert_eq!(words(&mut lines), ["TIME", "CATALOG", "CHANGE", "PACKAGES", "+BUNDLES", "-BUNDLES"]);
    assert_eq!(words(&mut lines)[1..], ["community", "changed", "1", "2", "1"]);
    server.serve_fixture("other", ONE, 0);
    assert_eq!(words(&mut lines)[1..], ["other", "added", "<none>", "<none>", "<none>"]);
    server.withdraw("other");
    assert_eq!(words(&mut lines)[1..], ["other", "removed", "<none>", "<none>", "<none>"]);
    drop(lines);
    server.serve_fixture("community", ONE, 0);
    let output = child.wait_with_output().expect("it is a child");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn programs_read_changes_of_the_catalogs_that_they_name_as_lines_of_json() {
    let server = Server::start();
    server.serve_fixture("community", ONE, 0);
    let (mut child, mut lines) = watch(&server, &["--catalog", "community", "-o", "json"]);
    server.serve_fixture("other", ONE, 0);
    server.serve_fixture("community", TWO, 0);
    let line = lines.next().expect("it goes on").expect("it prints text");
    let mut change: Value = serde_json::from_str(&line).expect("a line is JSON");
    let (time, digest) = (change["time"].take(), change["toDigest"].take());
    assert!(time.as_str().is_some_and(|time| time.ends_with('Z') && time.len() == "2026-11-21T00:00:00Z".len()));
    let from = change["fromDigest"].take();
    assert!(digest.as_str().is_some_and(|digest| digest.starts_with("sha256:")) && from != digest, "{line}");
    let expected = json!({
        "time": null, "catalog": "community", "change": "changed", "fromDigest": null, "toDigest": null,
        "packages": 1, "bundlesAdded": 2, "bundlesRemoved": 1,
    });
    assert_eq!(change, expected);
    child.kill().expect("it runs");
    child.wait().expect("it is a child");
}
