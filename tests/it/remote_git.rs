//! Catalogs in git repositories, as a user meets them: real repositories behind `git http-backend`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::support::{
    ARGO, ETCD, Folders, GitRepository, PACKAGES, Proxy, ProxyAction, RecordedRequest, Server,
    catalogql, eventually, graphql, http_backend, lines, packages, respond, run,
};

const VALID: &str = "0 errors and 0 warnings in 1 package\n";

const SOURCE: &str = "{ catalogs { image source { kind reference revision } } }";

/// A repository with a catalog in the folder `prod`, and something else beside it.
fn with_catalog() -> Option<GitRepository> {
    let repository = GitRepository::new()?;
    repository.write("prod/catalog.json", &lines(ETCD));
    repository.write("README.md", ": : no catalog");
    repository.commit();
    Some(repository)
}

/// The reference to the repository on a server, with a ref and a fragment.
fn reference(proxy: &Proxy, rest: &str) -> String {
    format!("git+http://{}/repository/.git{rest}", proxy.address)
}

/// Runs `validate` over a reference, and returns its status and everything that it printed.
fn validate(proxy: &Proxy, rest: &str) -> (Option<i32>, String) {
    let host = proxy.address.to_string();
    let source = reference(proxy, rest);
    let output = run(catalogql().args(["validate", "--insecure-registry", &host, &source]));
    (output.status, output.stdout + &output.stderr)
}

fn start(folders: &Folders, proxy: &Proxy, arguments: &[&str], rest: &str) -> Server {
    start_at(folders, arguments, &reference(proxy, rest))
}

/// Serves a reference, with a poll every 50 ms.
fn start_at(folders: &Folders, arguments: &[&str], source: &str) -> Server {
    let host = source.split('/').nth(2).unwrap();
    let mut all = vec!["--insecure-registry", host, "--poll", "50ms"];
    all.extend(arguments);
    all.push(source);
    Server::start(folders, &all)
}

