//! `PackageConnection`: filters and orders packages, and counts them per value of each facet.

use std::cmp::Ordering;
use std::rc::Rc;

use fbc::catalog::{Facet, FacetCounts, FacetValue, FoundPackages, Package, PackageFilter};
use fbc::work::{Step, Work, WorkStopped, sort_steps};
use jiff::Timestamp;
use serving::Served;

use super::connection::{Connection, ConnectionNode};
use super::scans::{FacetScan, PackageScan, ScanKey};
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::Arguments;
use crate::connection::{ConnectionItem, ConnectionSource, Direction, Places, RankedPlace, paginate, sort};
use crate::fields::{
    FacetValueField, FieldId, PackageConnectionField, PackageEdgeField, PackageFacetsField, PackageField,
};
use crate::filter::{self, CAPABILITY_LEVELS, INSTALL_MODES};
use crate::opaque_key::{KeyTag, OpaqueKey};
use crate::plan::ValuePlan;

/// A package as an item of a connection.
#[derive(Clone, Copy)]
struct PackageItem<'a> {
    package: InCatalog<'a, Package<'a>>,
    rank: u32,
    order: PackageOrder,
}

/// Order of packages. Ties are broken by name, then by catalog.
#[derive(Clone, Copy)]
struct PackageOrder {
    field: PackageOrderField,
    direction: Direction,
}

/// The enum `PackageOrderField`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageOrderField {
    Name,
    Relevance,
    CreatedAt,
}

/// Sort key of a package.
struct PackageKey<'k> {
    /// Rank of the match, or time of creation in microseconds since 1970; `None` if ordered by name or unknown.
    first: Option<i64>,
    name: &'k str,
    catalog: &'k str,
}

/// The type `PackageFacets`.
pub(super) struct PackageFacets<'a> {
    filter: PackageFilter<'a>,
    /// Matching packages of each selected catalog.
    found: Vec<(&'a Served, Rc<FoundPackages<'a>>)>,
    /// Catalogs that are not selected, in which nothing was searched yet.
    others: Vec<&'a Served>,
}

/// The type `FacetValue`.
#[derive(Clone, Copy)]
struct ValueCount<'a>(FacetValue<'a>, u32);

/// Maximum number of values of a facet.
pub(crate) const FACET_VALUES: i64 = 100;

const FACETS: FieldId = FieldId::PackageConnection(PackageConnectionField::Facets);

impl<'a> ResponseWriter<'a> {
    /// Writes the connection of the packages of some catalogs; `others` are the other catalogs that are served, which
    /// the facet `catalogs` counts too.
    pub(super) fn packages(
        &mut self,
        catalogs: Vec<&'a Served>,
        others: Vec<&'a Served>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let arguments = arguments(field);
        let filter = filter::packages(arguments);
        let searches = filter.as_ref().is_some_and(|filter| filter.search.is_some());
        let order = PackageOrder::new(arguments, searches);
        let is_plain =
            filter.is_none() && order.field == PackageOrderField::Name && order.direction == Direction::Ascending;
        let counts =
            matches!(&field.value, ValuePlan::Object(plan) if plan.fields.iter().any(|field| field.id == FACETS));
        if is_plain && !counts {
            let all = |served: &'a Served| ConnectionSource {
                served,
                places: Places::all(served.content.catalog.packages().len()),
            };
            let sources: Vec<_> = catalogs.into_iter().map(all).collect();
            return self.connection::<PackageItem<'_>>(&sources, order, field);
        }
        let filter = filter.unwrap_or_default();
        let (mut found, mut sources) = (Vec::new(), Vec::new());
        for served in catalogs {
            let scan = self
                .scans
                .packages
                .get_or_scan(ScanKey::new(field, served, None), || find(served, &filter, order, self.work))?;
            found.push((served, scan.found));
            sources.push(ConnectionSource { served, places: scan.places });
        }
        let page = match paginate::<PackageItem<'_>>(&sources, order, arguments, self.context.limits) {
            Ok(page) => page,
            Err(message) => return self.bad_user_input(field, message),
        };
        let facets = PackageFacets { filter, found, others };
        self.object(Connection { page: &page, facets: Some(&facets) }, field)
    }
}

/// Finds packages in a catalog, in an order.
fn find<'a>(
    served: &'a Served,
    filter: &PackageFilter<'_>,
    order: PackageOrder,
    work: &Work<'_>,
) -> Result<PackageScan<'a>, WorkStopped> {
    let found = served.content.catalog.find_packages(filter, work)?;
    let mut list: Vec<_> = found.matches().map(|(place, rank)| RankedPlace { place, rank }).collect();
    // Names and times are compared, where bundles have ranks.
    work.draw(Step::SortStep, 4 * sort_steps(list.len()))?;
    sort::<PackageItem<'_>>(served, &mut list, order);
    Ok(PackageScan { found: Rc::new(found), places: Places::List(list.into()) })
}

impl PackageOrder {
    fn new(arguments: &Arguments, searches: bool) -> Self {
        let order = arguments.get("orderBy");
        let field = match order["field"].as_str() {
            Some("RELEVANCE") => PackageOrderField::Relevance,
            Some("CREATED_AT") => PackageOrderField::CreatedAt,
            None if searches => PackageOrderField::Relevance,
            _ => PackageOrderField::Name,
        };
        Self { field, direction: Direction::from_order(order, Direction::Ascending) }
    }

    fn tag(self) -> KeyTag {
        let tags = match self.field {
            PackageOrderField::Name => KeyTag::PACKAGES_BY_NAME,
            PackageOrderField::Relevance => KeyTag::PACKAGES_BY_RELEVANCE,
            PackageOrderField::CreatedAt => KeyTag::PACKAGES_BY_CREATION,
        };
        tags[self.direction as usize]
    }
}

