//! Catalogs are added, changed and withdrawn while the server runs, by SIGHUP and by changes of the
//! configuration file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use testing::SeededRandom;

use crate::support::{ARGO, ETCD, Folders, Server, eventually, graphql};

/// Asks for everything that a configuration can change.
const QUERY: &str = "{ catalogs { name priority packages { nodes { name } } } }";

/// Names of the catalogs that come and go.
const CATALOGS: usize = 200;

/// Sources that they share.
const SOURCES: usize = 25;

/// How often the configuration changes; `CATALOGQL_RELOADS` asks for another number.
const RELOADS: usize = 12;

/// Catalogs by name, each with its priority and its package.
type Wanted = BTreeMap<String, (i64, String)>;

/// Replaces the configuration file: a reader sees the file before or after, never in between.
fn configure(folders: &Folders, wanted: &Wanted) {
    let mut config = "sources:\n- {name: always, source: always}\n".to_owned();
    for (name, (priority, source)) in wanted {
        let _ = writeln!(
            config,
            "- {{name: {name}, source: {source}, priority: {priority}}}"
        );
    }
    folders.write("catalogs.new", config);
    fs::rename(folders.path("catalogs.new"), folders.path("catalogs.yaml"))
        .expect("files can be renamed");
}

/// What is served, but for the catalog that always is.
fn served(address: SocketAddr) -> Wanted {
    let answer: Value = serde_json::from_str(&graphql(address, QUERY)).expect("JSON");
    assert_eq!(answer.get("errors"), None, "{answer}");
    let catalogs = answer["data"]["catalogs"]
        .as_array()
        .expect("a list")
        .iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let entry = |catalog: &Value| {
        let package = text(&catalog["packages"]["nodes"][0]["name"]);
        (
            text(&catalog["name"]),
            (catalog["priority"].as_i64().expect("a number"), package),
        )
    };
    catalogs
        .map(entry)
        .filter(|(name, _)| name != "always")
        .collect()
}

#[test]
fn what_is_served_is_what_is_configured_after_each_of_many_reloads_and_no_query_fails() {
    let reloads = std::env::var("CATALOGQL_RELOADS")
        .map_or(RELOADS, |count| count.parse().expect("a number of reloads"));
    let folders = Folders::new();
    folders.catalog("always", ETCD);
    for source in 0..SOURCES {
        folders.catalog(
            &format!("source{source}"),
            &format!("package source{source} default=a\nchannel a: v1.0.0"),
        );
    }
    configure(&folders, &Wanted::new());
    let server = Server::start(
        &folders,
        &[
            "--config",
            &folders.text("catalogs.yaml"),
            "--compress-after",
            "0",
        ],
    );
    let before = server.anonymous_bytes();
    let is_done = AtomicBool::new(false);
    let queries = AtomicUsize::new(0);
    let address = server.address;
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    served(address);
                    queries.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut random = SeededRandom::new(1);
        let mut wanted = Wanted::new();
        for _ in 0..reloads {
            for number in 0..CATALOGS {
                let name = format!("catalog{number}");
                match random.below(4) {
                    0 => drop(wanted.remove(&name)),
                    1 => drop(wanted.insert(
                        name,
                        (
                            i64::from(number % 3 == 0),
                            format!("source{}", random.below(SOURCES)),
                        ),
                    )),
                    2 => wanted
                        .get_mut(&name)
                        .map_or((), |(priority, _)| *priority += 1),
                    _ => {}
                }
            }
            configure(&folders, &wanted);
            server.signal("HUP");
            eventually(|| (served(server.address) == wanted).then_some(()));
        }
        configure(&folders, &Wanted::new());
        server.signal("HUP");
        eventually(|| served(server.address).is_empty().then_some(()));
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(
        queries.load(Ordering::Relaxed) > reloads,
        "the clients asked meanwhile"
    );
    // What the allocator gives back it gives back after a moment.
    let most = before + (8 << 20);
    let after = eventually(|| Some(server.anonymous_bytes()).filter(|after| *after <= most));
    println!(
        "{reloads} reloads, {} queries, RssAnon {} KiB before and {} KiB after",
        queries.into_inner(),
        before / 1024,
        after / 1024
    );
}