fn revision(server: &Server) -> String {
    let answer: Value = serde_json::from_str(&graphql(server.address, SOURCE)).unwrap();
    answer["data"]["catalogs"][0]["source"]["revision"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn is_fetch(request: &RecordedRequest) -> bool {
    String::from_utf8_lossy(request.body()).contains("command=fetch")
}

#[test]
fn a_catalog_is_the_folder_of_a_branch_a_tag_a_full_ref_or_a_commit() {
    let Some(repository) = with_catalog() else {
        return;
    };
    let commit = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["tag", "light"]);
    repository.git(&["tag", "-a", "-m", "x", "annotated"]);
    repository.git(&["tag", "-a", "-m", "x", "twice", "annotated"]);
    repository.git(&["branch", "feature/x@2"]);
    // What is at HEAD later is not what the refs name.
    repository.write("prod/catalog.json", &lines(ARGO));
    repository.commit();
    let proxy = repository.serve();
    for name in [
        "@light",
        "@annotated",
        "@twice",
        "@feature/x@2",
        "@refs/tags/light",
        &format!("@{commit}"),
    ] {
        assert_eq!(
            validate(&proxy, &format!("{name}#path=prod")),
            (Some(0), VALID.to_owned()),
            "{name}"
        );
    }
    for name in ["", "@main", "@HEAD", "@refs/heads/main"] {
        let host = proxy.address.to_string();
        let source = format!("{}#path=prod", reference(&proxy, name));
        let output =
            run(catalogql().args(["list", "packages", "--insecure-registry", &host, &source]));
        assert!(output.stdout.contains("argo"), "{name}: {}", output.stdout);
    }
}

#[test]
fn without_a_path_a_catalog_is_the_folder_configs_or_the_top_and_a_file_is_a_catalog() {
    let Some(repository) = GitRepository::new() else {
        return;
    };
    repository.write("catalog.json", &lines(ETCD));
    repository.commit();
    let proxy = repository.serve();
    assert_eq!(validate(&proxy, ""), (Some(0), VALID.to_owned()));
    repository.write("README.md", ": : no catalog");
    repository.write("configs/catalog.json", &lines(ETCD));
    repository.commit();
    assert_eq!(validate(&proxy, ""), (Some(0), VALID.to_owned()));
    let file = validate(&proxy, "#path=configs/catalog.json");
    assert_eq!(file, (Some(0), VALID.to_owned()));
}

#[test]
fn packs_with_deltas_and_servers_without_filters_give_the_same_files() {
    let Some(repository) = GitRepository::new() else {
        return;
    };
    // Files that differ in one line are stored as deltas of each other.
    let others: Vec<_> = (0..2000)
        .map(|line| format!("{{\"schema\":\"other\",\"n\":{line}}}\n"))
        .collect();
    let base = others.concat();
    for number in 0..60 {
        let blob = format!("{{\"schema\":\"file\",\"n\":{number}}}\n");
        let text = base.replacen("\"n\":7}", &format!("\"n\":{}}}", 10_000 + number), 1) + &blob;
        repository.write(&format!("configs/f{number}.json"), &text);
    }
    repository.write("configs/catalog.json", &lines(ETCD));
    repository.commit();
    repository.git(&[
        "repack",
        "-a",
        "-d",
        "-f",
        "--quiet",
        "--depth=50",
        "--window=100",
    ]);
    let proxy = repository.serve();
    assert_eq!(validate(&proxy, ""), (Some(0), VALID.to_owned()));
    let filtered = proxy.requests();
    assert_eq!(
        filtered.iter().filter(|request| is_fetch(request)).count(),
        2
    );

    repository.git(&["config", "uploadpack.allowFilter", "false"]);
    let whole = repository.serve();
    assert_eq!(validate(&whole, ""), (Some(0), VALID.to_owned()));
    let fetches = whole.requests().into_iter().filter(is_fetch).count();
    assert_eq!(fetches, 1);

    let folders = Folders::new();
    repository.write("unused", "");
    let clone = folders.text("clone");
    repository.git(&["clone", "--quiet", ".", &clone]);
    let digest = |server: &Server| graphql(server.address, "{ catalogs { digest } }");
    let directory = Server::start(&folders, &[&format!("x={clone}/configs")]);
    let own = Folders::new();
    let named = format!("x={}", reference(&whole, ""));
    let remote = start_at(&own, &[], &named);
    assert_eq!(digest(&remote), digest(&directory));
}

#[test]
fn a_poll_is_one_small_request_and_another_folder_is_no_change() {
    let Some(repository) = with_catalog() else {
        return;
    };
    let proxy = repository.serve();
    let folders = Folders::new();
    let server = start(&folders, &proxy, &[], "@main#path=prod");
    let first = revision(&server);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let tree = repository.git(&["rev-parse", "HEAD:prod"]);
    assert_eq!(first, format!("commit {commit} tree {tree}"));
    let answer: Value = serde_json::from_str(&graphql(server.address, SOURCE)).unwrap();
    let expected = reference(&proxy, "@main#path=prod");
    assert_eq!(
        answer["data"]["catalogs"][0],
        serde_json::json!({
            "image": null,
            "source": { "kind": "GIT", "reference": expected, "revision": first },
        })
    );

    let loaded = proxy.requests().len();
    let polls = eventually(|| Some(proxy.requests()).filter(|all| all.len() > loaded + 3));
    for poll in &polls[loaded..] {
        let body = String::from_utf8_lossy(poll.body());
        assert!(
            body.contains("command=ls-refs") && body.len() < 200,
            "{body}"
        );
        let answered = http_backend(&repository.folders.path(""), poll);
        assert!(answered.body.len() < 100, "{}", answered.body.len());
    }

    let unpacked = "{ catalogs { digest lastUnpacked } }";
    let before = graphql(server.address, unpacked);
    repository.write("README.md", "more");
    let moved = repository.commit();
    eventually(|| (revision(&server) == format!("commit {moved} tree {tree}")).then_some(()));
    assert_eq!(graphql(server.address, unpacked), before);

    // The contents of files were fetched once: by the first load.
    let fetches = proxy.requests().into_iter().filter(is_fetch).count();
    assert_eq!(fetches, 3);
}

#[test]
fn a_change_and_a_forced_push_are_served_and_what_is_broken_or_gone_takes_nothing_away() {
    let Some(repository) = with_catalog() else {
        return;
    };
    let proxy = repository.serve();
    let folders = Folders::new();
    let server = start(&folders, &proxy, &[], "@main#path=prod");
    let etcd = repository.git(&["rev-parse", "HEAD"]);
    repository.write("prod/catalog.json", &lines(ARGO));
    repository.commit();
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
    repository.git(&["reset", "--quiet", "--hard", &etcd]);
    server.answers_in_time(PACKAGES, &packages(&["etcd"]));

    repository.write("prod/catalog.json", "{");
    repository.commit();
    let logged = server.logs("still serving the last content");
    assert!(logged.contains("catalog.json"), "{logged}");
    repository.git(&["branch", "--move", "main", "other"]);
    let logged = server.logs("it has no branch or tag");
    assert!(
        logged.contains("it was deleted, or its name is misspelt"),
        "{logged}"
    );
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));

    // A start without the server serves what is kept.
    server.signal("KILL");
    drop(server);
    let source = reference(&proxy, "@main#path=prod");
    drop(proxy);
    let restarted = start_at(&folders, &[], &source);
    assert_eq!(graphql(restarted.address, PACKAGES), packages(&["etcd"]));
    let logged = restarted.logs("cannot reach");
    assert!(logged.contains("127.0.0.1"), "{logged}");
}