impl<'a> ConnectionItem<'a> for PackageItem<'a> {
    type Order = PackageOrder;
    type Key<'k> = PackageKey<'k>;

    fn from_place(served: &'a Served, RankedPlace { place, rank }: RankedPlace, order: PackageOrder) -> Self {
        Self { package: InCatalog { served, item: served.content.catalog.package_at(place as usize) }, rank, order }
    }

    fn key(self) -> PackageKey<'a> {
        let InCatalog { served, item } = self.package;
        let first = match self.order.field {
            PackageOrderField::Name => None,
            PackageOrderField::Relevance => Some(self.rank.into()),
            PackageOrderField::CreatedAt => item.summary().created_at().map(Timestamp::as_microsecond),
        };
        PackageKey { first, name: item.name(), catalog: &served.name }
    }

    fn key_from_cursor(order: PackageOrder, cursor: &OpaqueKey) -> Option<PackageKey<'_>> {
        let [first, name, catalog] = cursor.parts(order.tag())?;
        Some(PackageKey { first: first.map(str::parse).transpose().ok()?, name: name?, catalog: catalog? })
    }

    fn compare(order: PackageOrder, a: &PackageKey<'_>, b: &PackageKey<'_>) -> Ordering {
        let by_name = a.name.cmp(b.name);
        let by_name = if order.field == PackageOrderField::Name { order.direction.apply(by_name) } else { by_name };
        let first = order.direction.present_first(a.first.as_ref(), b.first.as_ref(), i64::cmp);
        first.then(by_name).then_with(|| a.catalog.cmp(b.catalog))
    }
}

impl<'a> Object<'a> for PackageItem<'a> {
    type Field = PackageField;

    fn write(self, name: PackageField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        self.package.write(name, field, writer)
    }
}

impl<'a> ConnectionNode<'a> for PackageItem<'a> {
    type ConnectionField = PackageConnectionField;
    type EdgeField = PackageEdgeField;

    fn cursor(self, writer: &mut ResponseWriter<'a>) {
        let PackageKey { first, name, catalog } = self.key();
        let first = first.map(|first| first.to_string());
        writer.opaque_key(self.order.tag(), [first.as_deref(), Some(name), Some(catalog)]);
    }
}

impl<'a> PackageFacets<'a> {
    /// Counts the packages of the selected catalogs by the values of a facet.
    fn count(&self, facet: Facet, work: &Work<'_>) -> Result<FacetCounts<'a>, WorkStopped> {
        let mut counts = FacetCounts::default();
        for (_, found) in &self.found {
            found.count(facet, &mut counts, work)?;
        }
        Ok(counts)
    }

    /// Counts the packages of every catalog, also of those that are not selected.
    fn count_by_catalog(&self, work: &Work<'_>) -> Result<FacetCounts<'a>, WorkStopped> {
        let mut counts = FacetCounts::default();
        let mut add = |served: &'a Served, found: &FoundPackages<'_>| {
            work.draw(Step::Package, served.content.catalog.packages().len())?;
            let matches = u32::try_from(found.matches().count()).unwrap_or(u32::MAX);
            counts.add_many(FacetValue::Text(&served.name), matches);
            Ok(())
        };
        for (served, found) in &self.found {
            add(served, found)?;
        }
        for served in &self.others {
            add(served, &served.content.catalog.find_packages(&self.filter, work)?)?;
        }
        Ok(counts)
    }

    /// Returns the most frequent values of a facet.
    fn top(&self, name: PackageFacetsField, first: usize, work: &Work<'_>) -> Result<FacetScan<'a>, WorkStopped> {
        let counts = match name {
            PackageFacetsField::Catalogs => self.count_by_catalog(work)?,
            PackageFacetsField::Categories => self.count(Facet::Categories, work)?,
            PackageFacetsField::Providers => self.count(Facet::Providers, work)?,
            PackageFacetsField::Keywords => self.count(Facet::Keywords, work)?,
            PackageFacetsField::CapabilityLevels => self.count(Facet::CapabilityLevels, work)?,
            PackageFacetsField::InstallModes => self.count(Facet::InstallModes, work)?,
            PackageFacetsField::InfrastructureFeatures => self.count(Facet::InfrastructureFeatures, work)?,
        };
        Ok(counts.top(first).into())
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
        let first = arguments(field).integer("first").unwrap_or_default();
        let Ok(first) = usize::try_from(first.min(FACET_VALUES)) else {
            return writer.bad_user_input(field, format!("`first` must not be negative, and is {first}"));
        };
        // One catalog may be selected often; several are selected at the root only.
        let top = match &self.found[..] {
            [(served, _)] => {
                let work = writer.work;
                let key = ScanKey::new(field, served, None);
                writer.scans.facets.get_or_scan(key, || self.top(name, first, work))?
            }
            _ => self.top(name, first, writer.work)?,
        };
        writer.object_list(top.iter().map(|&(value, count)| ValueCount(value, count)), field)
    }
}

impl<'a> Object<'a> for ValueCount<'_> {
    type Field = FacetValueField;

    fn write(self, name: FacetValueField, _: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        let Self(value, count) = self;
        match name {
            FacetValueField::Value => match value {
                FacetValue::Text(text) => writer.string(text),
                FacetValue::CapabilityLevel(level) => writer.static_string(filter::word(&CAPABILITY_LEVELS, &level)),
                FacetValue::InstallMode(mode) => writer.static_string(filter::word(&INSTALL_MODES, &mode)),
            },
            FacetValueField::Count => writer.count(count as usize),
        }
        Ok(())
    }
}
