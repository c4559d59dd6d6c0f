//! The interface `Node`: objects by their global ids.

use fbc::catalog::{Bundle, Channel, Package};
use serving::Snapshot;

use super::catalog::CatalogObject;
use super::{InCatalog, PlannedField, ResponseWriter, WriteResult};
use crate::opaque_key::{KeyTag, OpaqueKey};

/// An object that has a global id: the interface `Node`.
#[derive(Clone, Copy)]
pub(super) enum NodeObject<'a> {
    Catalog(CatalogObject<'a>),
    Package(InCatalog<'a, Package<'a>>),
    Channel(InCatalog<'a, Channel<'a>>),
    Bundle(InCatalog<'a, Bundle<'a>>),
}

/// Finds the object of an id; `None` if it no longer exists or the id is malformed.
pub(super) fn find<'a>(snapshot: &'a Snapshot, id: &str) -> Option<NodeObject<'a>> {
    let key = OpaqueKey::decode(id)?;
    if let Some([name]) = key.parts(KeyTag::CATALOG) {
        return Some(NodeObject::Catalog(CatalogObject(snapshot.get(name?)?)));
    }
    let package = |catalog: Option<&str>, name: Option<&str>| InCatalog::package(snapshot.get(catalog?)?, name?);
    if let Some([catalog, name]) = key.parts(KeyTag::PACKAGE) {
        return package(catalog, name).map(NodeObject::Package);
    }
    if let Some([catalog, name, channel]) = key.parts(KeyTag::CHANNEL) {
        let package = package(catalog, name)?;
        return Some(NodeObject::Channel(package.with(package.item.channel(channel?)?)));
    }
    let [catalog, name, bundle] = key.parts(KeyTag::BUNDLE)?;
    let package = package(catalog, name)?;
    Some(NodeObject::Bundle(package.with(package.item.bundle(bundle?)?)))
}

impl<'a> NodeObject<'a> {
    /// Writes the object as the value of a field, or as an element of its list.
    pub(super) fn write(self, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match self {
            Self::Catalog(catalog) => writer.complete_object(catalog, field),
            Self::Package(package) => writer.complete_object(package, field),
            Self::Channel(channel) => writer.complete_object(channel, field),
            Self::Bundle(bundle) => writer.complete_object(bundle, field),
        }
    }
}
