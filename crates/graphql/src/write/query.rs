//! The root: where every query begins.

use fbc::catalog::Bundle;
use serving::{Served, Snapshot};

use super::catalog::{CatalogObject, packages};
use super::{Code, Field, In, Object, Outcome, Writer, arguments, node};
use crate::fields::QueryField;

/// The type `Query`.
#[derive(Clone, Copy)]
pub(super) struct Query<'a>(pub(super) &'a Snapshot);

impl<'a> Object<'a> for Query<'a> {
    type Field = QueryField;

    fn write(self, name: QueryField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(snapshot) = self;
        let given = arguments(field);
        match name {
            QueryField::Catalogs => to.many(snapshot.by_priority().map(|served| CatalogObject(served)), field),
            QueryField::Catalog => self.catalog(field, to),
            QueryField::Packages => {
                let (asked, others) = self.catalogs(field);
                to.packages(asked, others, field)
            }
            QueryField::Package => {
                let [catalog, name] = ["catalog", "name"].map(|name| given.text(name).unwrap_or_default());
                let package = snapshot.get(catalog).and_then(|served| In::package(served, name));
                to.maybe(package, field)
            }
            QueryField::Bundles => {
                let (asked, _) = self.catalogs(field);
                to.bundles(asked, packages(field), field)
            }
            QueryField::Bundle => to.maybe(self.bundle(field), field),
            QueryField::Metas => {
                let (asked, _) = self.catalogs(field);
                to.metas(asked, field)
            }
            QueryField::Resolve => to.resolution(snapshot, field),
            QueryField::Diff => to.diff(snapshot, field),
            QueryField::Node => match given.text("id").and_then(|id| node::find(snapshot, id)) {
                Some(node) => to.nested(field, |to| node.write(field, to)),
                None => to.maybe::<CatalogObject<'_>>(None, field),
            },
            QueryField::Nodes => self.nodes(field, to),
        }
    }
}

impl<'a> Query<'a> {
    /// The catalog of a name, if it has the digest that is asked for.
    fn catalog(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let given = arguments(field);
        let served = given.text("name").and_then(|name| self.0.get(name));
        if let (Some(served), Some(wanted)) = (served, given.text("digest")) {
            let now = served.content.digest.to_string();
            if now != wanted {
                let message = format!("catalog \"{}\" now serves {now}, not \"{wanted}\"", served.name);
                return to.fail(field, Code::CatalogChanged, message);
            }
        }
        to.maybe(served.map(|served| CatalogObject(served)), field)
    }

    /// The bundle of a full name, or the first by catalog that has an image.
    fn bundle(self, field: &'a Field<'a>) -> Option<In<'a, Bundle<'a>>> {
        let by = arguments(field).get("by");
        if let Some(image) = by["image"].as_str() {
            // A bundle without an image has none to be found by.
            return self.0.by_priority().filter(|_| !image.is_empty()).find_map(|served| {
                let it = served.content.catalog.bundle_by_image(image)?;
                Some(In { served, it })
            });
        }
        let [catalog, package, name] = ["catalog", "package", "name"].map(|part| by["name"][part].as_str());
        let package = In::package(self.0.get(catalog?)?, package?)?;
        Some(package.with(package.it.bundle(name?)?))
    }

    fn nodes(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let ids = arguments(field).get("ids").as_array().map_or(&[][..], Vec::as_slice);
        let maximum = to.context.limits.node_ids;
        if ids.len() > maximum {
            return to.bad_input(field, format!("`ids` has {} ids; at most {maximum} are allowed", ids.len()));
        }
        to.each(ids, field, |to, id| {
            let Some(node) = id.as_str().and_then(|id| node::find(self.0, id)) else {
                to.null();
                return Ok(());
            };
            node.write(field, to)
        })
    }

    /// The catalogs that a field asks for, and the others, each by name.
    fn catalogs(self, field: &'a Field<'a>) -> (Vec<&'a Served>, Vec<&'a Served>) {
        let wanted = arguments(field).texts("catalogs");
        let all = self.0.by_name().map(|served| &**served);
        all.partition(|served| wanted.is_none_or(|wanted| wanted.contains(&served.name)))
    }
}
