//! `Constraint`: what an `olm.constraint` demands.

use fbc::catalog::{Constraint, ConstraintRule, JsonText};

use super::{Field, Object, Outcome, Writer};
use crate::fields::{ConstraintField, GroupVersionKindField, PackageRequirementField};

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
    type Field = ConstraintField;

    fn write(self, name: ConstraintField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match (name, &self.rule) {
            (ConstraintField::FailureMessage, _) => to.maybe_raw(self.failure_message.as_ref().map(|text| text.raw())),
            (ConstraintField::Cel, ConstraintRule::Cel(rule)) => to.raw(rule.raw()),
            (ConstraintField::Package, &ConstraintRule::Package { package, version_range }) => {
                to.one(Requirement { package, version_range }, field)
            }
            (ConstraintField::Gvk, &ConstraintRule::Gvk { group, version, kind }) => {
                to.one(Api { group, version, kind }, field)
            }
            (ConstraintField::All, ConstraintRule::All(list))
            | (ConstraintField::Any, ConstraintRule::Any(list))
            | (ConstraintField::Not, ConstraintRule::Not(list)) => to.many(list, field),
            (
                ConstraintField::Cel
                | ConstraintField::Package
                | ConstraintField::Gvk
                | ConstraintField::All
                | ConstraintField::Any
                | ConstraintField::Not,
                _,
            ) => {
                to.null();
                Ok(())
            }
        }
    }
}

impl<'a> Object<'a> for Api<'_> {
    type Field = GroupVersionKindField;

    fn write(self, name: GroupVersionKindField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            GroupVersionKindField::Group => to.raw(self.group.raw()),
            GroupVersionKindField::Version => to.raw(self.version.raw()),
            GroupVersionKindField::Kind => to.raw(self.kind.raw()),
        }
    }
}

impl<'a> Object<'a> for Requirement<'_> {
    type Field = PackageRequirementField;

    fn write(self, name: PackageRequirementField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            PackageRequirementField::PackageName => to.raw(self.package.raw()),
            PackageRequirementField::VersionRange => to.raw(self.version_range.raw()),
        }
    }
}
