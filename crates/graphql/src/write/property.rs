//! `Property` and every type that implements it.

use fbc::catalog::{Constraint, GroupVersionKind, JsonValue, PackageRequirement, Property, PropertyKind};

use super::{Field, Object, Outcome, Writer, arguments};
use crate::fields::{
    BundleObjectPropertyField, ConstraintPropertyField, CsvMetadataPropertyField, GvkPropertyField,
    GvkRequiredPropertyField, MaxOpenShiftVersionPropertyField, OpaquePropertyField, PackagePropertyField,
    PackageRequiredPropertyField,
};

/// A property with its content, whose Rust type stands for one type of the schema.
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
struct BundleObject;

/// Content of an `olm.csv.metadata`, read when a field needs it.
#[derive(Clone, Copy)]
struct Metadata;

/// Content of an unknown type, or malformed content.
#[derive(Clone, Copy)]
struct Opaque;

impl<'a> Writer<'a> {
    /// Writes the properties of the types that a field selects.
    pub(super) fn properties(
        &mut self,
        properties: impl Iterator<Item = Property<'a>>,
        field: &'a Field<'a>,
    ) -> Outcome {
        let types = arguments(field).texts("types");
        let properties = properties.filter(|property| types.is_none_or(|types| types.contains(property.type_name())));
        self.each(properties, field, |to, property| to.property(property, field))
    }

    /// Writes a property as the type of its kind.
    fn property(&mut self, property: Property<'a>, field: &'a Field<'a>) -> Outcome {
        match property.kind() {
            PropertyKind::Package { package, version, release } => {
                self.property_object(property, PackageVersion { package, version, release }, field)
            }
            PropertyKind::PackageRequired(requirement) => self.property_object(property, requirement, field),
            PropertyKind::Gvk(gvk) => self.property_object(property, ProvidedApi(gvk), field),
            PropertyKind::GvkRequired(gvk) => self.property_object(property, RequiredApi(gvk), field),
            PropertyKind::Constraint => match property.constraint() {
                Some(constraint) => self.property_object(property, &constraint, field),
                None => self.property_object(property, Opaque, field),
            },
            PropertyKind::BundleObject => self.property_object(property, BundleObject, field),
            PropertyKind::CsvMetadata => self.property_object(property, Metadata, field),
            PropertyKind::MaxOpenShiftVersion(version) => {
                self.property_object(property, MaxOpenShiftVersion(version), field)
            }
            PropertyKind::Opaque => self.property_object(property, Opaque, field),
        }
    }

    fn property_object<'p, T>(&mut self, property: Property<'p>, content: T, field: &'a Field<'a>) -> Outcome
    where
        PropertyObject<'p, T>: Object<'a>,
    {
        self.of_type(PropertyObject { property, content }, field)
    }

    fn property_value(&mut self, property: Property<'_>, field: &'a Field<'a>) -> Outcome {
        self.part(property.value().map(JsonValue::raw), field)
    }
}

impl<'a> Object<'a> for PropertyObject<'_, PackageVersion<'_>> {
    type Field = PackagePropertyField;

    fn write(self, name: PackagePropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            PackagePropertyField::Type => to.text(self.property.type_name()),
            PackagePropertyField::Value => return to.property_value(self.property, field),
            PackagePropertyField::PackageName => to.text(self.content.package),
            PackagePropertyField::Version => to.text(self.content.version),
            PackagePropertyField::Release => to.maybe_text(self.content.release),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, PackageRequirement<'_>> {
    type Field = PackageRequiredPropertyField;

    fn write(self, name: PackageRequiredPropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            PackageRequiredPropertyField::Type => to.text(self.property.type_name()),
            PackageRequiredPropertyField::Value => return to.property_value(self.property, field),
            PackageRequiredPropertyField::Requirement => return to.one(self.content, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, ProvidedApi<'_>> {
    type Field = GvkPropertyField;

    fn write(self, name: GvkPropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            GvkPropertyField::Type => to.text(self.property.type_name()),
            GvkPropertyField::Value => return to.property_value(self.property, field),
            GvkPropertyField::Gvk => return to.one(self.content.0, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, RequiredApi<'_>> {
    type Field = GvkRequiredPropertyField;

    fn write(self, name: GvkRequiredPropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            GvkRequiredPropertyField::Type => to.text(self.property.type_name()),
            GvkRequiredPropertyField::Value => return to.property_value(self.property, field),
            GvkRequiredPropertyField::Gvk => return to.one(self.content.0, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, &Constraint<'_>> {
    type Field = ConstraintPropertyField;

    fn write(self, name: ConstraintPropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            ConstraintPropertyField::Type => to.text(self.property.type_name()),
            ConstraintPropertyField::Value => return to.property_value(self.property, field),
            ConstraintPropertyField::Constraint => return to.one(self.content, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, BundleObject> {
    type Field = BundleObjectPropertyField;

    fn write(self, name: BundleObjectPropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            BundleObjectPropertyField::Type => to.text(self.property.type_name()),
            BundleObjectPropertyField::Value => return to.property_value(self.property, field),
            BundleObjectPropertyField::Object => {
                let object = self.property.value().and_then(|value| to.manifests.decode(value.raw()));
                to.count_decoded()?;
                return to.part(object.as_deref(), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, Metadata> {
    type Field = CsvMetadataPropertyField;

    fn write(self, name: CsvMetadataPropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            CsvMetadataPropertyField::Type => to.text(self.property.type_name()),
            CsvMetadataPropertyField::Value => return to.property_value(self.property, field),
            CsvMetadataPropertyField::Metadata => return to.maybe(self.property.metadata().as_ref(), field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, MaxOpenShiftVersion<'_>> {
    type Field = MaxOpenShiftVersionPropertyField;

    fn write(self, name: MaxOpenShiftVersionPropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            MaxOpenShiftVersionPropertyField::Type => to.text(self.property.type_name()),
            MaxOpenShiftVersionPropertyField::Value => return to.property_value(self.property, field),
            MaxOpenShiftVersionPropertyField::Version => to.text(self.content.0),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'_, Opaque> {
    type Field = OpaquePropertyField;

    fn write(self, name: OpaquePropertyField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            OpaquePropertyField::Type => to.text(self.property.type_name()),
            OpaquePropertyField::Value => return to.property_value(self.property, field),
        }
        Ok(())
    }
}
