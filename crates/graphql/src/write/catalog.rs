//! `Catalog` and what belongs to it alone.

use fbc::Severity;
use fbc::catalog::SchemaCount;
use serving::Served;

use super::problem::ProblemAt;
use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::connection::{Places, Source};
use crate::fields::{CatalogField, KeyValueField, SchemaCountField};
use crate::key::Tag;

/// The type `Catalog`.
#[derive(Clone, Copy)]
pub(super) struct CatalogObject<'a>(pub(super) &'a Served);

/// The type `KeyValue`.
#[derive(Clone, Copy)]
struct KeyValue<'a>(&'a str, &'a str);

impl<'a> Object<'a> for CatalogObject<'a> {
    type Field = CatalogField;

    fn write(self, name: CatalogField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(served) = self;
        let metadata = &served.metadata;
        match name {
            CatalogField::Id => to.key(Tag::CATALOG, [Some(served.name.as_str())]),
            CatalogField::Name => to.text(&served.name),
            CatalogField::Digest => to.text(&served.content.digest.to_string()),
            CatalogField::Image => to.maybe_text(served.content.image.as_deref()),
            CatalogField::Priority => to.integer(metadata.priority),
            CatalogField::DisplayName => to.text(metadata.display_name.as_ref().unwrap_or(&served.name)),
            CatalogField::Publisher => to.maybe_text(metadata.publisher.as_deref()),
            CatalogField::Labels => {
                return to.many(metadata.labels.iter().map(|(key, value)| KeyValue(key, value)), field);
            }
            CatalogField::LastUnpacked => {
                to.maybe_text(served.content.last_unpacked.map(|at| at.to_string()).as_deref());
            }
            CatalogField::Schemas => return to.many(served.content.catalog.schemas(), field),
            CatalogField::Problems => return to.connection::<ProblemAt<'_>>(&[self.problems(field)], (), field),
            CatalogField::Packages => {
                return to.packages(vec![served], Vec::new(), field);
            }
            CatalogField::Package => {
                let package = arguments(field).text("name").and_then(|name| In::package(served, name));
                return to.maybe(package, field);
            }
            CatalogField::Bundles => {
                return to.bundles(vec![served], packages(field), field);
            }
            CatalogField::Metas => return to.metas(vec![served], field),
        }
        Ok(())
    }
}

impl<'a> CatalogObject<'a> {
    /// The problems of a package, at least as bad as asked.
    fn problems(self, field: &'a Field<'a>) -> Source<'a> {
        let given = arguments(field);
        let package = given.text("package");
        let errors_only = given.text("severity") == Some("ERROR");
        let problems = self.0.content.catalog.problems();
        if package.is_none() && !errors_only {
            return Source { served: self.0, places: Places::all(problems.len()) };
        }
        let wanted = problems.iter().zip(0..).filter(|(problem, _)| {
            package.is_none_or(|package| problem.package.as_deref() == Some(package))
                && (!errors_only || problem.code.severity() == Severity::Error)
        });
        Source { served: self.0, places: wanted.map(|(_, place)| place).collect() }
    }
}

impl<'a> Object<'a> for &SchemaCount {
    type Field = SchemaCountField;

    fn write(self, name: SchemaCountField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            SchemaCountField::Schema => to.text(&self.schema),
            SchemaCountField::Count => to.count(self.count as usize),
            SchemaCountField::Known => to.boolean(self.known),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for KeyValue<'a> {
    type Field = KeyValueField;

    fn write(self, name: KeyValueField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(key, value) = self;
        match name {
            KeyValueField::Key => to.text(key),
            KeyValueField::Value => to.text(value),
        }
        Ok(())
    }
}

/// The packages whose bundles a field asks for; of every one when absent.
pub(super) fn packages<'a>(field: &'a Field<'a>) -> Option<Vec<&'a str>> {
    Some(arguments(field).texts("packages")?.iter().collect())
}
