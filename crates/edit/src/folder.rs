//! Replaces files of a directory: after a kill at any step, the next edit finishes the change or forgets it.
//!
//! Whatever is in a directory is part of its catalog, so nothing is prepared there: new files are written to a folder
//! beside it, `.NAME.edit`, with a plan that says where they go. Once the plan is there the change is made: files are
//! renamed to their places one by one, and whoever finds a plan goes on with it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file::FileChange;

/// Name of the plan in the folder beside the directory.
const PLAN: &str = "plan.json";

/// A directory that this process alone edits.
#[derive(Debug)]
pub struct LockedFolder {
    root: PathBuf,
    /// Folder beside the root where changes are prepared.
    stage: PathBuf,
    _lock: File,
}

/// Why files are not replaced.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process edits the directory.
    #[error("cannot edit `{}`: another process edits it", .0.display())]
    Locked(PathBuf),
    /// A file changed since it was read.
    #[error("cannot edit `{}`: it was changed meanwhile: try again", .0.display())]
    Conflict(PathBuf),
    /// The directory has no folder that contains it.
    #[error("cannot edit `{}`: it has no parent directory to prepare the change in", .0.display())]
    NoParent(PathBuf),
    /// A file is a link.
    #[error("cannot edit `{}`: it is a symbolic link", .0.display())]
    Link(PathBuf),
    /// The operating system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// One file of a change.
#[derive(Debug, Serialize, Deserialize)]
struct PlannedFile {
    path: String,
    is_removed: bool,
}

/// A step of a change, before which a test may stop.
type Stop<'s> = &'s mut dyn FnMut() -> io::Result<()>;

