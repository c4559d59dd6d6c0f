//! Connections and their parts, the same for every kind of item.

use super::packages::PackageFacets;
use super::{Field, Object, Outcome, Writer, arguments};
use crate::connection::{Item, Page, Source, page};

/// An item of a connection.
pub(super) trait Node<'a>: Item<'a> + Object<'a> {
    /// The name of its connection's type.
    const CONNECTION: &'static str;
    /// The name of its edge's type.
    const EDGE: &'static str;

    /// Writes its cursor.
    fn cursor(self, to: &mut Writer<'a>);
}

/// A connection, with what else its type has.
pub(super) struct Connection<'p, 'a, T> {
    pub(super) page: &'p Page<T>,
    /// Of packages.
    pub(super) facets: Option<&'p PackageFacets<'a>>,
}

#[derive(Clone, Copy)]
struct Edge<T>(T);

struct PageInfo<'p, T>(&'p Page<T>);

impl<'a> Writer<'a> {
    /// Writes a connection over some places of some catalogs.
    pub(super) fn connection<T: Node<'a>>(
        &mut self,
        sources: &[Source<'a>],
        order: T::Order,
        field: &'a Field<'a>,
    ) -> Outcome {
        match page::<T>(sources, order, arguments(field), self.context.limits) {
            Ok(page) => self.one(Connection { page: &page, facets: None }, field),
            Err(message) => self.bad_input(field, message),
        }
    }

    fn maybe_cursor<T: Node<'a>>(&mut self, item: Option<&T>) {
        match item {
            Some(item) => item.cursor(self),
            None => self.null(),
        }
    }
}

impl<'a, T: Node<'a>> Object<'a> for Connection<'_, 'a, T> {
    fn type_name(self) -> &'static str {
        T::CONNECTION
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self { page, facets } = self;
        match field.name {
            "edges" => to.many(page.items.iter().map(|&item| Edge(item)), field),
            "nodes" => to.many(page.items.iter().copied(), field),
            "pageInfo" => to.one(PageInfo(page), field),
            "facets" => match facets {
                Some(facets) => to.one(facets, field),
                None => to.unknown(field),
            },
            "totalCount" => {
                to.count(page.total);
                Ok(())
            }
            _ => to.unknown(field),
        }
    }
}

impl<'a, T: Node<'a>> Object<'a> for Edge<T> {
    fn type_name(self) -> &'static str {
        T::EDGE
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "cursor" => self.0.cursor(to),
            "node" => return to.one(self.0, field),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a, T: Node<'a>> Object<'a> for PageInfo<'_, T> {
    fn type_name(self) -> &'static str {
        "PageInfo"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(page) = self;
        match field.name {
            "hasNextPage" => to.boolean(page.has_next),
            "hasPreviousPage" => to.boolean(page.has_previous),
            "startCursor" => to.maybe_cursor(page.items.first()),
            "endCursor" => to.maybe_cursor(page.items.last()),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<T> Clone for Connection<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Connection<'_, '_, T> {}

impl<T> Clone for PageInfo<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PageInfo<'_, T> {}
