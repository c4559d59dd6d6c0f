//! Loads a catalog of the corpus.

use std::fs;
use std::path::Path;

use fbc::Catalog;
use fbc_read::Origins;
use testing::fixture::read_file;

/// Indexes the packages of a directory, one folder each, without invalid ones: opm refuses a
/// catalog with them.
pub(crate) fn load(directory: &Path, without: &[&str]) -> Catalog {
    let mut lines = Vec::new();
    let mut files = Vec::new();
    let mut folders: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.retain(|folder| folder.is_dir() && !without.iter().any(|name| folder.ends_with(name)));
    folders.sort();
    for folder in folders {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.push(read_file(
                    &path.to_string_lossy(),
                    &fs::read(&path).unwrap(),
                    &mut lines,
                ));
            }
        }
    }
    Catalog::build(
        lines.into(),
        &Origins {
            files,
            ..Origins::default()
        },
    )
    .unwrap()
}
