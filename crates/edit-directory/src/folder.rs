//! Replaces files of a directory, all or none. After a kill at any step, the next edit finishes the
//! change or discards it.
//!
//! Every file in a directory is part of its catalog, so that nothing can be prepared there: new
//! files are written to a sibling folder, `.NAME.edit`, with a plan of their targets. The change is
//! committed when the plan is written: files are then renamed to their targets one by one, removed
//! ones into the folder, and the next edit continues with a plan that it finds. The plan has the
//! digests of each file before and after the change: work of others after a kill is not
//! overwritten.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fbc_grammar::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use edit::file::FileChange;

/// Name of the plan in the staging folder.
const PLAN: &str = "plan.json";

/// A directory that this process alone edits.
#[derive(Debug)]
pub struct LockedFolder {
    root: PathBuf,
    /// Folder that contains the root.
    parent: PathBuf,
    /// Sibling of the root where changes are prepared.
    stage: PathBuf,
    _lock: File,
}

/// A directory cannot be locked, or its files are not replaced.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process edits the directory.
    #[error("cannot edit `{}`: another process edits it", .0.display())]
    Locked(PathBuf),
    /// A file changed since it was read.
    #[error("cannot edit `{}`: it was changed meanwhile: try again", .0.display())]
    Conflict(PathBuf),
    /// An interrupted change cannot be finished, because a file was changed since.
    #[error(
        "cannot finish an edit that was interrupted: `{}` was changed since: put the files of `{}` to their places, or \
         keep the directory as it is, and remove `{}`", path.display(), stage.display(), stage.display()
    )]
    Interrupted {
        /// The file.
        path: PathBuf,
        /// Folder with the rest of the change.
        stage: PathBuf,
    },
    /// A change was interrupted, and the directory is locked for reading, which does not finish it.
    #[error("cannot read `{}`: an edit of it was interrupted: the next edit that is no dry run finishes it", .0.display())]
    Unfinished(PathBuf),
    /// The directory is the root of the file system.
    #[error("cannot edit `{}`: it has no parent directory to prepare the change in", .0.display())]
    NoParent(PathBuf),
    /// A folder is not on the file system on which changes are prepared.
    #[error(
        "cannot edit `{}`: it is on another file system or mount than `{}`, where changes are prepared: edit a directory \
         that is not a mount point and has none in it", folder.display(), parent.display()
    )]
    OtherMount {
        /// The directory or a folder in it.
        folder: PathBuf,
        /// Folder that contains the directory.
        parent: PathBuf,
    },
    /// A file is a link.
    #[error("cannot edit `{}`: it is a symbolic link", .0.display())]
    Link(PathBuf),
    /// A file operation failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The step, a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Reason of the operating system.
        source: io::Error,
    },
}

/// A file of a change, in the plan.
#[derive(Debug, Serialize, Deserialize)]
struct PlannedFile {
    path: String,
    /// Digest of its bytes before; `None` for a new file.
    before: Option<String>,
    /// Digest of its bytes afterwards; `None` for a file that is removed.
    after: Option<String>,
}

