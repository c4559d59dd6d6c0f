//! Pages whose commands are followed from top to bottom, in a folder of their own: each command succeeds and prints what
//! the page shows.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{ETCD, Folders, Output, run};

/// A block of a page: its language and its text.
type Block<'a> = (&'a str, &'a str);

/// What is replaced in commands, and in what they print.
type Replacement<'a> = (&'a str, &'a str);

/// A folder in which commands are run one after the other.
struct Walkthrough<'a> {
    folders: &'a Folders,
    replaced: Vec<Replacement<'a>>,
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
        let (language, after) = rest[start + 4..].split_once('\n').expect("a block has a first line");
        let (text, after) = after.split_once("```\n").expect("a block ends");
        found.push((language, text));
        rest = after;
    }
    found
}

impl<'a> Walkthrough<'a> {
    fn new(folders: &'a Folders, replaced: &[Replacement<'a>]) -> Self {
        Self { folders, replaced: replaced.to_vec(), servers: Vec::new() }
    }

    fn shell(&self, command: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_catalogql")).parent().expect("a program is in a folder");
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-ec", command]).env("PATH", path).env("HOME", self.folders.path("home"));
        shell.current_dir(self.folders.path("work")).env_remove("XDG_CACHE_HOME").env_remove("CATALOGQL_LOG");
        shell
    }

    /// Runs the commands of a page, and returns how many.
    fn follow(&mut self, page: &str) -> usize {
        let blocks = blocks(page);
        let mut commands = 0;
        for (number, (language, text)) in blocks.iter().enumerate().filter(|(_, (language, _))| *language == "sh") {
            let command = self.replaced.iter().fold((*text).to_owned(), |text, (from, to)| text.replace(from, to));
            assert_eq!(*language, "sh");
            commands += 1;
            if command.starts_with("catalogql serve ") {
                let mut server = self.shell(&format!("exec {command}"));
                server.stdout(Stdio::null()).stderr(Stdio::null());
                self.servers.push(server.spawn().expect("there is a shell"));
                continue;
            }
            let Output { status, stdout, stderr } = run(&mut self.shell(&command));
            assert_eq!((status, stderr.as_str()), (Some(0), ""), "{command}");
            if let Some(("text", expected)) = blocks.get(number + 1) {
                let shown = self.replaced.iter().fold(stdout, |text, (from, to)| text.replace(to, from));
                let shown: String = shown.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
                assert_eq!(&shown, expected, "{command}");
            }
        }
        commands
    }
}

fn page(name: &str) -> String {
    fs::read_to_string(format!("{}/docs/how-to/{name}.md", env!("CARGO_MANIFEST_DIR"))).expect("the page is there")
}

#[test]
fn pull_requests_are_checked_as_the_page_says() {
    let folders = Folders::new();
    let old = ETCD.replace("etcd", "lantern").replace("v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1", "v1.0.0");
    folders.catalog("work/catalog", &old);
    let mut walkthrough = Walkthrough::new(&folders, &[]);
    let git = "git init --quiet --initial-branch main . && git add . && \
               git -c user.name=me -c user.email=me@example.com commit --quiet --message first && \
               git checkout --quiet -b change";
    let committed = run(&mut walkthrough.shell(git));
    assert_eq!((committed.status, committed.stderr.as_str()), (Some(0), ""));
    folders.catalog("work/catalog", &old.replace("v1.0.0", "v1.0.0 <- v1.1.0"));
    folders.write("work/catalog/extra.yaml", "# Not known.\nschema: olm.unknown\n");
    assert_eq!(walkthrough.follow(&page("gate-pull-requests")), 6);
    let sarif = fs::read_to_string(folders.path("work/problems.sarif")).expect("it is written");
    assert!(sarif.contains("\"uri\": \"catalog/extra.yaml\""), "{sarif}");
}
