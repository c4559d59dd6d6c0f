//! `BundleConnection`: which bundles, and in which order.

use std::cmp::Ordering;

use fbc::catalog::{Bundle, BundleFilter, BundleKey, BundleVersion};
use serving::Served;

use super::connection::Node;
use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::coercion::Arguments;
use crate::connection::{Direction, Item, Listed, Places, Source};
use crate::fields::{BundleConnectionField, BundleEdgeField, BundleField};
use crate::filter;
use crate::key::{Key, Tag};

/// A bundle in a connection.
#[derive(Clone, Copy)]
struct ListedBundle<'a> {
    bundle: In<'a, Bundle<'a>>,
    order: BundleOrder,
}

/// An order of bundles; what is equal in it comes by package, then by name, then by catalog.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BundleOrder {
    /// By package, then highest version first.
    Natural,
    Version(Direction),
    Name(Direction),
}

/// What a bundle is ordered by.
struct ListedBundleKey<'k> {
    key: BundleKey<'k>,
    catalog: &'k str,
}

impl<'a> Writer<'a> {
    /// Writes the bundles of some catalogs, or of some packages of theirs, as a field asks for them.
    pub(super) fn bundles(
        &mut self,
        asked: Vec<&'a Served>,
        packages: Option<Vec<&'a str>>,
        field: &'a Field<'a>,
    ) -> Outcome {
        let given = arguments(field);
        let order = BundleOrder::new(given);
        let filter = match filter::bundles(given) {
            Ok(filter) => filter,
            Err(error) => return self.bad_input(field, format!("`versionRange` is malformed: {error}")),
        };
        let filter = match (filter, packages) {
            (Some(filter), packages) => Some(BundleFilter { packages: packages.unwrap_or_default(), ..filter }),
            (None, Some(packages)) => Some(BundleFilter { packages, ..BundleFilter::default() }),
            (None, None) => None,
        };
        let sources: Vec<_> = asked.into_iter().map(|served| listed(served, filter.as_ref(), order)).collect();
        self.connection::<ListedBundle<'_>>(&sources, order, field)
    }
}

fn listed<'a>(served: &'a Served, filter: Option<&BundleFilter<'_>>, order: BundleOrder) -> Source<'a> {
    let catalog = &served.content.catalog;
    if filter.is_none() && order == BundleOrder::Natural {
        return Source { served, places: Places::all(catalog.bundles().len()) };
    }
    let places = catalog.find_bundles(filter.unwrap_or(&BundleFilter::default()));
    let mut list: Vec<_> = places.into_iter().map(|place| Listed { place, rank: 0 }).collect();
    match order {
        BundleOrder::Natural => {}
        BundleOrder::Version(direction) => by_rank(&mut list, direction, |place| catalog.version_ranks()[place]),
        BundleOrder::Name(direction) => by_rank(&mut list, direction, |place| Some(catalog.name_ranks()[place])),
    }
    Source { served, places: Places::List(list) }
}

/// Puts bundles in the order of ranks; what is equal in it keeps the order of the catalog.
fn by_rank(list: &mut [Listed], direction: Direction, rank: impl Fn(usize) -> Option<u32>) {
    let rank = |listed: &Listed| rank(listed.place as usize);
    list.sort_unstable_by(|a, b| {
        direction.present_first(rank(a).as_ref(), rank(b).as_ref(), u32::cmp).then(a.place.cmp(&b.place))
    });
}

impl BundleOrder {
    fn new(given: &Arguments) -> Self {
        let order = given.get("orderBy");
        let direction = Direction::of(order, Direction::Descending);
        match order["field"].as_str() {
            Some("VERSION") => Self::Version(direction),
            Some("NAME") => Self::Name(direction),
            _ => Self::Natural,
        }
    }

    fn tag(self) -> Tag {
        match self {
            Self::Natural => Tag::BUNDLES,
            Self::Version(direction) => Tag::BUNDLES_BY_VERSION[direction as usize],
            Self::Name(direction) => Tag::BUNDLES_BY_NAME[direction as usize],
        }
    }
}

impl<'a> Item<'a> for ListedBundle<'a> {
    type Order = BundleOrder;
    type Key<'k> = ListedBundleKey<'k>;

    fn at(served: &'a Served, listed: Listed, order: BundleOrder) -> Self {
        Self { bundle: In { served, it: served.content.catalog.bundle_at(listed.place as usize) }, order }
    }

    fn key(self) -> ListedBundleKey<'a> {
        ListedBundleKey { key: self.bundle.it.key(), catalog: &self.bundle.served.name }
    }

    fn read(order: BundleOrder, cursor: &Key) -> Option<ListedBundleKey<'_>> {
        let [package, version, release, name, catalog] = cursor.parts(order.tag())?;
        Some(ListedBundleKey { key: BundleKey::new(package?, version, release, name?), catalog: catalog? })
    }

    fn compare(order: BundleOrder, a: &ListedBundleKey<'_>, b: &ListedBundleKey<'_>) -> Ordering {
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

impl<'a> Object<'a> for ListedBundle<'a> {
    type Field = BundleField;

    fn write(self, name: BundleField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        self.bundle.write(name, field, to)
    }
}

impl<'a> Node<'a> for ListedBundle<'a> {
    type ConnectionField = BundleConnectionField;
    type EdgeField = BundleEdgeField;

    fn cursor(self, to: &mut Writer<'a>) {
        let In { served, it } = self.bundle;
        let parts = [Some(it.package().name()), it.version(), it.release(), Some(it.name()), Some(&served.name)];
        to.key(self.order.tag(), parts);
    }
}
