//! `PackageFacets`: counts packages per value of each facet.

use std::collections::HashMap;
use std::rc::Rc;

use fbc::work::{Step, Work, WorkStopped};
use fbc::{
    CapabilityLevel, Facet, FacetCounts, FacetValue, FoundPackages, InstallMode,
    OlmV1Installability, PackageFilter,
};
use serving::Served;

use super::scans::{FacetScan, ScanKey};
use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::Arguments;
use crate::fields::{
    BooleanFacetValueField, CapabilityLevelFacetValueField, CatalogFacetValueField,
    InstallModeFacetValueField, OlmV1FacetValueField, PackageFacetsField, TextFacetValueField,
};
use crate::filter::{
    self, CAPABILITY_LEVELS, INSTALL_MODE_NAMES, INSTALL_MODES, OLM_V1_NAMES, OLM_V1_VALUES,
};

/// The type `PackageFacets`.
pub(super) struct PackageFacets<'a> {
    /// `None` if every package matches.
    filter: Option<PackageFilter<'a>>,
    /// Matching packages of each selected catalog, by name.
    found: Vec<FacetSource<'a>>,
    /// Catalogs that are not selected, by name, in which nothing was searched yet.
    others: Vec<&'a Served>,
}

/// Packages of a catalog that facets count.
pub(super) struct FacetSource<'a> {
    pub(super) served: &'a Served,
    /// The matching packages; `None` if every package matches.
    pub(super) found: Option<Rc<FoundPackages<'a>>>,
}

/// A value of a facet with its count; the type of the value selects that of the schema.
#[derive(Clone, Copy)]
struct ValueCount<'v, T> {
    value: T,
    count: u32,
    display_name: &'v str,
}

/// A value of the facet `catalogs`: the name of the catalog.
#[derive(Clone, Copy)]
struct CatalogFacet<'v>(&'v str);

/// Maximum number of values of a facet.
pub(crate) const FACET_VALUES: usize = 1_000;

impl<'a> PackageFacets<'a> {
    /// Creates the facets of the packages that a filter found; `others` are the catalogs that are
    /// not selected.
    pub(super) fn new(
        filter: Option<PackageFilter<'a>>,
        found: Vec<FacetSource<'a>>,
        others: Vec<&'a Served>,
    ) -> Self {
        Self {
            filter,
            found,
            others,
        }
    }

