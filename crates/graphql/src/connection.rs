//! Connections: selects the items of a page, by its size and cursors.
//!
//! A cursor is the sort key of an item, not its index, so that it survives an update of the catalog
//! and never expires. A page over several catalogs is merged from one sorted list per catalog. A
//! binary search finds the cursor in each list; outside of the page only the keys on the path of
//! that search are computed.

mod merge;
mod places;

use std::cmp::Ordering;

use fbc::SortDirection;
use serde::Deserialize;
use serving::Served;

use super::coercion::Arguments;
use super::limits::Limits;
use super::opaque_key::OpaqueKey;

pub(super) use places::{Places, RankedPlace};

/// An item of a connection.
pub(super) trait ConnectionItem<'a>: Copy {
    /// Order of the items.
    type Order: Copy;
    /// Sort key, which a cursor encodes. It is unique: it ends with the catalog.
    type Key<'k>;

    /// Returns the item at a place of a catalog.
    fn from_place(served: &'a Served, ranked: RankedPlace, order: Self::Order) -> Self;

    /// Returns the sort key of the item.
    fn key(self) -> Self::Key<'a>;

    /// Returns the sort key that a cursor encodes; `None` if it is a cursor of another connection
    /// or order.
    fn key_from_cursor(order: Self::Order, cursor: &OpaqueKey) -> Option<Self::Key<'_>>;

    /// Compares two sort keys.
    fn compare(order: Self::Order, a: &Self::Key<'_>, b: &Self::Key<'_>) -> Ordering;

    /// Compares the sort key of the item with another one.
    fn compare_with(self, order: Self::Order, key: &Self::Key<'_>) -> Ordering {
        Self::compare(order, &self.key(), key)
    }
}

/// The order of a connection that has only one.
#[derive(Clone, Copy)]
pub(super) struct FixedOrder;

/// Direction of an order: `OrderDirection` of the schema.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum Direction {
    #[serde(rename = "ASC")]
    Ascending,
    #[serde(rename = "DESC")]
    Descending,
}

impl Direction {
    /// Reverses an ordering if the direction is descending.
    pub(super) fn apply(self, order: Ordering) -> Ordering {
        match self {
            Self::Ascending => order,
            Self::Descending => order.reverse(),
        }
    }

    /// Compares two optional values in this direction; `None` comes last in both directions.
    pub(super) fn present_first<T>(
        self,
        a: Option<&T>,
        b: Option<&T>,
        compare: impl FnOnce(&T, &T) -> Ordering,
    ) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => self.apply(compare(a, b)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

impl From<Direction> for SortDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Ascending => Self::Ascending,
            Direction::Descending => Self::Descending,
        }
    }
}

/// The items of one catalog in a connection, in its order.
pub(super) struct ConnectionSource<'a> {
    pub(super) served: &'a Served,
    pub(super) places: Places<'a>,
}

/// A page of a connection.
pub(super) struct ConnectionPage<T> {
    pub(super) items: Vec<T>,
    /// Number of items of the connection.
    pub(super) total: usize,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
}

/// Pagination arguments: `first` or `last`, `after` and `before`.
struct PaginationArguments<'q> {
    size: usize,
    backwards: bool,
    after: Option<&'q str>,
    before: Option<&'q str>,
}

