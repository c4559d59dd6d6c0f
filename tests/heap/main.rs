//! How much memory loading and solving take at most, counted by the allocator: hostile files, each
//! with as many as possible of what costs most. Each case is loaded by a process of its own,
//! because an allocator counts all that its process does.

mod cases;
mod hidden;
mod previews;
mod solving;

use std::alloc::System;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use cap::Cap;
use fbc::Outline;
use images::{Registries, RegistrySettings};
use loading::{LoadError, Source, SourceSpec, load_once};
use serving::Content;
use testing::Folders;

use cases::{CASES, Case};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Set in the process that loads a case, to the folder of its files.
const LOAD: &str = "CATALOGQL_TEST_LOAD";

/// Set by people to the name of the only case to load.
const CASE: &str = "CATALOGQL_TEST_CASE";

/// The test that such a process runs.
const NAME: &str = "loading_takes_at_most_sixteen_bytes_of_memory_for_each_byte_and_64_mib";

const MIB: usize = 1024 * 1024;

/// Most bytes of memory for each byte of the files, beyond [`FREE`].
const PER_BYTE: usize = 16;

/// Bytes of memory that loading may take however small the files are.
const FREE: usize = 64 * MIB;

#[test]
fn loading_takes_at_most_sixteen_bytes_of_memory_for_each_byte_and_64_mib() {
    if let Some(folder) = env::var_os(LOAD) {
        return load(Path::new(&folder));
    }
    let wanted = env::var(CASE).ok();
    let mut missed = Vec::new();
    for Case {
        name,
        files,
        outcome,
    } in CASES
    {
        if wanted.as_ref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let folders = Folders::new();
        let mut bytes = 0;
        for (path, text) in files() {
            bytes += path.len() + text.len();
            folders.write(&format!("catalog/{path}"), text);
        }
        let (peak, found) = run(NAME, &folders.path("catalog"));
        let most = PER_BYTE * bytes + FREE;
        println!(
            "{name}: {} KiB of files, {} KiB of memory, at most {}: {found}",
            bytes / 1024,
            peak / 1024,
            most / 1024
        );
        if peak > most || !found.contains(outcome) {
            missed.push((name, bytes, peak, found));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Runs a test with these files in another process. Returns the bytes of memory that this takes at
/// most, and the outcome.
fn run(test: &str, folder: &Path) -> (usize, String) {
    let program = env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(LOAD, folder)
        .output();
    let output = output.expect("this program can be started");
    let printed = String::from_utf8_lossy(&output.stdout);
    let line = printed
        .lines()
        .find_map(|line| line.strip_prefix("peak "))
        .unwrap_or_else(|| panic!("{output:?}"));
    let (peak, outcome) = line.split_once(' ').expect("the outcome follows");
    (peak.parse().expect("a number"), outcome.to_owned())
}

/// Loads files and prints what was on the heap at most, and what became of them.
fn load(folder: &Path) {
    let outcome = match read(folder) {
        Ok(content) => {
            // What a server does with a content just after it is published.
            content.catalog.prepare();
            drop(Outline::from_catalog(&content.catalog));
            let counts = content.catalog.all_problems().counts.iter();
            counts
                .map(|(code, count)| [count.to_string(), code.as_str().to_owned()].join(" "))
                .collect::<Vec<_>>()
                .join(" ")
        }
        Err(error) => error.chain(),
    };
    println!("\npeak {} {outcome}", HEAP.max_allocated());
}

/// Loads files.
fn read(folder: &Path) -> Result<Content, LoadError> {
    let registries = Registries::new(RegistrySettings::default()).expect("nothing is set");
    let source = Source::parse(folder.to_str().expect("the path is UTF-8"), Path::new(""))
        .expect("a source");
    let store = folder.with_file_name("store");
    fs::create_dir(&store).expect("the folder can be written to");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(load_once(
        &SourceSpec::once(source, registries),
        &store,
        |_, _, _| (),
    ))
}
