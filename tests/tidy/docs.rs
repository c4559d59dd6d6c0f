//! What documents say of the tree, and what no file may say.

use std::collections::BTreeSet;

use crate::{Faults, Tree, catches, holds};

#[test]
fn the_architecture_names_every_crate_and_nothing_that_is_not_there() {
    holds(architecture);
    let good = [
        ("ARCHITECTURE.md", "`crates/fbc` and `src/run.rs`"),
        ("crates/fbc/Cargo.toml", ""),
        ("src/run.rs", ""),
    ];
    catches(
        architecture,
        &[
            ("ARCHITECTURE.md", "`crates/fbc` and `src/gone.rs`"),
            ("ARCHITECTURE.md", "`src/run.rs`"),
            ("crates/new/Cargo.toml", ""),
        ],
        &good,
    );
}

fn architecture(tree: &Tree) -> Faults {
    let text = tree
        .text("ARCHITECTURE.md")
        .expect("ARCHITECTURE.md says how the parts fit");
    let mut faults = Faults::new();
    let named: BTreeSet<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|name| name.trim_end_matches('/'))
        .collect();
    let top: BTreeSet<&str> = tree
        .files()
        .filter_map(|(path, _)| path.split('/').next())
        .collect();
    let is_path = |name: &str| {
        name.split('/')
            .next()
            .is_some_and(|first| top.contains(first))
    };
    for path in named
        .iter()
        .filter(|name| is_path(name) && !name.contains(['*', '<', ' ', '{']))
    {
        if !tree.has(path) {
            faults.push(format!(
                "ARCHITECTURE.md names `{path}`, which is not there: correct it"
            ));
        }
    }
    for (path, _) in tree
        .ending("/Cargo.toml")
        .filter(|(path, _)| path.starts_with("crates/"))
    {
        let folder = path.trim_end_matches("/Cargo.toml");
        if !named.contains(folder) {
            faults.push(format!(
                "ARCHITECTURE.md does not name `{folder}`: give it a paragraph"
            ));
        }
    }
    faults
}

#[test]
fn no_file_knows_one_machine() {
    holds(machine_paths);
    let path = ["see /", "root/.cache"].concat();
    catches(
        machine_paths,
        &[("docs/a.md", &path)],
        &[("docs/b.md", "see a/root/b and /rooted")],
    );
}

fn machine_paths(tree: &Tree) -> Faults {
    let folders = ["work", "root", "farm"].map(|folder| format!("/{folder}/"));
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let mut faults = Faults::new();
    for (path, text) in tree
        .files()
        .filter(|(path, _)| !path.ends_with("package-lock.json") && *path != "Cargo.lock")
    {
        for (number, line) in text.lines().enumerate() {
            if folders.iter().any(|folder| {
                line.match_indices(folder)
                    .any(|(at, _)| !line[..at].ends_with(is_name))
            }) {
                let number = number + 1;
                faults
                    .push(format!("{path}:{number}: a path of one machine: write it relative or from the environment"));
            }
        }
    }
    faults
}
