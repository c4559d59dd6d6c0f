//! What a reader may rely on in every file of the project and no compiler says: which crate may
//! depend on which, what is shared out among clients, and what is never there. Each check is a
//! function of a tree of files, so that each is also tried on a tree that it must refuse.

mod crates;
mod docs;
mod rust;
mod shares;
mod tree;

use std::fmt::Write as _;

use tree::Tree;

/// Faults found in a tree, each with its path and what to do.
type Faults = Vec<String>;

/// Asserts that a check finds nothing in this project.
#[track_caller]
fn holds(check: impl Fn(&Tree) -> Faults) {
    let faults = check(&Tree::of_the_project());
    let list = faults.iter().fold(String::new(), |mut list, fault| {
        let _ = write!(list, "\n  {fault}");
        list
    });
    assert!(faults.is_empty(), "{list}\n");
}

/// Asserts that a check refuses a tree of these files, once for each of them, and accepts what is
/// in `good`.
#[track_caller]
fn catches(check: impl Fn(&Tree) -> Faults, wrong: &[(&str, &str)], good: &[(&str, &str)]) {
    for (path, text) in wrong {
        let files: Vec<_> = good
            .iter()
            .filter(|(other, _)| other != path)
            .chain([&(*path, *text)])
            .copied()
            .collect();
        assert!(
            !check(&Tree::of(&files)).is_empty(),
            "not caught: {path}:\n{text}"
        );
    }
    assert_eq!(check(&Tree::of(good)), Faults::new());
}
