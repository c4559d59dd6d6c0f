//! `Constraint`: the value of an `olm.constraint`, with the APIs and packages that it names.

use fbc::{Constraint, ConstraintRule, GroupVersionKind, PackageRequirement, RawGroupVersionKind};
use fbc_read::json::JsonText;

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{ConstraintField, GroupVersionKindField, PackageRequirementField};

/// The type `PackageRequirement`, for a constraint.
#[derive(Clone, Copy)]
struct PackageConstraint<'a> {
    package: JsonText<'a>,
    version_range: JsonText<'a>,
}

impl<'a> Object<'a> for InCatalog<'a, &Constraint<'_>> {
    type Field = ConstraintField;

    fn write(
        self,
        name: ConstraintField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match (name, &self.item.rule) {
            (ConstraintField::FailureMessage, _) => {
                writer.optional_json(self.item.failure_message.as_ref().map(|text| text.raw()))
            }
            (ConstraintField::Cel, ConstraintRule::Cel(rule)) => writer.json(rule.raw()),
            (
                ConstraintField::Package,
                &ConstraintRule::Package {
                    package,
                    version_range,
                },
            ) => writer.object(
                self.with(PackageConstraint {
                    package,
                    version_range,
                }),
                field,
            ),
            (ConstraintField::Gvk, &ConstraintRule::Gvk(api)) => {
                writer.object(self.with(api), field)
            }
            (ConstraintField::All, ConstraintRule::All(list))
            | (ConstraintField::Any, ConstraintRule::Any(list))
            | (ConstraintField::Not, ConstraintRule::Not(list)) => {
                writer.object_list(list.iter().map(|constraint| self.with(constraint)), field)
            }
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

impl<'a> Object<'a> for InCatalog<'a, RawGroupVersionKind<'_>> {
    type Field = GroupVersionKindField;

    fn write(
        self,
        name: GroupVersionKindField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GroupVersionKindField::Group => writer.json(self.item.group.raw()),
            GroupVersionKindField::Version => writer.json(self.item.version.raw()),
            GroupVersionKindField::Kind => writer.json(self.item.kind.raw()),
            GroupVersionKindField::Providers => {
                let [group, version, kind] =
                    [self.item.group, self.item.version, self.item.kind].map(JsonText::decode);
                let api = GroupVersionKind {
                    group: &group,
                    version: &version,
                    kind: &kind,
                };
                writer.providers_of_api(self.with(api), field)
            }
        }
    }
}

impl<'a> Object<'a> for InCatalog<'a, PackageConstraint<'_>> {
    type Field = PackageRequirementField;

    fn write(
        self,
        name: PackageRequirementField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageRequirementField::PackageName => writer.json(self.item.package.raw()),
            PackageRequirementField::VersionRange => writer.json(self.item.version_range.raw()),
            PackageRequirementField::Package => writer.optional_object(
                InCatalog::package(self.served, &self.item.package.decode()),
                field,
            ),
            PackageRequirementField::Providers => {
                let [package, version_range] =
                    [self.item.package, self.item.version_range].map(JsonText::decode);
                let required = PackageRequirement {
                    package: &package,
                    version_range: &version_range,
                };
                writer.providers_of_package(self.with(required), field)
            }
        }
    }
}
