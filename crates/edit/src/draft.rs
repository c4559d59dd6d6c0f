//! A catalog while a batch changes it.
//!
//! A package is read for the first operation on it and written after the last one, so that a batch
//! costs little more than its packages, however many operations it has.

mod blob;
mod bundle;
mod channel;
mod package;

use std::borrow::Cow;
use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;

use crate::blob::CatalogBlob;
use crate::catalog::CatalogBlobs;
use crate::error::EditError;
use crate::value::BlobValue;

pub(crate) use blob::DraftBlob;
pub(crate) use bundle::DraftBundle;
pub(crate) use channel::{DraftChannel, DraftEntry};
pub(crate) use package::{DraftPackage, PackageBlob};

/// Limits of the packages that a batch may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditLimits {
    /// Maximum number of entries, and of the bundles that they skip, in the channels of all changed
    /// packages. Each is written to the catalog, to its file and to the summary.
    pub edges: usize,
    /// Maximum length in bytes of the blobs of all changed packages, before the batch. They are
    /// checked with it.
    pub bytes: usize,
}

impl EditLimits {
    /// No limits, for authors on their own machine.
    pub const NONE: Self = Self {
        edges: usize::MAX,
        bytes: usize::MAX,
    };
}

/// A catalog while a batch changes it.
pub(crate) struct CatalogDraft<'c> {
    catalog: &'c CatalogBlobs,
    limits: EditLimits,
    /// Packages that operations have read, by name.
    open: BTreeMap<Arc<str>, OpenPackage>,
    /// Names of all packages that some blob belongs to.
    packages: BTreeSet<Arc<str>>,
    /// Names of the bundles of each package. Made when an operation first needs it, because few do.
    names: Option<BTreeMap<Arc<str>, PackageNames>>,
    /// Packages of the catalog by the images of their bundles. Made when an operation first needs
    /// it.
    images: Option<HashMap<String, BTreeSet<Arc<str>>>>,
    /// Number of the next new blob.
    next: usize,
}

/// A package that an operation has read.
#[derive(Default)]
struct OpenPackage {
    /// The package in the catalog; `None` if it was removed.
    former: Option<DraftPackage>,
    current: DraftPackage,
    is_changed: bool,
    /// Entries and skips of its channels, if it was changed.
    edges: usize,
    /// Length of its blobs in the catalog.
    bytes: usize,
}

/// Names of the bundles of a package.
#[derive(Default)]
struct PackageNames {
    /// Names of bundles, and of entries of channels.
    all: HashSet<String>,
    /// The package has bundles that are in no channel.
    has_stranded: bool,
}

impl<'c> CatalogDraft<'c> {
    pub(crate) fn new(catalog: &'c CatalogBlobs, limits: EditLimits) -> Self {
        Self {
            catalog,
            limits,
            open: BTreeMap::new(),
            packages: catalog.packages(),
            names: None,
            images: None,
            next: catalog.next_id(),
        }
    }

    /// Returns the names of all packages that some blob belongs to.
    pub(crate) fn packages(&self) -> &BTreeSet<Arc<str>> {
        &self.packages
    }

