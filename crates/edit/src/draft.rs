//! A content while a batch changes it: a package is read when the first operation is about it and
//! written after the last one, so that a batch costs little more than its packages, however many
//! operations it has.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::content::Content;
use crate::error::EditError;
use crate::format::Line;
use crate::meta::Meta;
use crate::operation::EditLimits;
use crate::state::{Package, Part};
use crate::value::Value;

/// A content while a batch changes it.
pub(crate) struct Draft<'c> {
    content: &'c Content,
    limits: EditLimits,
    /// Packages that operations were about, by name.
    open: BTreeMap<Arc<str>, OpenPackage>,
    /// Names of all packages that some blob belongs to.
    packages: BTreeSet<Arc<str>>,
    /// What is named in each package; made when it is first asked for.
    names: Option<BTreeMap<Arc<str>, PackageNames>>,
    /// Packages of the content by the images of their bundles; made when it is first asked for.
    images: Option<HashMap<String, BTreeSet<Arc<str>>>>,
    /// Number of the next new blob.
    next: usize,
}

/// A package that an operation was about.
#[derive(Default)]
struct OpenPackage {
    /// The package in the content; `None` if nothing of it stays.
    former: Option<Package>,
    current: Package,
    is_changed: bool,
    /// Entries and skips of its channels, if it was changed.
    edges: usize,
    /// Length of its blobs in the content.
    bytes: usize,
}

/// What is named in a package.
#[derive(Default)]
struct PackageNames {
    /// Bundles, and entries of channels.
    all: HashSet<String>,
    /// Bundles, if they are in no channel.
    has_stranded: bool,
}

impl<'c> Draft<'c> {
    pub(crate) fn new(content: &'c Content, limits: EditLimits) -> Self {
        let open = BTreeMap::new();
        let packages = content.packages();
        let next = content.next_id();
        Self {
            content,
            limits,
            open,
            packages,
            names: None,
            images: None,
            next,
        }
    }

    /// Returns the names of all packages that some blob belongs to.
    pub(crate) fn packages(&self) -> &BTreeSet<Arc<str>> {
        &self.packages
    }

