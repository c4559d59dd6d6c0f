//! `PackageConnection`: filters and orders packages.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::rc::Rc;

use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{
    Catalog, FoundDocument, MergedSearchIndex, Package, PackageFilter, PackageSort, SearchMatch,
};
use jiff::Timestamp;
use serving::Served;

use super::connection::{Connection, ConnectionNode};
use super::facets::{FacetSource, PackageFacets};
use super::scans::{PackageScan, ScanKey};
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::Arguments;
use crate::connection::{
    ConnectionItem, ConnectionSource, Direction, Places, RankedPlace, paginate,
};
use crate::fields::{FieldId, PackageConnectionField, PackageEdgeField, PackageField};
use crate::filter;
use crate::input::{self, OrderInput, PackageOrderField};
use crate::opaque_key::{KeyTag, OpaqueKey};
use crate::plan::ValuePlan;
use crate::search_index::{MERGED_CONTENTS, MergedContents};

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

/// The form in which a catalog keeps its packages in an order.
enum KeptOrder {
    /// In the order of their names.
    Names(Direction),
    /// Sorted by a value.
    Sorted(PackageSort),
    /// Not at all: a search ranks them.
    Relevance,
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

impl<'a> ResponseWriter<'a> {
    /// Writes the connection of the packages of some catalogs; `others` are the other catalogs that
    /// are served, which the facet `catalogs` counts too.
    pub(super) fn packages(
        &mut self,
        catalogs: &[&'a Served],
        others: Vec<&'a Served>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let arguments = arguments(field);
        let mut filter = match filter::packages(arguments) {
            Ok(filter) => filter,
            Err(error) => return self.bad_user_input(field, error.to_string()),
        };
        let query = filter.as_ref().and_then(|filter| filter.search.as_ref());
        let order = PackageOrder::new(arguments, query.is_some());
        if query.is_some()
            && catalogs.len() >= MERGED_CONTENTS
            && let Some(merged) = self.context.search_index.get(self.context.snapshot)
        {
            if order.field == PackageOrderField::Relevance
                && !selects_facets(field)
                && let Some(filter) = &filter
            {
                let found = find_merged(&merged, catalogs, filter, order, self.work);
                let found = found.map_err(|_| self.stopped_search(field, catalogs.len(), None))?;
                if let Some(sources) = found {
                    return self.package_connection(&sources, order, None, field);
                }
            }
            filter = filter
                .map(|filter| with_typos_of(&merged, catalogs, filter, self.work))
                .transpose()
                .map_err(|_| self.stopped_search(field, catalogs.len(), None))?;
        }
        let mut found = Vec::with_capacity(catalogs.len());
        let mut sources = Vec::with_capacity(catalogs.len());
        for &served in catalogs {
            let (found_here, places) = match &filter {
                None => (None, order.all(&served.content.catalog)),
                Some(filter) => {
                    // Problems depend on more than the content.
                    let key = if filter.problem_severity.is_some() {
                        ScanKey::of_catalog(field, served)
                    } else {
                        ScanKey::of_content(field, served, None)
                    };
                    let scan = self.scans.packages.get_or_scan(key, || {
                        find(&served.content.catalog, filter, order, self.work)
                    });
                    let scan =
                        scan.map_err(|_| self.stopped_search(field, catalogs.len(), None))?;
                    (Some(scan.found), scan.places)
                }
            };
            found.push(FacetSource {
                served,
                found: found_here,
            });
            sources.push(ConnectionSource { served, places });
        }
        let facets = PackageFacets::new(filter, found, others);
        self.package_connection(&sources, order, Some(&facets), field)
    }

    fn package_connection(
        &mut self,
        sources: &[ConnectionSource<'a>],
        order: PackageOrder,
        facets: Option<&PackageFacets<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.draw_seeks(sources, field)?;
        let arguments = arguments(field);
        let page = match paginate::<PackageItem<'_>>(sources, order, arguments, self.context.limits)
        {
            Ok(page) => page,
            Err(message) => return self.bad_user_input(field, message),
        };
        let connection = Connection {
            page: &page,
            facets,
        };
        self.object(connection, field)
    }
}

/// Returns whether a connection of packages has facets in the response.
fn selects_facets(field: &PlannedField<'_>) -> bool {
    let facets = FieldId::PackageConnection(PackageConnectionField::Facets);
    match &field.value {
        ValuePlan::Object(plan) => plan.fields.iter().any(|field| field.id == facets),
        _ => false,
    }
}

/// Finds what the words of a query with a typo may mean, if the index has all of the catalogs.
fn with_typos_of<'f>(
    merged: &MergedContents,
    catalogs: &[&Served],
    filter: PackageFilter<'f>,
    work: &Work<'_>,
) -> Result<PackageFilter<'f>, WorkStopped> {
    let has_all = catalogs
        .iter()
        .all(|served| merged.number_of(&served.content).is_some());
    let search = match filter.search {
        Some(query) if has_all => Some(query.with_typos_of(&merged.index, work)?),
        search => search,
    };
    Ok(PackageFilter { search, ..filter })
}

/// Finds packages in many catalogs by relevance, with one search of the merged index; `None` if the
/// filter has other conditions, or if few of the catalogs in the index are wanted.
fn find_merged<'a>(
    merged: &MergedContents,
    catalogs: &[&'a Served],
    filter: &PackageFilter<'_>,
    order: PackageOrder,
    work: &Work<'_>,
) -> Result<Option<Vec<ConnectionSource<'a>>>, WorkStopped> {
    let Some(query) = filter.only_search() else {
        return Ok(None);
    };
    if 4 * catalogs.len() < merged.index.catalogs() {
        return Ok(None);
    }
    let Some(mut documents) = merged.index.search(query, work)? else {
        return Ok(None);
    };
    if order.direction == Direction::Descending {
        // It is stable: documents of one rank stay in the order of their names.
        documents.sort_by_key(|document| Reverse(document.found.rank()));
    }
    let ranges = places_by_catalog(&merged.index, &documents, work)?;
    let sources = catalogs.iter().map(|&served| {
        let places = match merged.number_of(&served.content) {
            Some(number) => ranges[number].clone(),
            None => find(&served.content.catalog, filter, order, work)?.places,
        };
        Ok(ConnectionSource { served, places })
    });
    sources.collect::<Result<_, _>>().map(Some)
}

