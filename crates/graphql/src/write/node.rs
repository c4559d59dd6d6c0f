//! The interface `Node`: objects by their global ids.

use fbc::{Bundle, Channel, ChannelEntry, CsvMetadata, Package, Property};
use serving::Snapshot;

use super::catalog::CatalogObject;
use super::icon::IconObject;
use super::metadata::MetadataId;
use super::property::PropertyOwner;
use super::{InCatalog, PlannedField, ResponseWriter, WriteError, WriteResult};
use crate::opaque_key::{KeyTag, OpaqueKey};

/// An object that has a global id: the interface `Node`.
pub(super) enum NodeObject<'a> {
    Catalog(CatalogObject<'a>),
    Package(InCatalog<'a, Package<'a>>),
    Channel(InCatalog<'a, Channel<'a>>),
    Entry(InCatalog<'a, ChannelEntry<'a>>),
    Bundle(InCatalog<'a, Bundle<'a>>),
    Icon(IconObject<'a>),
    Metadata(InCatalog<'a, MetadataId<'a>>, Box<CsvMetadata<'a>>),
}

/// Finds the object of an id; `None` if it no longer exists or the id is malformed.
pub(super) fn find<'a>(
    snapshot: &'a Snapshot,
    id: &str,
    writer: &mut ResponseWriter<'a>,
) -> Result<Option<NodeObject<'a>>, WriteError> {
    let Some(key) = OpaqueKey::decode(id) else {
        return Ok(None);
    };
    if let Some(entry) = key
        .parts(KeyTag::ENTRY)
        .and_then(|parts| find_entry(snapshot, parts))
    {
        let (channel, name, occurrence) = entry;
        let entry = channel.item.entry(name, occurrence, writer.work)?;
        return Ok(entry.map(|entry| NodeObject::Entry(channel.with(entry))));
    }
    if let Some(parts) = key.parts(KeyTag::METADATA) {
        return find_metadata(snapshot, parts, writer);
    }
    Ok(find_indexed(snapshot, &key))
}

/// Finds an object that no work has to be drawn for.
fn find_indexed<'a>(snapshot: &'a Snapshot, key: &OpaqueKey) -> Option<NodeObject<'a>> {
    if let Some([name]) = key.parts(KeyTag::CATALOG) {
        return Some(NodeObject::Catalog(CatalogObject(snapshot.get(name?)?)));
    }
    if let Some([catalog, name]) = key.parts(KeyTag::PACKAGE) {
        return package(snapshot, catalog, name).map(NodeObject::Package);
    }
    if let Some([catalog, name]) = key.parts(KeyTag::ICON) {
        return package(snapshot, catalog, name)
            .and_then(IconObject::from_package)
            .map(NodeObject::Icon);
    }
    if let Some([catalog, name, channel]) = key.parts(KeyTag::CHANNEL) {
        let package = package(snapshot, catalog, name)?;
        return Some(NodeObject::Channel(
            package.with(package.item.channel(channel?)?),
        ));
    }
    let [catalog, name, bundle] = key.parts(KeyTag::BUNDLE)?;
    let package = package(snapshot, catalog, name)?;
    Some(NodeObject::Bundle(
        package.with(package.item.bundle(bundle?)?),
    ))
}

fn package<'a>(
    snapshot: &'a Snapshot,
    catalog: Option<&str>,
    name: Option<&str>,
) -> Option<InCatalog<'a, Package<'a>>> {
    InCatalog::package(snapshot.get(catalog?)?, name?)
}

/// Finds the channel of an entry; the name of the entry and its occurrence there.
fn find_entry<'a, 'k>(
    snapshot: &'a Snapshot,
    [catalog, name, channel, entry, occurrence]: [Option<&'k str>; 5],
) -> Option<(InCatalog<'a, Channel<'a>>, &'k str, usize)> {
    let package = package(snapshot, catalog, name)?;
    Some((
        package.with(package.item.channel(channel?)?),
        entry?,
        occurrence?.parse().ok()?,
    ))
}

/// Finds and decodes metadata.
fn find_metadata<'a>(
    snapshot: &'a Snapshot,
    [catalog, name, channel, bundle, property]: [Option<&str>; 5],
    writer: &mut ResponseWriter<'a>,
) -> Result<Option<NodeObject<'a>>, WriteError> {
    let Some(package) = package(snapshot, catalog, name) else {
        return Ok(None);
    };
    let bundle = bundle.map(|name| package.item.bundle(name));
    let owner = match (channel.map(|name| package.item.channel(name)), bundle) {
        (None, None) => PropertyOwner::Package(package.item),
        (Some(Some(channel)), None) => PropertyOwner::Channel(channel),
        (None, Some(Some(bundle))) => PropertyOwner::Bundle(bundle),
        _ => return Ok(None),
    };
    let property = property.and_then(|index| index.parse().ok());
    let (id, metadata) = match (owner, property) {
        (PropertyOwner::Bundle(bundle), None) => (
            Some(MetadataId::from_bundle(bundle)),
            bundle.metadata_by(&mut writer.manifests),
        ),
        (owner, Some(index)) => (
            Some(owner.metadata_id(index)),
            owner.properties().nth(index).and_then(Property::metadata),
        ),
        (_, None) => (None, None),
    };
    writer.draw_decoded()?;
    Ok(id
        .zip(metadata)
        .map(|(id, metadata)| NodeObject::Metadata(package.with(id), Box::new(metadata))))
}

impl<'a> NodeObject<'a> {
    /// Writes the object as the value of a field, or as an element of its list.
    pub(super) fn write(
        self,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match self {
            Self::Catalog(catalog) => writer.complete_object(catalog, field),
            Self::Package(package) => writer.complete_object(package, field),
            Self::Channel(channel) => writer.complete_object(channel, field),
            Self::Entry(entry) => writer.complete_object(entry, field),
            Self::Bundle(bundle) => writer.complete_object(bundle, field),
            Self::Icon(icon) => writer.complete_object(icon, field),
            Self::Metadata(place, metadata) => {
                writer.complete_object(place.with((&*metadata, place.item)), field)
            }
        }
    }
}
