//! Tells the program what it was built from: its version with the commit, and what identifies the
//! code that reads catalogs and the code that answers requests.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Code that makes lines, index and problems of the files of a source. Stored contents of another
/// identity are read again.
const CONTENT_CODE: [&str; 6] = [
    "Cargo.lock",
    "crates/fbc/src",
    "crates/fbc-grammar/src",
    "crates/fbc-read/src",
    "crates/images/src",
    "crates/loading/src",
];

/// Code that makes the bytes of a response, besides the content: entity tags of another identity are
/// not believed.
const ANSWERS_CODE: [&str; 15] = [
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
    "crates/mirror/src",
    "crates/platform-upgrade/src",
    "crates/serving/src",
    "crates/solve/src",
    "schema.graphql",
];

/// The folder of the project, from that of this crate.
const PROJECT: &str = "../..";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
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

/// A hash of these files, and of those below these folders. This program runs again when one of
/// them changes.
fn identity(paths: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        let path = Path::new(PROJECT).join(path);
        println!("cargo::rerun-if-changed={}", path.display());
        for file in files(&path) {
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
    let log = Path::new(PROJECT).join(".git/logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
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