    /// Returns whether there is an `olm.package` of this name.
    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.open.get(name).map_or_else(
            || self.content.has_package(name),
            |open| open.current.blob.is_some(),
        )
    }

    /// Returns a package to look at; an empty one if there is none. It is not read if the batch is
    /// about too much with it.
    pub(crate) fn look(&mut self, name: &str) -> Result<&Package, EditError> {
        let others: usize = self.open.values().map(|open| open.bytes).sum();
        let open = match self.open.entry(name.into()) {
            MapEntry::Occupied(open) => open.into_mut(),
            MapEntry::Vacant(place) => {
                let bytes: usize = self
                    .content
                    .of_package(name)
                    .map(|meta| meta.line.len())
                    .sum();
                if bytes + others > self.limits.bytes {
                    return Err(EditError::TooManyBytes(self.limits.bytes));
                }
                let current = Package::read(name, self.content.of_package(name))?;
                place.insert(OpenPackage {
                    former: Some(current.clone()),
                    current,
                    bytes,
                    ..OpenPackage::default()
                })
            }
        };
        Ok(&open.current)
    }

    /// Returns a package to change; an empty one if there is none.
    pub(crate) fn package(&mut self, name: &str) -> Result<Package, EditError> {
        self.look(name).cloned()
    }

    /// Replaces a package, unless the batch would change more than it may.
    pub(crate) fn set_package(&mut self, mut package: Package) -> Result<(), EditError> {
        package.settle(&mut self.next);
        let name: Arc<str> = package.name.as_str().into();
        // Most operations have looked at it.
        self.look(&name)?;
        if let Some(names) = &mut self.names {
            names.insert(Arc::clone(&name), PackageNames::of(&package));
        }
        if !name.is_empty() {
            self.packages.insert(Arc::clone(&name));
        }
        let open = self.open.entry(name).or_default();
        (open.is_changed, open.edges, open.current) = (true, package.edges(), package);
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
        let Some(name) = self.packages.take(name) else {
            return;
        };
        if let Some(names) = &mut self.names {
            names.remove(&name);
        }
        let current = Package {
            name: name.to_string(),
            ..Package::default()
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

    /// Finds a package, other than the one given, with an entry or a bundle of a name.
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
    pub(crate) fn with_stranded(&mut self) -> Result<Vec<Arc<str>>, EditError> {
        let stranded = self.names()?.iter().filter(|(_, names)| names.has_stranded);
        Ok(stranded.map(|(package, _)| Arc::clone(package)).collect())
    }

    /// Finds the packages that have bundles of some images.
    pub(crate) fn with_images(
        &mut self,
        images: &HashSet<&str>,
    ) -> Result<Vec<Package>, EditError> {
        let content = self.content;
        let index = self.images.get_or_insert_with(|| images_of(content));
        let mut names: BTreeSet<_> = images
            .iter()
            .filter_map(|image| index.get(*image))
            .flatten()
            .cloned()
            .collect();
        names.extend(self.open.keys().cloned());
        let mut found = Vec::new();
        for name in names {
            let package = self.look(&name)?;
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

    /// Reads what is named in each package. Of those that no operation was about only the channels
    /// are parsed.
    fn read_names(&self) -> Result<BTreeMap<Arc<str>, PackageNames>, EditError> {
        let mut bundles: BTreeMap<Arc<str>, Vec<&str>> = BTreeMap::new();
        let mut all: BTreeMap<Arc<str>, PackageNames> = BTreeMap::new();
        for meta in self
            .content
            .metas()
            .iter()
            .filter(|meta| !self.open.contains_key(&meta.package))
        {
            match &*meta.schema {
                "olm.bundle" => bundles
                    .entry(Arc::clone(&meta.package))
                    .or_default()
                    .push(&meta.name),
                "olm.channel" => {
                    let value = meta.value()?;
                    let entries = value
                        .list(&["entries"])
                        .iter()
                        .map(|entry| entry.str("name").to_owned());
                    all.entry(Arc::clone(&meta.package))
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
                .map(|(name, open)| (Arc::clone(name), PackageNames::of(&open.current))),
        );
        Ok(all)
    }

    /// Writes what has changed: blobs that stay keep their place, new ones follow the last of their
    /// package.
    pub(crate) fn finish(self) -> Content {
        let first_new = self.content.next_id();
        // By number; `None` for blobs that were removed.
        let mut changed: HashMap<usize, Option<Meta>> = HashMap::new();
        let mut removed: HashSet<&str> = HashSet::new();
        let mut new: BTreeMap<Arc<str>, Vec<Meta>> = BTreeMap::new();
        for (name, open) in self.open.iter().filter(|(_, open)| open.is_changed) {
            let former: HashMap<usize, Part<'_>> = open
                .former
                .iter()
                .flat_map(Package::parts)
                .filter_map(|part| Some((part.id()?, part)))
                .collect();
            if open.former.is_none() {
                removed.insert(name);
            }
            changed.extend(former.keys().map(|id| (*id, None)));
            for part in open.current.parts() {
                match part.id() {
                    Some(id) if id < first_new && former.get(&id) == Some(&part) => {
                        drop(changed.remove(&id));
                    }
                    Some(id) if id < first_new => {
                        drop(changed.insert(id, Some(Meta::of(id, &part.value()))));
                    }
                    id => {
                        new.entry(Arc::clone(name))
                            .or_default()
                            .push(Meta::of(id.unwrap_or(first_new), &part.value()));
                    }
                }
            }
        }
        let stays = self
            .content
            .metas()
            .iter()
            .filter(|meta| !removed.contains(&*meta.package));
        let stays = stays.filter_map(|meta| {
            changed
                .remove(&meta.id)
                .unwrap_or_else(|| Some(meta.clone()))
        });
        Content::with_new(stays.collect(), new, self.next)
    }
}

impl PackageNames {
    fn of(package: &Package) -> Self {
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

/// Finds the packages of a content by the images of their bundles.
fn images_of(content: &Content) -> HashMap<String, BTreeSet<Arc<str>>> {
    let mut images: HashMap<String, BTreeSet<Arc<str>>> = HashMap::new();
    for meta in content
        .metas()
        .iter()
        .filter(|meta| &*meta.schema == "olm.bundle")
    {
        let image = Line::new(&meta.line).and_then(|line| line.str("image").map(str::to_owned));
        // Anything else is rare: other cases of keys, escapes, and bundles without an image.
        let read = || meta.value().unwrap_or(Value::Null).str("image").to_owned();
        images
            .entry(image.unwrap_or_else(read))
            .or_default()
            .insert(Arc::clone(&meta.package));
    }
    images
}
