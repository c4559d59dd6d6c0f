//! `BundleConnection`: filters and orders bundles.

use std::cmp::Ordering;

use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{Bundle, BundleFilter, BundleKey, BundleSort, BundleVersion, Catalog};
use serving::Served;

use super::connection::ConnectionNode;
use super::scans::ScanKey;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::Arguments;
use crate::connection::{ConnectionItem, ConnectionSource, Direction, Places, RankedPlace};
use crate::fields::{BundleConnectionField, BundleEdgeField, BundleField};
use crate::filter;
use crate::input::{self, BundleOrderField, OrderInput};
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
    CreatedAt(Direction),
}

/// Sort key of a bundle.
struct BundleItemKey<'k> {
    key: BundleKey<'k>,
    /// When it was created, in microseconds since 1970; `None` if unknown or not ordered by it.
    created_at: Option<i64>,
    catalog: &'k str,
}

impl<'a> ResponseWriter<'a> {
    /// Writes the connection of the bundles of some catalogs; `packages` restricts it to the
    /// packages of these names.
    pub(super) fn bundles(
        &mut self,
        catalogs: &[&'a Served],
        packages: Option<Vec<&'a str>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let arguments = arguments(field);
        let order = BundleOrder::new(arguments);
        let filter = match filter::bundles(arguments) {
            Ok(filter) => filter,
            Err(error) => return self.bad_user_input(field, error.to_string()),
        };
        let filter = match (filter, packages) {
            (Some(filter), packages) => Some(BundleFilter {
                packages: packages.unwrap_or_default(),
                ..filter
            }),
            (None, Some(packages)) => Some(BundleFilter {
                packages,
                ..BundleFilter::default()
            }),
            (None, None) => None,
        };
        let mut sources = Vec::with_capacity(catalogs.len());
        for &served in catalogs {
            let places = if let Some(filter) = &filter {
                let package = filter.packages.first().copied();
                let key = ScanKey::of_content(field, served, package);
                let found = self
                    .scans
                    .places
                    .get_or_scan(key, || find(served, filter, order, self.work));
                found.map_err(|_| {
                    let packages = filter
                        .packages
                        .is_empty()
                        .then_some("packages in `packages`");
                    self.stopped_search(field, catalogs.len(), packages)
                })?
            } else {
                all(&served.content.catalog, order)
            };
            sources.push(ConnectionSource { served, places });
        }
        self.connection::<BundleItem<'_>>(&sources, order, field)
    }
}

/// Connections of bundles that were found otherwise than by a filter.
impl<'a> ResponseWriter<'a> {
    /// Writes the connection of the bundles at some places of a catalog, ascending.
    pub(super) fn bundles_at(
        &mut self,
        served: &'a Served,
        places: Vec<u32>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let source = ConnectionSource {
            served,
            places: places.into_iter().collect(),
        };
        self.connection::<BundleItem<'_>>(&[source], BundleOrder::Natural, field)
    }
}

/// Returns all bundles of a catalog, in an order, which the catalog keeps.
fn all(catalog: &Catalog, order: BundleOrder) -> Places<'_> {
    match order.sorted(catalog) {
        Some(sorted) => Places::Sorted(sorted),
        None => Places::all(catalog.bundles().len()),
    }
}

