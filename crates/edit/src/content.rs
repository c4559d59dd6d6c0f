//! A content that operations change into another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fbc::{Catalog, IndexError};
use fbc_read::Origins;
use fbc_read::origin::FileOrigin;
use fbc_read::problem::Severity;

use crate::meta::Meta;
use crate::summary::NewProblem;

/// The blobs of a catalog. Operations make another content of it and leave it as it is.
#[derive(Clone, Debug, Default)]
pub struct Content {
    metas: Vec<Meta>,
    /// Number of the next new blob.
    next: usize,
}

/// A blob that differs between two contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobChange {
    /// The blob before; `None` for a new one.
    pub before: Option<Meta>,
    /// The blob afterwards; `None` for one that was removed.
    pub after: Option<Meta>,
}

impl Content {
    /// Creates a content of blobs in catalog order; their numbers are those in this order.
    pub fn new(metas: Vec<Meta>) -> Self {
        Self {
            next: metas.len(),
            metas,
        }
    }

    /// Creates a content of canonical lines.
    pub fn of_lines(lines: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        Self::new(
            lines
                .into_iter()
                .enumerate()
                .map(|(id, line)| Meta::read(id, line))
                .collect(),
        )
    }

    /// Returns the blobs in catalog order.
    pub fn metas(&self) -> &[Meta] {
        &self.metas
    }

    /// Returns the names of all packages that some blob belongs to.
    pub fn packages(&self) -> BTreeSet<Arc<str>> {
        let names = self.metas.iter().map(|meta| &meta.package);
        names.filter(|name| !name.is_empty()).cloned().collect()
    }

    /// Returns whether there is an `olm.package` of this name.
    pub fn has_package(&self, name: &str) -> bool {
        self.metas
            .iter()
            .any(|meta| &*meta.schema == "olm.package" && &*meta.name == name)
    }

    /// Returns the blobs that differ, in the order of their numbers.
    pub fn changes(&self, to: &Self) -> Vec<BlobChange> {
        let mut all: BTreeMap<usize, BlobChange> = BTreeMap::new();
        let none = || BlobChange {
            before: None,
            after: None,
        };
        for meta in &self.metas {
            all.entry(meta.id).or_insert_with(none).before = Some(meta.clone());
        }
        for meta in &to.metas {
            all.entry(meta.id).or_insert_with(none).after = Some(meta.clone());
        }
        all.into_values()
            .filter(|change| change.before != change.after)
            .collect()
    }

    /// Returns the blobs of a package, in catalog order.
    pub(crate) fn of_package(&self, name: &str) -> impl Iterator<Item = &Meta> {
        self.metas.iter().filter(move |meta| &*meta.package == name)
    }

    /// Returns the number that the next new blob would have.
    pub(crate) fn next_id(&self) -> usize {
        self.next
    }

    /// Creates a content of the blobs that stay and new ones by package, which follow the last of
    /// their package, or else all others, in the order of their numbers. `next` is the number of
    /// the next new blob.
    pub(crate) fn with_new(
        stays: Vec<Meta>,
        mut new: BTreeMap<Arc<str>, Vec<Meta>>,
        next: usize,
    ) -> Self {
        for metas in new.values_mut() {
            metas.sort_by_key(|meta| meta.id);
        }
        let mut last: HashMap<Arc<str>, usize> = HashMap::new();
        for (at, meta) in stays
            .iter()
            .enumerate()
            .filter(|(_, meta)| new.contains_key(&meta.package))
        {
            last.insert(Arc::clone(&meta.package), at);
        }
        let mut metas = Vec::with_capacity(stays.len());
        for (at, meta) in stays.into_iter().enumerate() {
            let package = Arc::clone(&meta.package);
            metas.push(meta);
            if last.get(&package) == Some(&at) {
                metas.extend(new.remove(&package).into_iter().flatten());
            }
        }
        let mut rest: Vec<_> = new.into_values().collect();
        rest.sort_by_key(|metas| metas.first().map(|meta| meta.id));
        metas.extend(rest.into_iter().flatten());
        Self { metas, next }
    }

    /// Lists the problems of some packages, as `opm validate` finds them.
    pub(crate) fn problems(
        &self,
        packages: &BTreeSet<String>,
    ) -> Result<Vec<(Severity, NewProblem)>, IndexError> {
        let metas = self
            .metas
            .iter()
            .filter(|meta| packages.contains(&*meta.package));
        let lines: Vec<&str> = metas.map(|meta| &*meta.line).collect();
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
