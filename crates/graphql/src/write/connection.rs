//! Connections and their parts, the same for every kind of item.

use super::packages::PackageFacets;
use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::connection::{ConnectionItem, ConnectionPage, ConnectionSource, paginate};
use crate::fields::{
    BundleConnectionField, BundleEdgeField, MetaConnectionField, MetaEdgeField, ObjectField, PackageConnectionField,
    PackageEdgeField, PageInfoField, ProblemConnectionField, ProblemEdgeField,
};

/// An item of a connection.
pub(super) trait ConnectionNode<'a>: ConnectionItem<'a> + Object<'a> {
    /// Fields of its connection's type.
    type ConnectionField: ObjectField + Into<ConnectionPart>;
    /// Fields of its edge's type.
    type EdgeField: ObjectField + Into<EdgePart>;

    /// Writes its cursor.
    fn cursor(self, writer: &mut ResponseWriter<'a>);
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
    pub(super) page: &'p ConnectionPage<T>,
    /// Of packages.
    pub(super) facets: Option<&'p PackageFacets<'a>>,
}

#[derive(Clone, Copy)]
struct Edge<T>(T);

struct PageInfo<'p, T>(&'p ConnectionPage<T>);

impl<'a> ResponseWriter<'a> {
    /// Writes a connection over some places of some catalogs.
    pub(super) fn connection<T: ConnectionNode<'a>>(
        &mut self,
        sources: &[ConnectionSource<'a>],
        order: T::Order,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        match paginate::<T>(sources, order, arguments(field), self.context.limits) {
            Ok(page) => self.object(Connection { page: &page, facets: None }, field),
            Err(message) => self.bad_user_input(field, message),
        }
    }

    fn optional_cursor<T: ConnectionNode<'a>>(&mut self, item: Option<&T>) {
        match item {
            Some(item) => item.cursor(self),
            None => self.null(),
        }
    }
}

impl<'a, T: ConnectionNode<'a>> Object<'a> for Connection<'_, 'a, T> {
    type Field = T::ConnectionField;

    fn write(
        self,
        name: T::ConnectionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self { page, facets } = self;
        match name.into() {
            ConnectionPart::Edges => writer.object_list(page.items.iter().map(|&item| Edge(item)), field),
            ConnectionPart::Nodes => writer.object_list(page.items.iter().copied(), field),
            ConnectionPart::PageInfo => writer.object(PageInfo(page), field),
            ConnectionPart::Facets => match facets {
                Some(facets) => writer.object(facets, field),
                None => writer.unwritten_field(field),
            },
            ConnectionPart::TotalCount => {
                writer.count(page.total);
                Ok(())
            }
        }
    }
}

impl<'a, T: ConnectionNode<'a>> Object<'a> for Edge<T> {
    type Field = T::EdgeField;

    fn write(self, name: T::EdgeField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match name.into() {
            EdgePart::Cursor => self.0.cursor(writer),
            EdgePart::Node => return writer.object(self.0, field),
        }
        Ok(())
    }
}

impl<'a, T: ConnectionNode<'a>> Object<'a> for PageInfo<'_, T> {
    type Field = PageInfoField;

    fn write(self, name: PageInfoField, _: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        let Self(page) = self;
        match name {
            PageInfoField::HasNextPage => writer.boolean(page.has_next),
            PageInfoField::HasPreviousPage => writer.boolean(page.has_previous),
            PageInfoField::StartCursor => writer.optional_cursor(page.items.first()),
            PageInfoField::EndCursor => writer.optional_cursor(page.items.last()),
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
