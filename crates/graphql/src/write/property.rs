//! `Property` and every type that implements it.

use fbc::{
    Bundle, Channel, Constraint, GroupVersionKind, Package, PackageRequirement, Property,
    PropertyKind,
};
use fbc_read::json::JsonValue;

use super::metadata::MetadataId;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{
    BundleObjectPropertyField, ConstraintPropertyField, CsvMetadataPropertyField, GvkPropertyField,
    GvkRequiredPropertyField, MaxOpenShiftVersionPropertyField, OpaquePropertyField,
    PackagePropertyField, PackageRequiredPropertyField,
};

/// Owner of properties.
#[derive(Clone, Copy)]
pub(super) enum PropertyOwner<'a> {
    Package(Package<'a>),
    Channel(Channel<'a>),
    Bundle(Bundle<'a>),
}

/// A property of an object, by its index.
#[derive(Clone, Copy)]
struct OwnProperty<'a> {
    owner: InCatalog<'a, PropertyOwner<'a>>,
    index: usize,
    property: Property<'a>,
}

/// A property with its content. The Rust type of the content selects the type of the schema.
#[derive(Clone, Copy)]
struct PropertyObject<'a, T> {
    own: OwnProperty<'a>,
    content: T,
}

impl<'a> PropertyOwner<'a> {
    /// Iterates over its properties, in catalog order.
    pub(super) fn properties(self) -> impl Iterator<Item = Property<'a>> {
        let (package, channel, bundle) = match self {
            Self::Package(package) => (Some(package.properties()), None, None),
            Self::Channel(channel) => (None, Some(channel.properties()), None),
            Self::Bundle(bundle) => (None, None, Some(bundle.properties())),
        };
        package
            .into_iter()
            .flatten()
            .chain(channel.into_iter().flatten())
            .chain(bundle.into_iter().flatten())
    }

    /// Returns the id of the metadata of a property. The first one of a bundle is its display
    /// metadata.
    pub(super) fn metadata_id(self, index: usize) -> MetadataId<'a> {
        let property = Some(index);
        match self {
            Self::Package(package) => MetadataId {
                package: package.name(),
                channel: None,
                bundle: None,
                property,
            },
            Self::Channel(channel) => MetadataId {
                package: channel.package().name(),
                channel: Some(channel.name()),
                bundle: None,
                property,
            },
            Self::Bundle(bundle) => {
                let is_first = bundle
                    .properties()
                    .position(|property| property.metadata().is_some())
                    == property;
                MetadataId {
                    property: property.filter(|_| !is_first),
                    ..MetadataId::from_bundle(bundle)
                }
            }
        }
    }
}

impl<'a> OwnProperty<'a> {
    /// Returns another item of the catalog that the property is in.
    fn with<U>(self, item: U) -> InCatalog<'a, U> {
        self.owner.with(item)
    }
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
        owner: InCatalog<'a, PropertyOwner<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let types = arguments(field).strings("types");
        let all = owner
            .item
            .properties()
            .enumerate()
            .map(|(index, property)| OwnProperty {
                owner,
                index,
                property,
            });
        let chosen =
            all.filter(|own| types.is_none_or(|types| types.contains(own.property.type_name())));
        self.list(chosen, field, |writer, own| writer.property(own, field))
    }

    /// Writes a property as the schema type of its kind.
    fn property(&mut self, own: OwnProperty<'a>, field: &'a PlannedField<'a>) -> WriteResult {
        match own.property.kind() {
            PropertyKind::Package {
                package,
                version,
                release,
            } => self.property_object(
                own,
                PackageVersion {
                    package,
                    version,
                    release,
                },
                field,
            ),
            PropertyKind::PackageRequired(requirement) => {
                self.property_object(own, requirement, field)
            }
            PropertyKind::Gvk(gvk) => self.property_object(own, ProvidedApi(gvk), field),
            PropertyKind::GvkRequired(gvk) => self.property_object(own, RequiredApi(gvk), field),
            PropertyKind::Constraint => match own.property.constraint() {
                Some(constraint) => self.property_object(own, &constraint, field),
                None => self.property_object(own, OpaqueContent, field),
            },
            PropertyKind::BundleObject => self.property_object(own, BundleObjectContent, field),
            PropertyKind::CsvMetadata => self.property_object(own, CsvMetadataContent, field),
            PropertyKind::MaxOpenShiftVersion(version) => {
                self.property_object(own, MaxOpenShiftVersion(version), field)
            }
            PropertyKind::Opaque => self.property_object(own, OpaqueContent, field),
        }
    }

    fn property_object<T>(
        &mut self,
        own: OwnProperty<'a>,
        content: T,
        field: &'a PlannedField<'a>,
    ) -> WriteResult
    where
        PropertyObject<'a, T>: Object<'a>,
    {
        self.complete_object(PropertyObject { own, content }, field)
    }

    fn property_value(
        &mut self,
        property: Property<'_>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.json_at_pointer(property.value().map(JsonValue::raw), field)
    }
}

