//! `Constraint`: what an `olm.constraint` demands.

use fbc::catalog::{Constraint, ConstraintRule, JsonText};

use super::{Field, Object, Outcome, Writer};

/// A `GroupVersionKind` of a constraint.
#[derive(Clone, Copy)]
struct Api<'a> {
    group: JsonText<'a>,
    version: JsonText<'a>,
    kind: JsonText<'a>,
}

/// A `PackageRequirement` of a constraint.
#[derive(Clone, Copy)]
struct Requirement<'a> {
    package: JsonText<'a>,
    version_range: JsonText<'a>,
}

impl<'a> Object<'a> for &Constraint<'_> {
    fn type_name(self) -> &'static str {
        "Constraint"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match (field.name, &self.rule) {
            ("failureMessage", _) => to.maybe_raw(self.failure_message.as_ref().map(|text| text.raw())),
            ("cel", ConstraintRule::Cel(rule)) => to.raw(rule.raw()),
            ("package", &ConstraintRule::Package { package, version_range }) => {
                to.one(Requirement { package, version_range }, field)
            }
            ("gvk", &ConstraintRule::Gvk { group, version, kind }) => to.one(Api { group, version, kind }, field),
            ("all", ConstraintRule::All(list))
            | ("any", ConstraintRule::Any(list))
            | ("not", ConstraintRule::Not(list)) => to.many(list, field),
            ("cel" | "package" | "gvk" | "all" | "any" | "not", _) => {
                to.null();
                Ok(())
            }
            _ => to.unknown(field),
        }
    }
}

impl<'a> Object<'a> for Api<'_> {
    fn type_name(self) -> &'static str {
        "GroupVersionKind"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "group" => to.raw(self.group.raw()),
            "version" => to.raw(self.version.raw()),
            "kind" => to.raw(self.kind.raw()),
            _ => to.unknown(field),
        }
    }
}

impl<'a> Object<'a> for Requirement<'_> {
    fn type_name(self) -> &'static str {
        "PackageRequirement"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "packageName" => to.raw(self.package.raw()),
            "versionRange" => to.raw(self.version_range.raw()),
            _ => to.unknown(field),
        }
    }
}
