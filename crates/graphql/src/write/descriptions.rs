//! `CrdDescription`, `ApiServiceDescription`, `ResourceReference` and `FieldDescriptor`: APIs as
//! described to users.

use fbc::work::Step;
use fbc::{ApiServiceDescription, CrdDescription, CsvMetadata, FieldDescriptor, ResourceReference};

use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{
    ApiServiceDescriptionField, CrdDescriptionField, FieldDescriptorField, ResourceReferenceField,
};

/// The type `CrdDescription`, with the metadata that it is from.
#[derive(Clone, Copy)]
pub(super) struct CrdObject<'m> {
    pub(super) metadata: &'m CsvMetadata<'m>,
    pub(super) crd: CrdDescription<'m>,
}

impl CrdObject<'_> {
    /// Returns whether the definition is one of those that users should not see.
    fn is_internal(self) -> bool {
        let name = self.crd.name.decode();
        self.metadata
            .internal_objects()
            .iter()
            .any(|internal| **internal == *name)
    }
}

impl<'a> Object<'a> for CrdObject<'_> {
    type Field = CrdDescriptionField;

    fn write(
        self,
        name: CrdDescriptionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self { metadata, crd } = self;
        match name {
            CrdDescriptionField::Name => return writer.json(crd.name.raw()),
            CrdDescriptionField::Version => return writer.json(crd.version.raw()),
            CrdDescriptionField::Kind => return writer.json(crd.kind.raw()),
            CrdDescriptionField::DisplayName => {
                return writer.optional_json_string(crd.display_name);
            }
            CrdDescriptionField::Description => {
                return writer.optional_json_string(crd.description);
            }
            CrdDescriptionField::IsInternal => {
                writer.work.draw(Step::JsonByte, metadata.label_bytes())?;
                writer.boolean(self.is_internal());
                return Ok(());
            }
            CrdDescriptionField::Resources
            | CrdDescriptionField::SpecDescriptors
            | CrdDescriptionField::StatusDescriptors => {
                writer.work.draw(Step::JsonByte, 2 * crd.bytes())?;
            }
        }
        match name {
            CrdDescriptionField::Resources => writer.object_list(crd.resources(), field),
            CrdDescriptionField::SpecDescriptors => {
                writer.object_list(&crd.spec_descriptors(), field)
            }
            _ => writer.object_list(&crd.status_descriptors(), field),
        }
    }
}

impl<'a> Object<'a> for ApiServiceDescription<'_> {
    type Field = ApiServiceDescriptionField;

    fn write(
        self,
        name: ApiServiceDescriptionField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ApiServiceDescriptionField::Name => writer.json(self.name.raw()),
            ApiServiceDescriptionField::Group => writer.json(self.group.raw()),
            ApiServiceDescriptionField::Version => writer.json(self.version.raw()),
            ApiServiceDescriptionField::Kind => writer.json(self.kind.raw()),
            ApiServiceDescriptionField::DisplayName => {
                writer.optional_json_string(self.display_name)
            }
            ApiServiceDescriptionField::Description => {
                writer.optional_json_string(self.description)
            }
            ApiServiceDescriptionField::DeploymentName => {
                writer.optional_json_string(self.deployment_name)
            }
        }
    }
}

impl<'a> Object<'a> for ResourceReference<'_> {
    type Field = ResourceReferenceField;

    fn write(
        self,
        name: ResourceReferenceField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        writer.json(match name {
            ResourceReferenceField::Name => self.name.raw(),
            ResourceReferenceField::Version => self.version.raw(),
            ResourceReferenceField::Kind => self.kind.raw(),
        })
    }
}

impl<'a> Object<'a> for &FieldDescriptor<'_> {
    type Field = FieldDescriptorField;

    fn write(
        self,
        name: FieldDescriptorField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            FieldDescriptorField::Path => writer.json(self.path.raw()),
            FieldDescriptorField::DisplayName => writer.optional_json_string(self.display_name),
            FieldDescriptorField::Description => writer.optional_json_string(self.description),
            FieldDescriptorField::XDescriptors => {
                writer.json_strings(self.x_descriptors.iter().copied())
            }
        }
    }
}
