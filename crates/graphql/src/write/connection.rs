//! Connection types, their edges and `PageInfo`, for every type of node.

use fbc::work::Step;
use fbc::{SearchField, SearchMatch};

use super::facets::PackageFacets;
use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::connection::{ConnectionItem, ConnectionPage, ConnectionSource, paginate, seeks};
use crate::fields::{
    BundleConnectionField, BundleEdgeField, MetaConnectionField, MetaEdgeField, ObjectField,
    PackageChangeConnectionField, PackageChangeEdgeField, PackageConnectionField, PackageEdgeField,
    PageInfoField, ProblemConnectionField, ProblemEdgeField,
};

/// A node of a connection.
pub(super) trait ConnectionNode<'a>: ConnectionItem<'a> + Object<'a> {
    /// Fields of the connection type.
    type ConnectionField: ObjectField + Into<ConnectionPart>;
    /// Fields of the edge type.
    type EdgeField: ObjectField + Into<EdgePart>;

    /// Writes the cursor of the node.
    fn cursor(self, writer: &mut ResponseWriter<'a>);

    /// Match of the node in a search; `None` if such nodes are not searched.
    fn search_match(self) -> Option<SearchMatch> {
        None
    }
}

/// A field of connection types, whatever their nodes.
pub(super) enum ConnectionPart {
    Edges,
    Nodes,
    PageInfo,
    /// Only of `PackageConnection`.
    Facets,
    TotalCount,
}

/// A field of edge types, whatever their nodes.
pub(super) enum EdgePart {
    Cursor,
    Node,
    /// Only of `PackageEdge`.
    Matched,
}

/// Maps the fields of a connection type and its edge type to [`ConnectionPart`] and [`EdgePart`].
macro_rules! parts {
    ($connection:ident { $($part:ident),* }, $edge:ident { $($edge_part:ident),* }) => {
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
                    $($edge::$edge_part => Self::$edge_part,)*
                }
            }
        }
    };
}

parts!(
    PackageConnectionField {
        Edges,
        Nodes,
        PageInfo,
        Facets,
        TotalCount
    },
    PackageEdgeField {
        Cursor,
        Node,
        Matched
    }
);
parts!(
    BundleConnectionField {
        Edges,
        Nodes,
        PageInfo,
        TotalCount
    },
    BundleEdgeField { Cursor, Node }
);
parts!(
    ProblemConnectionField {
        Edges,
        Nodes,
        PageInfo,
        TotalCount
    },
    ProblemEdgeField { Cursor, Node }
);
parts!(
    MetaConnectionField {
        Edges,
        Nodes,
        PageInfo,
        TotalCount
    },
    MetaEdgeField { Cursor, Node }
);
parts!(
    PackageChangeConnectionField {
        Edges,
        Nodes,
        PageInfo,
        TotalCount
    },
    PackageChangeEdgeField { Cursor, Node }
);

/// A page of a connection, with the facets of `PackageConnection`.
pub(super) struct Connection<'p, 'a, T> {
    pub(super) page: &'p ConnectionPage<T>,
    /// `None` for connections of other nodes than packages.
    pub(super) facets: Option<&'p PackageFacets<'a>>,
}

#[derive(Clone, Copy)]
struct EdgeObject<T>(T);

struct PageInfo<'p, T>(&'p ConnectionPage<T>);

impl<'a> ResponseWriter<'a> {
    /// Writes the page of a connection that the arguments of a field select.
    pub(super) fn connection<T: ConnectionNode<'a>>(
        &mut self,
        sources: &[ConnectionSource<'a>],
        order: T::Order,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.connection_with_unlisted::<T>(sources, order, 0, field)
    }

    /// Writes the page of a connection whose `totalCount` includes `unlisted` items that are on no
    /// page.
    pub(super) fn connection_with_unlisted<T: ConnectionNode<'a>>(
        &mut self,
        sources: &[ConnectionSource<'a>],
        order: T::Order,
        unlisted: usize,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.draw_seeks(sources, field)?;
        match paginate::<T>(sources, order, arguments(field), self.context.limits) {
            Ok(mut page) => {
                page.total += unlisted;
                self.object(
                    Connection {
                        page: &page,
                        facets: None,
                    },
                    field,
                )
            }
            Err(message) => self.bad_user_input(field, message),
        }
    }

    /// Draws the work of finding where the page of a connection begins in each catalog.
    pub(super) fn draw_seeks(
        &mut self,
        sources: &[ConnectionSource<'a>],
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let seeks = seeks(sources, arguments(field), self.context.limits);
        self.work
            .draw(Step::Seek, seeks)
            .map_err(|_| self.stopped_search(field, sources.len(), None))
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
            ConnectionPart::Edges => {
                writer.object_list(page.items.iter().map(|&item| EdgeObject(item)), field)
            }
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

impl<'a, T: ConnectionNode<'a>> Object<'a> for EdgeObject<T> {
    type Field = T::EdgeField;

    fn write(
        self,
        name: T::EdgeField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name.into() {
            EdgePart::Cursor => self.0.cursor(writer),
            EdgePart::Node => return writer.object(self.0, field),
            EdgePart::Matched => match self.0.search_match() {
                Some(found) => writer.strings(found.fields().map(SearchField::as_str)),
                None => return writer.unwritten_field(field),
            },
        }
        Ok(())
    }
}

impl<'a, T: ConnectionNode<'a>> Object<'a> for PageInfo<'_, T> {
    type Field = PageInfoField;

    fn write(
        self,
        name: PageInfoField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
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
