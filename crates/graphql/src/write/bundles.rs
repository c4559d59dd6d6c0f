//! `BundleConnection`: filters and orders bundles.

use std::cmp::Ordering;

use fbc::catalog::{Bundle, BundleFilter, BundleKey, BundleVersion};
use fbc::work::{Step, Work, WorkStopped, sort_steps};
use serving::Served;

use super::connection::ConnectionNode;
use super::scans::ScanKey;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::Arguments;
use crate::connection::{ConnectionItem, ConnectionSource, Direction, Places, RankedPlace};
use crate::fields::{BundleConnectionField, BundleEdgeField, BundleField};
use crate::filter;
use crate::opaque_key::{KeyTag, OpaqueKey};

/// A bundle as an item of a connection.
#[derive(Clone, Copy)]
struct BundleItem<'a> {
    bundle: InCatalog<'a, Bundle<'a>>,
    order: BundleOrder,
}

/// Order of bundles. Ties are broken by package, then by name, then by catalog.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BundleOrder {
    /// By package, then highest version first.
    Natural,
    Version(Direction),
    Name(Direction),
}

/// Sort key of a bundle.
struct BundleItemKey<'k> {
    key: BundleKey<'k>,
    catalog: &'k str,
}

impl<'a> ResponseWriter<'a> {
    /// Writes the connection of the bundles of some catalogs; `packages` restricts it to the packages of these names.
    pub(super) fn bundles(
        &mut self,
        catalogs: Vec<&'a Served>,
        packages: Option<Vec<&'a str>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let arguments = arguments(field);
        let order = BundleOrder::new(arguments);
        let filter = match filter::bundles(arguments) {
            Ok(filter) => filter,
            Err(error) => return self.bad_user_input(field, format!("`versionRange` is malformed: {error}")),
        };
        let filter = match (filter, packages) {
            (Some(filter), packages) => Some(BundleFilter { packages: packages.unwrap_or_default(), ..filter }),
            (None, Some(packages)) => Some(BundleFilter { packages, ..BundleFilter::default() }),
            (None, None) => None,
        };
        let mut sources = Vec::with_capacity(catalogs.len());
        for served in catalogs {
            let places = if filter.is_none() && order == BundleOrder::Natural {
                Places::all(served.content.catalog.bundles().len())
            } else {
                let package = filter.as_ref().and_then(|filter| filter.packages.first().copied());
                let key = ScanKey::new(field, served, package);
                self.scans.places.get_or_scan(key, || find(served, filter.as_ref(), order, self.work))?
            };
            sources.push(ConnectionSource { served, places });
        }
        self.connection::<BundleItem<'_>>(&sources, order, field)
    }
}

/// Returns the bundles of a catalog that match a filter, in an order.
fn find(
    served: &Served,
    filter: Option<&BundleFilter<'_>>,
    order: BundleOrder,
    work: &Work<'_>,
) -> Result<Places, WorkStopped> {
    let catalog = &served.content.catalog;
    let places = catalog.find_bundles(filter.unwrap_or(&BundleFilter::default()), work)?;
    if order != BundleOrder::Natural {
        work.draw(Step::SortStep, sort_steps(places.len()))?;
    }
    let mut list: Vec<_> = places.into_iter().map(|place| RankedPlace { place, rank: 0 }).collect();
    match order {
        BundleOrder::Natural => {}
        BundleOrder::Version(direction) => by_rank(&mut list, direction, |place| catalog.version_ranks()[place]),
        BundleOrder::Name(direction) => by_rank(&mut list, direction, |place| Some(catalog.name_ranks()[place])),
    }
    Ok(Places::List(list.into()))
}

/// Sorts bundles by rank; bundles of equal rank keep the order of the catalog.
fn by_rank(list: &mut [RankedPlace], direction: Direction, rank: impl Fn(usize) -> Option<u32>) {
    let rank = |ranked: &RankedPlace| rank(ranked.place as usize);
    list.sort_unstable_by(|a, b| {
        direction.present_first(rank(a).as_ref(), rank(b).as_ref(), u32::cmp).then(a.place.cmp(&b.place))
    });
}

impl BundleOrder {
    fn new(arguments: &Arguments) -> Self {
        let order = arguments.get("orderBy");
        let direction = Direction::from_order(order, Direction::Descending);
        match order["field"].as_str() {
            Some("VERSION") => Self::Version(direction),
            Some("NAME") => Self::Name(direction),
            _ => Self::Natural,
        }
    }

    fn tag(self) -> KeyTag {
        match self {
            Self::Natural => KeyTag::BUNDLES,
            Self::Version(direction) => KeyTag::BUNDLES_BY_VERSION[direction as usize],
            Self::Name(direction) => KeyTag::BUNDLES_BY_NAME[direction as usize],
        }
    }
}

impl<'a> ConnectionItem<'a> for BundleItem<'a> {
    type Order = BundleOrder;
    type Key<'k> = BundleItemKey<'k>;

    fn from_place(served: &'a Served, ranked: RankedPlace, order: BundleOrder) -> Self {
        Self { bundle: InCatalog { served, item: served.content.catalog.bundle_at(ranked.place as usize) }, order }
    }

    fn key(self) -> BundleItemKey<'a> {
        BundleItemKey { key: self.bundle.item.key(), catalog: &self.bundle.served.name }
    }

    fn key_from_cursor(order: BundleOrder, cursor: &OpaqueKey) -> Option<BundleItemKey<'_>> {
        let [package, version, release, name, catalog] = cursor.parts(order.tag())?;
        Some(BundleItemKey { key: BundleKey::new(package?, version, release, name?), catalog: catalog? })
    }

    fn compare(order: BundleOrder, a: &BundleItemKey<'_>, b: &BundleItemKey<'_>) -> Ordering {
        let (one, other) = (&a.key, &b.key);
        let by_package = || one.package.cmp(other.package);
        let by_order = match order {
            BundleOrder::Natural => one.order(other),
            BundleOrder::Version(direction) => direction
                .present_first(one.version.as_ref(), other.version.as_ref(), BundleVersion::precedence)
                .then_with(by_package)
                .then_with(|| one.name.cmp(other.name)),
            BundleOrder::Name(direction) => direction.apply(one.name.cmp(other.name)).then_with(by_package),
        };
        by_order.then_with(|| a.catalog.cmp(b.catalog))
    }
}

impl<'a> Object<'a> for BundleItem<'a> {
    type Field = BundleField;

    fn write(self, name: BundleField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        self.bundle.write(name, field, writer)
    }
}

impl<'a> ConnectionNode<'a> for BundleItem<'a> {
    type ConnectionField = BundleConnectionField;
    type EdgeField = BundleEdgeField;

    fn cursor(self, writer: &mut ResponseWriter<'a>) {
        let InCatalog { served, item } = self.bundle;
        let parts =
            [Some(item.package().name()), item.version(), item.release(), Some(item.name()), Some(&served.name)];
        writer.opaque_key(self.order.tag(), parts);
    }
}
