//! `Constraint`: the value of an `olm.constraint`.

use fbc::catalog::{Constraint, ConstraintRule, JsonText};

use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{ConstraintField, GroupVersionKindField, PackageRequirementField};

/// The type `GroupVersionKind`, for a constraint.
#[derive(Clone, Copy)]
struct GvkConstraint<'a> {
    group: JsonText<'a>,
    version: JsonText<'a>,
    kind: JsonText<'a>,
}

/// The type `PackageRequirement`, for a constraint.
#[derive(Clone, Copy)]
struct PackageConstraint<'a> {
    package: JsonText<'a>,
    version_range: JsonText<'a>,
}

impl<'a> Object<'a> for &Constraint<'_> {
    type Field = ConstraintField;

    fn write(self, name: ConstraintField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match (name, &self.rule) {
            (ConstraintField::FailureMessage, _) => {
                writer.optional_json(self.failure_message.as_ref().map(|text| text.raw()))
            }
            (ConstraintField::Cel, ConstraintRule::Cel(rule)) => writer.json(rule.raw()),
            (ConstraintField::Package, &ConstraintRule::Package { package, version_range }) => {
                writer.object(PackageConstraint { package, version_range }, field)
            }
            (ConstraintField::Gvk, &ConstraintRule::Gvk { group, version, kind }) => {
                writer.object(GvkConstraint { group, version, kind }, field)
            }
            (ConstraintField::All, ConstraintRule::All(list))
            | (ConstraintField::Any, ConstraintRule::Any(list))
            | (ConstraintField::Not, ConstraintRule::Not(list)) => writer.object_list(list, field),
            (
                ConstraintField::Cel
                | ConstraintField::Package
                | ConstraintField::Gvk
                | ConstraintField::All
                | ConstraintField::Any
                | ConstraintField::Not,
                _,
            ) => {
                writer.null();
                Ok(())
            }
        }
    }
}

impl<'a> Object<'a> for GvkConstraint<'_> {
    type Field = GroupVersionKindField;

    fn write(
        self,
        name: GroupVersionKindField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GroupVersionKindField::Group => writer.json(self.group.raw()),
            GroupVersionKindField::Version => writer.json(self.version.raw()),
            GroupVersionKindField::Kind => writer.json(self.kind.raw()),
        }
    }
}

impl<'a> Object<'a> for PackageConstraint<'_> {
    type Field = PackageRequirementField;

    fn write(
        self,
        name: PackageRequirementField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageRequirementField::PackageName => writer.json(self.package.raw()),
            PackageRequirementField::VersionRange => writer.json(self.version_range.raw()),
        }
    }
}
