//! `Catalog` and what belongs to it alone.

use fbc::Severity;
use fbc::catalog::SchemaCount;
use serving::Served;

use super::problem::ProblemAt;
use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::connection::{Places, Source};
use crate::key::Tag;

/// The type `Catalog`.
#[derive(Clone, Copy)]
pub(super) struct CatalogObject<'a>(pub(super) &'a Served);

/// The type `KeyValue`.
#[derive(Clone, Copy)]
struct KeyValue<'a>(&'a str, &'a str);

impl<'a> Object<'a> for CatalogObject<'a> {
    fn type_name(self) -> &'static str {
        "Catalog"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(served) = self;
        let metadata = &served.metadata;
        match field.name {
            "id" => to.key(Tag::CATALOG, [Some(served.name.as_str())]),
            "name" => to.text(&served.name),
            "digest" => to.text(&served.digest.to_string()),
            "image" => to.maybe_text(served.image.as_deref()),
            "priority" => to.integer(metadata.priority),
            "displayName" => to.text(metadata.display_name.as_ref().unwrap_or(&served.name)),
            "publisher" => to.maybe_text(metadata.publisher.as_deref()),
            "labels" => return to.many(metadata.labels.iter().map(|(key, value)| KeyValue(key, value)), field),
            "lastUnpacked" => to.maybe_text(served.last_unpacked.map(|at| at.to_string()).as_deref()),
            "schemas" => return to.many(served.catalog.schemas(), field),
            "problems" => return to.connection::<ProblemAt<'_>>(&[self.problems(field)], (), field),
            "packages" => {
                return to.packages(vec![served], Vec::new(), field);
            }
            "package" => {
                let package = arguments(field).text("name").and_then(|name| In::package(served, name));
                return to.maybe(package, field);
            }
            "bundles" => {
                return to.bundles(vec![served], packages(field), field);
            }
            "metas" => return to.metas(vec![served], field),
            _ => return to.unknown(field),
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
        let problems = self.0.catalog.problems();
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
    fn type_name(self) -> &'static str {
        "SchemaCount"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "schema" => to.text(&self.schema),
            "count" => to.count(self.count as usize),
            "known" => to.boolean(self.known),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for KeyValue<'a> {
    fn type_name(self) -> &'static str {
        "KeyValue"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(key, value) = self;
        match field.name {
            "key" => to.text(key),
            "value" => to.text(value),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

/// The packages whose bundles a field asks for; of every one when absent.
pub(super) fn packages<'a>(field: &'a Field<'a>) -> Option<Vec<&'a str>> {
    Some(arguments(field).texts("packages")?.iter().collect())
}
