//! `catalogql serve` as a user meets it: what it prints, answers and survives.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use serde_json::{Value, json};
use testing::fixed_port;

use crate::support::{
    ARGO, ETCD, Folders, Server, catalogql, eventually, exchange, get, graphql, graphql_path, run,
    send_request,
};

const CATALOGS: &str =
    "{ catalogs { name priority displayName publisher packages { nodes { name } } } }";

/// What is served, without its label: each catalog with the names of its packages.
const PACKAGES: &str = "{ catalogs { name packages { nodes { name } } } }";

fn packages(catalogs: &[(&str, &[&str])]) -> String {
    let catalogs = catalogs.iter().map(|(name, packages)| {
        let nodes: Vec<_> = packages
            .iter()
            .map(|name| format!(r#"{{"name":"{name}"}}"#))
            .collect();
        format!(
            r#"{{"name":"{name}","packages":{{"nodes":[{}]}}}}"#,
            nodes.join(",")
        )
    });
    format!(
        r#"{{"data":{{"catalogs":[{}]}}}}"#,
        catalogs.collect::<Vec<_>>().join(",")
    )
}

/// The table of what is served, without the digest and the time.
fn rows(server: &Server) -> Vec<String> {
    let row = |line: &String| {
        line.split_whitespace()
            .take(5)
            .collect::<Vec<_>>()
            .join(" ")
    };
    server.table.iter().map(row).collect()
}

#[test]
fn it_prints_what_is_served_and_answers() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    folders.catalog(
        "faulty",
        "package argo default=missing\n channel alpha: v1.0.0",
    );
    let server = Server::start(
        &folders,
        &[
            &folders.text("etcd"),
            &format!("argo=dir:{}", folders.text("faulty")),
        ],
    );
    let expected = [
        "CATALOG PACKAGES BUNDLES ERRORS WARNINGS",
        "argo 1 1 2 0",
        "etcd 1 3 0 0",
    ];
    assert_eq!(rows(&server)[0], expected[0]);
    assert_eq!(rows(&server)[2], expected[2]);
    assert!(
        rows(&server)[1].starts_with("argo 1 1 "),
        "{:?}",
        server.table
    );

    let answer = graphql(server.address, PACKAGES);
    assert_eq!(
        answer,
        packages(&[("argo", &["argo"]), ("etcd", &["etcd"])])
    );
    assert_eq!(get(server.address, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(server.address, "/readyz"), (200, "ok\n".to_owned()));
    let (status, schema) = get(server.address, "/schema.graphql");
    assert_eq!(
        (status, schema.as_str()),
        (200, include_str!("../../schema.graphql"))
    );
    let (status, version) = get(server.address, "/version");
    let printed = run(catalogql().args(["version", "-o", "json"])).stdout;
    let [version, printed] =
        [version, printed].map(|text| serde_json::from_str::<Value>(&text).expect("it is JSON"));
    assert_eq!((status, &version), (200, &printed));
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_configuration_says_more_of_a_catalog() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    folders.catalog("argo", ARGO);
    let config = "sources:\n- {source: etcd, priority: -1}\n\
                  - {name: second, source: dir:argo, displayName: Second, publisher: Somebody}\n";
    folders.write("catalogs.yaml", config);
    let server = Server::start(&folders, &["--config", &folders.text("catalogs.yaml")]);
    let answer: Value = serde_json::from_str(&graphql(server.address, CATALOGS)).unwrap();
    let nodes = |name: &str| json!({ "nodes": [{ "name": name }] });
    let second = json!({ "name": "second", "priority": 0, "displayName": "Second", "publisher": "Somebody", "packages": nodes("argo") });
    let etcd = json!({ "name": "etcd", "priority": -1, "displayName": "etcd", "publisher": null, "packages": nodes("etcd") });
    assert_eq!(answer, json!({ "data": { "catalogs": [second, etcd] } }));
}

#[test]
fn a_signal_ends_it_gracefully() {
    for signal in ["TERM", "INT"] {
        let folders = Folders::new();
        folders.catalog("etcd", ETCD);
        let server = Server::start(&folders, &[&folders.text("etcd")]);
        server.signal(signal);
        let (status, printed, logged) = server.ended();
        assert_eq!((status.code(), printed), (Some(0), Vec::new()));
        let last: Value =
            serde_json::from_str(logged.last().unwrap()).expect("the log is JSON lines");
        assert_eq!(
            (&last["message"], &last["signal"]),
            (&json!("ending"), &json!(format!("SIG{signal}")))
        );
    }
}

#[test]
fn a_store_belongs_to_one_process() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let _server = Server::start(&folders, &[&folders.text("etcd")]);
    let second = run(catalogql().args([
        "serve",
        &folders.text("etcd"),
        "--store",
        &folders.text("store"),
    ]));
    let expected = "error: cannot open the store `@/store`: another process uses it; stop that process or name another folder with --store\n";
    assert_eq!(
        (second.status, folders.shown(&second.stderr).as_str()),
        (Some(1), expected)
    );
}

#[test]
fn a_process_that_was_killed_leaves_a_store_that_works() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let server = Server::start(&folders, &[&folders.text("etcd")]);
    server.signal("KILL");
    assert_eq!(server.ended().0.signal(), Some(9));
    let server = Server::start(&folders, &[&folders.text("etcd")]);
    assert_eq!(
        graphql(server.address, PACKAGES),
        packages(&[("etcd", &["etcd"])])
    );
}

