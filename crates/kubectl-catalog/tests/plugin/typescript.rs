//! The package for TypeScript: packed and installed as users do it, and its example is compiled and
//! run against the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testing::Folders;

use crate::support::{ProgramPage, copy, example};

/// What the package is made of, from the root of the repository.
const SOURCES: [&str; 9] = [
    "clients/typescript/package.json",
    "clients/typescript/tsconfig.json",
    "clients/typescript/scripts",
    "clients/typescript/src/client.ts",
    "clients/typescript/src/index.ts",
    "crates/client/documents",
    "explorer/scripts",
    "explorer/src",
    "schema.graphql",
];

/// The compiler's options for a program of a user.
const OPTIONS: &str = r#"{"compilerOptions": {"target": "es2022", "lib": ["es2023", "dom"], "module": "nodenext", "strict": true,
    "types": ["node"], "outDir": "out"}, "files": ["heads.ts", "page.ts"]}"#;

/// Walks over pages while another catalog changes, and then the one that is asked about.
const WALKS: &str = r#"
import { Client, ContentChangedError, Packages } from "catalogql-client";

let page = 0;
globalThis.fetch = async () => {
  page += 1;
  const served = [{ name: "a", digest: "1" }, { name: "b", digest: `${page}` }];
  const packages = { nodes: [{ name: `p${page}` }], pageInfo: { hasNextPage: page % 2 === 1, endCursor: "c" } };
  return new Response(JSON.stringify({ data: { served, packages } }));
};
const client = new Client("http://127.0.0.1:1");
for (const catalogs of [["a"], ["b"], [], null]) {
  try {
    const names = [];
    page = 0;
    for await (const found of client.pages(Packages, { catalogs }, (data) => data.packages)) names.push(found.name);
    console.log(names.join(" "));
  } catch (error) {
    console.log(error instanceof ContentChangedError);
  }
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program in a folder; returns what it prints, and panics where it fails.
fn run(folder: &Path, program: &str, arguments: &[&str], server: &str) -> String {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("CATALOGQL_SERVER", server);
    let output = command
        .env("npm_config_update_notifier", "false")
        .output()
        .expect("Node is installed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{arguments:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn the_package_for_typescript_installs_and_its_example_prints_what_it_finds() {
    let tools = root().join("explorer/node_modules");
    if !tools.is_dir() {
        testing::report_skipped(
            "explorer/node_modules",
            "it is missing",
            "make explorer/node_modules",
        );
        return;
    }
    let folders = Folders::new();
    for source in SOURCES {
        copy(&root().join(source), &folders.path(source));
    }
    std::os::unix::fs::symlink(
        fs::canonicalize(tools).expect("it is there"),
        folders.path("explorer/node_modules"),
    )
    .expect("links can be made");
    run(
        &folders.path("clients/typescript"),
        "npm",
        &["pack", "--pack-destination", ".."],
        "",
    );
    folders.write("app/package.json", r#"{"private": true, "type": "module"}"#);
    let install = [
        "install",
        "--offline",
        "--no-audit",
        "--no-fund",
        "../clients/catalogql-client-0.1.0.tgz",
    ];
    run(&folders.path("app"), "npm", &install, "");
    copy(
        &root().join("clients/typescript/example/heads.ts"),
        &folders.path("app/heads.ts"),
    );
    let page = ProgramPage::read();
    let server = example();
    folders.write("app/page.ts", page.program("ts", "// heads.ts", &server));
    folders.write("app/tsconfig.json", OPTIONS);
    let compiler = "../explorer/node_modules/typescript/bin/tsc";
    let types = "../explorer/node_modules/@types";
    run(
        &folders.path("app"),
        "node",
        &[compiler, "--project", ".", "--typeRoots", types],
        "",
    );

    assert_eq!(
        run(&folders.path("app"), "node", &["out/page.js"], ""),
        page.output()
    );
    folders.write("app/walks.mjs", WALKS);
    assert_eq!(
        run(&folders.path("app"), "node", &["walks.mjs"], ""),
        "p1 p2\ntrue\ntrue\ntrue\n"
    );

    let server = example();
    let expected = "\
example candidate quillstore.v2.0.0-rc.1
example stable quillstore.v1.4.0
quillstore Quillstore
nightjar Nightjar backups
true
string
BAD_USER_INPUT
";
    assert_eq!(
        run(
            &folders.path("app"),
            "node",
            &["out/heads.js"],
            &server.url()
        ),
        expected
    );
    let statuses = server.statuses();
    assert_eq!(statuses[..4], [200, 200, 304, 200], "{statuses:?}");
    // A busy server is asked again when it says.
    server.refuse_next(503, &[("retry-after", "0")], "");
    assert_eq!(
        run(
            &folders.path("app"),
            "node",
            &["out/heads.js"],
            &server.url()
        ),
        expected
    );
}
