//! Files of a project, as text.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Folders that hold nothing written by hand, wherever they are.
const GENERATED: [&str; 4] = [".git", "target", "node_modules", "dist"];

/// Every file of a project that is text, in the order of paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    files: Vec<(String, String)>,
}

impl Tree {
    /// The files of this project.
    pub(crate) fn of_the_project() -> Self {
        static TREE: LazyLock<Tree> = LazyLock::new(|| {
            let mut tree = Tree::default();
            tree.read(Path::new(env!("CARGO_MANIFEST_DIR")), "");
            tree
        });
        assert!(
            TREE.files.len() > 100,
            "the files of the project were not found"
        );
        TREE.clone()
    }

    /// These files.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        }
    }

    /// Each file with its path from the root.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Those whose name ends like this.
    pub(crate) fn ending(&self, end: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(move |(path, _)| path.ends_with(end))
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files()
            .find(|(other, _)| *other == path)
            .map(|(_, text)| text)
    }

    /// Whether there is a file or a folder at this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files()
            .any(|(other, _)| other == path || other.starts_with(&folder))
    }

    fn read(&mut self, folder: &Path, prefix: &str) {
        let entries =
            fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        paths.sort();
        for path in paths {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let shown = format!("{prefix}{name}");
            if GENERATED.contains(&name) || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                self.read(&path, &format!("{shown}/"));
            } else if let Ok(text) = fs::read_to_string(&path) {
                self.files.push((shown, text));
            }
        }
    }
}
