//! Connections: which items a page has, and the cursors that lead from one page to the next.
//!
//! Cursors are keys, not places: a cursor says after which key to go on, so that it survives an update of the catalog
//! and never expires. The pages of several catalogs are merged from places in each, found by binary search; nothing
//! outside the page is looked at.

mod merge;
mod places;

use std::cmp::Ordering;

use crate::catalogs::Served;

use super::coercion::Arguments;
use super::key::Key;
use super::limits::Limits;

pub(super) use places::Places;

/// What a connection is over.
pub(super) trait Item<'a>: Copy {
    /// The item at a place of a catalog.
    fn at(served: &'a Served, place: usize) -> Self;

    /// The order of the connection: by key, then by catalog.
    fn order(self, other: Self) -> Ordering;

    /// Where the item of a cursor stands in a catalog, or else where it would stand.
    fn find(served: &'a Served, cursor: &Key) -> Option<Found>;
}

/// Where a cursor points in one catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// At the item itself.
    At(usize),
    /// At an item with the same key that comes earlier by its catalog.
    After(usize),
    /// Between items: the next one is here.
    Before(usize),
}

impl Found {
    /// From where the key stands in a catalog, and the catalog of the cursor.
    pub(super) fn of(position: Result<usize, usize>, served: &Served, catalog: &str) -> Self {
        match (position, served.name.as_str().cmp(catalog)) {
            (Ok(place), Ordering::Equal) => Self::At(place),
            (Ok(place), Ordering::Less) => Self::After(place),
            (Ok(place), Ordering::Greater) | (Err(place), _) => Self::Before(place),
        }
    }
}

/// The items of a catalog that a connection is over, in its order.
pub(super) struct Source<'a> {
    pub(super) served: &'a Served,
    pub(super) places: Places,
}

/// A page of items.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) total: usize,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
}

/// What is asked of a connection.
struct Window<'q> {
    size: usize,
    backwards: bool,
    after: Option<&'q str>,
    before: Option<&'q str>,
}

/// The items of a page, or what is wrong with its arguments.
pub(super) fn page<'a, T: Item<'a>>(
    sources: &[Source<'a>],
    arguments: &Arguments,
    limits: &Limits,
) -> Result<Page<T>, String> {
    let window = Window::read(arguments, limits)?;
    let after = window.after.map(|text| read_cursor("after", text)).transpose()?;
    let before = window.before.map(|text| read_cursor("before", text)).transpose()?;
    let mut runs = Vec::with_capacity(sources.len());
    for source in sources {
        let from = match &after {
            Some(cursor) => match T::find(source.served, cursor).ok_or_else(|| wrong_order("after"))? {
                Found::At(place) | Found::After(place) => source.places.rank(place + 1),
                Found::Before(place) => source.places.rank(place),
            },
            None => 0,
        };
        let to = match &before {
            Some(cursor) => match T::find(source.served, cursor).ok_or_else(|| wrong_order("before"))? {
                Found::At(place) | Found::Before(place) => source.places.rank(place),
                Found::After(place) => source.places.rank(place + 1),
            },
            None => source.places.count(),
        };
        runs.push(merge::Run { source, from, to: to.max(from) });
    }
    let total = sources.iter().map(|source| source.places.count()).sum();
    let items = merge::take(&mut runs, window.size, window.backwards);
    Ok(Page {
        items,
        total,
        has_previous: runs.iter().any(|run| run.from > 0),
        has_next: runs.iter().any(|run| run.to < run.source.places.count()),
    })
}

/// How many items a page has at most, for its cost; a size that is refused later counts as it is allowed.
pub(super) fn page_size(arguments: &Arguments, limits: &Limits) -> usize {
    let size = arguments.integer("first").or(arguments.integer("last"));
    size.map_or(limits.default_page_size, |size| usize::try_from(size).unwrap_or(0).min(limits.page_size))
}

impl<'q> Window<'q> {
    fn read(arguments: &'q Arguments, limits: &Limits) -> Result<Self, String> {
        let [first, last] = ["first", "last"].map(|name| (name, arguments.integer(name)));
        let (size, backwards) = match (first, last) {
            ((_, Some(_)), (_, Some(_))) => return Err("`first` and `last` exclude each other".to_owned()),
            ((name, Some(size)), _) => (checked_size(name, size, limits)?, false),
            (_, (name, Some(size))) => (checked_size(name, size, limits)?, true),
            ((_, None), (_, None)) => (limits.default_page_size, false),
        };
        Ok(Self { size, backwards, after: arguments.text("after"), before: arguments.text("before") })
    }
}

fn checked_size(name: &str, size: i64, limits: &Limits) -> Result<usize, String> {
    let maximum = limits.page_size;
    usize::try_from(size)
        .ok()
        .filter(|&size| size <= maximum)
        .ok_or_else(|| format!("`{name}` must be from 0 to {maximum}, and is {size}"))
}

fn read_cursor(name: &str, text: &str) -> Result<Key, String> {
    Key::read(text).ok_or_else(|| format!("`{name}` is no cursor: \"{text}\""))
}

fn wrong_order(name: &str) -> String {
    format!("`{name}` is a cursor of another connection or order")
}

#[cfg(test)]
mod tests;
