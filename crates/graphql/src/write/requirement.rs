//! `Requirement`, and the bundles that provide an API or a package.

use fbc::{
    ApiFilter, BundleFilter, Constraint, GroupVersionKind, PackageRequirement, Requirement,
    RequirementRule,
};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{ConstraintField, RequirementField};

/// The type `Constraint`, for a requirement that is not an `olm.constraint`.
#[derive(Clone, Copy)]
enum SingleConstraint<'a> {
    Package(PackageRequirement<'a>),
    Api(GroupVersionKind<'a>),
}

impl<'a> ResponseWriter<'a> {
    /// `GroupVersionKind.providers`.
    pub(super) fn providers_of_api(
        &mut self,
        api: InCatalog<'a, GroupVersionKind<'_>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let channel_head = arguments(field).get("channelHead").as_bool();
        let provides = Some(ApiFilter::from(api.item));
        let filter = BundleFilter {
            provides,
            channel_head,
            ..BundleFilter::default()
        };
        let places = api
            .served
            .content
            .catalog
            .find_bundles(&filter, self.work)?;
        self.bundles_at(api.served, places, field)
    }

    /// `PackageRequirement.providers`.
    pub(super) fn providers_of_package(
        &mut self,
        required: InCatalog<'a, PackageRequirement<'_>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let PackageRequirement {
            package,
            version_range,
        } = required.item;
        let places =
            required
                .served
                .content
                .catalog
                .bundles_in_range(package, version_range, self.work)?;
        self.bundles_at(required.served, places, field)
    }

    /// `Requirement.constraint`.
    pub(super) fn constraint_of(
        &mut self,
        requirement: InCatalog<'a, &Requirement<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let single = match &requirement.item.rule {
            RequirementRule::Constraint(constraint) => {
                return self
                    .object::<InCatalog<'a, &Constraint<'_>>>(requirement.with(constraint), field);
            }
            RequirementRule::Package(required) => Some(SingleConstraint::Package(*required)),
            RequirementRule::Api(api) => Some(SingleConstraint::Api(*api)),
            RequirementRule::Label(_) | RequirementRule::Malformed => None,
        };
        self.optional_object(single.map(|single| requirement.with(single)), field)
    }
}

impl<'a> Object<'a> for InCatalog<'a, &Requirement<'a>> {
    type Field = RequirementField;

    fn write(
        self,
        name: RequirementField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Requirement {
            property_type,
            rule,
        } = self.item;
        match name {
            RequirementField::PropertyType => writer.string(property_type),
            RequirementField::Text => writer.string(&rule.to_string()),
            RequirementField::Constraint => return writer.constraint_of(self, field),
            RequirementField::Label => {
                let label = if let RequirementRule::Label(label) = rule {
                    Some(&**label)
                } else {
                    None
                };
                writer.optional_string(label);
            }
            RequirementField::Providers => {
                if let Some(places) = self
                    .served
                    .content
                    .catalog
                    .bundles_meeting(rule, writer.work)?
                {
                    return writer.bundles_at(self.served, places, field);
                }
                writer.null();
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, SingleConstraint<'a>> {
    type Field = ConstraintField;

    fn write(
        self,
        name: ConstraintField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match (name, self.item) {
            (ConstraintField::Package, SingleConstraint::Package(required)) => {
                writer.object(self.with(required), field)
            }
            (ConstraintField::Gvk, SingleConstraint::Api(api)) => {
                writer.object(self.with(api), field)
            }
            _ => {
                writer.null();
                Ok(())
            }
        }
    }
}
