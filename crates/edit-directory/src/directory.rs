//! The files of a locked directory, and their changes by a batch.

use std::collections::BTreeSet;
use std::sync::Arc;

use edit::blob::CatalogBlob;
use edit::bundle::RenderedBundle;
use edit::file::{self, ChangeError, FileChange, SourceFile};
use edit::summary::EditSummary;
use edit::{EditLimits, EditedCatalog, Operation, apply_within};
use fbc_grammar::Digest;
use loading::directory::{self, Listing};

use crate::error::{CatalogReadError, DirectoryEditError};
use crate::folder::{FolderError, LockedFolder};
use crate::read::read_files;

/// Schema of the blob of a package.
const PACKAGE_SCHEMA: &str = "olm.package";

/// A locked directory with the catalog that its files had when they were read.
#[derive(Debug)]
pub struct CatalogDirectory {
    folder: LockedFolder,
    listing: Listing,
    files: Vec<SourceFile>,
}

/// The changes that a batch makes in a directory. Nothing is written yet.
#[derive(Debug)]
pub struct EditPlan {
    /// Differences of the catalog.
    pub summary: EditSummary,
    /// Changes of its files.
    pub changes: Vec<FileChange>,
}

impl CatalogDirectory {
    /// Reads the files of a catalog, without those that `.indexignore` leaves out.
    pub fn read(folder: LockedFolder) -> Result<Self, CatalogReadError> {
        let listing = directory::list_with_rules(folder.root())?;
        let add = |lines: &mut Vec<Arc<str>>, line: &str| lines.push(line.into());
        let lines = read_files(&listing, |_| Vec::new(), add)?;
        let files = listing
            .files()
            .iter()
            .zip(lines)
            .map(|(file, lines)| SourceFile::new(&file.path, lines))
            .collect();
        Ok(Self {
            folder,
            listing,
            files,
        })
    }

    /// Returns the digest of the content that was read.
    pub fn digest(&self) -> Digest {
        file::digest(&self.files)
    }

    /// Returns the digest that the content has after changes.
    ///
    /// # Errors
    /// If a changed file cannot be read as part of a catalog.
    pub fn digest_after(&self, changes: &[FileChange]) -> Result<Digest, DirectoryEditError> {
        let files = file::changed(&self.files, changes).map_err(DirectoryEditError::Unreadable)?;
        Ok(file::digest(&files))
    }

    /// Returns the names of the packages, sorted.
    pub fn package_names(&self) -> BTreeSet<String> {
        let lines = self.files.iter().flat_map(SourceFile::lines);
        let blobs = lines.map(|line| CatalogBlob::from_line(0, Arc::clone(line)));
        blobs
            .filter(|blob| &*blob.schema == PACKAGE_SCHEMA)
            .map(|blob| blob.name.to_string())
            .collect()
    }

    /// Applies a batch to the catalog that was read, and finds how files change.
    pub fn plan(
        &self,
        batch: &[Operation<RenderedBundle>],
        limits: EditLimits,
    ) -> Result<EditPlan, DirectoryEditError> {
        let former = file::catalog(&self.files);
        let EditedCatalog { catalog, summary } = apply_within(&former, batch, limits)?;
        let changes = file::changes(&self.files, &former, &catalog, |path| self.bytes(path))?;
        // The loader would not read such a file, so that the edit would be lost.
        for change in &changes {
            if !self.listing.includes(&change.path) {
                return Err(DirectoryEditError::Ignored(change.path.clone()));
            }
        }
        Ok(EditPlan { summary, changes })
    }

    /// Replaces files, all or none, unless a file of the directory changed since it was read.
    pub fn write(&self, changes: &[FileChange]) -> Result<(), DirectoryEditError> {
        let root = self.folder.root();
        // Files that do not change are compared too: the batch was checked with their blobs.
        if directory::list_with_rules(root)?.revision() != self.listing.revision() {
            return Err(DirectoryEditError::Conflict(root.to_owned()));
        }
        self.folder
            .write(changes)
            .map_err(|source: FolderError| DirectoryEditError::Write {
                root: root.to_owned(),
                source,
            })
    }

    /// Returns the directory with its lock.
    pub fn folder(&self) -> &LockedFolder {
        &self.folder
    }

    /// Reads the bytes of a file again. They are not held, because a batch changes few files.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, DirectoryEditError> {
        let file = self.listing.files().iter().find(|file| file.path == path);
        let file = file.ok_or_else(|| ChangeError::Conflict(path.to_owned()))?;
        Ok(self.listing.read(file)?)
    }
}