#[test]
fn a_pack_that_is_cut_is_fetched_again_and_a_damaged_one_is_refused() {
    let Some(repository) = with_catalog() else {
        return;
    };
    let upstream = repository.serve();
    let cuts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&cuts);
    let cutting = Proxy::start(upstream.address, move |request| {
        if is_fetch(request) && count.fetch_add(1, Ordering::SeqCst) == 1 {
            ProxyAction::Truncate(100)
        } else {
            ProxyAction::Forward
        }
    });
    let (status, said) = validate(&cutting, "@main#path=prod");
    assert_eq!(status, Some(2));
    assert!(
        said.contains("the connection ended after 100 bytes"),
        "{said}"
    );
    let folders = Folders::new();
    let server = start(&folders, &cutting, &[], "@main#path=prod");
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));
    cuts.store(1, Ordering::SeqCst);
    repository.write("prod/catalog.json", &lines(ARGO));
    repository.commit();
    let logged = server.logs("still serving the last content");
    assert!(
        logged.contains("the connection ended after 100 bytes"),
        "{logged}"
    );
    server.answers_in_time(PACKAGES, &packages(&["argo"]));

    let damaging = Proxy::start(upstream.address, |request| {
        let mut response = request.forward();
        if is_fetch(request) {
            // The last byte of the hash, before the flush.
            let at = response.body.len() - 5;
            response.body[at] ^= 1;
        }
        ProxyAction::Respond(response)
    });
    let (status, said) = validate(&damaging, "@main#path=prod");
    assert_eq!(status, Some(2));
    let expected = "the pack is damaged: its hash is another one than it says";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn credentials_are_sent_to_their_server_alone_and_a_rotated_file_counts_at_once() {
    let Some(repository) = with_catalog() else {
        return;
    };
    let root = repository.folders.path("");
    let other = repository.serve();
    let to = format!("http://{}", other.address);
    let proxy = Proxy::start(other.address, move |request| {
        let target = &request.target;
        match request.authorization.as_deref() {
            _ if target.starts_with("/moved") => {
                let location = format!("{to}{}", target.replacen("/moved", "/repository", 1));
                respond(302, &[("location", &location)], "")
            }
            Some("Bearer right") => ProxyAction::Respond(http_backend(&root, request)),
            _ => respond(401, &[], ""),
        }
    });
    let folders = Folders::new();
    let entries = [("right", &proxy), ("token", &other)].map(|(file, proxy)| {
        format!(
            "- {{prefix: 'http://{}', bearer: {{tokenFile: {file}}}}}\n",
            proxy.address
        )
    });
    folders.write("auth.yaml", entries.concat());
    folders.write("token", "for-the-other\n");
    folders.write("right", "wrong\n");
    let auth = folders.text("auth.yaml");
    let addresses = [proxy.address, other.address].map(|address| address.to_string());
    let validate = |path: &str| {
        let source = format!("git+http://{}/{path}/.git#path=prod", proxy.address);
        let mut command = catalogql();
        command.args(["validate", "--http-auth", &auth, &source]);
        for address in &addresses {
            command.args(["--insecure-registry", address]);
        }
        let output = run(&mut command);
        (output.status, output.stdout + &output.stderr)
    };
    let (status, said) = validate("repository");
    assert_eq!(status, Some(2));
    assert!(
        said.contains("the credentials from --http-auth are refused"),
        "{said}"
    );
    folders.write("right", "right\n");
    assert_eq!(validate("repository"), (Some(0), VALID.to_owned()));

    // The other server has an entry of its own, which a redirect must not make use of.
    assert_eq!(other.requests(), []);
    assert_eq!(validate("moved"), (Some(0), VALID.to_owned()));
    let seen = other.requests();
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|request| request.authorization.is_none()));
}