    /// Returns whether there is an `olm.package` of this name.
    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.open.get(name).map_or_else(
            || self.catalog.has_package(name),
            |open| open.current.blob.is_some(),
        )
    }

    /// Returns a package to read it; an empty one if there is none.
    ///
    /// # Errors
    /// If the packages of the batch have more bytes than its limit. The package is not read then.
    pub(crate) fn read_package(&mut self, name: &str) -> Result<&DraftPackage, EditError> {
        let others: usize = self.open.values().map(|open| open.bytes).sum();
        let open = match self.open.entry(name.into()) {
            MapEntry::Occupied(open) => open.into_mut(),
            MapEntry::Vacant(vacant) => {
                let bytes: usize = self
                    .catalog
                    .package_blobs(name)
                    .map(|blob| blob.line.len())
                    .sum();
                // Before it is read: its values take several times the bytes of its lines.
                if bytes + others > self.limits.bytes {
                    return Err(EditError::TooManyBytes(self.limits.bytes));
                }
                let current = DraftPackage::read(name, self.catalog.package_blobs(name))?;
                vacant.insert(OpenPackage {
                    former: Some(current.clone()),
                    current,
                    bytes,
                    ..OpenPackage::default()
                })
            }
        };
        Ok(&open.current)
    }

    /// Returns a copy of a package to change it; an empty one if there is none.
    pub(crate) fn package(&mut self, name: &str) -> Result<DraftPackage, EditError> {
        self.read_package(name).cloned()
    }

    /// Replaces a package, unless the batch would change more than it may.
    pub(crate) fn set_package(&mut self, mut package: DraftPackage) -> Result<(), EditError> {
        package.end_operation(&mut self.next);
        let name: Arc<str> = package.name.as_str().into();
        // Opens a package that no operation has read.
        self.read_package(&name)?;
        if let Some(names) = &mut self.names {
            names.insert(Arc::clone(&name), PackageNames::from_package(&package));
        }
        if !name.is_empty() {
            self.packages.insert(Arc::clone(&name));
        }
        let open = self.open.entry(name).or_default();
        open.is_changed = true;
        open.edges = package.edges();
        open.current = package;
        let edges: usize = self.open.values().map(|open| open.edges).sum();
        if edges > self.limits.edges {
            Err(EditError::TooManyEdges(self.limits.edges))
        } else {
            Ok(())
        }
    }

    /// Returns how many entries and skips a changed package may have.
    pub(crate) fn max_edges(&self) -> usize {
        self.limits.edges
    }

    pub(crate) fn remove_package(&mut self, name: &str) {
        // The package is not read, so that one which exceeds the limits can still be removed.
        let Some(name) = self.packages.take(name) else {
            return;
        };
        if let Some(names) = &mut self.names {
            names.remove(&name);
        }
        let current = DraftPackage {
            name: name.to_string(),
            ..DraftPackage::default()
        };
        self.open.insert(
            name,
            OpenPackage {
                current,
                is_changed: true,
                ..OpenPackage::default()
            },
        );
    }

    /// Finds a package, other than the given one, with a bundle or an entry of this name.
    pub(crate) fn owner(
        &mut self,
        bundle: &str,
        except: &str,
    ) -> Result<Option<String>, EditError> {
        let mut others = self
            .names()?
            .iter()
            .filter(|(package, _)| ***package != *except);
        Ok(others
            .find(|(_, names)| names.all.contains(bundle))
            .map(|(package, _)| package.to_string()))
    }

    /// Finds the packages with bundles that are in no channel.
    pub(crate) fn packages_with_stranded(&mut self) -> Result<Vec<Arc<str>>, EditError> {
        let stranded = self.names()?.iter().filter(|(_, names)| names.has_stranded);
        Ok(stranded.map(|(package, _)| Arc::clone(package)).collect())
    }

    /// Finds the packages that have bundles of some images.
    pub(crate) fn packages_with_images(
        &mut self,
        images: &HashSet<&str>,
    ) -> Result<Vec<DraftPackage>, EditError> {
        let catalog = self.catalog;
        let index = self
            .images
            .get_or_insert_with(|| packages_by_image(catalog));
        let mut names: BTreeSet<_> = images
            .iter()
            .filter_map(|image| index.get(*image))
            .flatten()
            .cloned()
            .collect();
        // The index is of the catalog before the batch: packages that operations changed may have
        // the images too.
        names.extend(self.open.keys().cloned());
        let mut found = Vec::new();
        for name in names {
            let package = self.read_package(&name)?;
            if package
                .bundles
                .iter()
                .any(|bundle| images.contains(&*bundle.image))
            {
                found.push(package.clone());
            }
        }
        Ok(found)
    }

    fn names(&mut self) -> Result<&BTreeMap<Arc<str>, PackageNames>, EditError> {
        let names = match self.names.take() {
            Some(names) => names,
            None => self.read_names()?,
        };
        Ok(self.names.insert(names))
    }

    /// Reads the names of each package. Of those that no operation has read only the channels are
    /// parsed.
    fn read_names(&self) -> Result<BTreeMap<Arc<str>, PackageNames>, EditError> {
        let mut bundles: BTreeMap<Arc<str>, Vec<&str>> = BTreeMap::new();
        let mut all: BTreeMap<Arc<str>, PackageNames> = BTreeMap::new();
        for blob in self
            .catalog
            .blobs()
            .iter()
            .filter(|blob| !self.open.contains_key(&blob.package))
        {
            match &*blob.schema {
                "olm.bundle" => bundles
                    .entry(Arc::clone(&blob.package))
                    .or_default()
                    .push(&blob.name),
                "olm.channel" => {
                    let value = blob.value()?;
                    let entries = value
                        .list(&["entries"])
                        .iter()
                        .map(|entry| entry.str("name").to_owned());
                    all.entry(Arc::clone(&blob.package))
                        .or_default()
                        .all
                        .extend(entries);
                }
                _ => {}
            }
        }
        for (package, bundles) in bundles {
            let names = all.entry(package).or_default();
            names.has_stranded = bundles.iter().any(|name| !names.all.contains(*name));
            names.all.extend(bundles.into_iter().map(str::to_owned));
        }
        all.extend(
            self.open
                .iter()
                .map(|(name, open)| (Arc::clone(name), PackageNames::from_package(&open.current))),
        );
        Ok(all)
    }

    /// Returns the changed catalog. Blobs that stay keep their position, new ones follow the last
    /// of their package.
    pub(crate) fn finish(self) -> CatalogBlobs {
        let first_new = self.catalog.next_id();
        // By number; `None` for blobs that were removed.
        let mut changed: HashMap<usize, Option<CatalogBlob>> = HashMap::new();
        let mut removed: HashSet<&str> = HashSet::new();
        let mut new: BTreeMap<Arc<str>, Vec<CatalogBlob>> = BTreeMap::new();
        for (name, open) in self.open.iter().filter(|(_, open)| open.is_changed) {
            let former: HashMap<usize, PackageBlob<'_>> = open
                .former
                .iter()
                .flat_map(DraftPackage::blobs)
                .filter_map(|blob| Some((blob.id()?, blob)))
                .collect();
            if open.former.is_none() {
                removed.insert(name);
            }
            changed.extend(former.keys().map(|id| (*id, None)));
            for blob in open.current.blobs() {
                match blob.id() {
                    // Blobs are compared, not flagged: an operation and its opposite leave the
                    // bytes of a blob as they were.
                    Some(id) if id < first_new && former.get(&id) == Some(&blob) => {
                        drop(changed.remove(&id));
                    }
                    Some(id) if id < first_new => {
                        drop(changed.insert(id, Some(CatalogBlob::from_value(id, &blob.value()))));
                    }
                    id => {
                        new.entry(Arc::clone(name))
                            .or_default()
                            .push(CatalogBlob::from_value(
                                id.unwrap_or(first_new),
                                &blob.value(),
                            ));
                    }
                }
            }
        }
        let stays = self
            .catalog
            .blobs()
            .iter()
            .filter(|blob| !removed.contains(&*blob.package));
        let stays = stays.filter_map(|blob| {
            changed
                .remove(&blob.id)
                .unwrap_or_else(|| Some(blob.clone()))
        });
        CatalogBlobs::with_new(stays.collect(), new, self.next)
    }
}

