//! `PackageConnection`: filters and orders packages.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{Package, PackageFilter, SearchMatch};
use jiff::Timestamp;
use serving::Served;

use super::connection::{Connection, ConnectionNode};
use super::facets::PackageFacets;
use super::scans::{PackageScan, ScanKey};
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::Arguments;
use crate::connection::{
    ConnectionItem, ConnectionSource, Direction, Places, RankedPlace, paginate, sort,
};
use crate::fields::{FieldId, PackageConnectionField, PackageEdgeField, PackageField};
use crate::filter;
use crate::input::{self, OrderInput, PackageOrderField};
use crate::opaque_key::{KeyTag, OpaqueKey};
use crate::plan::ValuePlan;

/// A package as an item of a connection.
#[derive(Clone, Copy)]
struct PackageItem<'a> {
    package: InCatalog<'a, Package<'a>>,
    found: SearchMatch,
    order: PackageOrder,
}

/// Order of packages. Ties are broken by name, then by catalog.
#[derive(Clone, Copy)]
struct PackageOrder {
    field: PackageOrderField,
    direction: Direction,
}

/// A value that packages are ordered by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum OrderValue<'k> {
    /// Rank of the match, time of creation in microseconds since 1970, or index of the capability
    /// level.
    Number(i64),
    /// Folded display name.
    Text(&'k str),
}

/// Sort key of a package.
struct PackageKey<'k> {
    /// Value of the order's field; `None` if that is the name or unknown.
    first: Option<OrderValue<'k>>,
    name: &'k str,
    catalog: &'k str,
}

const FACETS: FieldId = FieldId::PackageConnection(PackageConnectionField::Facets);

impl<'a> ResponseWriter<'a> {
    /// Writes the connection of the packages of some catalogs; `others` are the other catalogs that
    /// are served, which the facet `catalogs` counts too.
    pub(super) fn packages(
        &mut self,
        catalogs: Vec<&'a Served>,
        others: Vec<&'a Served>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let arguments = arguments(field);
        let filter = match filter::packages(arguments) {
            Ok(filter) => filter,
            Err(error) => return self.bad_user_input(field, error.to_string()),
        };
        let searches = filter
            .as_ref()
            .is_some_and(|filter| filter.search.is_some());
        let order = PackageOrder::new(arguments, searches);
        let is_plain = filter.is_none()
            && order.field == PackageOrderField::Name
            && order.direction == Direction::Ascending;
        let counts = matches!(&field.value, ValuePlan::Object(plan) if plan.fields.iter().any(|field| field.id == FACETS));
        if is_plain && !counts {
            let all = |served: &'a Served| ConnectionSource {
                served,
                places: Places::all(served.content.catalog.packages().len()),
            };
            let sources: Vec<_> = catalogs.into_iter().map(all).collect();
            return self.connection::<PackageItem<'_>>(&sources, order, field);
        }
        let filter = filter.unwrap_or_default();
        let mut found = Vec::new();
        let mut sources = Vec::new();
        for &served in &catalogs {
            let key = ScanKey::new(field, served, None);
            let scan = self
                .scans
                .packages
                .get_or_scan(key, || find(served, &filter, order, self.work));
            let scan = scan.map_err(|_| self.stopped_search(field, catalogs.len(), None))?;
            found.push((served, scan.found));
            sources.push(ConnectionSource {
                served,
                places: scan.places,
            });
        }
        let page =
            match paginate::<PackageItem<'_>>(&sources, order, arguments, self.context.limits) {
                Ok(page) => page,
                Err(message) => return self.bad_user_input(field, message),
            };
        let facets = PackageFacets::new(filter, found, others);
        self.object(
            Connection {
                page: &page,
                facets: Some(&facets),
            },
            field,
        )
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
    let mut list: Vec<_> = found
        .matches()
        .map(|(place, found)| RankedPlace {
            place,
            rank: found.to_bits(),
        })
        .collect();
    // Names and times are compared, where bundles have ranks.
    work.draw(Step::SortStep, 4 * sort_steps(list.len()))?;
    sort::<PackageItem<'_>>(served, &mut list, order);
    Ok(PackageScan {
        found: Rc::new(found),
        places: Places::List(list.into()),
    })
}

