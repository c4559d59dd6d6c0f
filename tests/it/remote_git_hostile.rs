//! Git repositories and servers that no honest person makes, as a user meets them: each is refused with
//! its cause.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::support::{
    ETCD, GitRepository, Proxy, ProxyAction, RecordedRequest, catalogql, http_backend, lines,
    respond, run,
};

/// Runs `validate` over a repository on a server, and returns its status and what it printed.
fn validate(proxy: &Proxy, rest: &str) -> (Option<i32>, String) {
    let host = proxy.address.to_string();
    let source = format!("git+http://{host}/repository/.git{rest}");
    let output = run(catalogql().args(["validate", "--insecure-registry", &host, &source]));
    (output.status, output.stdout + &output.stderr)
}

/// Returns what `validate` prints over a repository that is refused.
fn refused(proxy: &Proxy, rest: &str) -> String {
    let (status, said) = validate(proxy, rest);
    assert_eq!(status, Some(2), "{said}");
    said
}

fn serving(script: impl Fn(&RecordedRequest) -> ProxyAction + Send + Sync + 'static) -> Proxy {
    Proxy::start(SocketAddr::from(([127, 0, 0, 1], 1)), script)
}

#[test]
fn a_path_or_a_ref_that_leads_to_no_folder_is_refused_with_what_it_is() {
    let Some(repository) = GitRepository::new() else {
        return;
    };
    repository.write("prod/catalog.json", &lines(ETCD));
    let commit = repository.commit();
    let blob = repository.git(&["rev-parse", "HEAD:prod/catalog.json"]);
    let folder = repository.git(&["rev-parse", "HEAD:prod"]);
    repository.commit_tree(&[
        ("120000", b"link", &repository.blob("prod")),
        ("40000", b"prod", &folder),
        ("160000", b"sub", &commit),
    ]);
    repository.git(&["update-ref", "refs/tags/blob", &blob]);
    repository.git(&["update-ref", "refs/tags/tree", &folder]);
    repository.git(&["branch", "both"]);
    repository.git(&["tag", "both"]);
    let proxy = repository.serve();
    for (rest, expected) in [
        ("#path=absent", "the commit has no `absent`"),
        ("#path=prod/absent/x", "the commit has no `prod/absent`"),
        ("#path=link", "`link` is a symbolic link"),
        ("#path=link/x", "`link` is a symbolic link"),
        ("#path=sub", "`sub` is a submodule"),
        ("#path=prod/catalog.json/x", "`prod/catalog.json` is a file"),
        ("#path=../x", "the commit has no `..`"),
        ("", "`sub` is a submodule"),
        ("@absent#path=prod", "it has no branch or tag `absent`"),
        (
            "@refs/heads/absent#path=prod",
            "it has no ref `refs/heads/absent`",
        ),
        ("@blob", "names a blob, not a commit"),
        ("@tree", "names a tree, not a commit"),
        ("@both", "`both` is both a branch and a tag"),
    ] {
        let said = refused(&proxy, rest);
        assert!(said.contains(expected), "{rest}: {said}");
    }
    let absent = format!("@{}#path=prod", "0".repeat(40));
    assert!(refused(&proxy, &absent).contains("the server says: "));
}

