//! Pages whose commands are followed from top to bottom, in a folder of their own: each command
//! succeeds and prints what the page shows.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use testing::{TEST_TIMEOUT, fixed_port};

use crate::support::{ETCD, Folders, Output, Registry, run};

/// A block of a page: its language and its text.
type Block<'a> = (&'a str, &'a str);

/// What is replaced in commands, and in what they print.
type Replacement<'a> = (&'a str, &'a str);

/// A folder in which commands are run one after the other.
struct Walkthrough<'a> {
    folders: &'a Folders,
    replaced: Vec<Replacement<'a>>,
    /// Hosts that are reached without TLS.
    insecure: String,
    /// Commands that serve; killed at the end.
    servers: Vec<Child>,
}

impl Drop for Walkthrough<'_> {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = (server.kill(), server.wait());
        }
    }
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find("\n```") {
        let (language, after) = rest[start + 4..]
            .split_once('\n')
            .expect("a block has a first line");
        let (text, after) = after.split_once("```\n").expect("a block ends");
        found.push((language, text));
        rest = after;
    }
    found
}

impl<'a> Walkthrough<'a> {
    fn new(folders: &'a Folders, replaced: &[Replacement<'a>]) -> Self {
        let insecure = replaced
            .iter()
            .map(|(_, to)| *to)
            .collect::<Vec<_>>()
            .join(",");
        Self {
            folders,
            replaced: replaced.to_vec(),
            insecure,
            servers: Vec::new(),
        }
    }

    fn shell(&self, command: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_catalogql"))
            .parent()
            .expect("a program is in a folder");
        let path = format!(
            "{}:{}",
            program.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", command])
            .env("PATH", path)
            .env("HOME", self.folders.path("home"));
        shell
            .current_dir(self.folders.path("work"))
            .env_remove("XDG_CACHE_HOME")
            .env_remove("CATALOGQL_LOG");
        if !self.insecure.is_empty() {
            shell.env("CATALOGQL_INSECURE_REGISTRY", &self.insecure);
        }
        shell
    }

    /// Runs the commands of a page, and returns how many.
    fn follow(&mut self, page: &str) -> usize {
        let blocks = blocks(page);
        let mut commands = 0;
        for (number, (_, text)) in blocks
            .iter()
            .enumerate()
            .filter(|(_, (language, _))| *language == "sh")
        {
            let command = self
                .replaced
                .iter()
                .fold((*text).to_owned(), |text, (from, to)| {
                    text.replace(from, to)
                });
            commands += 1;
            if command.starts_with("catalogql serve ") {
                self.serve(&command);
                continue;
            }
            let expected = blocks
                .get(number + 1)
                .filter(|(language, _)| *language == "text")
                .map(|(_, text)| *text);
            self.run(&command, expected);
        }
        commands
    }

    /// Serves until the end, and returns when clients are listened to.
    fn serve(&mut self, command: &str) {
        let mut server = self.shell(&format!("exec {command}"));
        let mut server = server
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let mut lines = BufReader::new(server.stdout.take().expect("it is a pipe"))
            .lines()
            .map_while(Result::ok);
        self.servers.push(server);
        assert!(
            lines.any(|line| line.starts_with("Listening on ")),
            "{command}"
        );
    }

    /// Runs a command, and compares what it prints. A client asks again until the server has what
    /// the page shows.
    fn run(&self, command: &str, expected: Option<&str>) {
        let print = || {
            let Output {
                status,
                stdout,
                stderr,
            } = run(&mut self.shell(command));
            assert_eq!((status, stderr.as_str()), (Some(0), ""), "{command}");
            let shown = self
                .replaced
                .iter()
                .fold(stdout, |text, (from, to)| text.replace(to, from));
            shown
                .lines()
                .map(|line| line.trim_end().to_owned() + "\n")
                .collect::<String>()
        };
        let started = Instant::now();
        let mut shown = print();
        while expected.is_some_and(|expected| shown != expected) {
            let is_client = command.starts_with("curl ") && started.elapsed() < TEST_TIMEOUT;
            assert!(
                is_client,
                "{command} prints {shown}instead of {}",
                expected.unwrap_or_default()
            );
            shown = print();
        }
    }
}

fn page(name: &str) -> String {
    fs::read_to_string(format!(
        "{}/docs/how-to/{name}.md",
        env!("CARGO_MANIFEST_DIR")
    ))
    .expect("the page is there")
}

#[test]
fn pull_requests_are_checked_as_the_page_says() {
    let folders = Folders::new();
    let old = ETCD
        .replace("etcd", "lantern")
        .replace("v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1", "v1.0.0");
    folders.catalog("work/catalog", &old);
    let mut walkthrough = Walkthrough::new(&folders, &[]);
    let git = "git init --quiet --initial-branch main . && git add . && \
               git -c user.name=me -c user.email=me@example.com commit --quiet --message first && \
               git checkout --quiet -b change";
    let committed = run(&mut walkthrough.shell(git));
    assert_eq!((committed.status, committed.stderr.as_str()), (Some(0), ""));
    folders.catalog("work/catalog", &old.replace("v1.0.0", "v1.0.0 <- v1.1.0"));
    folders.write(
        "work/catalog/extra.yaml",
        "# Not known.\nschema: olm.unknown\n",
    );
    assert_eq!(walkthrough.follow(&page("gate-pull-requests")), 6);
    let sarif = fs::read_to_string(folders.path("work/problems.sarif")).expect("it is written");
    assert!(sarif.contains("\"uri\": \"catalog/extra.yaml\""), "{sarif}");
}

#[test]
fn a_catalog_is_made_served_updated_and_published_as_the_page_says() {
    let folders = Folders::new();
    let registry = Registry::start();
    fs::create_dir(folders.path("work")).expect("folders can be made");
    let host = registry.address.to_string();
    let address = format!("127.0.0.1:{}", fixed_port());
    let text = page("make-a-catalog").replace(
        "catalogql serve --watch catalog",
        &format!(
            "catalogql serve --watch catalog --listen {address} --store {}",
            folders.text("store")
        ),
    );
    let replaced = [("127.0.0.1:8080", &*address), ("quay.io", &*host)];
    assert_eq!(Walkthrough::new(&folders, &replaced).follow(&text), 9);
}

#[test]
fn a_catalog_is_exported_as_the_page_says() {
    let folders = Folders::new();
    fs::create_dir(folders.path("work")).expect("folders can be made");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    symlink(examples, folders.path("work/examples")).expect("links can be made");
    let page = page("ask-with-duckdb");
    assert_eq!(Walkthrough::new(&folders, &[]).follow(&page), 3);
}

#[test]
fn assistants_ask_as_the_page_says() {
    let folders = Folders::new();
    fs::create_dir(folders.path("work")).expect("folders can be made");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    symlink(examples, folders.path("work/examples")).expect("links can be made");
    let address = format!("127.0.0.1:{}", fixed_port());
    let text = page("assistants").replace(
        "catalogql serve --mcp example=examples/catalog",
        &format!(
            "catalogql serve --mcp example=examples/catalog --listen {address} --store {}",
            folders.text("store")
        ),
    );
    let replaced = [("127.0.0.1:8080", &*address)];
    assert_eq!(Walkthrough::new(&folders, &replaced).follow(&text), 4);
}

#[test]
fn templates_are_rendered_and_catalogs_converted_as_the_page_says() {
    let folders = Folders::new();
    fs::create_dir(folders.path("work")).expect("folders can be made");
    let page = page("use-templates");
    assert_eq!(Walkthrough::new(&folders, &[]).follow(&page), 6);
}