#[test]
fn a_restart_serves_what_was_stored_when_the_directory_is_gone() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let source = format!("dir:{}", folders.text("etcd"));
    drop(Server::start(&folders, &[&source]));
    fs::remove_dir_all(folders.path("etcd")).unwrap();
    let server = Server::start(&folders, &[&source]);
    assert_eq!(rows(&server)[1], "etcd 1 3 0 0");
    let said = folders.shown(&server.table[2]);
    assert!(
        said.starts_with("etcd serves its former content, read ")
            && said.ends_with(
                " ago: cannot read the source: cannot open `@/etcd`: No such file or directory (os error 2)"
            ),
        "{said}"
    );
    assert_eq!(
        graphql(server.address, PACKAGES),
        packages(&[("etcd", &["etcd"])])
    );
}

#[test]
fn a_watched_directory_is_served_as_it_is_and_a_broken_change_changes_nothing() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let server = Server::start(&folders, &["--watch", &folders.text("etcd")]);
    folders.catalog("etcd", ARGO);
    server.answers_in_time(PACKAGES, &packages(&[("etcd", &["argo"])]));

    folders.write(
        "etcd/catalog.json",
        "{\"schema\":\"olm.package\",\"name\":\"x\"}\n{\"schema\":}\n",
    );
    let logged = server.logs("still serving the last content");
    let logged: Value = serde_json::from_str(&logged).expect("the log is JSON lines");
    let error = logged["error"].as_str().unwrap();
    assert!(error.starts_with("catalog.json:2: "), "{error}");
    assert_eq!(
        graphql(server.address, PACKAGES),
        packages(&[("etcd", &["argo"])])
    );

    folders.catalog("etcd", &format!("{ARGO}\n{ETCD}"));
    server.answers_in_time(PACKAGES, &packages(&[("etcd", &["argo", "etcd"])]));
}

