//! The type `Query`.

use std::sync::Arc;

use fbc::Package;
use serving::{Served, Snapshot};

use super::catalog::{CatalogObject, packages};
use super::server::ServerObject;
use super::verification::verification_state;
use super::{
    Code, InCatalog, Object, PlannedField, ResponseWriter, WriteError, WriteResult, arguments, node,
};
use crate::coercion::StringSet;
use crate::fields::QueryField;

/// The type `Query`.
#[derive(Clone, Copy)]
pub(super) struct QueryObject<'a>(pub(super) &'a Snapshot);

/// Catalogs that a field selects, and the others, each ordered by name.
struct SelectedCatalogs<'a> {
    selected: Vec<&'a Served>,
    others: Vec<&'a Served>,
}

impl<'a> Object<'a> for QueryObject<'a> {
    type Field = QueryField;

    fn write(
        self,
        name: QueryField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(snapshot) = self;
        let text = |name| arguments(field).string(name).unwrap_or_default();
        match name {
            QueryField::Catalogs => {
                let states = arguments(field).strings("verification");
                let is_selected = |served: &&Arc<Served>| {
                    states.is_none_or(|states| states.contains(verification_state(served)))
                };
                let catalogs = snapshot.by_priority().filter(is_selected);
                writer.object_list(catalogs.map(|served| CatalogObject(served)), field)
            }
            QueryField::Catalog => self.catalog(field, writer),
            QueryField::CatalogStatuses => writer.catalog_statuses(field),
            QueryField::Packages => {
                let catalogs = self.catalogs(field, writer)?;
                writer.packages(&catalogs.selected, catalogs.others, field)
            }
            QueryField::Package => {
                let package = self.package(field, "name", writer)?;
                writer.optional_object(package, field)
            }
            QueryField::Bundles => {
                let catalogs = self.catalogs(field, writer)?.selected;
                writer.bundles(&catalogs, packages(field), field)
            }
            QueryField::Channel => {
                let Some(package) = self.package(field, "package", writer)? else {
                    return writer.optional_object::<CatalogObject<'_>>(None, field);
                };
                writer.channel_by_name(package, field)
            }
            QueryField::Bundle => {
                let Some(package) = self.package(field, "package", writer)? else {
                    return writer.optional_object::<CatalogObject<'_>>(None, field);
                };
                writer.bundle_by_name(package, field)
            }
            QueryField::Metas => {
                let catalogs = self.catalogs(field, writer)?.selected;
                writer.metas(&catalogs, field)
            }
            QueryField::Suggest => {
                let catalogs = self.catalogs(field, writer)?.selected;
                writer.suggest(&catalogs, field)
            }
            QueryField::Resolve => writer.resolution(snapshot, field),
            QueryField::Solve => writer.solve(snapshot, field),
            QueryField::AvailableUpgrades => writer.available_upgrades(snapshot, field),
            QueryField::Diff => writer.diff(snapshot, field),
            QueryField::PlatformUpgrade => writer.platform_upgrade(snapshot, field),
            QueryField::PlatformMatrix => writer.platform_matrix(snapshot, field),
            QueryField::Server => writer.object(ServerObject, field),
            QueryField::Node => match node::find(snapshot, text("id"), writer)? {
                Some(node) => writer.with_path(field, |writer| node.write(field, writer)),
                None => writer.optional_object::<CatalogObject<'_>>(None, field),
            },
            QueryField::Nodes => self.nodes(field, writer),
        }
    }
}

impl<'a> QueryObject<'a> {
    /// Writes the catalog of a name; an error if the argument `digest` differs from the digest of
    /// its content.
    fn catalog(self, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        let arguments = arguments(field);
        let served = self.served(field, "name", writer)?;
        if let (Some(served), Some(digest)) = (served, arguments.string("digest")) {
            let now = served.content.digest.to_string();
            if now != digest {
                let message = format!(
                    "catalog \"{}\" now serves {now}, not \"{digest}\"",
                    served.name
                );
                return writer.field_error(field, Code::CatalogChanged, message);
            }
        }
        writer.optional_object(served.map(CatalogObject), field)
    }

    /// Finds the catalog that an argument of a field names. Suggests others where none of that name
    /// is served: the validator of such a response depends on the names of all catalogs.
    fn served(
        self,
        field: &'a PlannedField<'a>,
        argument: &'static str,
        writer: &mut ResponseWriter<'a>,
    ) -> Result<Option<&'a Served>, WriteError> {
        let Self(snapshot) = self;
        let served = snapshot.get(arguments(field).string(argument).unwrap_or_default());
        if served.is_none() {
            writer.suggest_names(
                field,
                argument,
                snapshot.by_name().map(|served| served.name.as_str()),
            )?;
        }
        Ok(served.map(|served| &**served))
    }

    /// Finds the package that the argument `catalog` of a field and another one name. Suggests
    /// other names where there is no such catalog, or no such package in it.
    fn package(
        self,
        field: &'a PlannedField<'a>,
        argument: &'static str,
        writer: &mut ResponseWriter<'a>,
    ) -> Result<Option<InCatalog<'a, Package<'a>>>, WriteError> {
        let Some(served) = self.served(field, "catalog", writer)? else {
            return Ok(None);
        };
        writer.package_by_name(served, argument, field)
    }

    fn nodes(self, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        let ids = arguments(field)
            .get("ids")
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let maximum = writer.context.limits.node_ids;
        if ids.len() > maximum {
            return writer.bad_user_input(
                field,
                format!("`ids` has {} ids; at most {maximum} are allowed", ids.len()),
            );
        }
        writer.list(ids, field, |writer, id| {
            let Some(node) = node::find(self.0, id.as_str().unwrap_or_default(), writer)? else {
                writer.null();
                return Ok(());
            };
            node.write(field, writer)
        })
    }

    /// Returns the catalogs that the argument `catalogs` of a field selects. Suggests similar names
    /// for those that are not served.
    fn catalogs(
        self,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> Result<SelectedCatalogs<'a>, WriteError> {
        let names = arguments(field).strings("catalogs");
        let all = || self.0.by_name().map(|served| &**served);
        for name in names.into_iter().flat_map(StringSet::iter) {
            if self.0.get(name).is_none() {
                let served = all().map(|served| served.name.as_str());
                writer.suggest_similar(field, "catalogs", name, served)?;
            }
        }
        let (selected, others) =
            all().partition(|served| names.is_none_or(|names| names.contains(&served.name)));
        Ok(SelectedCatalogs { selected, others })
    }
}
