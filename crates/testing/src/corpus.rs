//! The corpus: real catalogs, which tests and benches use where they are unpacked. Tests that need one that is not
//! there have nothing to look at. They are named, or fail where the variable `CI` is set, so that none is green unseen.

use std::collections::BTreeSet;
use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

/// Variable that names the file to which the tests without their catalog are appended, one name a line.
const SKIPPED_TESTS: &str = "CATALOGQL_SKIPPED_TESTS";

/// Returns the folder that `CATALOGQL_CORPUS` names, or else `catalogql/corpus` in the user's cache folder.
pub fn folder() -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = || env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    env::var_os("CATALOGQL_CORPUS").map_or_else(|| cache().join("catalogql").join("corpus"), PathBuf::from)
}

/// Returns the directory of a catalog of the corpus for the test that calls. `None` where it is not unpacked: the test
/// then has nothing to look at and returns, and is reported as skipped. Where `CI` is set and not empty, this panics
/// instead.
#[track_caller]
pub fn find_catalog(name: &str) -> Option<PathBuf> {
    let directory = folder().join(name);
    if directory.is_dir() {
        return Some(directory);
    }
    let is_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(
        !is_ci,
        "cannot test on the catalog `{name}`: {} is not a directory, and no test may be skipped where CI is set: unpack \
         the corpus there, name its folder in CATALOGQL_CORPUS, or unset CI",
        directory.display()
    );
    // Without threads for tests (`--test-threads=1`) no thread has the name of its test.
    let caller = Location::caller();
    let thread = thread::current().name().filter(|name| *name != "main").map(str::to_owned);
    report_skipped(&thread.unwrap_or_else(|| format!("{}:{}", caller.file(), caller.line())), &directory.display());
    None
}

/// Says once that a test has nothing to look at, and appends its name to the file that [`SKIPPED_TESTS`] names.
fn report_skipped(test: &str, missing: &dyn std::fmt::Display) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !REPORTED.lock().expect("nobody panicked").insert(test.to_owned()) {
        return;
    }
    // Unlike what is printed by macros, this is shown although the test passes. Nothing is left to do when it fails.
    let _ = writeln!(std::io::stderr(), "skipped: {test} looked at nothing, because {missing} is not a directory");
    if let Some(list) = env::var_os(SKIPPED_TESTS) {
        let list = OpenOptions::new().create(true).append(true).open(list);
        list.and_then(|mut list| writeln!(list, "{test}")).expect("the list of skipped tests can be written");
    }
}
