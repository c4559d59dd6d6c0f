//! Tests that have nothing to look at on this machine. They are named, or fail where the variable
//! `CI` is set, so that none is green unseen.

use std::collections::BTreeSet;
use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::sync::Mutex;
use std::thread;

/// Variable that names the file to which the skipped tests are appended: a line with what is
/// missing, a tab and the name of the test. `tests/skipped.sh` reads it.
const SKIPPED_TESTS: &str = "CATALOGQL_SKIPPED_TESTS";

/// Reports that the calling test looks at nothing, because of `missing`; `found` says what there is
/// instead, and `remedy` what to do. Where `CI` is set and not empty, this panics instead.
#[track_caller]
pub fn report_skipped(missing: &str, found: &str, remedy: &str) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(
        !is_ci,
        "cannot test without {missing}: {found}, and no test may be skipped where CI is set: {remedy}, or unset CI"
    );
    // Without threads for tests (`--test-threads=1`) no thread has the name of its test.
    let caller = Location::caller();
    let thread = thread::current()
        .name()
        .filter(|name| *name != "main")
        .map(str::to_owned);
    let test = thread.unwrap_or_else(|| format!("{}:{}", caller.file(), caller.line()));
    if !REPORTED
        .lock()
        .expect("nobody panicked")
        .insert(test.clone())
    {
        return;
    }
    // Unlike what is printed by macros, this is shown although the test passes. Nothing is left to
    // do when it fails.
    let _ = writeln!(
        std::io::stderr(),
        "skipped: {test} looked at nothing, because {found}"
    );
    if let Some(list) = env::var_os(SKIPPED_TESTS) {
        let list = OpenOptions::new().create(true).append(true).open(list);
        list.and_then(|mut list| writeln!(list, "{missing}\t{test}"))
            .expect("the list of skipped tests can be written");
    }
}