/// Returns the bundles of a catalog that match a filter, in an order.
fn find<'a>(
    served: &'a Served,
    filter: &BundleFilter<'_>,
    order: BundleOrder,
    work: &Work<'_>,
) -> Result<Places<'a>, WorkStopped> {
    let catalog = &served.content.catalog;
    let places = catalog.find_bundles(filter, work)?;
    if let Some(sorted) = order.sorted(catalog) {
        let sorts = if matches!(order, BundleOrder::CreatedAt(_)) {
            2
        } else {
            1
        };
        let steps = sorts * sort_steps(places.len());
        // Picking many bundles from all sorted ones takes less time than sorting them.
        if steps > sorted.len() {
            work.draw(Step::SortStep, sorted.len())?;
            return Ok(pick(sorted, &places));
        }
        work.draw(Step::SortStep, steps)?;
    }
    let mut list: Vec<_> = places
        .into_iter()
        .map(|place| RankedPlace { place, rank: 0 })
        .collect();
    match order {
        BundleOrder::Natural => {}
        BundleOrder::Version(direction) => {
            by_rank(&mut list, direction, |place| catalog.version_ranks()[place]);
        }
        BundleOrder::Name(direction) => by_rank(&mut list, direction, |place| {
            Some(catalog.name_ranks()[place])
        }),
        BundleOrder::CreatedAt(direction) => {
            // The catalog has the bundles of a package by version.
            list.sort_unstable_by_key(|ranked| {
                let place = ranked.place as usize;
                (
                    catalog.bundle_at(place).package().place(),
                    catalog.name_ranks()[place],
                )
            });
            list.sort_by(|a, b| {
                let [a, b] = [a, b].map(|ranked| catalog.bundle_created_at(ranked.place as usize));
                direction.present_first(a.as_ref(), b.as_ref(), i64::cmp)
            });
        }
    }
    Ok(Places::List(list.into()))
}

/// Returns those of all bundles, which are sorted, that were found.
fn pick(sorted: &[u32], found: &[u32]) -> Places<'static> {
    let mut is_found = vec![false; sorted.len()];
    for &place in found {
        is_found[place as usize] = true;
    }
    sorted
        .iter()
        .copied()
        .filter(|&place| is_found[place as usize])
        .collect()
}

/// Sorts bundles by rank; bundles of equal rank keep the order of the catalog.
fn by_rank(list: &mut [RankedPlace], direction: Direction, rank: impl Fn(usize) -> Option<u32>) {
    let rank = |ranked: &RankedPlace| rank(ranked.place as usize);
    list.sort_unstable_by(|a, b| {
        direction
            .present_first(rank(a).as_ref(), rank(b).as_ref(), u32::cmp)
            .then(a.place.cmp(&b.place))
    });
}

impl BundleOrder {
    fn new(arguments: &Arguments) -> Self {
        let order: Option<OrderInput<BundleOrderField>> = input::read(arguments.get("orderBy"));
        let Some(OrderInput { field, direction }) = order else {
            return Self::Natural;
        };
        match field {
            BundleOrderField::Version => Self::Version(direction),
            BundleOrderField::Name => Self::Name(direction),
            BundleOrderField::CreatedAt => Self::CreatedAt(direction),
        }
    }

    /// Returns all bundles of a catalog in this order; `None` where that is the order of the
    /// catalog.
    fn sorted(self, catalog: &Catalog) -> Option<&[u32]> {
        let (sort, direction) = match self {
            Self::Natural => return None,
            Self::Version(direction) => (BundleSort::Version, direction),
            Self::Name(direction) => (BundleSort::Name, direction),
            Self::CreatedAt(direction) => (BundleSort::CreatedAt, direction),
        };
        Some(catalog.sorted_bundles(sort, direction.into()))
    }

    fn tag(self) -> KeyTag {
        match self {
            Self::Natural => KeyTag::BUNDLES,
            Self::Version(direction) => KeyTag::BUNDLES_BY_VERSION[direction as usize],
            Self::Name(direction) => KeyTag::BUNDLES_BY_NAME[direction as usize],
            Self::CreatedAt(direction) => KeyTag::BUNDLES_BY_CREATION[direction as usize],
        }
    }
}

impl BundleItem<'_> {
    /// When it was created, if that is what it is ordered by.
    fn created_at(self) -> Option<i64> {
        let InCatalog { served, item } = self.bundle;
        matches!(self.order, BundleOrder::CreatedAt(_))
            .then(|| served.content.catalog.bundle_created_at(item.place()))
            .flatten()
    }
}

