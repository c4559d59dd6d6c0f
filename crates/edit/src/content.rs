//! A content that operations change into another one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fbc::catalog::IndexError;
use fbc::origin::FileOrigin;
use fbc::problem::Severity;
use fbc::{Catalog, Origins};

use crate::error::EditError;
use crate::meta::Meta;
use crate::state::Package;
use crate::summary::NewProblem;
use crate::value::Value;

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
        Self { next: metas.len(), metas }
    }

    /// Creates a content of canonical lines.
    pub fn of_lines(lines: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        Self::new(lines.into_iter().enumerate().map(|(id, line)| Meta::read(id, line)).collect())
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
        self.metas.iter().any(|meta| &*meta.schema == "olm.package" && &*meta.name == name)
    }

    /// Returns the blobs that differ, in the order of their numbers.
    pub fn changes(&self, to: &Self) -> Vec<BlobChange> {
        let mut all: BTreeMap<usize, BlobChange> = BTreeMap::new();
        let none = || BlobChange { before: None, after: None };
        for meta in &self.metas {
            all.entry(meta.id).or_insert_with(none).before = Some(meta.clone());
        }
        for meta in &to.metas {
            all.entry(meta.id).or_insert_with(none).after = Some(meta.clone());
        }
        all.into_values().filter(|change| change.before != change.after).collect()
    }

    pub(crate) fn package(&self, name: &str) -> Result<Package, EditError> {
        Package::read(name, self.metas.iter().filter(|meta| &*meta.package == name))
    }

    /// Replaces a package: blobs that stay keep their place, new ones follow the last of the package.
    pub(crate) fn set_package(&mut self, package: &Package) -> Result<(), EditError> {
        // Written in the same way, so that only what an operation changed differs.
        let former: BTreeMap<usize, Value> =
            self.package(&package.name)?.blobs().into_iter().filter_map(|(id, value)| Some((id?, value))).collect();
        let mut current: BTreeMap<usize, Value> = BTreeMap::new();
        let mut new = Vec::new();
        for (id, value) in package.blobs() {
            if let Some(id) = id {
                current.insert(id, value);
            } else {
                new.push(Meta::of(self.next, &value));
                self.next += 1;
            }
        }
        self.metas.retain(|meta| current.contains_key(&meta.id) || !former.contains_key(&meta.id));
        for meta in &mut self.metas {
            if let Some(value) = current.get(&meta.id).filter(|value| former.get(&meta.id) != Some(value)) {
                *meta = Meta::of(meta.id, value);
            }
        }
        let last = self.metas.iter().rposition(|meta| *meta.package == *package.name);
        let at = last.map_or(self.metas.len(), |last| last + 1);
        self.metas.splice(at..at, new);
        Ok(())
    }

    pub(crate) fn remove_package(&mut self, name: &str) {
        self.metas.retain(|meta| &*meta.package != name);
    }

    /// Finds packages, other than the one given, with an entry or a bundle of a name.
    pub(crate) fn owner(&self, bundle: &str, except: &str) -> Result<Option<String>, EditError> {
        let quoted = Value::text(bundle).to_json();
        for meta in self.metas.iter().filter(|meta| &*meta.package != except && meta.line.contains(&quoted)) {
            let is_bundle = &*meta.schema == "olm.bundle" && &*meta.name == bundle;
            let is_entry = || Ok(meta.value()?.list(&["entries"]).iter().any(|entry| entry.str("name") == bundle));
            if is_bundle || (&*meta.schema == "olm.channel" && is_entry()?) {
                return Ok(Some(meta.package.to_string()));
            }
        }
        Ok(None)
    }

    /// Lists the problems of some packages, as `opm validate` finds them.
    pub(crate) fn problems(&self, packages: &BTreeSet<String>) -> Result<Vec<(Severity, NewProblem)>, IndexError> {
        let metas = self.metas.iter().filter(|meta| packages.contains(&*meta.package));
        let lines: Vec<&str> = metas.map(|meta| &*meta.line).collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let text = lines.join("\n") + "\n";
        let file = FileOrigin { lines: vec![1; lines.len()], bytes: text.len() as u64, ..FileOrigin::default() };
        let origins = Origins { files: vec![file], ..Origins::default() };
        let catalog = Catalog::build(text.into_bytes().into(), &origins)?;
        let problems = catalog.problems().iter().cloned();
        Ok(problems.map(|problem| (problem.severity(), NewProblem::from(problem))).collect())
    }
}