#[test]
fn a_stale_catalog_says_so_and_its_former_content_can_be_compared_after_a_restart() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let start = || {
        Server::start(
            &folders,
            &[
                "--watch",
                &folders.text("etcd"),
                &format!("none=dir:{}", folders.text("none")),
            ],
        )
    };
    let ask = |server: &Server, query: &str| {
        serde_json::from_str::<Value>(&graphql(server.address, query)).expect("it is JSON")["data"]
            .take()
    };
    let server = start();
    let status = ask(
        &server,
        "{ catalogStatuses { name catalog { name } lastSuccess lastFailure { reason } } }",
    );
    let [etcd, none] = [0, 1].map(|at| &status["catalogStatuses"][at]);
    assert_eq!(
        (&etcd["catalog"]["name"], &etcd["lastFailure"]),
        (&json!("etcd"), &Value::Null)
    );
    assert!(etcd["lastSuccess"].is_string(), "{status}");
    let failed = json!({"name": "none", "catalog": null, "lastSuccess": null, "lastFailure": {"reason": "SOURCE_UNREADABLE"}});
    assert_eq!(none, &failed);
    let before =
        ask(&server, "{ catalogs { contents { digest unpackedAt } } }")["catalogs"][0]["contents"]
            [0]
        .take();
    folders.catalog("etcd", ARGO);
    server.answers_in_time(PACKAGES, &packages(&[("etcd", &["argo"])]));
    folders.write("etcd/catalog.json", "{");
    let stale =
        r#"{"data":{"catalogs":[{"status":{"lastFailure":{"reason":"INVALID_CATALOG"}}}]}}"#;
    server.answers_in_time("{ catalogs { status { lastFailure { reason } } } }", stale);
    server.signal("TERM");
    server.ended();

    folders.catalog("etcd", ARGO);
    let server = start();
    let remembered =
        r#"{"data":{"catalogs":[{"contents":[{"isServed":true},{"isServed":false}]}]}}"#;
    server.answers_in_time("{ catalogs { contents { isServed } } }", remembered);
    let contents =
        ask(&server, "{ catalogs { contents { digest unpackedAt } } }")["catalogs"][0]["contents"]
            .take();
    assert_eq!(contents[1], before);
    let query = format!(
        "{{ diff(from: {{digest: {}}}, to: {{name: \"etcd\"}}) {{ packages {{ name }} }} }}",
        before["digest"]
    );
    assert_eq!(
        ask(&server, &query),
        json!({"diff": {"packages": [{"name": "argo"}, {"name": "etcd"}]}})
    );
}

#[test]
fn fifty_catalogs_are_served_at_once_and_a_bad_one_harms_none() {
    let folders = Folders::new();
    let names: Vec<_> = (0..50)
        .map(|number| format!("catalog-{number:02}"))
        .collect();
    for name in &names {
        folders.catalog(
            name,
            &format!("package {name} default=stable\n channel stable: v1.0.0"),
        );
    }
    folders.write("catalog-17/broken.yaml", "schema: [\n");
    let sources: Vec<_> = names.iter().map(|name| folders.text(name)).collect();
    let server = Server::start(
        &folders,
        &sources.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    assert_eq!(server.table.len(), 1 + 49 + 1);
    let last = server.table.last().unwrap();
    assert!(
        last.starts_with("catalog-17 is not served: broken.yaml:"),
        "{last}"
    );
    let good: Vec<_> = names
        .iter()
        .map(String::as_str)
        .filter(|name| *name != "catalog-17")
        .collect();
    let packages: Vec<_> = good.iter().map(std::slice::from_ref).collect();
    let expected: Vec<_> = good.iter().copied().zip(packages).collect();
    assert_eq!(graphql(server.address, PACKAGES), self::packages(&expected));
}

#[test]
fn what_cannot_be_served_at_all_is_said_at_the_end() {
    let folders = Folders::new();
    folders.write("a/catalog.json", "{");
    folders.catalog("b", ETCD);
    let store = folders.text("store");
    let serve = |status: i32, arguments: &[&str]| {
        let output = run(catalogql()
            .args(["serve", "--listen", "127.0.0.1:0", "--store", &store])
            .args(arguments));
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (Some(status), ""),
            "{arguments:?}"
        );
        let error = output
            .stderr
            .lines()
            .skip_while(|line| line.starts_with('{'))
            .collect::<Vec<_>>()
            .join("\n");
        folders.shown(&error)
    };
    let a = folders.text("a");
    let b = folders.text("b");
    let broken = serve(1, &[&a]);
    assert!(
        broken.starts_with("error: no catalog can be served\n  a: catalog.json:1: "),
        "{broken}"
    );
    let full = "error: no catalog can be served\n  b: cannot store the content: the store `@/store` would exceed its \
                quota of 10 bytes: raise it with --store-quota";
    assert_eq!(serve(1, &["--store-quota", "10", &b]), full);
    let same =
        "error: two catalogs are called `b`: write NAME=SOURCE to give one of them another name";
    assert_eq!(serve(2, &[&b, &b]), same);
    let inside = run(catalogql().args(["serve", &b, "--store", &folders.text("b/store")]));
    let expected = "error: the store `@/b/store` lies in the catalog `@/b`: name another folder with --store\n";
    assert_eq!(
        (inside.status, folders.shown(&inside.stderr).as_str()),
        (Some(2), expected)
    );
}

