//! Connections and their parts, the same for every kind of item.

use super::packages::PackageFacets;
use super::{Field, Object, Outcome, Writer, arguments};
use crate::connection::{Item, Page, Source, page};
use crate::fields::{
    BundleConnectionField, BundleEdgeField, MetaConnectionField, MetaEdgeField, ObjectField, PackageConnectionField,
    PackageEdgeField, PageInfoField, ProblemConnectionField, ProblemEdgeField,
};

/// An item of a connection.
pub(super) trait Node<'a>: Item<'a> + Object<'a> {
    /// Fields of its connection's type.
    type ConnectionField: ObjectField + Into<ConnectionPart>;
    /// Fields of its edge's type.
    type EdgeField: ObjectField + Into<EdgePart>;

    /// Writes its cursor.
    fn cursor(self, to: &mut Writer<'a>);
}

/// A field that connections have, whatever their items.
pub(super) enum ConnectionPart {
    Edges,
    Nodes,
    PageInfo,
    /// Of connections of packages only.
    Facets,
    TotalCount,
}

/// A field that edges have, whatever their items.
pub(super) enum EdgePart {
    Cursor,
    Node,
}

/// Maps the fields of a type of connections, and of its edges, to those that all have.
macro_rules! parts {
    ($connection:ident { $($part:ident),* }, $edge:ident) => {
        impl From<$connection> for ConnectionPart {
            fn from(field: $connection) -> Self {
                match field {
                    $($connection::$part => Self::$part,)*
                }
            }
        }

        impl From<$edge> for EdgePart {
            fn from(field: $edge) -> Self {
                match field {
                    $edge::Cursor => Self::Cursor,
                    $edge::Node => Self::Node,
                }
            }
        }
    };
}

parts!(PackageConnectionField { Edges, Nodes, PageInfo, Facets, TotalCount }, PackageEdgeField);
parts!(BundleConnectionField { Edges, Nodes, PageInfo, TotalCount }, BundleEdgeField);
parts!(ProblemConnectionField { Edges, Nodes, PageInfo, TotalCount }, ProblemEdgeField);
parts!(MetaConnectionField { Edges, Nodes, PageInfo, TotalCount }, MetaEdgeField);

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
    type Field = T::ConnectionField;

    fn write(self, name: T::ConnectionField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self { page, facets } = self;
        match name.into() {
            ConnectionPart::Edges => to.many(page.items.iter().map(|&item| Edge(item)), field),
            ConnectionPart::Nodes => to.many(page.items.iter().copied(), field),
            ConnectionPart::PageInfo => to.one(PageInfo(page), field),
            ConnectionPart::Facets => match facets {
                Some(facets) => to.one(facets, field),
                None => to.unknown(field),
            },
            ConnectionPart::TotalCount => {
                to.count(page.total);
                Ok(())
            }
        }
    }
}

impl<'a, T: Node<'a>> Object<'a> for Edge<T> {
    type Field = T::EdgeField;

    fn write(self, name: T::EdgeField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name.into() {
            EdgePart::Cursor => self.0.cursor(to),
            EdgePart::Node => return to.one(self.0, field),
        }
        Ok(())
    }
}

impl<'a, T: Node<'a>> Object<'a> for PageInfo<'_, T> {
    type Field = PageInfoField;

    fn write(self, name: PageInfoField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(page) = self;
        match name {
            PageInfoField::HasNextPage => to.boolean(page.has_next),
            PageInfoField::HasPreviousPage => to.boolean(page.has_previous),
            PageInfoField::StartCursor => to.maybe_cursor(page.items.first()),
            PageInfoField::EndCursor => to.maybe_cursor(page.items.last()),
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