#[test]
fn a_bundle_is_read_without_a_server() {
    let Some(repository) = with_catalog() else {
        return;
    };
    repository.git(&["tag", "-a", "-m", "x", "v1"]);
    repository.write("prod/more.json", "{\"schema\":\"other\"}");
    repository.commit();
    let bundle = |name: &str, refs: &[&str]| {
        let path = repository.folders.text(name);
        repository.git(&[&["bundle", "create", "--quiet", &path], refs].concat());
        path
    };
    let validate = |path: &str, rest: &str| {
        let source = format!("git+file://{path}{rest}");
        let output = run(catalogql().args(["validate", &source]));
        (output.status, output.stdout + &output.stderr)
    };
    let whole = bundle("whole.bundle", &["main", "v1"]);
    for rest in ["@main#path=prod", "@v1#path=prod"] {
        assert_eq!(
            validate(&whole, rest),
            (Some(0), VALID.to_owned()),
            "{rest}"
        );
    }
    // Tags of tags: a bundle, unlike a server, does not say what the last one leads to.
    for number in 2..=9 {
        let name = format!("v{number}");
        let former = format!("v{}", number - 1);
        repository.git(&["tag", "-a", "-m", "x", &name, &former]);
    }
    let tags = bundle("tags.bundle", &["v8", "v9"]);
    assert_eq!(
        validate(&tags, "@v8#path=prod"),
        (Some(0), VALID.to_owned())
    );
    let part = bundle("part.bundle", &["main~1..main"]);
    repository.folders.write("other", "no bundle\n");
    for (path, rest, expected) in [
        (&*whole, "#path=prod", "it has no HEAD"),
        (&tags, "@v9#path=prod", "over more than 8 tags"),
        (&whole, "@main#path=x", "the commit has no `x`"),
        (
            &part,
            "@main#path=prod",
            "it needs commits that are not in it",
        ),
        (
            &repository.folders.text("other"),
            "@main",
            "the file is not a bundle of git",
        ),
        (
            "/nowhere/a.bundle",
            "@main",
            "cannot open `/nowhere/a.bundle`",
        ),
    ] {
        let (status, said) = validate(path, rest);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
