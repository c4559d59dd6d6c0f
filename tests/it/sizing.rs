//! What a server takes is what `docs/concepts/scale.md` says, so that people can size a machine.

use std::fmt::Write as _;
use std::fs;

use crate::support::{Folders, Server, eventually};

/// Catalogs that are served.
const CATALOGS: u64 = 12;

/// Bundles of each.
const BUNDLES: u64 = 2_000;

/// Bundles of a package, which is what *community* has on average.
const BUNDLES_OF_A_PACKAGE: u64 = 20;

/// Reads a formula of the page, such as `| disk | 8 MiB + 1 KiB × catalogs + 2 bytes × bundles |`,
/// and returns the bytes that it gives for the catalogs of this test.
fn documented(resource: &str) -> u64 {
    let page = include_str!("../../docs/concepts/scale.md");
    let formula = page
        .lines()
        .find_map(|line| line.strip_prefix(&format!("| {resource} | ")))
        .unwrap_or_else(|| panic!("{resource} has a formula"));
    let bytes = |term: &str| {
        let words: Vec<_> = term.split_whitespace().collect();
        let number: u64 = words[0].parse().expect("a number");
        let unit = match words[1] {
            "MiB" => 1 << 20,
            "KiB" => 1 << 10,
            "bytes" => 1,
            unit => panic!("{formula}: {unit}"),
        };
        let times = match words.get(3).copied() {
            None => 1,
            Some("catalogs") => CATALOGS,
            Some("bundles") => CATALOGS * BUNDLES,
            Some(what) => panic!("{formula}: {what}"),
        };
        number * unit * times
    };
    formula.trim_end_matches(" |").split(" + ").map(bytes).sum()
}

/// A catalog that no other one is like.
fn catalog(number: u64) -> String {
    let mut text = String::new();
    for package in 0..BUNDLES / BUNDLES_OF_A_PACKAGE {
        let name = format!("operator-{package}");
        writeln!(
            text,
            r#"{{"schema":"olm.package","name":"{name}","defaultChannel":"stable"}}"#
        )
        .expect("a string takes all");
        let bundle = |at: u64| format!("{name}.v{number}.{at}.0");
        let entry = |at: u64| match at {
            0 => format!(r#"{{"name":"{}"}}"#, bundle(0)),
            at => format!(
                r#"{{"name":"{}","replaces":"{}"}}"#,
                bundle(at),
                bundle(at - 1)
            ),
        };
        let entries: Vec<_> = (0..BUNDLES_OF_A_PACKAGE).map(entry).collect();
        writeln!(
            text,
            r#"{{"schema":"olm.channel","package":"{name}","name":"stable","entries":[{}]}}"#,
            entries.join(",")
        )
        .expect("a string takes all");
        for at in 0..BUNDLES_OF_A_PACKAGE {
            let id = bundle(at);
            let version = format!("{number}.{at}.0");
            writeln!(
                text,
                concat!(
                    r#"{{"schema":"olm.bundle","package":"{name}","name":"{id}","image":"quay.io/example/{id}","properties":["#,
                    r#"{{"type":"olm.package","value":{{"packageName":"{name}","version":"{version}"}}}},"#,
                    r#"{{"type":"olm.gvk","value":{{"group":"example.com","kind":"Kind{package}","version":"v1"}}}}]}}"#
                ),
                name = name,
                id = id,
                version = version,
                package = package,
            )
            .expect("a string takes all");
        }
    }
    text
}

/// Serves the catalogs, and returns the server once it serves them all.
fn serve(folders: &Folders) -> Server {
    let sources: Vec<_> = (0..CATALOGS)
        .map(|number| format!("c{number}={}", folders.text(&format!("c{number}"))))
        .collect();
    let mut arguments: Vec<_> = sources.iter().map(String::as_str).collect();
    arguments.extend(["--compress-after", "1h"]);
    let server = Server::start(folders, &arguments);
    let bundles = CATALOGS * BUNDLES;
    server.answers_in_time(
        "{ bundles { totalCount } }",
        &format!(r#"{{"data":{{"bundles":{{"totalCount":{bundles}}}}}}}"#),
    );
    server
}

/// Bytes of the indexes in the store; `None` while there are fewer than the catalogs.
fn index_bytes(folders: &Folders) -> Option<u64> {
    let sizes: Vec<u64> = fs::read_dir(folders.path("store/content"))
        .expect("the store is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "index"))
        .map(|path| path.metadata().map_or(0, |metadata| metadata.len()))
        .collect();
    (u64::try_from(sizes.len()).expect("few files") == CATALOGS).then(|| sizes.iter().sum())
}

#[test]
fn catalogs_take_no_more_memory_and_disk_than_the_formulas_say() {
    let folders = Folders::new();
    for number in 0..CATALOGS {
        folders.write(&format!("c{number}/catalog.json"), catalog(number));
    }
    let server = serve(&folders);
    let indexes = eventually(|| index_bytes(&folders));
    server.signal("TERM");
    server.ended();

    let disk = documented("indexes on disk");
    assert!(indexes <= disk, "{indexes} bytes, not {disk}");
    // A formula far above what is true would help nobody.
    assert!(2 * indexes >= disk, "{indexes} bytes, not {disk}");

    // The allocator gives back after a moment what loading has taken.
    let server = serve(&folders);
    let most = documented("anonymous memory");
    let memory = eventually(|| Some(server.anonymous_bytes()).filter(|bytes| *bytes <= most));
    println!("{CATALOGS} catalogs: {memory} bytes of memory, {most} documented");
}