impl PackageOrder {
    fn new(arguments: &Arguments, searches: bool) -> Self {
        if let Some(order) = input::read(arguments.get("orderBy")) {
            let OrderInput { field, direction } = order;
            return Self { field, direction };
        }
        Self {
            field: if searches {
                PackageOrderField::Relevance
            } else {
                PackageOrderField::Name
            },
            direction: Direction::Ascending,
        }
    }

    fn tag(self) -> KeyTag {
        let tags = match self.field {
            PackageOrderField::Name => KeyTag::PACKAGES_BY_NAME,
            PackageOrderField::Relevance => KeyTag::PACKAGES_BY_RELEVANCE,
            PackageOrderField::DisplayName => KeyTag::PACKAGES_BY_DISPLAY_NAME,
            PackageOrderField::CreatedAt => KeyTag::PACKAGES_BY_CREATION,
            PackageOrderField::CapabilityLevel => KeyTag::PACKAGES_BY_CAPABILITY_LEVEL,
        };
        tags[self.direction as usize]
    }
}

impl<'a> ConnectionItem<'a> for PackageItem<'a> {
    type Order = PackageOrder;
    type Key<'k> = PackageKey<'k>;

    fn from_place(
        served: &'a Served,
        RankedPlace { place, rank }: RankedPlace,
        order: PackageOrder,
    ) -> Self {
        let item = served.content.catalog.package_at(place as usize);
        Self {
            package: InCatalog { served, item },
            found: SearchMatch::from_bits(rank),
            order,
        }
    }

    fn key(self) -> PackageKey<'a> {
        let InCatalog { served, item } = self.package;
        let number = match self.order.field {
            PackageOrderField::Name | PackageOrderField::DisplayName => None,
            PackageOrderField::Relevance => Some(self.found.rank().into()),
            PackageOrderField::CreatedAt => {
                item.summary().created_at().map(Timestamp::as_microsecond)
            }
            PackageOrderField::CapabilityLevel => {
                item.summary().capability_level().map(|level| level as i64)
            }
        };
        let first = match self.order.field {
            PackageOrderField::DisplayName => Some(OrderValue::Text(item.summary().sort_name())),
            _ => number.map(OrderValue::Number),
        };
        PackageKey {
            first,
            name: item.name(),
            catalog: &served.name,
        }
    }

    fn key_from_cursor(order: PackageOrder, cursor: &OpaqueKey) -> Option<PackageKey<'_>> {
        let [first, name, catalog] = cursor.parts(order.tag())?;
        let first = match order.field {
            PackageOrderField::DisplayName => first.map(OrderValue::Text),
            _ => first
                .map(str::parse)
                .transpose()
                .ok()?
                .map(OrderValue::Number),
        };
        Some(PackageKey {
            first,
            name: name?,
            catalog: catalog?,
        })
    }

    fn compare(order: PackageOrder, a: &PackageKey<'_>, b: &PackageKey<'_>) -> Ordering {
        let by_name = a.name.cmp(b.name);
        let by_name = if order.field == PackageOrderField::Name {
            order.direction.apply(by_name)
        } else {
            by_name
        };
        let first =
            order
                .direction
                .present_first(a.first.as_ref(), b.first.as_ref(), OrderValue::cmp);
        first.then(by_name).then_with(|| a.catalog.cmp(b.catalog))
    }
}

impl<'a> Object<'a> for PackageItem<'a> {
    type Field = PackageField;

    fn write(
        self,
        name: PackageField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        self.package.write(name, field, writer)
    }
}

impl<'a> ConnectionNode<'a> for PackageItem<'a> {
    type ConnectionField = PackageConnectionField;
    type EdgeField = PackageEdgeField;

    fn cursor(self, writer: &mut ResponseWriter<'a>) {
        let PackageKey {
            first,
            name,
            catalog,
        } = self.key();
        let first = first.map(|first| match first {
            OrderValue::Number(number) => Cow::Owned(number.to_string()),
            OrderValue::Text(text) => Cow::Borrowed(text),
        });
        writer.opaque_key(
            self.order.tag(),
            [first.as_deref(), Some(name), Some(catalog)],
        );
    }

    fn search_match(self) -> Option<SearchMatch> {
        Some(self.found)
    }
}