impl<'a> Object<'a> for PropertyObject<'a, PackageVersion<'_>> {
    type Field = PackagePropertyField;

    fn write(
        self,
        name: PackagePropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackagePropertyField::Type => writer.string(self.own.property.type_name()),
            PackagePropertyField::Value => return writer.property_value(self.own.property, field),
            PackagePropertyField::PackageName => writer.string(self.content.package),
            PackagePropertyField::Version => writer.string(self.content.version),
            PackagePropertyField::Release => writer.optional_string(self.content.release),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, PackageRequirement<'_>> {
    type Field = PackageRequiredPropertyField;

    fn write(
        self,
        name: PackageRequiredPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageRequiredPropertyField::Type => writer.string(self.own.property.type_name()),
            PackageRequiredPropertyField::Value => {
                return writer.property_value(self.own.property, field);
            }
            PackageRequiredPropertyField::Requirement => {
                return writer.object(self.own.with(self.content), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, ProvidedApi<'_>> {
    type Field = GvkPropertyField;

    fn write(
        self,
        name: GvkPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GvkPropertyField::Type => writer.string(self.own.property.type_name()),
            GvkPropertyField::Value => return writer.property_value(self.own.property, field),
            GvkPropertyField::Gvk => return writer.object(self.own.with(self.content.0), field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, RequiredApi<'_>> {
    type Field = GvkRequiredPropertyField;

    fn write(
        self,
        name: GvkRequiredPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GvkRequiredPropertyField::Type => writer.string(self.own.property.type_name()),
            GvkRequiredPropertyField::Value => {
                return writer.property_value(self.own.property, field);
            }
            GvkRequiredPropertyField::Gvk => {
                return writer.object(self.own.with(self.content.0), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, &Constraint<'_>> {
    type Field = ConstraintPropertyField;

    fn write(
        self,
        name: ConstraintPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ConstraintPropertyField::Type => writer.string(self.own.property.type_name()),
            ConstraintPropertyField::Value => {
                return writer.property_value(self.own.property, field);
            }
            ConstraintPropertyField::Constraint => {
                return writer.object(self.own.with(self.content), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, BundleObjectContent> {
    type Field = BundleObjectPropertyField;

    fn write(
        self,
        name: BundleObjectPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            BundleObjectPropertyField::Type => writer.string(self.own.property.type_name()),
            BundleObjectPropertyField::Value => {
                return writer.property_value(self.own.property, field);
            }
            BundleObjectPropertyField::Object => {
                let object = self
                    .own
                    .property
                    .value()
                    .and_then(|value| writer.manifests.decode(value.raw()));
                writer.draw_decoded()?;
                return writer.json_at_pointer(object.as_deref(), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, CsvMetadataContent> {
    type Field = CsvMetadataPropertyField;

    fn write(
        self,
        name: CsvMetadataPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            CsvMetadataPropertyField::Type => writer.string(self.own.property.type_name()),
            CsvMetadataPropertyField::Value => {
                return writer.property_value(self.own.property, field);
            }
            CsvMetadataPropertyField::Metadata => {
                let OwnProperty {
                    owner,
                    index,
                    property,
                } = self.own;
                let metadata = property.metadata();
                let id = owner.item.metadata_id(index);
                return writer.optional_object(
                    metadata.as_ref().map(|metadata| owner.with((metadata, id))),
                    field,
                );
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, MaxOpenShiftVersion<'_>> {
    type Field = MaxOpenShiftVersionPropertyField;

    fn write(
        self,
        name: MaxOpenShiftVersionPropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MaxOpenShiftVersionPropertyField::Type => writer.string(self.own.property.type_name()),
            MaxOpenShiftVersionPropertyField::Value => {
                return writer.property_value(self.own.property, field);
            }
            MaxOpenShiftVersionPropertyField::Version => writer.string(self.content.0),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PropertyObject<'a, OpaqueContent> {
    type Field = OpaquePropertyField;

    fn write(
        self,
        name: OpaquePropertyField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            OpaquePropertyField::Type => writer.string(self.own.property.type_name()),
            OpaquePropertyField::Value => return writer.property_value(self.own.property, field),
        }
        Ok(())
    }
}
