//! Objects by their global ids.

use fbc::catalog::{Bundle, Channel, Package};
use serving::Snapshot;

use super::catalog::CatalogObject;
use super::{Field, In, Object, Outcome, Writer};
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

impl<'a> Object<'a> for NodeObject<'a> {
    fn type_name(self) -> &'static str {
        match self {
            Self::Catalog(catalog) => catalog.type_name(),
            Self::Package(package) => package.type_name(),
            Self::Channel(channel) => channel.type_name(),
            Self::Bundle(bundle) => bundle.type_name(),
        }
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match self {
            Self::Catalog(catalog) => catalog.write(field, to),
            Self::Package(package) => package.write(field, to),
            Self::Channel(channel) => channel.write(field, to),
            Self::Bundle(bundle) => bundle.write(field, to),
        }
    }
}
