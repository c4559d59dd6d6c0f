//! Links against what upstream does with them: the cases of upstream's recorded vectors that have
//! links, or no files.

use std::os::unix::fs::symlink;

use serde::Deserialize;

use crate::served::read_once;
use crate::support::Folders;

const GOLDEN: &str = include_str!("../../crates/fbc/tests/testdata/golden/fbc/reading.jsonl");

/// Cases that we refuse on purpose although upstream reads them: what we say, and why.
const REFUSED: [(&str, &str, &str); 1] = [(
    "a link to a file outside the root is followed",
    "cannot read the source: the link `@/case/root/link.yaml` leads out of the catalog, to `../outside.yaml`",
    "a catalog must not be able to show other files of its host",
)];

/// Cases that both refuse, with our text.
const ERRORS: [(&str, &str); 3] = [
    (
        "a link to a directory fails the load",
        "cannot read the source: the link `@/case/link` leads to the directory `d`: name it in .indexignore or replace it by the directory",
    ),
    (
        "a dangling link fails the load",
        "cannot read the source: the link `@/case/link.yaml` to `nowhere.yaml` cannot be followed: No such file or directory (os error 2)",
    ),
    (
        "a link to itself fails the load",
        "cannot read the source: the link `@/case/link.yaml` to `link.yaml` cannot be followed: Too many levels of symbolic links (os error 40)",
    ),
];

#[derive(Deserialize)]
struct Case {
    name: String,
    files: Vec<File>,
    root: Option<String>,
    stored: Option<Vec<String>>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    text: Option<String>,
    symlink: Option<String>,
    #[serde(default)]
    directory: bool,
}

#[test]
fn links_are_followed_and_refused_as_upstream_does_but_where_it_is_said() {
    let mut seen = Vec::new();
    for line in GOLDEN.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        if !case
            .files
            .iter()
            .any(|file| file.symlink.is_some() || file.directory)
        {
            continue;
        }
        let refused = REFUSED.iter().map(|(name, error, _)| (*name, *error));
        let refused = refused
            .clone()
            .chain(ERRORS)
            .find(|(name, _)| *name == case.name)
            .map(|(_, error)| error);
        assert_eq!(
            refused.is_some(),
            case.error.is_some() || REFUSED.iter().any(|(name, ..)| *name == case.name)
        );
        let expected = refused.map_or_else(
            || Ok(case.stored.clone().unwrap()),
            |error| Err(error.to_owned()),
        );
        assert_eq!(load(&case), expected, "{}", case.name);
        seen.push(case.name);
    }
    assert_eq!(seen.len(), 8, "{seen:?}");
}

/// The stored lines of a case, or our error.
fn load(case: &Case) -> Result<Vec<String>, String> {
    let folders = Folders::new();
    for file in &case.files {
        let path = format!("case/{}", file.path);
        let parent = folders.path(&path).parent().unwrap().to_owned();
        std::fs::create_dir_all(parent).unwrap();
        match (&file.text, &file.symlink) {
            (Some(text), _) => folders.write(&path, text),
            (_, Some(target)) => symlink(target, folders.path(&path)).unwrap(),
            _ => std::fs::create_dir_all(folders.path(&path)).unwrap(),
        }
    }
    let root = folders
        .path("case")
        .join(case.root.as_deref().unwrap_or_default());
    let content =
        read_once(&root, &folders.path("")).map_err(|error| folders.shown(&error.chain()))?;
    let lines = std::str::from_utf8(content.catalog.content())
        .unwrap()
        .lines();
    Ok(lines.map(str::to_owned).collect())
}