/// Selects the page of a connection.
///
/// # Errors
/// A message about the pagination argument that is invalid.
pub(super) fn paginate<'a, T: ConnectionItem<'a>>(
    sources: &[ConnectionSource<'a>],
    order: T::Order,
    arguments: &Arguments,
    limits: &Limits,
) -> Result<ConnectionPage<T>, String> {
    let pagination = PaginationArguments::read(arguments, limits)?;
    let after = pagination
        .after
        .map(|text| read_cursor("after", text))
        .transpose()?;
    let before = pagination
        .before
        .map(|text| read_cursor("before", text))
        .transpose()?;
    let after = after
        .as_ref()
        .map(|key| T::key_from_cursor(order, key).ok_or_else(|| wrong_order("after")))
        .transpose()?;
    let before = before
        .as_ref()
        .map(|key| T::key_from_cursor(order, key).ok_or_else(|| wrong_order("before")))
        .transpose()?;
    let mut ranges = Vec::with_capacity(sources.len());
    for source in sources {
        let compare =
            |ranked, key| T::from_place(source.served, ranked, order).compare_with(order, key);
        let from = after.as_ref().map_or(0, |key| {
            source
                .places
                .partition_point(|ranked| compare(ranked, key).is_le())
        });
        let to = before.as_ref().map_or(source.places.count(), |key| {
            source
                .places
                .partition_point(|ranked| compare(ranked, key).is_lt())
        });
        ranges.push(merge::ItemRange {
            source,
            from,
            to: to.max(from),
        });
    }
    let total = sources.iter().map(|source| source.places.count()).sum();
    let items = merge::take(&mut ranges, order, pagination.size, pagination.backwards);
    Ok(ConnectionPage {
        items,
        total,
        has_previous: ranges.iter().any(|range| range.from > 0),
        has_next: ranges
            .iter()
            .any(|range| range.to < range.source.places.count()),
    })
}

/// Returns the number of places of the orders of several catalogs that a page is compared at, beyond
/// one for each item, whose price includes it: the first one of each, and those on the paths of the
/// binary searches for its cursors.
///
/// A page over one catalog costs its items.
pub(super) fn seeks(
    sources: &[ConnectionSource<'_>],
    arguments: &Arguments,
    limits: &Limits,
) -> usize {
    if sources.len() < 2 {
        return 0;
    }
    let cursors = ["after", "before"]
        .into_iter()
        .filter(|name| arguments.string(name).is_some())
        .count();
    let halvings = |source: &ConnectionSource<'_>| {
        let count = source.places.count();
        count.checked_ilog2().map_or(0, |log| log as usize + 1)
    };
    let searched = cursors * sources.iter().map(halvings).sum::<usize>();
    (sources.len() + searched).saturating_sub(page_size(arguments, limits))
}

/// Returns the maximum number of items of a page, for its cost. A size above the limit, which is
/// rejected later, counts as the limit.
pub(super) fn page_size(arguments: &Arguments, limits: &Limits) -> usize {
    let size = arguments.integer("first").or(arguments.integer("last"));
    size.map_or(limits.default_page_size, |size| {
        usize::try_from(size).unwrap_or(0).min(limits.page_size)
    })
}

impl<'q> PaginationArguments<'q> {
    fn read(arguments: &'q Arguments, limits: &Limits) -> Result<Self, String> {
        let [first, last] = ["first", "last"].map(|name| (name, arguments.integer(name)));
        let (size, backwards) = match (first, last) {
            ((_, Some(_)), (_, Some(_))) => {
                return Err("`first` and `last` exclude each other".to_owned());
            }
            ((name, Some(size)), _) => (checked_size(name, size, limits.page_size)?, false),
            (_, (name, Some(size))) => (checked_size(name, size, limits.page_size)?, true),
            ((_, None), (_, None)) => (limits.default_page_size, false),
        };
        Ok(Self {
            size,
            backwards,
            after: arguments.string("after"),
            before: arguments.string("before"),
        })
    }
}

/// Checks the value of `first` or `last`.
pub(super) fn checked_size(name: &str, size: i64, maximum: usize) -> Result<usize, String> {
    usize::try_from(size)
        .ok()
        .filter(|&size| size <= maximum)
        .ok_or_else(|| format!("`{name}` must be from 0 to {maximum}, and is {size}"))
}

fn read_cursor(name: &str, text: &str) -> Result<OpaqueKey, String> {
    OpaqueKey::decode(text).ok_or_else(|| format!("`{name}` is not a valid cursor: \"{text}\""))
}

fn wrong_order(name: &str) -> String {
    format!("`{name}` is a cursor of another connection or order")
}

#[cfg(test)]
mod tests;
