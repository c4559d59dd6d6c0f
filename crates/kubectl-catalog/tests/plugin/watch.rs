//! `watch`: what it prints while catalogs change, and how it ends.

use std::io::{BufRead as _, BufReader, Lines, Read as _};
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

/// Requests that the plugin sends before it waits for events: the subscription, and then what is
/// served. Catalogs that are named are looked for before these.
const REQUESTS: usize = 2;

/// A running `watch`; killed when it is dropped.
struct Watch {
    child: Child,
    /// What it prints; `None` when nobody reads it any more.
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl Watch {
    /// Starts it, and waits until it knows what is served: later changes are reported, and earlier
    /// ones are not.
    fn start(server: &Server, arguments: &[&str]) -> Self {
        let requests = REQUESTS + usize::from(arguments.contains(&"--catalog"));
        Self::start_command(server, &[&["watch"], arguments].concat(), requests)
    }

    /// Starts a command, and waits until it has sent this number of requests.
    fn start_command(server: &Server, arguments: &[&str], requests: usize) -> Self {
        let before = server.statuses().len();
        let mut child = server.plugin(arguments);
        let mut child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let lines = child
            .stdout
            .take()
            .map(|stdout| BufReader::new(stdout).lines());
        let watch = Self { child, lines };
        eventually(|| (server.statuses().len() >= before + requests).then_some(()));
        watch
    }

    fn line(&mut self) -> String {
        let lines = self.lines.as_mut().expect("somebody reads");
        lines.next().expect("it goes on").expect("it prints text")
    }

    fn words(&mut self) -> Vec<String> {
        self.line().split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = (self.child.kill(), self.child.wait());
    }
}

#[test]
fn each_change_of_a_catalog_is_printed_at_once_until_nobody_reads() {
    let server = Server::start();
    server.serve_fixture("community", ONE, 0);
    let mut watch = Watch::start(&server, &[]);
    server.serve_fixture("community", TWO, 0);
    assert_eq!(
        watch.words(),
        [
            "TIME", "CATALOG", "CHANGE", "PACKAGES", "+BUNDLES", "-BUNDLES"
        ]
    );
    assert_eq!(watch.words()[1..], ["community", "changed", "1", "2", "1"]);
    server.serve_fixture("other", ONE, 0);
    assert_eq!(
        watch.words()[1..],
        ["other", "added", "<none>", "<none>", "<none>"]
    );
    server.withdraw("other");
    assert_eq!(
        watch.words()[1..],
        ["other", "removed", "<none>", "<none>", "<none>"]
    );
    watch.lines = None;
    server.serve_fixture("community", ONE, 0);
    let status = watch.child.wait().expect("it is a child");
    let mut stderr = String::new();
    watch
        .child
        .stderr
        .take()
        .expect("it is a pipe")
        .read_to_string(&mut stderr)
        .expect("it prints text");
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn programs_read_changes_of_the_catalogs_that_they_name_as_lines_of_json() {
    let server = Server::start();
    server.serve_fixture("community", ONE, 0);
    let mut watch = Watch::start(&server, &["--catalog", "community", "-o", "json"]);
    server.serve_fixture("other", ONE, 0);
    server.serve_fixture("community", TWO, 0);
    let line = watch.line();
    let mut change: Value = serde_json::from_str(&line).expect("a line is JSON");
    let time = change["time"].take();
    let digest = change["toDigest"].take();
    assert!(
        time.as_str()
            .is_some_and(|time| time.ends_with('Z') && time.len() == "2026-11-21T00:00:00Z".len())
    );
    let from = change["fromDigest"].take();
    assert!(
        digest
            .as_str()
            .is_some_and(|digest| digest.starts_with("sha256:"))
            && from != digest,
        "{line}"
    );
    let expected = json!({
        "time": null, "catalog": "community", "change": "changed", "fromDigest": null, "toDigest": null,
        "packages": 1, "bundlesAdded": 2, "bundlesRemoved": 1,
    });
    assert_eq!(change, expected);
}

#[test]
fn get_prints_the_objects_that_change_until_it_is_interrupted() {
    let server = Server::start();
    server.serve_fixture("community", ONE, 0);
    let arguments = ["get", "bundles", "--watch", "-o", "name"];
    // What is served and the list, before those of the events.
    let mut watch = Watch::start_command(&server, &arguments, 2 + REQUESTS);
    let name = |version: &str| format!("bundle/community/etcd/etcd.{version}");
    assert_eq!([watch.line(), watch.line()], ["v1.1.0", "v1.0.0"].map(name));
    server.serve_fixture("community", TWO, 0);
    // That of v1.1.0 is no change.
    assert_eq!([watch.line(), watch.line()], ["v1.3.0", "v1.2.0"].map(name));
    let stderr = watch.child.stderr.take().expect("it is a pipe");
    let gone = BufReader::new(stderr).lines().next();
    let gone = gone.expect("it goes on").expect("it prints text");
    assert_eq!(gone, format!("{} is gone", name("v1.0.0")));
}