impl<'a> ConnectionItem<'a> for BundleItem<'a> {
    type Order = BundleOrder;
    type Key<'k> = BundleItemKey<'k>;

    fn from_place(served: &'a Served, ranked: RankedPlace, order: BundleOrder) -> Self {
        Self {
            bundle: InCatalog {
                served,
                item: served.content.catalog.bundle_at(ranked.place as usize),
            },
            order,
        }
    }

    fn key(self) -> BundleItemKey<'a> {
        let InCatalog { served, item } = self.bundle;
        let key = match self.order {
            BundleOrder::Natural | BundleOrder::Version(_) => item.key(),
            // Versions are parsed only where they are compared.
            BundleOrder::Name(_) | BundleOrder::CreatedAt(_) => BundleKey {
                package: item.package().name(),
                version: None,
                name: item.name(),
            },
        };
        BundleItemKey {
            key,
            created_at: self.created_at(),
            catalog: &served.name,
        }
    }

    fn compare_with(self, order: BundleOrder, key: &BundleItemKey<'_>) -> Ordering {
        // On most of the path of a binary search the package decides, and no version is parsed.
        if order == BundleOrder::Natural {
            let by_package = self.bundle.item.package().name().cmp(key.key.package);
            if by_package.is_ne() {
                return by_package;
            }
        }
        Self::compare(order, &self.key(), key)
    }

    fn key_from_cursor(order: BundleOrder, cursor: &OpaqueKey) -> Option<BundleItemKey<'_>> {
        if let BundleOrder::CreatedAt(_) = order {
            let [created_at, package, name, catalog] = cursor.parts(order.tag())?;
            let created_at = created_at.map(str::parse).transpose().ok()?;
            return Some(BundleItemKey {
                key: BundleKey::new(package?, None, None, name?),
                created_at,
                catalog: catalog?,
            });
        }
        let [package, version, release, name, catalog] = cursor.parts(order.tag())?;
        let key = BundleKey::new(package?, version, release, name?);
        Some(BundleItemKey {
            key,
            created_at: None,
            catalog: catalog?,
        })
    }

    fn compare(order: BundleOrder, a: &BundleItemKey<'_>, b: &BundleItemKey<'_>) -> Ordering {
        let one = &a.key;
        let other = &b.key;
        let by_package = || one.package.cmp(other.package);
        let by_order = match order {
            BundleOrder::Natural => one.order(other),
            BundleOrder::Version(direction) => direction
                .present_first(
                    one.version.as_ref(),
                    other.version.as_ref(),
                    BundleVersion::precedence,
                )
                .then_with(by_package)
                .then_with(|| one.name.cmp(other.name)),
            BundleOrder::Name(direction) => direction
                .apply(one.name.cmp(other.name))
                .then_with(by_package),
            BundleOrder::CreatedAt(direction) => direction
                .present_first(a.created_at.as_ref(), b.created_at.as_ref(), i64::cmp)
                .then_with(by_package)
                .then_with(|| one.name.cmp(other.name)),
        };
        by_order.then_with(|| a.catalog.cmp(b.catalog))
    }
}

impl<'a> Object<'a> for BundleItem<'a> {
    type Field = BundleField;

    fn write(
        self,
        name: BundleField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        self.bundle.write(name, field, writer)
    }
}

impl<'a> ConnectionNode<'a> for BundleItem<'a> {
    type ConnectionField = BundleConnectionField;
    type EdgeField = BundleEdgeField;

    fn cursor(self, writer: &mut ResponseWriter<'a>) {
        let InCatalog { served, item } = self.bundle;
        if let BundleOrder::CreatedAt(_) = self.order {
            let created_at = self.created_at().map(|time| time.to_string());
            let parts = [
                created_at.as_deref(),
                Some(item.package().name()),
                Some(item.name()),
                Some(&served.name),
            ];
            return writer.opaque_key(self.order.tag(), parts);
        }
        let parts = [
            Some(item.package().name()),
            item.version(),
            item.release(),
            Some(item.name()),
            Some(&served.name),
        ];
        writer.opaque_key(self.order.tag(), parts);
    }
}
