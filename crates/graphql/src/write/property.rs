//! `Property` and every type that implements it.

use fbc::catalog::{Constraint, GroupVersionKind, JsonValue, PackageRequirement, Property, PropertyKind};

use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{
    BundleObjectPropertyField, ConstraintPropertyField, CsvMetadataPropertyField, GvkPropertyField,
    GvkRequiredPropertyField, MaxOpenShiftVersionPropertyField, OpaquePropertyField, PackagePropertyField,
    PackageRequiredPropertyField,
};

/// A property with its content. The Rust type of the content selects the type of the schema.
#[derive(Clone, Copy)]
struct PropertyObject<'p, T> {
    property: Property<'p>,
    content: T,
}

/// Content of an `olm.package`.
#[derive(Clone, Copy)]
struct PackageVersion<'p> {
    package: &'p str,
    version: &'p str,
    release: Option<&'p str>,
}

/// Content of an `olm.gvk`.
#[derive(Clone, Copy)]
struct ProvidedApi<'p>(GroupVersionKind<'p>);

/// Content of an `olm.gvk.required`.
#[derive(Clone, Copy)]
struct RequiredApi<'p>(GroupVersionKind<'p>);

/// Content of an `olm.maxOpenShiftVersion`.
#[derive(Clone, Copy)]
struct MaxOpenShiftVersion<'p>(&'p str);

/// Content of an `olm.bundle.object`, decoded when a field needs it.
#[derive(Clone, Copy)]
struct BundleObjectContent;

/// Content of an `olm.csv.metadata`, read when a field needs it.
#[derive(Clone, Copy)]
struct CsvMetadataContent;

/// Content of an unknown type, or malformed content.
#[derive(Clone, Copy)]
struct OpaqueContent;

impl<'a> ResponseWriter<'a> {
    /// Writes the properties that match the argument `types` of a field.
    pub(super) fn properties(
        &mut self,
        properties: impl Iterator<Item = Property<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let types = arguments(field).strings("types");
        let properties = properties.filter(|property| types.is_none_or(|types| types.contains(property.type_name())));
        self.list(properties, field, |writer, property| writer.property(property, field))
    }

    /// Writes a property as the schema type of its kind.
    fn property(&mut self, property: Property<'a>, field: &'a PlannedField<'a>) -> WriteResult {
        match property.kind() {
            PropertyKind::Package { package, version, release } => {
                self.property_object(property, PackageVersion { package, version, release }, field)
            }
            PropertyKind::PackageRequired(requirement) => self.property_object(property, requirement, field),
            PropertyKind::Gvk(gvk) => self.property_object(property, ProvidedApi(gvk), field),
            PropertyKind::GvkRequired(gvk) => self.property_object(property, RequiredApi(gvk), field),
            PropertyKind::Constraint => match property.constraint() {
                Some(constraint) => self.property_object(property, &constraint, field),
                None => self.property_object(property, OpaqueContent, field),
            },
            PropertyKind::BundleObject => self.property_object(property, BundleObjectContent, field),
            PropertyKind::CsvMetadata => self.property_object(property, CsvMetadataContent, field),
            PropertyKind::MaxOpenShiftVersion(version) => {
                self.property_object(property, MaxOpenShiftVersion(version), field)
            }
            PropertyKind::Opaque => self.property_object(property, OpaqueContent, field),
        }
    }

    fn property_object<'p, T>(&mut self, property: Property<'p>, content: T, field: &'a PlannedField<'a>) -> WriteResult
    where
        PropertyObject<'p, T>: Object<'a>,
    {
        self.complete_object(PropertyObject { property, content }, field)
    }

    fn property_value(&mut self, property: Property<'_>, field: &'a PlannedField<'a>) -> WriteResult {
        self.json_at_pointer(property.value().map(JsonValue::raw), field)
    }
}

impl<'a> Object<'a> for PropertyObject<'_, PackageVersion<'_>> {
    type Field = PackagePropertyField;

    fn write(
        self,
        name: PackagePropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackagePropertyField::Type => writer.string(self.property.type_name()),
            PackagePropertyField::Value => return writer.property_value(self.property, field),
            PackagePropertyField::PackageName => writer.string(self.content.package),
            PackagePropertyField::Version => writer.string(self.content.version),
            PackagePropertyField::Release => writer.optional_string(self.content.release),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, PackageRequirement<'_>> {
    type Field = PackageRequiredPropertyField;

    fn write(
        self,
        name: PackageRequiredPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageRequiredPropertyField::Type => writer.string(self.property.type_name()),
            PackageRequiredPropertyField::Value => return writer.property_value(self.property, field),
            PackageRequiredPropertyField::Requirement => return writer.object(self.content, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, ProvidedApi<'_>> {
    type Field = GvkPropertyField;

    fn write(
        self,
        name: GvkPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GvkPropertyField::Type => writer.string(self.property.type_name()),
            GvkPropertyField::Value => return writer.property_value(self.property, field),
            GvkPropertyField::Gvk => return writer.object(self.content.0, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, RequiredApi<'_>> {
    type Field = GvkRequiredPropertyField;

    fn write(
        self,
        name: GvkRequiredPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GvkRequiredPropertyField::Type => writer.string(self.property.type_name()),
            GvkRequiredPropertyField::Value => return writer.property_value(self.property, field),
            GvkRequiredPropertyField::Gvk => return writer.object(self.content.0, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, &Constraint<'_>> {
    type Field = ConstraintPropertyField;

    fn write(
        self,
        name: ConstraintPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ConstraintPropertyField::Type => writer.string(self.property.type_name()),
            ConstraintPropertyField::Value => return writer.property_value(self.property, field),
            ConstraintPropertyField::Constraint => return writer.object(self.content, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, BundleObjectContent> {
    type Field = BundleObjectPropertyField;

    fn write(
        self,
        name: BundleObjectPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            BundleObjectPropertyField::Type => writer.string(self.property.type_name()),
            BundleObjectPropertyField::Value => return writer.property_value(self.property, field),
            BundleObjectPropertyField::Object => {
                let object = self.property.value().and_then(|value| writer.manifests.decode(value.raw()));
                writer.draw_decoded()?;
                return writer.json_at_pointer(object.as_deref(), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, CsvMetadataContent> {
    type Field = CsvMetadataPropertyField;

    fn write(
        self,
        name: CsvMetadataPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            CsvMetadataPropertyField::Type => writer.string(self.property.type_name()),
            CsvMetadataPropertyField::Value => return writer.property_value(self.property, field),
            CsvMetadataPropertyField::Metadata => {
                return writer.optional_object(self.property.metadata().as_ref(), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, MaxOpenShiftVersion<'_>> {
    type Field = MaxOpenShiftVersionPropertyField;

    fn write(
        self,
        name: MaxOpenShiftVersionPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MaxOpenShiftVersionPropertyField::Type => writer.string(self.property.type_name()),
            MaxOpenShiftVersionPropertyField::Value => return writer.property_value(self.property, field),
            MaxOpenShiftVersionPropertyField::Version => writer.string(self.content.0),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, OpaqueContent> {
    type Field = OpaquePropertyField;

    fn write(
        self,
        name: OpaquePropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            OpaquePropertyField::Type => writer.string(self.property.type_name()),
            OpaquePropertyField::Value => return writer.property_value(self.property, field),
        }
        Ok(())
    }
}
