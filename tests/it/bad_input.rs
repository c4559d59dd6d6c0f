//! Everything bad that a directory can hold: each gives a clear error that names its place, and
//! another catalog of the same process is served all the same, in bounded memory.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;

use crate::support::{ETCD, Folders, Server, catalogql, graphql, run};

/// What one process may need at most while it refuses all of this, in KiB: most of it are the
/// buffers of the largest blob that is allowed, which grow by doubling.
const MEMORY: u64 = 320 * 1024;

/// A YAML document whose aliases stand for 10^9 scalars.
fn alias_bomb() -> String {
    let mut text = "schema: bomb\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").expect("a string takes all text");
    }
    text
}

/// Each bad catalog: its name, its only file beside a good one, the bytes of that file, and how the
/// error begins.
fn bad_files() -> Vec<(&'static str, &'static str, Vec<u8>, &'static str)> {
    let long = |head: &str, tail: &str| {
        [head.as_bytes(), &vec![b'a'; 200_000_000], tail.as_bytes()].concat()
    };
    vec![
        (
            "broken-json",
            "b.json",
            b"{\"schema\":\"x\"}\n{\"schema\":\"x\"}\n{\"schema\":}\n".to_vec(),
            "b.json:3: ",
        ),
        (
            "cut-json",
            "b.json",
            b"{\"schema\":\"x\"}\n{\"schema\":\"x\"".to_vec(),
            "b.json:2: ",
        ),
        (
            "broken-yaml",
            "b.yaml",
            b"schema: x\n---\nschema: y\nname: [a\n".to_vec(),
            "b.yaml:",
        ),
        (
            "list",
            "b.yaml",
            b"- schema: x\n".to_vec(),
            "b.yaml:1: cannot unmarshal array into a mapping",
        ),
        (
            "readme",
            "README.md",
            b"# A catalog\n\nSome words\n".to_vec(),
            "README.md:3: cannot unmarshal string",
        ),
        (
            "cases",
            "b.json",
            b"{\"schema\":\"x\",\"Schema\":\"y\"}".to_vec(),
            "b.json:1: duplicate keys for key \"schema\"",
        ),
        (
            "number",
            "b.yaml",
            b"schema: x\nname: 4.10\n".to_vec(),
            "b.yaml:1: expected value for key \"name\" to be a string",
        ),
        (
            "not-utf-8",
            "b.yaml",
            b"schema: x\nname: \"a\xff\"\n".to_vec(),
            "b.yaml:",
        ),
        ("bomb", "b.yaml", alias_bomb().into_bytes(), "b.yaml:"),
        (
            "deep",
            "b.json",
            "{\"schema\":\"x\",\"a\":"
                .to_owned()
                .into_bytes()
                .into_iter()
                .chain(vec![b'['; 100_000])
                .collect(),
            "b.json:1: ",
        ),
        (
            "long-json",
            "b.json",
            long("{\"schema\":\"", "\"}"),
            "b.json:1: a blob is larger than ",
        ),
        (
            "long-yaml",
            "b.yaml",
            long("schema: ", "\n"),
            "b.yaml:1: a blob is larger than ",
        ),
    ]
}

#[test]
fn whatever_a_file_holds_is_refused_with_its_place_and_harms_no_other_catalog() {
    let folders = Folders::new();
    folders.catalog("good", ETCD);
    let mut sources = vec![folders.text("good")];
    for (name, file, bytes, _) in bad_files() {
        folders.catalog(name, ETCD);
        folders.write(&format!("{name}/{file}"), bytes);
        sources.push(folders.text(name));
    }
    let server = Server::start(
        &folders,
        &sources.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    for (name, _, _, expected) in bad_files()
        .iter()
        .map(|(name, file, bytes, error)| (name, file, bytes, error))
    {
        let said = server
            .table
            .iter()
            .find_map(|line| line.strip_prefix(&format!("{name} is not served: ")));
        assert!(
            said.is_some_and(|error| error.starts_with(expected)),
            "{name}: {said:?}"
        );
    }
    let answer = r#"{"data":{"catalogs":[{"name":"good"}]}}"#;
    assert_eq!(graphql(server.address, "{ catalogs { name } }"), answer);

    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < MEMORY, "{peak} KiB at most");
}

#[test]
fn a_json_text_that_is_not_utf_8_is_read_as_upstream_reads_it() {
    let folders = Folders::new();
    folders.write("a/b.json", b"{\"schema\":\"x\",\"name\":\"a\xffb\"}");
    let output = run(catalogql().args(["validate", &folders.text("a")]));
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "0 errors and 0 warnings in 0 packages\n")
    );
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let folders = Folders::new();
    folders.catalog("links", ETCD);
    folders.write("outside.json", "{}");
    symlink("../outside.json", folders.path("links/out.json")).unwrap();
    let error = |name: &str| {
        let output = run(catalogql().args(["validate", &folders.text(name)]));
        assert_eq!(output.status, Some(2));
        folders.shown(&output.stdout)
    };
    let link = "error: cannot read the source: the link `@/links/out.json` leads out of the catalog, to `../outside.json`\n";
    assert_eq!(error("links"), link);
}

#[test]
fn what_the_user_may_not_read_is_named() {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    folders.catalog("a/sub", ETCD);
    fs::set_permissions(folders.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    // The system refuses nothing to root, so that root asks as somebody else, with a program that
    // this one may start.
    let program = folders.path("catalogql");
    fs::copy(env!("CARGO_BIN_EXE_catalogql"), &program).unwrap();
    let is_root = fs::metadata(&program).unwrap().uid() == 0;
    let validate = || {
        let mut command = std::process::Command::new(&program);
        command.args(["validate", &folders.text("a")]);
        if is_root {
            command.uid(65534).gid(65534);
        }
        let output = run(&mut command);
        (output.status, folders.shown(&output.stdout))
    };
    assert_eq!(validate().0, Some(1), "the same package twice");
    let denied = |path: &str, action: &str| {
        let before = fs::metadata(folders.path(path)).unwrap().permissions();
        fs::set_permissions(folders.path(path), fs::Permissions::from_mode(0o0)).unwrap();
        let error = format!(
            "error: cannot read the source: cannot {action} `@/{path}`: Permission denied (os error 13)\n"
        );
        assert_eq!(validate(), (Some(2), error));
        fs::set_permissions(folders.path(path), before).unwrap();
    };
    denied("a/sub/catalog.json", "open");
    denied("a/sub", "read the directory");
    denied("a", "open");
}
