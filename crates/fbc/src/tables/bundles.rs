//! Index for the conditions on bundles: APIs, required packages, names and types of properties.

use std::io;

use crate::array::Array;
use crate::ids::{id, ids};
use crate::index::ContentIndex;
use crate::names::{Name, NameTable};
use crate::record::Payload;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};
use crate::tables::apis::{ApiIndex, bundle_payloads};
use crate::tables::postings::{Postings, equal_range};

/// Index for the conditions on bundles.
#[derive(Debug)]
pub(crate) struct BundleIndex {
    pub(crate) apis: ApiIndex,
    /// Required packages, sorted by name.
    required_packages: Array<Name>,
    /// Bundles that require each package of `required_packages`, ascending.
    requiring: Postings,
    /// Ids of bundles, sorted by name, then ascending.
    by_name: Array<u32>,
    /// Types of the properties of bundles, sorted by name.
    types: Array<Name>,
}

impl BundleIndex {
    pub(crate) fn new(index: &ContentIndex) -> Self {
        let names = &index.names;
        let required_packages =
            distinct(names, requirements(index).map(|(name, _)| name).collect());
        let mut rank = vec![0; names.len()];
        for (at, name) in required_packages.iter().enumerate() {
            rank[name.index()] = id(at);
        }
        let requiring = Postings::new(
            required_packages.len(),
            requirements(index).map(|(name, bundle)| (rank[name.index()], bundle)),
        );
        let mut by_name: Vec<u32> = (0..id(index.bundles.len())).collect();
        by_name.sort_by_key(|&at| names.get(index.bundles[at as usize].name));
        let properties = index
            .bundles
            .iter()
            .flat_map(|bundle| ids(bundle.properties));
        let types = distinct(
            names,
            properties
                .map(|at| index.properties[at as usize].type_name)
                .collect(),
        );
        Self {
            apis: ApiIndex::new(index),
            required_packages,
            requiring,
            by_name: Array::new(by_name),
            types,
        }
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.apis.write(sections)?;
        sections.array(&self.required_packages)?;
        self.requiring.write(sections)?;
        sections.array(&self.by_name)?;
        sections.array(&self.types)
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let bundles = index.bundles.len();
        let apis = ApiIndex::read(sections, index)?;
        let required_packages = index.names.read_names(sections)?;
        Ok(Self {
            apis,
            requiring: Postings::read(sections, required_packages.len(), bundles)?,
            required_packages,
            by_name: sections.ids_of(bundles, bundles)?,
            types: index.names.read_names(sections)?,
        })
    }

    /// Returns the bundles that require a package, ascending.
    pub(crate) fn requiring(&self, index: &ContentIndex, package: &str) -> Vec<u32> {
        let bundles = self
            .required_packages
            .binary_search_by(|&name| index.names.get(name).cmp(package));
        bundles.map_or(Vec::new(), |at| sorted(self.requiring.get(at).to_vec()))
    }

    /// Returns the bundles of these names, ascending.
    pub(crate) fn named(&self, index: &ContentIndex, names: &[&str]) -> Vec<u32> {
        let name = |&at: &u32| index.names.get(index.bundles[at as usize].name);
        // Many bundles may have one name, which is looked up once.
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        let of_name =
            |wanted: &&str| &self.by_name[equal_range(&self.by_name, |at| name(at).cmp(wanted))];
        sorted(names.iter().flat_map(of_name).copied().collect())
    }

    /// Returns the names of those texts that are types of properties, sorted by number.
    pub(crate) fn types(&self, index: &ContentIndex, texts: &[&str]) -> Vec<Name> {
        let find = |text: &&str| {
            self.types
                .binary_search_by(|&name| index.names.get(name).cmp(text))
                .ok()
        };
        let mut types: Vec<Name> = texts
            .iter()
            .filter_map(find)
            .map(|at| self.types[at])
            .collect();
        types.sort_unstable_by_key(|name| name.index());
        types.dedup();
        types
    }
}

/// Iterates over pairs of required package and bundle, by bundle.
fn requirements(index: &ContentIndex) -> impl Iterator<Item = (Name, u32)> + Clone {
    bundle_payloads(index).filter_map(|(bundle, payload)| match payload {
        Payload::PackageRequired(at) => Some((index.requirements[at as usize].package, bundle)),
        _ => None,
    })
}

/// Removes duplicates and sorts by text.
fn distinct(names: &NameTable, mut list: Vec<Name>) -> Array<Name> {
    list.sort_unstable_by_key(|name| name.index());
    list.dedup();
    list.sort_unstable_by_key(|&name| names.get(name));
    Array::new(list)
}

/// Sorts ids and removes duplicates.
pub(crate) fn sorted(mut places: Vec<u32>) -> Vec<u32> {
    places.sort_unstable();
    places.dedup();
    places
}