#[test]
fn a_hangup_while_the_configuration_is_read_first_reloads_it() {
    let folders = Folders::new();
    folders.catalog("always", ETCD);
    folders.catalog("argo", ARGO);
    let wanted = Wanted::from([("one".to_owned(), (0, "argo".to_owned()))]);
    configure(&folders, &wanted);
    let config = folders.path("catalogs.yaml");
    let second = folders.path("second.yaml");
    fs::rename(&config, &second).expect("files can be renamed");
    let shell = |script: &str| {
        let status = Command::new("sh").args(["-c", script]).status();
        assert!(status.expect("there is a shell").success(), "{script}");
    };
    shell(&format!("mkfifo {}", config.display()));
    thread::scope(|scope| {
        scope.spawn(|| {
            // The flags of the file are read with the command line, before everything else.
            fs::write(&config, "sources: []").expect("the server reads");
            let process = fs::read_to_string(folders.path("process")).expect("the shell wrote it");
            let files = format!("/proc/{}/fd", process.trim());
            eventually(|| {
                let mut open = fs::read_dir(&files).expect("it runs").flatten();
                open.all(|file| fs::read_link(file.path()).ok().as_ref() != Some(&config))
                    .then_some(())
            });
            // It opens when the server opens it, which then waits for the text.
            let mut pipe = fs::OpenOptions::new()
                .write(true)
                .open(&config)
                .expect("a pipe");
            shell(&format!("kill -HUP {process}"));
            fs::rename(&second, &config).expect("files can be renamed");
            pipe.write_all(b"sources:\n- {name: always, source: always}\n")
                .expect("the server reads");
        });
        let mut command = Command::new("sh");
        let script = format!("echo $$ > {}; exec \"$0\" \"$@\"", folders.text("process"));
        command.args(["-c", &script, env!("CARGO_BIN_EXE_catalogql")]);
        let server = Server::start_as(
            command,
            &folders,
            &["--config", &folders.text("catalogs.yaml")],
        );
        eventually(|| (served(server.address) == wanted).then_some(()));
    });
}

#[test]
fn a_configuration_that_cannot_be_used_changes_nothing() {
    let folders = Folders::new();
    folders.catalog("always", ETCD);
    folders.catalog("argo", ARGO);
    let wanted = Wanted::from([("one".to_owned(), (0, "argo".to_owned()))]);
    configure(&folders, &wanted);
    let server = Server::start(&folders, &["--config", &folders.text("catalogs.yaml")]);
    folders.write("catalogs.yaml", "sources: [{name: one, prio: 1}]");
    server.signal("HUP");
    let line = server.logs("cannot reload the configuration, keeping the last one");
    assert!(
        line.contains("prio") && line.contains("catalogs.yaml"),
        "{line}"
    );
    assert_eq!(served(server.address), wanted);
}

#[test]
fn flags_of_the_configuration_that_wait_for_a_restart_are_named() {
    let folders = Folders::new();
    folders.catalog("always", ETCD);
    folders.catalog("argo", ARGO);
    let configure = |flags: &str, catalog: &str| {
        folders.write(
            "catalogs.new",
            format!("{flags}sources:\n- {{name: one, source: {catalog}}}\n"),
        );
        fs::rename(folders.path("catalogs.new"), folders.path("catalogs.yaml"))
            .expect("files can be renamed");
    };
    configure("maxDepth: 20\nmaxAliases: 10\n", "always");
    let server = Server::start(
        &folders,
        &[
            "--max-aliases=5",
            "--config",
            &folders.text("catalogs.yaml"),
        ],
    );
    // The command line wins, so that the other number of aliases would change nothing.
    configure("maxDepth: 30\nmaxAliases: 11\npoll: 1m\n", "argo");
    server.signal("HUP");
    let line = server.logs("flags of the configuration file have changed, restart to apply them");
    assert!(
        line.contains(r#""level":"WARN""#) && line.contains(r#""flags":"maxDepth, poll""#),
        "{line}"
    );
    let wanted = Wanted::from([("one".to_owned(), (0, "argo".to_owned()))]);
    eventually(|| (served(server.address) == wanted).then_some(()));

    // The next start would refuse it.
    configure("maxDepht: 30\n", "always");
    server.signal("HUP");
    let line = server.logs("cannot reload the configuration, keeping the last one");
    assert!(line.contains("did you mean `maxDepth`?"), "{line}");
    assert_eq!(served(server.address), wanted);
}

#[test]
fn a_watched_configuration_is_read_again_without_a_signal() {
    let folders = Folders::new();
    folders.catalog("always", ETCD);
    folders.catalog("argo", ARGO);
    configure(&folders, &Wanted::new());
    let server = Server::start(
        &folders,
        &["--watch", "--config", &folders.text("catalogs.yaml")],
    );
    let wanted = Wanted::from([("one".to_owned(), (3, "argo".to_owned()))]);
    configure(&folders, &wanted);
    eventually(|| (served(server.address) == wanted).then_some(()));
}
