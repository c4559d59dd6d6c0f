//! What a release holds besides the program: the list of its crates, and their licences.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::process::Command;

use flate2::read::GzDecoder;

use serde_json::{Value, json};

use crate::support::{catalogql, report_skipped, run};

/// Runs a program in the folder of the project and returns what it printed.
fn printed(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("SOURCE_DATE_EPOCH", "0");
    let output = run(&mut command);
    assert_eq!(
        output.status,
        Some(0),
        "{program} {arguments:?}: {}",
        output.stderr
    );
    output.stdout
}

fn sbom(machine: &str) -> Value {
    serde_json::from_str(&printed(
        "python3",
        &["release/third_party.py", "sbom", machine],
    ))
    .expect("it is JSON")
}

fn components(sbom: &Value) -> impl Iterator<Item = &Value> {
    let parts = sbom["components"].as_array().expect("a list").iter();
    parts.chain([&sbom["metadata"]["component"]])
}

fn name(component: &Value) -> String {
    let text = |field: &str| component[field].as_str().expect("a string").to_owned();
    text("name") + "@" + &text("version")
}

/// The crates that cargo names in what a build of the tests' program is made of, by the folders of
/// their sources. Those of build scripts and macros are not among them.
fn sources() -> BTreeSet<String> {
    let tree = [
        "tree",
        "--edges=normal,no-proc-macro",
        "--prefix=none",
        "--locked",
        "--format={p}",
    ];
    let lines = printed(env!("CARGO"), &tree);
    let mut crates = BTreeSet::new();
    for line in lines.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        crates.insert(format!("{}@{}", words[0], words[1].trim_start_matches('v')));
    }
    crates
}

#[test]
fn the_sbom_names_every_crate_that_is_linked_with_its_licence_and_checksum() {
    let machine = std::env::consts::ARCH;
    let sbom = sbom(machine);
    assert_eq!(
        (&sbom["bomFormat"], &sbom["specVersion"]),
        (&json!("CycloneDX"), &json!("1.6"))
    );
    let is_crate = |component: &&Value| {
        !component["purl"]
            .as_str()
            .expect("a string")
            .starts_with("pkg:npm/")
    };
    let mut named: BTreeSet<_> = components(&sbom).filter(is_crate).map(name).collect();
    assert!(
        named.iter().any(|name| name.starts_with("glibc@")),
        "{named:?}"
    );
    named.retain(|name| !name.starts_with("glibc@"));
    assert_eq!(named, sources());
    for component in components(&sbom).filter(is_crate) {
        let licence = component["licenses"][0]["expression"]
            .as_str()
            .expect("a string");
        assert!(
            !licence.contains(['/', ' '])
                || licence.contains(" OR ")
                || licence.contains(" AND ")
                || licence.contains(" WITH "),
            "{component}"
        );
        let is_published = component["purl"]
            .as_str()
            .expect("a string")
            .starts_with("pkg:cargo/")
            && component.get("hashes").is_some();
        let is_ours = component["version"] == json!(env!("CARGO_PKG_VERSION")) && !is_published;
        assert!(
            is_published || is_ours || component["name"] == "glibc",
            "{component}"
        );
    }
    let dependencies = sbom["dependencies"].as_array().expect("a list");
    assert_eq!(dependencies.len(), named.len());
}

#[test]
fn the_same_lock_file_gives_the_same_sbom() {
    let machine = "aarch64";
    assert_eq!(sbom(machine), sbom(machine));
    assert!(
        sbom(machine)["serialNumber"]
            .as_str()
            .is_some_and(|serial| serial.starts_with("urn:uuid:"))
    );
}

#[test]
fn the_licences_of_what_is_linked_come_with_it() {
    let text = printed(
        "python3",
        &["release/third_party.py", "licenses", std::env::consts::ARCH],
    );
    for part in [
        "tokio ",
        "aws-lc-sys ",
        "zstd-sys ",
        "tikv-jemalloc-sys ",
        "glibc ",
        "Apache License",
        "MIT",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let components: BTreeSet<_> = components(&sbom(std::env::consts::ARCH))
        .map(name)
        .collect();
    for page in ["explorer", "playground"] {
        let path = format!("{}/{page}/dist/licenses.json", env!("CARGO_MANIFEST_DIR"));
        let Ok(licenses) = fs::read_to_string(path) else {
            return report_skipped(
                "npm licences",
                &format!("the {page} was not built"),
                "make pages builds it",
            );
        };
        for package in serde_json::from_str::<Vec<Value>>(&licenses).expect("it is JSON") {
            let [name, version] =
                ["name", "version"].map(|field| package[field].as_str().expect("a string"));
            assert!(
                text.contains(&format!("\n{name} {version} (")),
                "{name} {version}"
            );
            assert!(
                components.contains(&format!("{name}@{version}")),
                "{name} {version}"
            );
        }
    }
}

#[test]
fn the_program_prints_the_licences_that_were_collected_for_it() {
    let printed = run(catalogql().arg("licenses"));
    let collected = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/release/dist/third-party.txt.gz"
    );
    if let Ok(file) = File::open(collected) {
        let mut text = String::new();
        GzDecoder::new(file)
            .read_to_string(&mut text)
            .expect("it was written by gzip");
        assert_eq!(
            (printed.status, printed.stdout == text),
            (Some(0), true),
            "{}",
            printed.stderr
        );
    } else {
        let message = "error: cannot print licences: this program was built without them; `make licenses` collects \
                       them for a build\n";
        assert_eq!(
            (printed.status, printed.stderr.as_str()),
            (Some(1), message)
        );
    }
}

#[test]
fn the_program_brings_the_settings_of_its_allocator() {
    let output = run(catalogql()
        .arg("version")
        .env("MALLOC_CONF", "stats_print:true"));
    for line in [
        "Global variable malloc_conf: \"dirty_decay_ms:1000,thp:never\"",
        "(background_thread: true)",
        "opt.dirty_decay_ms: 1000",
        "opt.thp: \"never\"",
    ] {
        assert!(output.stderr.contains(line), "{line}: {}", output.stderr);
    }
}
