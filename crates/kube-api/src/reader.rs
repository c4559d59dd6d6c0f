//! Lists the objects of a catalog, and writes them from its canonical lines.

mod blobs;
mod names;

use std::sync::Arc;

use fbc::Channel;
use fbc_read::manifest::Manifests;
use serving::Served;

use crate::json::JsonWriter;
use crate::kind::ResourceKind;
use crate::manifest::{self, CatalogSource, PackageManifest};
use crate::manifest_cache::ManifestCache;
use crate::object::{ObjectEntry, ObjectMeta, hash_object};

/// Reads the objects of a catalog from its content.
#[derive(Clone, Copy)]
pub(crate) struct ObjectReader<'c> {
    pub(crate) served: &'c Served,
    pub(crate) source: &'c CatalogSource,
    pub(crate) manifests: &'c Arc<ManifestCache>,
}

impl ObjectReader<'_> {
    /// Lists the objects of a kind, sorted by name, all with this revision. Manifests that are read
    /// on the way fill the cache.
    pub(crate) fn list(self, kind: ResourceKind, revision: u64) -> Vec<ObjectEntry> {
        match kind {
            ResourceKind::PackageManifest => self.list_manifests(revision),
            kind => blobs::list(kind, self, revision),
        }
    }

    /// Returns roughly how many bytes [`Self::write`] copies for the object at an index; `None` if
    /// it does more than copy.
    pub(crate) fn copied_bytes(self, kind: ResourceKind, index: usize) -> Option<usize> {
        match kind {
            ResourceKind::PackageManifest | ResourceKind::OperatorPackage => {
                Some(self.manifests.get(index)?.plain.len())
            }
            kind => Some(blobs::copied_bytes(kind, self.served, index)),
        }
    }

    /// Writes the members of an object that follow its metadata.
    pub(crate) fn write(self, kind: ResourceKind, index: usize, out: &mut JsonWriter) {
        match kind {
            ResourceKind::PackageManifest | ResourceKind::OperatorPackage => {
                self.write_manifest(index, out);
            }
            kind => blobs::write(kind, self, index, out),
        }
    }

    /// Writes the members of a manifest that follow its metadata, from the cache or else from the
    /// content.
    fn write_manifest(self, index: usize, out: &mut JsonWriter) {
        out.key("spec");
        out.raw(b"{}");
        manifest::write_source(self.source, out);
        if let Some(cached) = self.manifests.get(index) {
            return out.splice(cached);
        }
        let package = self.served.content.catalog.package_at(index);
        match PackageManifest::read(package, self.source, &mut Manifests::default()) {
            Some(manifest) => out.rest(&manifest.rest),
            None => out.close(b'}'),
        }
    }

    fn list_manifests(self, revision: u64) -> Vec<ObjectEntry> {
        let source = self.source;
        let mut manifests = Manifests::default();
        let mut writer = self.manifests.writer();
        let mut entries = Vec::new();
        for package in self.served.content.catalog.packages() {
            let Some(manifest) = PackageManifest::read(package, source, &mut manifests) else {
                continue;
            };
            // Manifests are read here for their hashes anyway.
            if let Some(writer) = &mut writer {
                writer.push(package.place(), &manifest.rest, ());
            }
            let PackageManifest {
                labels,
                annotations,
                rest,
                ..
            } = manifest;
            let metadata = format!("{source:?}{labels:?}{annotations:?}");
            let meta = ObjectMeta {
                name: package.name().to_owned(),
                hash: hash_object([metadata.as_bytes(), &rest]),
                labels,
                annotations,
                fields: Vec::new(),
                revision,
            };
            entries.push(ObjectEntry {
                index: package.place(),
                meta: Arc::new(meta),
            });
        }
        if let Some(writer) = writer {
            self.manifests.fill(writer);
        }
        entries
    }
}

/// Returns the cells of an object between its name and its age, as [`ResourceKind::columns`] names
/// them. Without a reader, as of an object that is deleted, those that show the content are empty.
pub(crate) fn cells(
    kind: ResourceKind,
    source: &CatalogSource,
    entry: &ObjectEntry,
    reader: Option<ObjectReader<'_>>,
) -> Vec<String> {
    let catalog = reader.map(|reader| &*reader.served.content.catalog);
    let field = |name: &str| entry.meta.field(name).to_owned();
    match kind {
        ResourceKind::PackageManifest => vec![source.display_name.clone()],
        ResourceKind::Package => {
            let package = catalog.map(|catalog| catalog.package_at(entry.index));
            let default = package.map(|package| package.default_channel_name().to_owned());
            let channels = package.map(|package| {
                let names: Vec<_> = package.channels().map(Channel::name).collect();
                names.join(",")
            });
            vec![
                field("spec.catalog"),
                field("spec.package"),
                default.unwrap_or_default(),
                channels.unwrap_or_default(),
            ]
        }
        ResourceKind::BundleMetadata => {
            let bundle = catalog.map(|catalog| catalog.bundle_at(entry.index));
            let image = bundle.map(|bundle| bundle.image().decode().into_owned());
            vec![
                field("spec.package"),
                field("version"),
                image.unwrap_or_default(),
            ]
        }
        ResourceKind::OperatorPackage => {
            vec![field("spec.catalog"), field("version"), field("provider")]
        }
        ResourceKind::CatalogMetadata => vec![
            field("spec.catalog"),
            field("spec.schema"),
            field("spec.package"),
        ],
    }
}

/// Writes the members that follow the metadata of an object that is deleted: its name and its
/// catalog.
pub(crate) fn write_deleted(
    kind: ResourceKind,
    source: &CatalogSource,
    object: &ObjectMeta,
    out: &mut JsonWriter,
) {
    if kind != ResourceKind::PackageManifest {
        let named = object
            .fields
            .iter()
            .filter_map(|(field, value)| Some((field.strip_prefix("spec.")?, value.as_str())));
        return out.map_member("spec", named);
    }
    out.key("spec");
    out.raw(b"{}");
    out.key("status");
    out.open(b'{');
    out.text_member("catalogSource", &source.name);
    out.text_member("catalogSourceNamespace", &source.namespace);
    out.text_member("packageName", &object.name);
    out.key("channels");
    out.raw(b"[]");
    out.close(b'}');
}
