//! Connections: which items a page has, and the cursors that lead from one page to the next.
//!
//! Cursors are keys, not places: a cursor says after which key to go on, so that it survives an update of the catalog
//! and never expires. The pages of several catalogs are merged from lists that are in order, each entered by binary
//! search; outside of the page only the keys on the way of that search are looked at.

mod merge;
mod places;

use std::cmp::Ordering;

use serde_json::Value;
use serving::Served;

use super::coercion::Arguments;
use super::limits::Limits;
use super::opaque_key::OpaqueKey;

pub(super) use places::{Places, RankedPlace};

/// What a connection is over.
pub(super) trait ConnectionItem<'a>: Copy {
    /// An order that such items can come in.
    type Order: Copy;
    /// What an item is ordered by, and what a cursor says of one. It is unique: it ends with the catalog.
    type Key<'k>;

    /// Something of a catalog.
    fn at(served: &'a Served, listed: RankedPlace, order: Self::Order) -> Self;

    /// What it is ordered by.
    fn key(self) -> Self::Key<'a>;

    /// What a cursor of this order says.
    fn key_from_cursor(order: Self::Order, cursor: &OpaqueKey) -> Option<Self::Key<'_>>;

    /// The order.
    fn compare(order: Self::Order, a: &Self::Key<'_>, b: &Self::Key<'_>) -> Ordering;
}

/// Which way to order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    /// The direction of an order that is asked for.
    pub(super) fn from_order(order: &Value, default: Self) -> Self {
        match order["direction"].as_str() {
            Some("ASC") => Self::Ascending,
            Some("DESC") => Self::Descending,
            _ => default,
        }
    }

    /// What comes first this way.
    pub(super) fn apply(self, order: Ordering) -> Ordering {
        match self {
            Self::Ascending => order,
            Self::Descending => order.reverse(),
        }
    }

    /// What comes first this way; what has no value comes last both ways.
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

/// The items of a catalog that a connection is over, in its order.
pub(super) struct ConnectionSource<'a> {
    pub(super) served: &'a Served,
    pub(super) places: Places,
}

/// A page of items.
pub(super) struct ConnectionPage<T> {
    pub(super) items: Vec<T>,
    pub(super) total: usize,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
}

/// What is asked of a connection.
struct PaginationArguments<'q> {
    size: usize,
    backwards: bool,
    after: Option<&'q str>,
    before: Option<&'q str>,
}

/// The items of a page, or what is wrong with its arguments.
pub(super) fn paginate<'a, T: ConnectionItem<'a>>(
    sources: &[ConnectionSource<'a>],
    order: T::Order,
    arguments: &Arguments,
    limits: &Limits,
) -> Result<ConnectionPage<T>, String> {
    let window = PaginationArguments::read(arguments, limits)?;
    let after = window.after.map(|text| read_cursor("after", text)).transpose()?;
    let before = window.before.map(|text| read_cursor("before", text)).transpose()?;
    let after =
        after.as_ref().map(|key| T::key_from_cursor(order, key).ok_or_else(|| wrong_order("after"))).transpose()?;
    let before =
        before.as_ref().map(|key| T::key_from_cursor(order, key).ok_or_else(|| wrong_order("before"))).transpose()?;
    let mut runs = Vec::with_capacity(sources.len());
    for source in sources {
        let compare = |listed, key| T::compare(order, &T::at(source.served, listed, order).key(), key);
        let from = after.as_ref().map_or(0, |key| source.places.partition_point(|listed| compare(listed, key).is_le()));
        let to = before
            .as_ref()
            .map_or(source.places.count(), |key| source.places.partition_point(|listed| compare(listed, key).is_lt()));
        runs.push(merge::ItemRange { source, from, to: to.max(from) });
    }
    let total = sources.iter().map(|source| source.places.count()).sum();
    let items = merge::take(&mut runs, order, window.size, window.backwards);
    Ok(ConnectionPage {
        items,
        total,
        has_previous: runs.iter().any(|run| run.from > 0),
        has_next: runs.iter().any(|run| run.to < run.source.places.count()),
    })
}

/// Puts what was found in a catalog into an order.
pub(super) fn sort<'a, T: ConnectionItem<'a>>(served: &'a Served, list: &mut [RankedPlace], order: T::Order) {
    let mut keyed: Vec<_> = list.iter().map(|&listed| (T::at(served, listed, order).key(), listed)).collect();
    keyed.sort_unstable_by(|(a, _), (b, _)| T::compare(order, a, b));
    for (listed, (_, sorted)) in list.iter_mut().zip(keyed) {
        *listed = sorted;
    }
}

/// How many items a page has at most, for its cost; a size that is refused later counts as it is allowed.
pub(super) fn page_size(arguments: &Arguments, limits: &Limits) -> usize {
    let size = arguments.integer("first").or(arguments.integer("last"));
    size.map_or(limits.default_page_size, |size| usize::try_from(size).unwrap_or(0).min(limits.page_size))
}

impl<'q> PaginationArguments<'q> {
    fn read(arguments: &'q Arguments, limits: &Limits) -> Result<Self, String> {
        let [first, last] = ["first", "last"].map(|name| (name, arguments.integer(name)));
        let (size, backwards) = match (first, last) {
            ((_, Some(_)), (_, Some(_))) => return Err("`first` and `last` exclude each other".to_owned()),
            ((name, Some(size)), _) => (checked_size(name, size, limits)?, false),
            (_, (name, Some(size))) => (checked_size(name, size, limits)?, true),
            ((_, None), (_, None)) => (limits.default_page_size, false),
        };
        Ok(Self { size, backwards, after: arguments.string("after"), before: arguments.string("before") })
    }
}

fn checked_size(name: &str, size: i64, limits: &Limits) -> Result<usize, String> {
    let maximum = limits.page_size;
    usize::try_from(size)
        .ok()
        .filter(|&size| size <= maximum)
        .ok_or_else(|| format!("`{name}` must be from 0 to {maximum}, and is {size}"))
}

fn read_cursor(name: &str, text: &str) -> Result<OpaqueKey, String> {
    OpaqueKey::decode(text).ok_or_else(|| format!("`{name}` is no cursor: \"{text}\""))
}

fn wrong_order(name: &str) -> String {
    format!("`{name}` is a cursor of another connection or order")
}

#[cfg(test)]
mod tests;