    /// Counts the packages of the selected catalogs by the values of a facet: once for all catalogs
    /// of one content.
    fn count(&self, facet: Facet, work: &Work<'_>) -> Result<FacetCounts<'a>, WorkStopped> {
        let mut counts = FacetCounts::default();
        for (source, times) in self.distinct() {
            if times == 1 {
                source.count(facet, &mut counts, work)?;
                continue;
            }
            let mut once = FacetCounts::default();
            source.count(facet, &mut once, work)?;
            work.draw(Step::FacetValue, once.len())?;
            counts.add_all(&once, times);
        }
        Ok(counts)
    }

    /// Returns the selected catalogs whose packages differ, each with the number of those with the
    /// same.
    fn distinct(&self) -> Vec<(&FacetSource<'a>, u32)> {
        let mut distinct: Vec<(&FacetSource<'a>, u32)> = Vec::new();
        let mut known = HashMap::with_capacity(self.found.len());
        for source in &self.found {
            let at = *known.entry(source.address()).or_insert(distinct.len());
            match distinct.get_mut(at) {
                Some((_, times)) => *times += 1,
                None => distinct.push((source, 1)),
            }
        }
        distinct
    }

    /// Counts the packages of every catalog, also of those that are not selected.
    fn count_by_catalog(&self, work: &Work<'_>) -> Result<FacetCounts<'a>, WorkStopped> {
        let mut counts = FacetCounts::default();
        let mut add = |served: &'a Served, found: Option<&FoundPackages<'_>>| {
            let packages = served.content.catalog.packages().len();
            let matches = if let Some(found) = found {
                work.draw(Step::Package, packages)?;
                found.matches().count()
            } else {
                work.draw(Step::FacetValue, 1)?;
                packages
            };
            let matches = u32::try_from(matches).unwrap_or(u32::MAX);
            counts.add_many(FacetValue::Text(&served.name), matches);
            Ok(())
        };
        for FacetSource { served, found } in &self.found {
            add(served, found.as_deref())?;
        }
        for served in &self.others {
            let found = match &self.filter {
                Some(filter) => Some(served.content.catalog.find_packages(filter, work)?),
                None => None,
            };
            add(served, found.as_ref())?;
        }
        Ok(counts)
    }

    /// Returns the values of a facet that its arguments select.
    fn values(
        &self,
        name: PackageFacetsField,
        arguments: &Arguments,
        work: &Work<'_>,
    ) -> Result<FacetScan<'a>, WorkStopped> {
        let mut counts = match facet(name) {
            Some(facet) => self.count(facet, work)?,
            None => self.count_by_catalog(work)?,
        };
        let Some(first) = arguments.integer("first") else {
            return Ok(counts.in_order().into());
        };
        if let Some(text) = arguments.string("search") {
            counts.search(text, work)?;
        }
        Ok(counts.top(usize::try_from(first).unwrap_or(0)).into())
    }

    /// Returns the display name of a catalog.
    fn display_name(&self, name: &'a str) -> &'a str {
        let compare = |served: &Served| served.name.as_str().cmp(name);
        let selected = self
            .found
            .binary_search_by(|source| compare(source.served))
            .map(|at| self.found[at].served);
        let served = selected.or_else(|_| {
            self.others
                .binary_search_by(|served| compare(served))
                .map(|at| self.others[at])
        });
        served
            .ok()
            .and_then(|served| served.metadata.display_name.as_deref())
            .unwrap_or(name)
    }
}

impl<'a> FacetSource<'a> {
    /// Counts the matching packages by the values of a facet.
    fn count(
        &self,
        facet: Facet,
        counts: &mut FacetCounts<'a>,
        work: &Work<'_>,
    ) -> Result<(), WorkStopped> {
        match &self.found {
            Some(found) => found.count(facet, counts, work),
            None => self
                .served
                .content
                .catalog
                .count_packages(facet, counts, work),
        }
    }

    /// Address of what is counted, which catalogs of one content share.
    fn address(&self) -> usize {
        match &self.found {
            Some(found) => Rc::as_ptr(found).addr(),
            None => self.served.content.catalog.index_address(),
        }
    }
}

/// Returns the facet of a field; `None` for the one of catalogs.
fn facet(name: PackageFacetsField) -> Option<Facet> {
    Some(match name {
        PackageFacetsField::Catalogs => return None,
        PackageFacetsField::Categories => Facet::Categories,
        PackageFacetsField::Providers => Facet::Providers,
        PackageFacetsField::Keywords => Facet::Keywords,
        PackageFacetsField::CapabilityLevels => Facet::CapabilityLevels,
        PackageFacetsField::InstallModes => Facet::InstallModes,
        PackageFacetsField::InfrastructureFeatures => Facet::InfrastructureFeatures,
        PackageFacetsField::Architectures => Facet::Architectures,
        PackageFacetsField::OperatingSystems => Facet::OperatingSystems,
        PackageFacetsField::ValidSubscriptions => Facet::ValidSubscriptions,
        PackageFacetsField::Certified => Facet::Certified,
        PackageFacetsField::Deprecated => Facet::Deprecated,
        PackageFacetsField::OlmV1 => Facet::OlmV1,
    })
}

/// Returns the text to show for a condition that is met or not.
fn condition_name(name: PackageFacetsField, is_met: bool) -> &'static str {
    match (name, is_met) {
        (PackageFacetsField::Deprecated, true) => "Deprecated",
        (PackageFacetsField::Deprecated, false) => "Not deprecated",
        (_, true) => "Certified",
        (_, false) => "Not certified",
    }
}

impl<'a> Object<'a> for &PackageFacets<'a> {
    type Field = PackageFacetsField;

    fn write(
        self,
        name: PackageFacetsField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let arguments = arguments(field);
        if writer.read_first(field, FACET_VALUES)?.is_none() {
            return Ok(());
        }
        // One catalog may be selected often; several are selected at the root only.
        let found = match &self.found[..] {
            [FacetSource { served, .. }] => {
                let work = writer.work;
                let key = ScanKey::of_catalog(field, served);
                writer
                    .scans
                    .facets
                    .get_or_scan(key, || self.values(name, arguments, work))?
            }
            _ => self.values(name, arguments, writer.work)?,
        };
        let values = |value| found.iter().filter_map(value);
        if name == PackageFacetsField::Catalogs {
            let catalogs = values(|&(value, count)| match value {
                FacetValue::Text(name) => Some(ValueCount {
                    value: CatalogFacet(name),
                    count,
                    display_name: self.display_name(name),
                }),
                _ => None,
            });
            return writer.object_list(catalogs, field);
        }
        writer.facet_values(name, &found, field)
    }
}

impl<'a> ResponseWriter<'a> {
    /// Writes the values of a facet, all of which are of one kind.
    fn facet_values(
        &mut self,
        name: PackageFacetsField,
        values: &[(FacetValue<'a>, u32)],
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.list(values, field, |writer, &(value, count)| match value {
            FacetValue::Text(text) => writer.complete_object(
                ValueCount {
                    value: text,
                    count,
                    display_name: text,
                },
                field,
            ),
            FacetValue::CapabilityLevel(level) => writer.complete_object(
                ValueCount {
                    value: level,
                    count,
                    display_name: level.as_str(),
                },
                field,
            ),
            FacetValue::InstallMode(mode) => {
                let display_name = filter::word(&INSTALL_MODE_NAMES, &mode);
                writer.complete_object(
                    ValueCount {
                        value: mode,
                        count,
                        display_name,
                    },
                    field,
                )
            }
            FacetValue::OlmV1(value) => {
                let display_name = filter::word(&OLM_V1_NAMES, &value);
                writer.complete_object(
                    ValueCount {
                        value,
                        count,
                        display_name,
                    },
                    field,
                )
            }
            FacetValue::Boolean(is_met) => {
                let display_name = condition_name(name, is_met);
                writer.complete_object(
                    ValueCount {
                        value: is_met,
                        count,
                        display_name,
                    },
                    field,
                )
            }
        })
    }
}

/// Implements a type of facet values: how its `value` is written.
macro_rules! facet_value {
    ($type:ty, $field:ident, |$value:ident, $writer:ident| $write:expr) => {
        impl<'a> Object<'a> for ValueCount<'_, $type> {
            type Field = $field;

            fn write(
                self,
                name: $field,
                _: &'a PlannedField<'a>,
                $writer: &mut ResponseWriter<'a>,
            ) -> WriteResult {
                let $value = self.value;
                match name {
                    $field::DisplayName => $writer.string(self.display_name),
                    $field::Count => $writer.count(self.count as usize),
                    $field::Value => $write,
                }
                Ok(())
            }
        }
    };
}

facet_value!(&str, TextFacetValueField, |value, writer| writer
    .string(value));
facet_value!(CatalogFacet<'_>, CatalogFacetValueField, |value, writer| {
    writer.string(value.0);
});
facet_value!(
    CapabilityLevel,
    CapabilityLevelFacetValueField,
    |value, writer| {
        writer.static_string(filter::word(&CAPABILITY_LEVELS, &value));
    }
);
facet_value!(InstallMode, InstallModeFacetValueField, |value, writer| {
    writer.static_string(filter::word(&INSTALL_MODES, &value));
});
facet_value!(
    OlmV1Installability,
    OlmV1FacetValueField,
    |value, writer| {
        writer.static_string(filter::word(&OLM_V1_VALUES, &value));
    }
);
facet_value!(bool, BooleanFacetValueField, |value, writer| writer
    .boolean(value));
