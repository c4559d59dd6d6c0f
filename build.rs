//! Tells the program what it was built from: its version with the commit, and a digest of the code that reads catalogs;
//! and embeds the playground, where it was built.

use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The code whose change can give the same files another content or other problems.
const READING_CODE: &str = "crates/fbc/src";

/// Where the playground is built to: always there, so that this program runs again when it changes and only then.
const PLAYGROUND: &str = "playground/dist";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={READING_CODE}");
    println!("cargo::rerun-if-env-changed=GIT_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    let shown = commit().map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=CATALOGQL_VERSION={shown}");

    let mut hasher = DefaultHasher::new();
    hash_folder(Path::new(READING_CODE), &mut hasher);
    println!("cargo::rustc-env=CATALOGQL_BUILD={version}+{:016x}", hasher.finish());

    println!("cargo::rerun-if-changed={PLAYGROUND}");
    let out = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let out = Path::new(&out).join("playground.rs");
    fs::write(&out, playground()).unwrap_or_else(|error| panic!("cannot write {}: {error}", out.display()));
}

/// The table of the playground's files, as `src/views/playground.rs` takes it.
fn playground() -> String {
    let site = Path::new(PLAYGROUND).join("site");
    let site = std::path::absolute(&site).expect("there is a current folder");
    let mut text = String::from("const FILES: Files = &[\n");
    for path in if site.is_dir() { files(&site) } else { Vec::new() } {
        let name = path.strip_prefix(&site).expect("it is below the folder").with_extension("");
        let [name, path] = [&name, &path].map(|path| path.to_str().expect("paths of the project are UTF-8"));
        writeln!(text, "({name:?}, include_bytes!({path:?})),").expect("a string takes all text");
    }
    text + "];\n"
}

/// The commit, from the environment where there is no repository, such as in image builds.
fn commit() -> Option<String> {
    if let Ok(commit) = std::env::var("GIT_COMMIT")
        && !commit.is_empty()
    {
        return Some(commit);
    }
    // This file grows with each commit; a path that does not exist would run this program at every build.
    if Path::new(".git/logs/HEAD").exists() {
        println!("cargo::rerun-if-changed=.git/logs/HEAD");
    }
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) {
    for path in files(folder) {
        path.hash(hasher);
        fs::read(&path).unwrap_or_default().hash(hasher);
    }
}

/// Every file below a folder, in the order of names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
