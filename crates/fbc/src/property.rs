//! Properties: the typed values that packages, channels and bundles carry.

use fbc_read::json::JsonValue;

use crate::catalog::Catalog;
use crate::constraint::Constraint;
use crate::gvk::GroupVersionKind;
use crate::ids::{IdRange, ids};
use crate::names::Name;
use crate::record::{Payload, PropertyRecord};
use crate::{constraint, go_types};

/// A typed value that a catalog attaches to a package, a channel or a bundle.
#[derive(Clone, Copy)]
pub struct Property<'a> {
    catalog: &'a Catalog,
    /// Id of its blob.
    meta: u32,
    id: u32,
}

/// Decoded value of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind<'a> {
    /// An `olm.package`: the identity of a bundle.
    Package {
        /// Name of the package.
        package: &'a str,
        /// Version as written, possibly malformed.
        version: &'a str,
        /// Release as written, possibly malformed.
        release: Option<&'a str>,
    },
    /// An `olm.package.required`.
    PackageRequired(PackageRequirement<'a>),
    /// An `olm.gvk`.
    Gvk(GroupVersionKind<'a>),
    /// An `olm.gvk.required`.
    GvkRequired(GroupVersionKind<'a>),
    /// An `olm.constraint`; [`Property::constraint`] reads it.
    Constraint,
    /// An `olm.bundle.object`; its value is an object whose `data` is base64.
    BundleObject,
    /// An `olm.csv.metadata`; its value is an object.
    CsvMetadata,
    /// An `olm.maxOpenShiftVersion`, without quotes.
    MaxOpenShiftVersion(&'a str),
    /// A property of any other type, or one whose value is malformed.
    Opaque,
}

/// A package that a bundle requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackageRequirement<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Range of acceptable versions as written, possibly malformed.
    pub version_range: &'a str,
}

impl<'a> Property<'a> {
    /// Returns the type, such as `olm.gvk`.
    pub fn type_name(self) -> &'a str {
        self.name(self.record().type_name)
    }

    /// Returns the value; `None` only when the property has none.
    pub fn value(self) -> Option<JsonValue<'a>> {
        let span = self.record().value;
        (!span.is_none()).then(|| JsonValue::new(self.catalog.index.slice(self.meta, span)))
    }

    /// Decodes the value by the type of the property.
    pub fn kind(self) -> PropertyKind<'a> {
        let names = &self.catalog.index.names;
        match self.record().payload.get() {
            Payload::Package(id) => {
                let record = self.catalog.index.requirements[id as usize];
                PropertyKind::Package {
                    package: names.get(record.package),
                    version: names.get(record.range),
                    release: names.get_optional(record.release),
                }
            }
            Payload::PackageRequired(id) => {
                let record = self.catalog.index.requirements[id as usize];
                PropertyKind::PackageRequired(PackageRequirement {
                    package: names.get(record.package),
                    version_range: names.get(record.range),
                })
            }
            Payload::Gvk(id) => PropertyKind::Gvk(self.gvk(id)),
            Payload::GvkRequired(id) => PropertyKind::GvkRequired(self.gvk(id)),
            Payload::Constraint => PropertyKind::Constraint,
            Payload::BundleObject => PropertyKind::BundleObject,
            Payload::CsvMetadata => PropertyKind::CsvMetadata,
            Payload::MaxOpenShiftVersion(version) => {
                PropertyKind::MaxOpenShiftVersion(names.get(version))
            }
            Payload::Opaque => PropertyKind::Opaque,
        }
    }

    /// Reads the condition of an `olm.constraint` from the line; `None` for other types and
    /// malformed values.
    pub fn constraint(self) -> Option<Constraint<'a>> {
        match self.record().payload.get() {
            Payload::Constraint => constraint::decode(self.value()?.raw()),
            _ => None,
        }
    }

    /// Returns Go's message for a value that cannot be decoded as `olm.package`; `None` if it can.
    pub fn package_mismatch(self) -> Option<String> {
        match self.value() {
            None => Some(go_types::VALUE_MISSING.to_owned()),
            Some(value) => go_types::find_mismatch(JsonValue::new(value.raw()), go_types::PACKAGE),
        }
    }

    pub(super) fn payload(self) -> Payload {
        self.record().payload.get()
    }

    /// Returns its id, its index among all properties of the catalog.
    pub(super) fn place(self) -> u32 {
        self.id
    }

    fn gvk(self, id: u32) -> GroupVersionKind<'a> {
        let record = self.catalog.index.gvks[id as usize];
        GroupVersionKind {
            group: self.name(record.group),
            version: self.name(record.version),
            kind: self.name(record.kind),
        }
    }

    fn name(self, name: Name) -> &'a str {
        self.catalog.index.names.get(name)
    }

    fn record(self) -> &'a PropertyRecord {
        &self.catalog.index.properties[self.id as usize]
    }
}

pub(crate) fn properties(
    catalog: &Catalog,
    meta: u32,
    range: IdRange,
) -> impl ExactSizeIterator<Item = Property<'_>> + use<'_> {
    ids(range).map(move |id| Property { catalog, meta, id })
}