impl LockedFolder {
    /// Locks a directory and finishes a change that another process began.
    pub fn lock(root: &Path) -> Result<Self, FolderError> {
        let root = fs::canonicalize(root).map_err(io_error("open", root))?;
        let lock = File::open(&root).map_err(io_error("open", &root))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::Locked(root)),
            Err(TryLockError::Error(source)) => return Err(io_error("lock", &root)(source)),
        }
        let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else {
            return Err(FolderError::NoParent(root));
        };
        let stage = parent.join(format!(".{}.edit", name.to_string_lossy()));
        let folder = Self { root, stage, _lock: lock };
        folder.recover()?;
        Ok(folder)
    }

    /// Returns the directory, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file beside the directory, `.NAME.SUFFIX`, as one that [`Self::write`] replaces.
    pub fn beside(&self, suffix: &str) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        format!("../.{name}.{suffix}")
    }

    /// Replaces files, all or none.
    pub fn write(&self, changes: &[FileChange]) -> Result<(), FolderError> {
        self.write_until(changes, &mut || Ok(()))
    }

    fn write_until(&self, changes: &[FileChange], stop: Stop<'_>) -> Result<(), FolderError> {
        for change in changes {
            self.check(change)?;
        }
        self.prepare(changes, stop)?;
        let planned =
            changes.iter().map(|change| PlannedFile { path: change.path.clone(), is_removed: change.after.is_none() });
        self.apply(&planned.collect::<Vec<_>>(), stop)
    }

    /// Checks that a file is as it was read.
    fn check(&self, change: &FileChange) -> Result<(), FolderError> {
        let path = self.root.join(&change.path);
        if path.is_symlink() {
            return Err(FolderError::Link(path));
        }
        let now = match fs::read(&path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        if now == change.before { Ok(()) } else { Err(FolderError::Conflict(path)) }
    }

    /// Writes the new files beside the directory, and at last the plan.
    fn prepare(&self, changes: &[FileChange], stop: Stop<'_>) -> Result<(), FolderError> {
        let failed = |action| io_error(action, &self.stage);
        stop().map_err(failed("create"))?;
        fs::create_dir(&self.stage).map_err(failed("create"))?;
        let mut planned = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            stop().map_err(failed("write to"))?;
            if let Some(bytes) = &change.after {
                let path = self.staged(at);
                let former = fs::metadata(self.root.join(&change.path)).ok();
                write_synced(&path, bytes).map_err(io_error("write", &path))?;
                if let Some(former) = former {
                    fs::set_permissions(&path, former.permissions()).map_err(io_error("write", &path))?;
                }
            }
            planned.push(PlannedFile { path: change.path.clone(), is_removed: change.after.is_none() });
        }
        stop().map_err(failed("write to"))?;
        let text = serde_json::to_vec(&planned).map_err(io::Error::other).map_err(failed("write to"))?;
        let (unfinished, plan) = (self.stage.join("plan"), self.stage.join(PLAN));
        write_synced(&unfinished, &text).map_err(io_error("write", &unfinished))?;
        sync(&self.stage)?;
        stop().map_err(failed("write to"))?;
        fs::rename(&unfinished, &plan).map_err(io_error("write", &plan))?;
        sync(&self.stage)
    }

    /// Moves prepared files to their places; those that are there already are left as they are.
    fn apply(&self, planned: &[PlannedFile], stop: Stop<'_>) -> Result<(), FolderError> {
        for (at, file) in planned.iter().enumerate() {
            let (staged, target) = (self.staged(at), self.root.join(&file.path));
            let folder = target.parent().unwrap_or(&self.root);
            stop().map_err(io_error("replace", &target))?;
            let done = if file.is_removed {
                ignore_missing(fs::remove_file(&target))
            } else {
                fs::create_dir_all(folder).map_err(io_error("create", folder))?;
                ignore_missing(fs::rename(&staged, &target))
            };
            done.map_err(io_error("replace", &target))?;
            // One that had no other file is gone when this is done a second time.
            if folder.is_dir() {
                sync(folder)?;
            }
            if file.is_removed && folder != self.root {
                // One with other files stays.
                let _ = fs::remove_dir(folder);
            }
        }
        stop().map_err(io_error("remove", &self.stage))?;
        let plan = self.stage.join(PLAN);
        ignore_missing(fs::remove_file(&plan)).map_err(io_error("remove", &plan))?;
        stop().map_err(io_error("remove", &self.stage))?;
        fs::remove_dir_all(&self.stage).map_err(io_error("remove", &self.stage))
    }

    /// Finishes a change whose plan is there, and forgets one without.
    fn recover(&self) -> Result<(), FolderError> {
        let plan = self.stage.join(PLAN);
        match fs::read(&plan) {
            Ok(text) => {
                let planned: Vec<PlannedFile> =
                    serde_json::from_slice(&text).map_err(io::Error::other).map_err(io_error("read", &plan))?;
                self.apply(&planned, &mut || Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                ignore_missing(fs::remove_dir_all(&self.stage)).map_err(io_error("remove", &self.stage))
            }
            Err(error) => Err(io_error("read", &plan)(error)),
        }
    }

    fn staged(&self, at: usize) -> PathBuf {
        self.stage.join(at.to_string())
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> Result<(), FolderError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_error("write to", folder))
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError + use<> {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use testing::Folders;

    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        FileChange { path: path.to_owned(), before: bytes(before), after: bytes(after) }
    }

    fn files(folder: &Path) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all.extend(files(&path));
            } else {
                all.insert(path.display().to_string(), fs::read_to_string(&path).unwrap());
            }
        }
        all
    }

    /// Writes a directory with files that change, appear and go; returns it with the changes.
    fn before(folders: &Folders) -> (PathBuf, [FileChange; 3]) {
        folders.write("catalog/a/catalog.yaml", "old");
        folders.write("catalog/b/catalog.yaml", "gone");
        folders.write("catalog/other.yaml", "other");
        let changes = [
            change("a/catalog.yaml", Some("old"), Some("new")),
            change("b/catalog.yaml", Some("gone"), None),
            change("c/catalog.yaml", None, Some("there")),
        ];
        (folders.path("catalog"), changes)
    }

    #[test]
    fn a_kill_at_any_step_leaves_the_former_files_or_the_new_ones() {
        let reference = Folders::new();
        let (root, changes) = before(&reference);
        let shown = |root: &Path| -> Vec<String> {
            files(root).into_iter().map(|(path, text)| path.replace(root.to_str().unwrap(), "") + " " + &text).collect()
        };
        let old = shown(&root);
        LockedFolder::lock(&root).unwrap().write(&changes).unwrap();
        let new = shown(&root);
        assert_eq!(new, ["/a/catalog.yaml new", "/c/catalog.yaml there", "/other.yaml other"]);
        let mut seen = Vec::new();
        for kill in 0.. {
            let folders = Folders::new();
            let (root, changes) = before(&folders);
            let mut steps = 0;
            let mut killer = || {
                steps += 1;
                if steps > kill { Err(io::Error::other("killed")) } else { Ok(()) }
            };
            let done = LockedFolder::lock(&root).unwrap().write_until(&changes, &mut killer);
            // The next edit begins by recovering.
            drop(LockedFolder::lock(&root).unwrap());
            let found = shown(&root);
            assert!(found == old || found == new, "killed at step {kill}: {found:?}");
            assert!(!root.parent().unwrap().join(".catalog.edit").exists(), "killed at step {kill}");
            seen.push(found == new);
            if done.is_ok() {
                break;
            }
        }
        // Three files and the plan are prepared in six steps; from then on the change is finished.
        assert_eq!(seen.iter().filter(|is_new| !**is_new).count(), 6);
        assert_eq!(seen.len(), 12);
        assert!(seen.is_sorted(), "{seen:?}");
    }

    #[test]
    fn one_of_two_editors_at_a_time_edits_and_a_file_that_changed_is_left_alone() {
        let folders = Folders::new();
        let (root, changes) = before(&folders);
        let first = LockedFolder::lock(&root).unwrap();
        assert!(matches!(LockedFolder::lock(&root), Err(FolderError::Locked(_))));
        folders.write("catalog/a/catalog.yaml", "by hand");
        assert!(matches!(first.write(&changes), Err(FolderError::Conflict(_))));
        assert_eq!(fs::read_to_string(root.join("b/catalog.yaml")).unwrap(), "gone");
        drop(first);
        assert!(LockedFolder::lock(&root).is_ok());
    }
}
