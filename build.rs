//! Tells the program what it was built from: its version with the commit, and what identifies the
//! code that reads catalogs and the code that answers requests. And links the settings of its
//! allocator.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What decides which lines, index and problems the files of a source give. Stored contents of
/// another identity are read again.
const CONTENT_CODE: [&str; 6] = [
    "Cargo.lock",
    "crates/fbc/src",
    "crates/fbc-grammar/src",
    "crates/fbc-read/src",
    "crates/images/src",
    "crates/loading/src",
];

/// What decides the bytes of a response, besides the content: entity tags of another identity are
/// not believed.
const ANSWERS_CODE: [&str; 14] = [
    "Cargo.lock",
    "crates/catalogd-http/src",
    "crates/fbc/src",
    "crates/fbc-grammar/src",
    "crates/fbc-graph/src",
    "crates/fbc-read/src",
    "crates/graphql/build.rs",
    "crates/graphql/src",
    "crates/graphql-http/src",
    "crates/http-content/src",
    "crates/platform-upgrade/src",
    "crates/serving/src",
    "crates/solve/src",
    "schema.graphql",
];

/// Where `make licenses` collects the licences of others: always there, so that this program runs
/// again when they change.
const LICENSES: &str = "release/dist";

/// Settings of the allocator.
const ALLOCATOR_SETTINGS: &str = "src/malloc_conf.c";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LICENSES}");
    copy_licenses();
    link_allocator_settings();
    println!("cargo::rerun-if-env-changed=GIT_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    let commit = commit();
    let shown = commit.as_ref().map_or_else(
        || version.to_owned(),
        |commit| format!("{version} ({commit})"),
    );
    println!("cargo::rustc-env=CATALOGQL_VERSION={shown}");
    println!(
        "cargo::rustc-env=CATALOGQL_COMMIT={}",
        commit.unwrap_or_default()
    );
    println!(
        "cargo::rustc-env=CATALOGQL_CONTENT_BUILD={version}+{}",
        identity(&CONTENT_CODE)
    );
    println!(
        "cargo::rustc-env=CATALOGQL_ANSWERS_BUILD={version}+{}",
        identity(&ANSWERS_CODE)
    );
}

/// Links the variable that the allocator reads its settings from. It is written in C, where that is
/// not unsafe; as an object and not a library, which nothing would take it from.
fn link_allocator_settings() {
    println!("cargo::rerun-if-changed={ALLOCATOR_SETTINGS}");
    for object in cc::Build::new()
        .file(ALLOCATOR_SETTINGS)
        .compile_intermediates()
    {
        println!("cargo::rustc-link-arg-bins={}", object.display());
        println!("cargo::rustc-link-arg-benches={}", object.display());
    }
}

/// Copies the collected licences to where the program embeds them from: nothing where they were not
/// collected.
fn copy_licenses() {
    let out = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let licenses = fs::read(Path::new(LICENSES).join("third-party.txt.gz")).unwrap_or_default();
    fs::write(Path::new(&out).join("third-party.txt.gz"), licenses)
        .expect("the folder of cargo can be written to");
}

/// A hash of these files, and of those below these folders. This program runs again when one of
/// them changes.
fn identity(paths: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        println!("cargo::rerun-if-changed={path}");
        for file in files(Path::new(path)) {
            file.hash(&mut hasher);
            let bytes = fs::read(&file)
                .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
            bytes.hash(&mut hasher);
        }
    }
    format!("{:016x}", hasher.finish())
}

/// The commit, from the environment where there is no repository, such as in image builds.
fn commit() -> Option<String> {
    if let Ok(commit) = std::env::var("GIT_COMMIT")
        && !commit.is_empty()
    {
        return Some(commit);
    }
    // This file grows with each commit; a path that does not exist would run this program at every
    // build.
    if Path::new(".git/logs/HEAD").exists() {
        println!("cargo::rerun-if-changed=.git/logs/HEAD");
    }
    let output = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

/// The file itself, or every file below a folder, in the order of names.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| files(path)).collect()
}
