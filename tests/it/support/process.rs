//! The program as a child process, and as much of HTTP as asking it needs.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use testing::{Folders, TEST_TIMEOUT, eventually, pause};

/// What the address line begins and ends with.
const ADDRESS: (&str, &str) = ("Listening on http", "/graphql");

/// What the lines after it begin with, where the pages were built.
const PAGES: [&str; 2] = ["Explorer at http", "Playground at http"];

/// How the program ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process that serves; killed at the end of the test.
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
    pub(crate) address: SocketAddr,
    /// What it printed before its address.
    pub(crate) table: Vec<String>,
}

/// The program, without what the environment of the test says.
pub(crate) fn catalogql() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_catalogql"));
    for name in ["CATALOGQL_LOG", "RUST_LOG", "XDG_CACHE_HOME", "HOME"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the program can be started");
    Output {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("it prints UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("it prints UTF-8"),
    }
}

impl Server {
    /// Serves with these arguments, on a port of its own and with a store in this folder, until it
    /// prints its address.
    pub(crate) fn start(folders: &Folders, arguments: &[&str]) -> Self {
        Self::start_as(catalogql(), folders, arguments)
    }

    /// Serves by a command that takes the arguments of the program.
    pub(crate) fn start_as(mut command: Command, folders: &Folders, arguments: &[&str]) -> Self {
        command
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--store",
                &folders.text("store"),
            ])
            .args(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let lines = lines_of(child.stdout.take().expect("it is a pipe"));
        let errors = lines_of(child.stderr.take().expect("it is a pipe"));
        let mut table = Vec::new();
        let address = loop {
            let Ok(line) = lines.recv_timeout(TEST_TIMEOUT) else {
                let errors: Vec<_> = errors.try_iter().collect();
                panic!("no address was printed: {table:?} {errors:?}");
            };
            match line
                .strip_prefix(ADDRESS.0)
                .and_then(|line| line.strip_suffix(ADDRESS.1))
            {
                Some(address) => {
                    break address
                        .trim_start_matches(['s', ':', '/'])
                        .parse()
                        .expect("an address");
                }
                None => table.push(line),
            }
        };
        Self {
            child,
            lines,
            errors,
            address,
            table,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of memory of the process that no file backs.
    pub(crate) fn anonymous_bytes(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.id())).expect("the server runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .expect("Linux tells it");
        let kib: u64 = line
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("a number");
        kib * 1024
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        // The shell's own command: not every machine has a program of this name.
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.id())])
            .status();
        assert!(sent.expect("there is a shell").success());
    }

    /// Waits until it ends by itself. Gives its status, and what it printed besides its table and
    /// its addresses, both as lines.
    pub(crate) fn ended(mut self) -> (ExitStatus, Vec<String>, Vec<String>) {
        let status = eventually(|| self.child.try_wait().expect("it is a child"));
        let printed = self
            .lines
            .iter()
            .filter(|line| !PAGES.iter().any(|page| line.starts_with(page)))
            .collect();
        (status, printed, self.errors.iter().collect())
    }

    /// Asks until the answer is this one.
    pub(crate) fn answers_in_time(&self, query: &str, expected: &str) {
        let mut answer = String::new();
        let started = Instant::now();
        while started.elapsed() < TEST_TIMEOUT {
            answer = graphql(self.address, query);
            if answer == expected {
                return;
            }
            pause();
        }
        assert_eq!(answer, expected);
    }

    /// Waits for a log line that says this.
    pub(crate) fn logs(&self, text: &str) -> String {
        loop {
            let line = self
                .errors
                .recv_timeout(TEST_TIMEOUT)
                .unwrap_or_else(|error| panic!("{text} is not logged: {error}"));
            if line.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks a GraphQL query and gives the body of the answer.
pub(crate) fn graphql(address: SocketAddr, query: &str) -> String {
    graphql_at(address, "/graphql", query)
}

/// As [`graphql`], of another endpoint.
pub(crate) fn graphql_at(address: SocketAddr, path: &str, query: &str) -> String {
    let body = serde_json::json!({ "query": query }).to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json"
    );
    let (status, body) = exchange(
        address,
        &format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()),
    );
    assert_eq!(status, 200, "{body}");
    body
}

/// The path of a query that is sent by `GET`.
pub(crate) fn graphql_path(query: &str) -> String {
    let mut path = "/graphql?query=".to_owned();
    for byte in query.bytes() {
        write!(path, "%{byte:02X}").expect("a string takes all");
    }
    path
}

/// The status and the body of a resource.
pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    exchange(
        address,
        &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
    )
}

fn exchange(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect_timeout(&address, TEST_TIMEOUT).expect("it listens");
    stream
        .set_read_timeout(Some(TEST_TIMEOUT))
        .expect("a time-out can be set");
    stream
        .write_all(request.as_bytes())
        .expect("it reads requests");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("it answers in UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("an answer has a status");
    (status, body.to_owned())
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    // Ends with the stream, or when nobody receives any more.
    thread::spawn(move || {
        BufReader::new(stream)
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    lines
}
