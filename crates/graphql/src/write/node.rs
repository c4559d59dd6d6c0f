//! Objects by their global ids.

use fbc::catalog::{Bundle, Channel, Package};
use serving::Snapshot;

use super::catalog::CatalogObject;
use super::{Field, In, Outcome, Writer};
use crate::key::{Key, Tag};

/// An object that has a global id: the interface `Node`.
#[derive(Clone, Copy)]
pub(super) enum NodeObject<'a> {
    Catalog(CatalogObject<'a>),
    Package(In<'a, Package<'a>>),
    Channel(In<'a, Channel<'a>>),
    Bundle(In<'a, Bundle<'a>>),
}

/// The object of an id; nothing when it no longer exists or the id is none.
pub(super) fn find<'a>(snapshot: &'a Snapshot, id: &str) -> Option<NodeObject<'a>> {
    let key = Key::read(id)?;
    if let Some([name]) = key.parts(Tag::CATALOG) {
        return Some(NodeObject::Catalog(CatalogObject(snapshot.get(name?)?)));
    }
    let package = |catalog: Option<&str>, name: Option<&str>| In::package(snapshot.get(catalog?)?, name?);
    if let Some([catalog, name]) = key.parts(Tag::PACKAGE) {
        return package(catalog, name).map(NodeObject::Package);
    }
    if let Some([catalog, name, channel]) = key.parts(Tag::CHANNEL) {
        let package = package(catalog, name)?;
        return Some(NodeObject::Channel(package.with(package.it.channel(channel?)?)));
    }
    let [catalog, name, bundle] = key.parts(Tag::BUNDLE)?;
    let package = package(catalog, name)?;
    Some(NodeObject::Bundle(package.with(package.it.bundle(bundle?)?)))
}

impl<'a> NodeObject<'a> {
    /// Writes the object as the value of a field, or as an element of its list.
    pub(super) fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match self {
            Self::Catalog(catalog) => to.of_type(catalog, field),
            Self::Package(package) => to.of_type(package, field),
            Self::Channel(channel) => to.of_type(channel, field),
            Self::Bundle(bundle) => to.of_type(bundle, field),
        }
    }
}