#[test]
fn the_store_is_in_the_cache_of_the_user() {
    let folders = Folders::new();
    folders.write("a/catalog.json", "{");
    for (variable, folder) in [("XDG_CACHE_HOME", "cache"), ("HOME", "home/.cache")] {
        let value = folders.path(folder.split('/').next().unwrap());
        let output = run(catalogql()
            .args(["serve", &folders.text("a")])
            .env(variable, value));
        assert_eq!(output.status, Some(1));
        assert!(
            folders
                .path(folder)
                .join("catalogql/store/catalogql.lock")
                .exists(),
            "{folder}"
        );
    }
}

#[test]
fn a_user_without_a_home_has_a_temporary_store() {
    let folders = Folders::new();
    folders.write("a/catalog.json", "{");
    // No folder can be created there, whoever asks; nor in a file.
    let no_home = [("HOME", "/proc"), ("TMPDIR", &*folders.text(""))];
    let output = run(catalogql()
        .args(["serve", &folders.text("a")])
        .envs(no_home));
    let warning = output.stderr.lines().next().expect("there is a warning");
    let warning: Value = serde_json::from_str(warning).expect("the log is JSON lines");
    let reason = "cannot create the folder `/proc/.cache/catalogql/store`: No such file or directory (os error 2)";
    let message = "contents are stored in a temporary folder; --store names one that is kept";
    assert_eq!(
        (&warning["message"], &warning["reason"]),
        (&json!(message), &json!(reason))
    );
    // The store was opened.
    assert!(
        output.stderr.contains("error: no catalog can be served"),
        "{}",
        output.stderr
    );
    assert_eq!(
        fs::read_dir(folders.path("")).unwrap().count(),
        1,
        "the temporary folder is removed"
    );

    let nowhere = run(catalogql()
        .args(["serve", &folders.text("a")])
        .env("TMPDIR", folders.path("a/catalog.json")));
    let expected = "error: neither XDG_CACHE_HOME nor HOME names a folder: name a folder for the store with --store: ";
    assert!(nowhere.stderr.starts_with(expected), "{}", nowhere.stderr);
    assert_eq!(nowhere.status, Some(1));
}

#[test]
fn a_flag_wins_over_its_variable_and_that_over_the_configuration() {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    folders.write(
        "config.yaml",
        "maxDepth: 2\nmaxAliases: 1\nmaxRootFields: 1\nsources: [{source: a}]\n",
    );
    let mut command = catalogql();
    command
        .env("CATALOGQL_MAX_ALIASES", "2")
        .env("CATALOGQL_MAX_ROOT_FIELDS", "2");
    let server = Server::start_as(
        command,
        &folders,
        &[
            "--config",
            &folders.text("config.yaml"),
            "--max-root-fields=3",
        ],
    );
    let code = |query: &str| {
        let body = graphql(server.address, query);
        body.split("\"code\":\"")
            .nth(1)
            .map(|rest| rest.split('"').next().unwrap_or_default().to_owned())
    };
    assert_eq!(
        code("{ catalogs { packages { nodes { name } } } }").as_deref(),
        Some("MAX_DEPTH_LIMIT")
    );
    assert_eq!(code("{ a: __typename b: __typename }"), None);
    assert_eq!(
        code("{ a: __typename b: __typename c: __typename }").as_deref(),
        Some("MAX_ALIASES_LIMIT")
    );
}

