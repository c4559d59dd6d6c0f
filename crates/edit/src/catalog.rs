//! A catalog as a list of blobs, which operations change into another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fbc::{Catalog, IndexError};
use fbc_read::Origins;
use fbc_read::origin::FileOrigin;
use fbc_read::problem::Severity;

use crate::blob::CatalogBlob;
use crate::problem::NewProblem;

/// The blobs of a catalog. They never change: operations make another catalog of them.
#[derive(Clone, Debug, Default)]
pub struct CatalogBlobs {
    blobs: Vec<CatalogBlob>,
    /// Number of the next new blob.
    next: usize,
}

/// A blob that differs between two catalogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobChange {
    /// The blob before; `None` for a new one.
    pub before: Option<CatalogBlob>,
    /// The blob afterwards; `None` for one that was removed.
    pub after: Option<CatalogBlob>,
}

impl CatalogBlobs {
    /// Creates a catalog of blobs in catalog order; their numbers are those in this order.
    pub fn new(blobs: Vec<CatalogBlob>) -> Self {
        Self {
            next: blobs.len(),
            blobs,
        }
    }

    /// Creates a catalog of canonical lines.
    pub fn from_lines(lines: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        Self::new(
            lines
                .into_iter()
                .enumerate()
                .map(|(id, line)| CatalogBlob::from_line(id, line))
                .collect(),
        )
    }

    /// Returns the blobs in catalog order.
    pub fn blobs(&self) -> &[CatalogBlob] {
        &self.blobs
    }

    /// Returns the names of all packages that some blob belongs to.
    pub fn packages(&self) -> BTreeSet<Arc<str>> {
        let names = self.blobs.iter().map(|blob| &blob.package);
        names.filter(|name| !name.is_empty()).cloned().collect()
    }

    /// Tells whether the catalog has an `olm.package` of this name.
    pub fn has_package(&self, name: &str) -> bool {
        self.blobs
            .iter()
            .any(|blob| &*blob.schema == "olm.package" && &*blob.name == name)
    }

    /// Returns the blobs that differ, in the order of their numbers.
    pub fn changes(&self, to: &Self) -> Vec<BlobChange> {
        let mut all: BTreeMap<usize, BlobChange> = BTreeMap::new();
        let none = || BlobChange {
            before: None,
            after: None,
        };
        for blob in &self.blobs {
            all.entry(blob.id).or_insert_with(none).before = Some(blob.clone());
        }
        for blob in &to.blobs {
            all.entry(blob.id).or_insert_with(none).after = Some(blob.clone());
        }
        all.into_values()
            .filter(|change| change.before != change.after)
            .collect()
    }

    /// Returns the blobs of a package, in catalog order.
    pub(crate) fn package_blobs(&self, name: &str) -> impl Iterator<Item = &CatalogBlob> {
        self.blobs.iter().filter(move |blob| &*blob.package == name)
    }

    /// Returns the number that the next new blob would have.
    pub(crate) fn next_id(&self) -> usize {
        self.next
    }

    /// Creates a catalog of the blobs that stay, and of new ones by package, in the order of their
    /// numbers. New blobs follow the last one of their package, or else all others. `next` is the
    /// number of the next new blob.
    pub(crate) fn with_new(
        stays: Vec<CatalogBlob>,
        mut new: BTreeMap<Arc<str>, Vec<CatalogBlob>>,
        next: usize,
    ) -> Self {
        for blobs in new.values_mut() {
            blobs.sort_by_key(|blob| blob.id);
        }
        let mut last: HashMap<Arc<str>, usize> = HashMap::new();
        for (at, blob) in stays
            .iter()
            .enumerate()
            .filter(|(_, blob)| new.contains_key(&blob.package))
        {
            last.insert(Arc::clone(&blob.package), at);
        }
        let mut blobs = Vec::with_capacity(stays.len());
        for (at, blob) in stays.into_iter().enumerate() {
            let package = Arc::clone(&blob.package);
            blobs.push(blob);
            if last.get(&package) == Some(&at) {
                blobs.extend(new.remove(&package).into_iter().flatten());
            }
        }
        let mut rest: Vec<_> = new.into_values().collect();
        rest.sort_by_key(|blobs| blobs.first().map(|blob| blob.id));
        blobs.extend(rest.into_iter().flatten());
        Self { blobs, next }
    }

    /// Lists the problems of some packages, as `opm validate` finds them. An index over their blobs
    /// is made for that.
    pub(crate) fn problems(
        &self,
        packages: &BTreeSet<String>,
    ) -> Result<Vec<(Severity, NewProblem)>, IndexError> {
        let blobs = self
            .blobs
            .iter()
            .filter(|blob| packages.contains(&*blob.package));
        // Only these packages are indexed: an index of all would cost as much as a load of the
        // catalog.
        let lines: Vec<&str> = blobs.map(|blob| &*blob.line).collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let text = lines.join("\n") + "\n";
        let file = FileOrigin {
            lines: vec![1; lines.len()],
            bytes: text.len() as u64,
            ..FileOrigin::default()
        };
        let origins = Origins {
            files: vec![file],
            ..Origins::default()
        };
        let catalog = Catalog::build(text.into_bytes().into(), &origins)?;
        let problems = catalog.problems().iter().cloned();
        Ok(problems
            .map(|problem| (problem.severity(), NewProblem::from(problem)))
            .collect())
    }
}