/// Called before each step of a change with its verb and path. Tests fail a step with it, as a kill
/// would.
type StepHook<'s> = &'s mut dyn FnMut(&'static str, &Path) -> io::Result<()>;

impl LockedFolder {
    /// Locks a directory and finishes an interrupted change.
    pub fn lock(root: &Path) -> Result<Self, FolderError> {
        let folder = Self::lock_without_recovery(root)?;
        folder.recover()?;
        Ok(folder)
    }

    /// Locks a directory to read it, and changes nothing.
    ///
    /// # Errors
    /// Also if a change of it was interrupted: its files are neither the former ones nor the new
    /// ones.
    pub fn lock_to_read(root: &Path) -> Result<Self, FolderError> {
        let folder = Self::lock_without_recovery(root)?;
        if folder.stage.join(PLAN).exists() {
            Err(FolderError::Unfinished(folder.root))
        } else {
            Ok(folder)
        }
    }

    fn lock_without_recovery(root: &Path) -> Result<Self, FolderError> {
        let root = fs::canonicalize(root).map_err(io_error("open", root))?;
        let lock = File::open(&root).map_err(io_error("open", &root))?;
        // The lock is of the directory itself, and the kernel releases it when the process is
        // killed.
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::Locked(root)),
            Err(TryLockError::Error(source)) => return Err(io_error("lock", &root)(source)),
        }
        let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else {
            return Err(FolderError::NoParent(root));
        };
        // A sibling is on the same file system as a rule, so that a rename into the directory is
        // atomic.
        let stage = parent.join(format!(".{}.edit", name.to_string_lossy()));
        let folder = Self {
            parent: parent.to_owned(),
            stage,
            root,
            _lock: lock,
        };
        folder.check_mount(&folder.root)?;
        Ok(folder)
    }

    /// Returns the directory, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a sibling of the directory, `.NAME.SUFFIX`, for [`Self::write`].
    pub fn sibling_path(&self, suffix: &str) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        format!("../.{name}.{suffix}")
    }

    /// Replaces files, all or none.
    pub fn write(&self, changes: &[FileChange]) -> Result<(), FolderError> {
        self.write_with_hook(changes, &mut |_, _| Ok(()))
    }

    fn write_with_hook(
        &self,
        changes: &[FileChange],
        hook: StepHook<'_>,
    ) -> Result<(), FolderError> {
        for change in changes {
            self.check(change)?;
        }
        let planned: Vec<_> = changes.iter().map(PlannedFile::new).collect();
        self.prepare(changes, &planned, hook)?;
        self.commit(&planned, hook)
    }

    /// Checks that a file has the bytes that were read, and that it can be replaced.
    fn check(&self, change: &FileChange) -> Result<(), FolderError> {
        let path = self.root.join(&change.path);
        if let Some(folder) = path.ancestors().skip(1).find(|folder| folder.is_dir()) {
            self.check_mount(folder)?;
        }
        if read(&path)? == change.before {
            Ok(())
        } else {
            Err(FolderError::Conflict(path))
        }
    }

    /// Checks that files can be renamed from the staging folder into a folder.
    fn check_mount(&self, folder: &Path) -> Result<(), FolderError> {
        let device = |folder: &Path| {
            fs::metadata(folder)
                .map(|metadata| metadata.dev())
                .map_err(io_error("open", folder))
        };
        // Mounts of one file system have one device. The system compares mounts first when it
        // renames, and never renames `.`, so that nothing happens here.
        let renamed = fs::rename(self.parent.join("."), folder.join("."));
        let is_other_mount =
            renamed.is_err_and(|error| error.kind() == io::ErrorKind::CrossesDevices);
        if is_other_mount || device(folder)? != device(&self.parent)? {
            return Err(FolderError::OtherMount {
                folder: folder.to_owned(),
                parent: self.parent.clone(),
            });
        }
        Ok(())
    }

    /// Writes the new files to the staging folder, and then the plan.
    fn prepare(
        &self,
        changes: &[FileChange],
        planned: &[PlannedFile],
        hook: StepHook<'_>,
    ) -> Result<(), FolderError> {
        step(hook, "create", &self.stage)?;
        fs::create_dir(&self.stage).map_err(io_error("create", &self.stage))?;
        sync(&self.parent, hook)?;
        for (at, change) in changes.iter().enumerate() {
            let path = self.staged(at);
            step(hook, "write", &path)?;
            if let Some(bytes) = &change.after {
                let former = fs::metadata(self.root.join(&change.path)).ok();
                write_synced(&path, bytes).map_err(io_error("write", &path))?;
                // A new file would have the mode of the process.
                if let Some(former) = former {
                    fs::set_permissions(&path, former.permissions())
                        .map_err(io_error("write", &path))?;
                }
            }
        }
        // Renamed when it is durable: half of a plan must not be taken for one.
        let unfinished = self.stage.join("plan");
        let plan = self.stage.join(PLAN);
        step(hook, "write", &unfinished)?;
        let text = serde_json::to_vec(planned)
            .map_err(io::Error::other)
            .map_err(io_error("write", &unfinished))?;
        write_synced(&unfinished, &text).map_err(io_error("write", &unfinished))?;
        sync(&self.stage, hook)?;
        step(hook, "write", &plan)?;
        fs::rename(&unfinished, &plan).map_err(io_error("write", &plan))?;
        sync(&self.stage, hook)
    }

    /// Moves prepared files to their targets; those that were moved already stay.
    fn commit(&self, planned: &[PlannedFile], hook: StepHook<'_>) -> Result<(), FolderError> {
        for (at, file) in planned.iter().enumerate() {
            let staged = self.staged(at);
            let target = self.root.join(&file.path);
            step(hook, "replace", &target)?;
            self.move_file(&staged, &target, file)
                .map_err(io_error("replace", &target))?;
        }
        let folders: BTreeSet<_> = planned
            .iter()
            .flat_map(|file| self.changed_folders(file))
            .collect();
        // A rename is durable when its folder is.
        for folder in folders {
            sync(&folder, hook)?;
        }
        let plan = self.stage.join(PLAN);
        step(hook, "remove", &plan)?;
        // First the plan: without one, recovery discards the rest of the folder.
        ignore_missing(fs::remove_file(&plan)).map_err(io_error("remove", &plan))?;
        step(hook, "remove", &self.stage)?;
        fs::remove_dir_all(&self.stage).map_err(io_error("remove", &self.stage))
    }

    /// Finds the folders whose entries the change of a file may have changed: the folder of a
    /// replaced file, and all above a new or removed one, because they may be new or removed too.
    fn changed_folders(&self, file: &PlannedFile) -> Vec<PathBuf> {
        let is_replaced = file.before.is_some() && file.after.is_some();
        let target = self.root.join(&file.path);
        let above = target
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(&self.root));
        let above = above.take(if is_replaced { 1 } else { usize::MAX });
        above
            .filter(|folder| folder.is_dir())
            .map(Path::to_owned)
            .collect()
    }

    /// Moves a prepared file to its target, or a removed one to the staging folder, unless that is
    /// done already.
    fn move_file(&self, staged: &Path, target: &Path, file: &PlannedFile) -> io::Result<()> {
        let folder = target.parent().unwrap_or(&self.root);
        if file.after.is_some() {
            fs::create_dir_all(folder)?;
            // A change that is continued has moved some files already.
            return ignore_missing(fs::rename(staged, target));
        }
        ignore_missing(fs::rename(target, staged))?;
        if folder != self.root {
            // It fails for a folder with other files, which stays.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Finishes a change that has a plan, and discards one without.
    fn recover(&self) -> Result<(), FolderError> {
        let plan = self.stage.join(PLAN);
        match fs::read(&plan) {
            Ok(text) => {
                let planned: Vec<PlannedFile> = serde_json::from_slice(&text)
                    .map_err(io::Error::other)
                    .map_err(io_error("read", &plan))?;
                // All files are checked before the first one is moved.
                for (at, file) in planned.iter().enumerate() {
                    self.check_planned(&self.staged(at), file)?;
                }
                self.commit(&planned, &mut |_, _| Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                ignore_missing(fs::remove_dir_all(&self.stage))
                    .map_err(io_error("remove", &self.stage))
            }
            Err(error) => Err(io_error("read", &plan)(error)),
        }
    }

    /// Checks that a file of an interrupted change has its bytes before the change or after it.
    fn check_planned(&self, staged: &Path, file: &PlannedFile) -> Result<(), FolderError> {
        let path = self.root.join(&file.path);
        let now = read(&path)?.as_deref().map(digest);
        // A file that was moved and has its former bytes again was restored by hand.
        let is_moved = staged.exists() == file.after.is_none();
        if now == file.after || (now == file.before && !is_moved) {
            return Ok(());
        }
        Err(FolderError::Interrupted {
            path,
            stage: self.stage.clone(),
        })
    }

    fn staged(&self, at: usize) -> PathBuf {
        self.stage.join(at.to_string())
    }
}

impl PlannedFile {
    fn new(change: &FileChange) -> Self {
        let [before, after] =
            [&change.before, &change.after].map(|bytes| bytes.as_deref().map(digest));
        Self {
            path: change.path.clone(),
            before,
            after,
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    Digest::new(Sha256::digest(bytes).into()).to_string()
}

/// Reads a file that must not be a link; `None` where there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, FolderError> {
    // A rename would replace the link, and not the file that it leads to.
    if path.is_symlink() {
        return Err(FolderError::Link(path.to_owned()));
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the names in a folder durable.
fn sync(folder: &Path, hook: StepHook<'_>) -> Result<(), FolderError> {
    step(hook, "sync", folder)?;
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(io_error("write to", folder))
}

fn step(hook: StepHook<'_>, action: &'static str, path: &Path) -> Result<(), FolderError> {
    hook(action, path).map_err(io_error(action, path))
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError + use<> {
    let path = path.to_owned();
    move |source| FolderError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests;