impl PackageNames {
    fn from_package(package: &DraftPackage) -> Self {
        let entries = package
            .channels
            .iter()
            .flat_map(|channel| &channel.entries)
            .map(|entry| entry.name.clone());
        let mut all: HashSet<String> = entries.collect();
        let has_stranded = package
            .bundles
            .iter()
            .any(|bundle| !all.contains(&bundle.name));
        all.extend(package.bundles.iter().map(|bundle| bundle.name.clone()));
        Self { all, has_stranded }
    }
}

/// The image in the line of a bundle.
#[derive(Deserialize)]
struct BundleImage<'l> {
    #[serde(borrow)]
    image: Cow<'l, str>,
}

/// Collects the packages of a catalog by the images of their bundles.
fn packages_by_image(catalog: &CatalogBlobs) -> HashMap<String, BTreeSet<Arc<str>>> {
    let mut images: HashMap<String, BTreeSet<Arc<str>>> = HashMap::new();
    for blob in catalog
        .blobs()
        .iter()
        .filter(|blob| &*blob.schema == "olm.bundle")
    {
        let image = match serde_json::from_str::<BundleImage<'_>>(&blob.line) {
            Ok(bundle) => bundle.image.into_owned(),
            // The key has another case, or there is no image.
            Err(_) => blob
                .value()
                .unwrap_or(BlobValue::Null)
                .str("image")
                .to_owned(),
        };
        images
            .entry(image)
            .or_default()
            .insert(Arc::clone(&blob.package));
    }
    images
}
