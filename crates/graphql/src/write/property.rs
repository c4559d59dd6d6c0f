//! `Property` and every type that implements it.

use fbc::catalog::{Constraint, JsonValue, Property, PropertyKind};

use super::{Field, Object, Outcome, Writer, arguments};

/// A property with what it says.
struct PropertyObject<'a> {
    property: Property<'a>,
    kind: PropertyKind<'a>,
    /// What an `olm.constraint` demands.
    constraint: Option<Constraint<'a>>,
}

impl<'a> Writer<'a> {
    /// Writes properties, those of the types that a field asks for.
    pub(super) fn properties(
        &mut self,
        properties: impl Iterator<Item = Property<'a>>,
        field: &'a Field<'a>,
    ) -> Outcome {
        let wanted = arguments(field).texts("types");
        let properties =
            properties.filter(|property| wanted.is_none_or(|wanted| wanted.contains(property.type_name())));
        self.each(properties, field, |to, property| to.of_type(&PropertyObject::new(property), field))
    }
}

impl<'a> PropertyObject<'a> {
    /// Reads a property as far as its type needs; what is malformed is opaque.
    fn new(property: Property<'a>) -> Self {
        let (kind, constraint) = match property.kind() {
            PropertyKind::Constraint => match property.constraint() {
                Some(constraint) => (PropertyKind::Constraint, Some(constraint)),
                None => (PropertyKind::Opaque, None),
            },
            kind => (kind, None),
        };
        Self { property, kind, constraint }
    }
}

impl<'a> Object<'a> for &PropertyObject<'_> {
    fn type_name(self) -> &'static str {
        match self.kind {
            PropertyKind::Package { .. } => "PackageProperty",
            PropertyKind::PackageRequired(_) => "PackageRequiredProperty",
            PropertyKind::Gvk(_) => "GvkProperty",
            PropertyKind::GvkRequired(_) => "GvkRequiredProperty",
            PropertyKind::Constraint => "ConstraintProperty",
            PropertyKind::BundleObject => "BundleObjectProperty",
            PropertyKind::MaxOpenShiftVersion(_) => "MaxOpenShiftVersionProperty",
            PropertyKind::CsvMetadata => "CsvMetadataProperty",
            PropertyKind::Opaque => "OpaqueProperty",
        }
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match (field.name, self.kind) {
            ("type", _) => to.text(self.property.type_name()),
            ("value", _) => return to.part(self.property.value().map(JsonValue::raw), field),
            ("packageName", PropertyKind::Package { package, .. }) => to.text(package),
            ("version", PropertyKind::Package { version, .. } | PropertyKind::MaxOpenShiftVersion(version)) => {
                to.text(version);
            }
            ("release", PropertyKind::Package { release, .. }) => to.maybe_text(release),
            ("requirement", PropertyKind::PackageRequired(requirement)) => return to.one(requirement, field),
            ("gvk", PropertyKind::Gvk(gvk) | PropertyKind::GvkRequired(gvk)) => return to.one(gvk, field),
            ("constraint", PropertyKind::Constraint) => return to.maybe(self.constraint.as_ref(), field),
            ("metadata", PropertyKind::CsvMetadata) => return to.maybe(self.property.metadata().as_ref(), field),
            ("object", PropertyKind::BundleObject) => {
                let object = self.property.value().and_then(|value| to.manifests.decode(value.raw()));
                to.count_decoded()?;
                return to.part(object.as_deref(), field);
            }
            _ => return to.unknown(field),
        }
        Ok(())
    }
}
