//! Real repositories of git, and its own server for them behind HTTP.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Folders, HttpResponse, Proxy, ProxyAction, RecordedRequest, report_skipped};

/// A repository with a work tree.
pub(crate) struct GitRepository {
    pub(crate) folders: Folders,
}

impl GitRepository {
    /// Creates a repository with a branch `main`; `None` if the machine has no git.
    #[track_caller]
    pub(crate) fn new() -> Option<Self> {
        let found = Command::new("git").arg("http-backend").output();
        let is_there = found.is_ok_and(|output| {
            // Without a request it complains of that.
            !String::from_utf8_lossy(&output.stderr).contains("is not a git command")
        });
        if !is_there {
            report_skipped(
                "git",
                "there is no git with git-http-backend",
                "install git",
            );
            return None;
        }
        let repository = Self {
            folders: Folders::new(),
        };
        repository.git(&["init", "--quiet", "--initial-branch=main", "."]);
        for (name, value) in [
            ("http.receivepack", "false"),
            ("uploadpack.allowFilter", "true"),
            ("gc.auto", "0"),
        ] {
            repository.git(&["config", name, value]);
        }
        Some(repository)
    }

    /// The folder of the work tree.
    fn folder(&self) -> PathBuf {
        let folder = self.folders.path("repository");
        std::fs::create_dir_all(&folder).expect("it can be created");
        folder
    }

    /// Runs git with an input, and returns what it printed.
    pub(crate) fn git_with(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = Command::new("git")
            .args(arguments)
            .current_dir(self.folder())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .envs([
                ("GIT_AUTHOR_NAME", "Tester"),
                ("GIT_AUTHOR_EMAIL", "tester@example.com"),
                ("GIT_COMMITTER_NAME", "Tester"),
                ("GIT_COMMITTER_EMAIL", "tester@example.com"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("there is git");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input).expect("git reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, b"")
    }

    /// Writes a file of the work tree.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.folder();
        self.folders.write(&format!("repository/{path}"), text);
    }

    /// Commits all files of the work tree, and returns the id of the commit.
    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Moves `main` to a commit whose tree has these raw entries: mode, name and id.
    pub(crate) fn commit_tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let tree = self.tree(entries);
        let commit = self.git(&["commit-tree", "-m", "x", &tree]);
        self.git(&["update-ref", "refs/heads/main", &commit]);
        commit
    }

    /// Writes a tree with these raw entries, which git itself would refuse, and returns its id.
    pub(crate) fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut raw = Vec::new();
        for (mode, name, id) in entries {
            raw.extend_from_slice(mode.as_bytes());
            raw.push(b' ');
            raw.extend_from_slice(name);
            raw.push(0);
            let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("it is an id");
            raw.extend((0..id.len()).step_by(2).map(byte));
        }
        let arguments = ["hash-object", "-t", "tree", "-w", "--stdin", "--literally"];
        self.git_with(&arguments, &raw)
    }

    /// Writes a blob, and returns its id.
    pub(crate) fn blob(&self, text: &str) -> String {
        self.git_with(&["hash-object", "-w", "--stdin"], text.as_bytes())
    }

    /// Serves the folder with the repository by git's own server.
    pub(crate) fn serve(&self) -> Proxy {
        let root = self.folders.path("");
        serving(move |request| ProxyAction::Respond(http_backend(&root, request)))
    }
}

/// A server without anything behind it.
fn serving(script: impl Fn(&RecordedRequest) -> ProxyAction + Send + Sync + 'static) -> Proxy {
    Proxy::start(SocketAddr::from(([127, 0, 0, 1], 1)), script)
}

/// Lets `git http-backend`, a CGI program, answer a request for a repository below a folder.
pub(crate) fn http_backend(root: &Path, request: &RecordedRequest) -> HttpResponse {
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_LENGTH", request.body().len().to_string())
        .env(
            "CONTENT_TYPE",
            request.header("content-type").unwrap_or_default(),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(version) = request.header("git-protocol") {
        command.env("GIT_PROTOCOL", version);
    }
    let mut child = command.spawn().expect("there is git");
    // It may answer without reading all.
    let _ = child
        .stdin
        .take()
        .expect("it is piped")
        .write_all(request.body());
    let output = child.wait_with_output().expect("it ends").stdout;
    let end = output
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .expect("it sends a head");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let mut headers: Vec<_> = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let status = headers
        .iter()
        .position(|(name, _)| name == "status")
        .map_or("200".to_owned(), |at| headers.remove(at).1);
    HttpResponse {
        status: status[..3].parse().expect("it begins with a number"),
        headers,
        body: output[end + 4..].to_vec(),
    }
}