#[test]
fn entries_of_a_folder_that_are_no_files_of_it_are_refused() {
    let Some(repository) = GitRepository::new() else {
        return;
    };
    let etcd = repository.blob(&lines(ETCD));
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 5\n",
        "0".repeat(64)
    );
    let pointer = repository.blob(&pointer);
    let out = repository.blob("../../etc/passwd");
    let round = repository.blob("round.json");
    let inner = repository.tree(&[("100644", b"catalog.json", &etcd)]);
    let proxy = repository.serve();
    let long = [b'a'; 256];
    for (mode, name, id, expected) in [
        ("100644", &b".."[..], &etcd, "an entry with the name `..`"),
        ("100644", b".GiT", &etcd, "an entry with the name `.GiT`"),
        ("40000", b"git~1", &inner, "an entry with the name `git~1`"),
        ("100644", b"a/b", &etcd, "an entry with the name `a/b`"),
        ("100644", b"\xff", &etcd, "an entry with the name"),
        ("100644", &long, &etcd, "an entry with the name `aaa"),
        (
            "100644",
            b"catalog.json",
            &etcd,
            "`catalog.json` occurs twice",
        ),
        ("160000", b"sub", &etcd, "`sub` is a submodule"),
        (
            "100644",
            b"lfs.json",
            &pointer,
            "`lfs.json` is a pointer of Git LFS",
        ),
        (
            "120000",
            b"out.json",
            &out,
            "the link `out.json` leads to `/etc/passwd` of the catalog, which does not exist",
        ),
        (
            "120000",
            b"round.json",
            &round,
            "passes too many other links",
        ),
    ] {
        repository.commit_tree(&[("100644", b"catalog.json", &etcd), (mode, name, id)]);
        let said = refused(&proxy, "@main");
        assert!(said.contains(expected), "{expected}: {said}");
    }
    // The top is the first folder, and `deep` the second one.
    for (folders, expected) in [(62, None), (63, Some("lies in more than 64 folders"))] {
        let mut deep = inner.clone();
        for _ in 0..folders {
            deep = repository.tree(&[("40000", b"d", &deep)]);
        }
        repository.commit_tree(&[("40000", b"deep", &deep)]);
        match expected {
            None => {
                let (status, said) = validate(&proxy, "@main");
                assert_eq!(status, Some(0), "{said}");
            }
            Some(expected) => {
                let said = refused(&proxy, "@main");
                assert!(said.contains(expected), "{said}");
            }
        }
    }
    // Each folder names the next one ten times: a million entries of six trees.
    let mut wide = inner;
    for _ in 0..6 {
        let names: Vec<_> = (0..10_u8).map(|number| [b'a' + number]).collect();
        let entries: Vec<_> = names
            .iter()
            .map(|name| ("40000", &name[..], &*wide))
            .collect();
        wide = repository.tree(&entries);
    }
    repository.commit_tree(&[("40000", b"wide", &wide)]);
    let said = refused(&proxy, "@main");
    assert!(
        said.contains("more than 200000 files, folders and links"),
        "{said}"
    );
}

#[test]
fn a_server_without_version_2_or_with_too_many_refs_or_none_is_refused() {
    let Some(repository) = GitRepository::new() else {
        return;
    };
    repository.write("catalog.json", &lines(ETCD));
    repository.commit();
    let upstream = repository.serve();
    // A server that does not pass the header on to git.
    let old = Proxy::start(upstream.address, |request| {
        let mut response = request.forward();
        let is_first = request.target.ends_with("service=git-upload-pack");
        if is_first {
            response.body = b"001e# service=git-upload-pack\n0000003d95d09f2b10159347eece71399a7e2e907ea3df4f refs/heads/main\n0000".to_vec();
        }
        ProxyAction::Respond(response)
    });
    let said = refused(&old, "@main");
    assert!(
        said.contains("offers only version 0 of git's protocol"),
        "{said}"
    );
    let dumb = serving(|_| respond(200, &[("content-type", "text/plain")], ""));
    let said = refused(&dumb, "@main");
    assert!(said.contains("only the dumb HTTP protocol"), "{said}");

    let advertisement = "000eversion 2\n000bfetch=\n0000";
    for (count, expected) in [
        (15_000, "it has no branch or tag `main`"),
        (20_000, "more than 1048576 bytes of refs"),
    ] {
        let mut refs = String::new();
        for number in 0..count {
            let line =
                format!("95d09f2b10159347eece71399a7e2e907ea3df4f refs/heads/main-{number}\n");
            write!(refs, "{:04x}{line}", line.len() + 4).unwrap();
        }
        refs += "0000";
        let crowded = serving(move |request| match &*request.method {
            "GET" => respond(
                200,
                &[(
                    "content-type",
                    "application/x-git-upload-pack-advertisement",
                )],
                advertisement,
            ),
            _ => respond(200, &[], &refs),
        });
        let said = refused(&crowded, "@main");
        assert!(said.contains(expected), "{said}");
    }

    let root = repository.folders.path("");
    let erring = serving(move |request| match &*request.method {
        "GET" => ProxyAction::Respond(http_backend(&root, request)),
        _ => respond(200, &[], "0010ERR go away\n"),
    });
    let said = refused(&erring, "@main");
    assert!(said.contains("the server says: go away"), "{said}");
}