/// Groups the packages of documents by catalog, by counting sort: those of a catalog keep the order
/// of their documents.
fn places_by_catalog(
    index: &MergedSearchIndex,
    documents: &[FoundDocument],
    work: &Work<'_>,
) -> Result<Vec<Places<'static>>, WorkStopped> {
    let mut ends = vec![0; index.catalogs()];
    for &document in documents {
        let packages = index.packages_of(document);
        work.draw(Step::Posting, packages.len())?;
        for package in packages {
            ends[package.catalog as usize] += 1;
        }
    }
    let mut total = 0;
    let starts: Vec<usize> = ends
        .iter_mut()
        .map(|end| {
            // The start of the places for now; filling them moves it to the end.
            let start = total;
            total += std::mem::replace(end, start);
            start
        })
        .collect();
    let mut places = vec![RankedPlace::default(); total];
    for &document in documents {
        for package in index.packages_of(document) {
            let end = &mut ends[package.catalog as usize];
            places[*end] = RankedPlace {
                place: package.place,
                rank: document.found.to_bits(),
            };
            *end += 1;
        }
    }
    let list: Rc<[RankedPlace]> = places.into();
    let parts = starts
        .into_iter()
        .zip(ends)
        .map(|(start, end)| Places::Part {
            list: Rc::clone(&list),
            range: start..end,
        });
    Ok(parts.collect())
}

/// Finds packages in a catalog, in an order.
fn find<'a>(
    catalog: &'a Catalog,
    filter: &PackageFilter<'_>,
    order: PackageOrder,
    work: &Work<'_>,
) -> Result<PackageScan<'a>, WorkStopped> {
    let found = catalog.find_packages(filter, work)?;
    let ranked = |place, found: SearchMatch| RankedPlace {
        place,
        rank: found.to_bits(),
    };
    let matches = || found.matches().map(|(place, found)| ranked(place, found));
    let list: Rc<[RankedPlace]> = match order.kept() {
        KeptOrder::Names(Direction::Ascending) => matches().collect(),
        KeptOrder::Names(Direction::Descending) => matches().rev().collect(),
        KeptOrder::Sorted(sort) => {
            let sorted = catalog.sorted_packages(sort, order.direction.into());
            work.draw(Step::Package, sorted.len())?;
            sorted
                .iter()
                .filter_map(|&place| Some(ranked(place, found.match_of(place)?)))
                .collect()
        }
        KeptOrder::Relevance => {
            let mut list: Vec<_> = matches().collect();
            work.draw(Step::SortStep, sort_steps(list.len()))?;
            let rank = |ranked: &RankedPlace| SearchMatch::from_bits(ranked.rank).rank();
            // The catalog has its packages by name.
            list.sort_unstable_by(|a, b| {
                let by_rank = order.direction.apply(rank(a).cmp(&rank(b)));
                by_rank.then(a.place.cmp(&b.place))
            });
            list.into()
        }
    };
    Ok(PackageScan {
        found: Rc::new(found),
        places: Places::List(list),
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

    /// Returns all packages of a catalog, in this order, which the catalog keeps.
    fn all(self, catalog: &Catalog) -> Places<'_> {
        let count = catalog.packages().len();
        match self.kept() {
            KeptOrder::Names(Direction::Descending) => Places::all_reversed(count),
            // Without a search, all packages are equally relevant.
            KeptOrder::Names(Direction::Ascending) | KeptOrder::Relevance => Places::all(count),
            KeptOrder::Sorted(sort) => {
                Places::Sorted(catalog.sorted_packages(sort, self.direction.into()))
            }
        }
    }

    fn kept(self) -> KeptOrder {
        match self.field {
            PackageOrderField::Name => KeptOrder::Names(self.direction),
            PackageOrderField::Relevance => KeptOrder::Relevance,
            PackageOrderField::DisplayName => KeptOrder::Sorted(PackageSort::DisplayName),
            PackageOrderField::CreatedAt => KeptOrder::Sorted(PackageSort::CreatedAt),
            PackageOrderField::CapabilityLevel => KeptOrder::Sorted(PackageSort::CapabilityLevel),
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