#[test]
fn shared_caches_may_reuse_responses_for_the_time_that_the_flag_says() {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    let control = |server: &Server, path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let response = exchange(server.address, head.as_bytes(), false);
        assert_eq!(response.status, 200, "{path}");
        response.header("cache-control")
    };
    let graphql = "/graphql?query=%7Bcatalogs%7Bname%7D%7D";
    let volatile = "/graphql?query=%7BcatalogStatuses%7Bname%7D%7D";
    let renovate = "/renovate/a/etcd";

    let plain = Server::start(&folders, &[&folders.text("a")]);
    for path in [graphql, renovate] {
        assert_eq!(
            control(&plain, path).as_deref(),
            Some("public, no-cache"),
            "{path}"
        );
    }
    drop(plain);

    let flags = [&*folders.text("a"), "--shared-cache-max-age", "5s"];
    let shared = Server::start(&folders, &flags);
    for path in [graphql, renovate] {
        assert_eq!(
            control(&shared, path).as_deref(),
            Some("public, max-age=0, s-maxage=5, stale-while-revalidate=5"),
            "{path}"
        );
    }
    for path in [volatile, "/catalogs/a/api/v1/all"] {
        let control = control(&shared, path).unwrap_or_default();
        assert!(!control.contains("s-maxage"), "{path}: {control}");
    }
}

#[test]
fn shared_caches_get_nothing_to_reuse_until_every_catalog_was_loaded_once() {
    let folders = Folders::new();
    folders.catalog("quick", ETCD);
    // A registry that never answers.
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = registry.local_addr().unwrap().to_string();
    // The address is printed once the server is ready.
    let address = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
    let mut server = catalogql()
        .args(["serve", &folders.text("quick")])
        .arg(format!("slow={host}/ns/slow:v1"))
        .args(["--insecure-registry", &host, "--shared-cache-max-age=5s"])
        .args(["--listen", &address.to_string()])
        .args(["--store", &folders.text("store")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually(|| {
        TcpStream::connect(address).ok()?;
        (graphql(address, PACKAGES) == packages(&[("quick", &["etcd"])])).then_some(())
    });
    let json = [("accept", "application/json")];
    let read = |target| send_request(address, "GET", target, &json);
    let refused = read("/graphql?query=%7Bcatalogs%7Bname%7D%7D");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(refused.header("retry-after").as_deref(), Some("1"));
    let body: Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(body["errors"][0]["extensions"]["code"], "NOT_READY");
    // No cache stores these.
    let volatile = read("/graphql?query=%7BcatalogStatuses%7Bname%7D%7D");
    assert_eq!(volatile.status, 200);
    assert_eq!(read("/catalogs/quick/api/v1/all").status, 200);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn shared_caches_may_purge_the_responses_of_one_catalog() {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    folders.catalog("b", ETCD);
    let key = |server: &Server, path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let response = exchange(server.address, head.as_bytes(), false);
        assert_eq!(response.status, 200, "{path}");
        response.header("surrogate-key")
    };
    let one = graphql_path(r#"{catalog(name:"b"){digest}}"#);
    let both = graphql_path(r#"{one:catalog(name:"a"){digest} other:catalog(name:"b"){digest}}"#);
    let missing = graphql_path(r#"{catalog(name:"c"){digest}}"#);
    let volatile = graphql_path("{catalogStatuses{name}}");
    let sources = [folders.text("a"), folders.text("b")];

    let plain = Server::start(&folders, &[&sources[0], &sources[1]]);
    assert_eq!(key(&plain, &one), None);
    drop(plain);

    let flags = [&*sources[0], &sources[1], "--shared-cache-max-age", "5s"];
    let shared = Server::start(&folders, &flags);
    // The second response to each comes from the caches of the server.
    for path in [&one, &one, "/renovate/b/etcd"] {
        assert_eq!(key(&shared, path).as_deref(), Some("catalog/b"), "{path}");
    }
    for path in [&both, &both, &missing, &graphql_path("{catalogs{name}}")] {
        assert_eq!(key(&shared, path).as_deref(), Some("catalogs"), "{path}");
    }
    for path in [&*volatile, "/catalogs/a/api/v1/all"] {
        assert_eq!(key(&shared, path), None, "{path}");
    }
}
