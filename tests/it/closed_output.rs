//! Output whose reader goes away early, as `head` does: it changes no exit status and stops no
//! server.

use std::io::{BufRead, BufReader, pipe};
use std::process::Stdio;

use testing::fixed_port;

use crate::support::{
    ETCD, Folders, PACKAGES, catalogql, eventually, graphql, packages, run, send_request,
};

/// Number of runs of each command.
const RUNS: usize = 6;

/// Runs a command whose output is closed after a number of lines; returns its exit status and its
/// errors.
fn run_closed_after(lines: usize, arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = pipe().expect("a pipe can be made");
    // One byte at a time, so that nothing behind these lines is taken from the pipe.
    let mut reader = BufReader::with_capacity(1, reader);
    let mut command = catalogql();
    command
        .args(arguments)
        .stdout(writer)
        .stderr(Stdio::piped());
    if lines == 0 {
        // Before the program starts, so that it can write nothing.
        drop(reader);
        let output = run(&mut command);
        return (output.status, output.stderr);
    }
    let child = command.spawn().expect("the program can be started");
    drop(command);
    for _ in 0..lines {
        reader.skip_until(b'\n').expect("the pipe can be read");
    }
    drop(reader);
    let output = child.wait_with_output().expect("it is a child");
    (
        output.status.code(),
        String::from_utf8(output.stderr).expect("it prints UTF-8"),
    )
}

#[test]
fn the_exit_status_does_not_depend_on_who_reads() {
    let folders = Folders::new();
    // The output of each is longer than what a pipe holds, so that it is cut off also behind its
    // first line.
    let names: Vec<_> = (0..1500).map(|patch| format!("v1.0.{patch}")).collect();
    let package = "package etcd default=stable\nchannel stable:";
    folders.catalog("faulty", &format!("{package} {}?", names.join("? , ")));
    folders.catalog("good", &format!("{package} {}", names.join(" <- ")));
    let faulty = folders.text("faulty");
    let good = folders.text("good");
    let cases: [(i32, &[&str]); 10] = [
        (1, &["validate", &faulty]),
        (1, &["validate", "-o", "json", &faulty]),
        (0, &["validate", &good]),
        (0, &["graph", &good, "etcd"]),
        (0, &["graph", "-o", "json", &good, "etcd"]),
        (0, &["graph", "-o", "svg", &good, "etcd"]),
        (0, &["resolve", &good, "etcd"]),
        (1, &["resolve", &good, "nowhere"]),
        (1, &["resolve", "-o", "json", &good, "nowhere"]),
        (0, &["completion", "bash"]),
    ];
    for (status, arguments) in cases {
        for number in 0..RUNS {
            let (ended, errors) = run_closed_after(number % 2, arguments);
            assert_eq!(
                ended,
                Some(status),
                "{arguments:?} in run {number}: {errors}"
            );
            // Only the answer that there is no such package goes to the standard error output.
            let is_answer = errors.starts_with("error: no bundles found for package");
            assert!(errors.is_empty() || is_answer, "{arguments:?}: {errors}");
        }
    }
}

#[test]
fn a_server_goes_on_when_nobody_reads_what_it_prints() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let (reader, writer) = pipe().expect("a pipe can be made");
    drop(reader);
    // The address is not printed to anybody, so that it must be known before.
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], fixed_port()));
    let mut command = catalogql();
    command.args([
        "serve",
        &folders.text("etcd"),
        "--listen",
        &address.to_string(),
        "--store",
        &folders.text("store"),
    ]);
    let mut child = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    eventually(|| {
        assert_eq!(
            child.try_wait().expect("it is a child"),
            None,
            "the server goes on"
        );
        std::net::TcpStream::connect(address).ok()?;
        (send_request(address, "GET", "/readyz", &[]).status == 200).then_some(())
    });
    assert_eq!(graphql(address, PACKAGES), packages(&["etcd"]));
    run(std::process::Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]));
    let output = child.wait_with_output().expect("it is a child");
    let errors = String::from_utf8(output.stderr).expect("it prints UTF-8");
    assert!(
        output.status.success() && errors.contains("SIGTERM"),
        "{}: {errors}",
        output.status
    );
}
