//! `Query.availableUpgrades`: what each of many installed bundles can be upgraded to.

use fbc::work::Step;
use fbc::{Bundle, Deprecation, Package};
use fbc_graph::graph::{Installed, upgrades_from};
use serving::{Served, Snapshot};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::AvailableUpgradesField;
use crate::input::{self, InstalledPackageInput};

/// The type `AvailableUpgrades`.
#[derive(Clone, Copy)]
struct AvailableUpgrades<'i, 'a> {
    index: usize,
    installed: &'i InstalledPackage<'a>,
    package: Option<InCatalog<'a, Package<'a>>>,
}

/// An `InstalledPackage` of the request.
struct InstalledPackage<'a> {
    package_name: &'a str,
    bundle_name: &'a str,
    installed: Installed<'a>,
    catalog: Option<&'a str>,
    channels: Vec<&'a str>,
}

impl<'a> ResponseWriter<'a> {
    /// `Query.availableUpgrades`.
    pub(super) fn available_upgrades(
        &mut self,
        snapshot: &'a Snapshot,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let given = arguments(field)
            .get("installed")
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let maximum = self.context.limits.installed_packages;
        if given.len() > maximum {
            let message = format!(
                "`installed` has {} items; at most {maximum} are allowed",
                given.len()
            );
            return self.bad_user_input(field, message);
        }
        let mut installed = Vec::with_capacity(given.len());
        for (index, item) in given.iter().enumerate() {
            let item: InstalledPackageInput<'_> =
                input::read(item).expect("items of the list are not null");
            self.work
                .draw(Step::ParsedByte, item.bundle.version.len())?;
            match InstalledPackage::new(item) {
                Ok(item) => installed.push(item),
                Err(error) => {
                    return self.bad_user_input(
                        field,
                        format!("`installed[{index}].bundle` is malformed: {error}"),
                    );
                }
            }
        }
        let names = arguments(field).strings("catalogs");
        let is_selected = |served: &&Served| names.is_none_or(|names| names.contains(&served.name));
        let catalogs: Vec<_> = snapshot
            .by_priority()
            .map(|served| &**served)
            .filter(is_selected)
            .collect();
        let upgrades = installed.iter().enumerate().flat_map(|(index, installed)| {
            let packages = installed.packages(&catalogs);
            let none = packages.is_empty().then_some(None);
            let packages = packages.into_iter().map(Some).chain(none);
            packages.map(move |package| AvailableUpgrades {
                index,
                installed,
                package,
            })
        });
        self.object_list(upgrades, field)
    }
}

impl<'a> InstalledPackage<'a> {
    fn new(
        item: InstalledPackageInput<'a>,
    ) -> Result<Self, fbc_grammar::version::VersionReleaseError> {
        let bundle = item.bundle;
        Ok(Self {
            package_name: item.package_name,
            bundle_name: bundle.name,
            installed: Installed::parse(bundle.name, bundle.version, bundle.release)?,
            catalog: item.catalog,
            channels: item.channels.unwrap_or_default(),
        })
    }

    /// Returns its package in each of the catalogs that has it.
    fn packages(&self, catalogs: &[&'a Served]) -> Vec<InCatalog<'a, Package<'a>>> {
        let catalogs = catalogs
            .iter()
            .filter(|served| self.catalog.is_none_or(|name| name == served.name));
        catalogs
            .filter_map(|served| InCatalog::package(served, self.package_name))
            .collect()
    }
}

impl<'a> AvailableUpgrades<'_, 'a> {
    /// Returns the installed bundle, if the catalog still has it.
    fn bundle(self) -> Option<InCatalog<'a, Bundle<'a>>> {
        let package = self.package?;
        Some(package.with(package.item.bundle(self.installed.bundle_name)?))
    }

    /// Returns the deprecations of the package, of the given channels and of the installed bundle.
    fn deprecations(self) -> Vec<Deprecation<'a>> {
        let Some(package) = self.package else {
            return Vec::new();
        };
        let channels = self
            .installed
            .channels
            .iter()
            .filter_map(|name| package.item.channel(name)?.deprecation());
        let bundle = self.bundle().and_then(|bundle| bundle.item.deprecation());
        package
            .item
            .deprecation()
            .into_iter()
            .chain(channels)
            .chain(bundle)
            .collect()
    }
}

impl<'a> Object<'a> for AvailableUpgrades<'_, 'a> {
    type Field = AvailableUpgradesField;

    fn write(
        self,
        name: AvailableUpgradesField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            AvailableUpgradesField::Index => writer.count(self.index),
            AvailableUpgradesField::Package => return writer.optional_object(self.package, field),
            AvailableUpgradesField::Bundle => return writer.optional_object(self.bundle(), field),
            AvailableUpgradesField::Successors => {
                let Some(package) = self.package else {
                    writer.strings([]);
                    return Ok(());
                };
                let InstalledPackage {
                    installed,
                    channels,
                    ..
                } = self.installed;
                let upgrades = upgrades_from(package.item, installed, channels, writer.work)?;
                return writer.compatible_upgrades(package, upgrades, field);
            }
            AvailableUpgradesField::Deprecations => {
                return writer.object_list(self.deprecations(), field);
            }
        }
        Ok(())
    }
}
