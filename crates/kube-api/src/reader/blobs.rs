//! The objects of the group `catalogd.operatorframework.io`, which show the content of catalogs
//! unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;

use fbc::Catalog;
use fbc_read::json::JsonValue;
use fbc_read::manifest::Manifests;
use serving::Served;

use super::ObjectReader;
use super::names;
use crate::json::JsonWriter;
use crate::kind::ResourceKind;
use crate::manifest::{self, CatalogSource, PackageManifest};
use crate::manifest_cache::ManifestCacheWriter;
use crate::object::{ObjectEntry, ObjectMeta, hash_object};

/// An object whose name may not be unique yet.
struct ObjectDraft {
    /// Index of the package, bundle or blob from which the object is made.
    index: usize,
    name: String,
    /// Values by which the object is selected or shown in tables, by field.
    fields: Vec<(&'static str, String)>,
    /// The text of the object without its metadata.
    text: Vec<u8>,
}

/// Reads manifests of packages, and fills the cache with them.
struct ManifestReader {
    manifests: Manifests,
    writer: Option<ManifestCacheWriter<()>>,
}

/// Lists the objects of a kind, sorted by name.
pub(super) fn list(
    kind: ResourceKind,
    reader: ObjectReader<'_>,
    revision: u64,
) -> Vec<ObjectEntry> {
    let catalog = &reader.served.content.catalog;
    let count = match kind {
        ResourceKind::BundleMetadata => catalog.bundles().len(),
        ResourceKind::CatalogMetadata => catalog.meta_count(),
        _ => catalog.packages().len(),
    };
    let writer = if kind == ResourceKind::OperatorPackage {
        reader.manifests.writer()
    } else {
        None
    };
    let mut manifests = ManifestReader {
        manifests: Manifests::default(),
        writer,
    };
    let mut drafts: Vec<_> = (0..count)
        .filter_map(|index| draft(kind, reader, index, &mut manifests))
        .collect();
    if let Some(writer) = manifests.writer {
        reader.manifests.fill(writer);
    }

    names::number_repeated(drafts.iter_mut().map(|draft| &mut draft.name));
    drafts.sort_by(|a, b| a.name.cmp(&b.name));
    let created = reader.source.created;
    let entry = |draft: ObjectDraft| {
        let ObjectDraft {
            index,
            name,
            fields,
            text,
        } = draft;
        let hash = hash_object([format!("{created:?}{fields:?}").as_bytes(), &text]);
        let meta = ObjectMeta {
            name,
            labels: labels(&fields),
            annotations: BTreeMap::new(),
            fields,
            hash,
            revision,
        };
        ObjectEntry {
            index,
            meta: Arc::new(meta),
        }
    };
    drafts.into_iter().map(entry).collect()
}

fn draft(
    kind: ResourceKind,
    reader: ObjectReader<'_>,
    index: usize,
    manifests: &mut ManifestReader,
) -> Option<ObjectDraft> {
    let ObjectReader { served, source, .. } = reader;
    let catalog = &served.content.catalog;
    let mut fields = vec![("spec.catalog", served.name.clone())];
    let mut out = JsonWriter::default();
    out.open(b'{');
    let name = match kind {
        ResourceKind::BundleMetadata => {
            let bundle = catalog.bundle_at(index);
            fields.push(("spec.package", bundle.package().name().to_owned()));
            fields.push(("version", bundle.version().unwrap_or_default().to_owned()));
            names::object_name(&served.name, &[bundle.name()])
        }
        ResourceKind::CatalogMetadata => {
            let meta = catalog.meta_at(index);
            let package = meta.package_name().unwrap_or_default();
            let name = meta.name().unwrap_or_default();
            let values = [
                ("spec.package", package),
                ("spec.schema", meta.schema()),
                ("spec.name", name),
            ];
            fields.extend(values.map(|(field, value)| (field, value.to_owned())));
            names::object_name(&served.name, &[meta.schema(), package, name])
        }
        _ => {
            let package = catalog.package_at(index);
            fields.push(("spec.package", package.name().to_owned()));
            if kind == ResourceKind::OperatorPackage {
                let manifest = PackageManifest::read(package, source, &mut manifests.manifests)?;
                if let Some(writer) = &mut manifests.writer {
                    writer.push(index, &manifest.rest, ());
                }
                fields.push(("version", manifest.version));
                fields.push(("provider", manifest.provider));
                manifest::write_source(source, &mut out);
                out.rest(&manifest.rest);
            }
            names::object_name(&served.name, &[package.name()])
        }
    };
    if kind != ResourceKind::OperatorPackage {
        write(kind, reader, index, &mut out);
    }
    Some(ObjectDraft {
        index,
        name,
        fields,
        text: out.into_bytes(),
    })
}

fn labels(fields: &[(&'static str, String)]) -> BTreeMap<String, String> {
    let label = |field: &'static str| field.strip_prefix("spec.");
    names::labels(
        fields
            .iter()
            .filter_map(|(field, value)| Some((label(field)?, value.as_str()))),
    )
}

/// Writes the members of an object that follow its metadata.
pub(super) fn write(
    kind: ResourceKind,
    reader: ObjectReader<'_>,
    index: usize,
    out: &mut JsonWriter,
) {
    let ObjectReader { served, source, .. } = reader;
    let catalog = &served.content.catalog;
    match kind {
        ResourceKind::BundleMetadata => {
            out.key("spec");
            out.open(b'{');
            out.text_member("catalog", &served.name);
            write_members(catalog.bundle_at(index).meta().blob(), &["catalog"], out);
            out.close(b'}');
        }
        ResourceKind::CatalogMetadata => write_blob(&served.name, catalog, index, out),
        _ => write_package(&served.name, source, catalog, index, out),
    }
}

/// Returns how many bytes of blobs [`write`] copies.
pub(super) fn copied_bytes(kind: ResourceKind, served: &Served, index: usize) -> usize {
    let catalog = &served.content.catalog;
    match kind {
        ResourceKind::BundleMetadata => catalog.bundle_at(index).meta().blob().raw().len(),
        ResourceKind::CatalogMetadata => catalog.meta_at(index).blob().raw().len(),
        _ => {
            let package = catalog.package_at(index);
            let channels = package
                .channels()
                .map(|channel| channel.meta().blob().raw().len());
            package.meta().blob().raw().len() + channels.sum::<usize>()
        }
    }
}

fn write_blob(name: &str, catalog: &Catalog, index: usize, out: &mut JsonWriter) {
    let meta = catalog.meta_at(index);
    out.key("spec");
    out.open(b'{');
    out.text_member("catalog", name);
    out.text_member("schema", meta.schema());
    for (key, value) in [("package", meta.package_name()), ("name", meta.name())] {
        if let Some(value) = value {
            out.text_member(key, value);
        }
    }
    out.key("content");
    out.raw(meta.blob().raw());
    out.close(b'}');
}

/// Writes a package with its channels.
fn write_package(
    name: &str,
    source: &CatalogSource,
    catalog: &Catalog,
    index: usize,
    out: &mut JsonWriter,
) {
    let package = catalog.package_at(index);
    out.key("spec");
    out.open(b'{');
    out.text_member("catalog", name);
    out.text_member("package", package.name());
    out.text_member("sourceDisplayName", &source.display_name);
    let own = [
        "catalog",
        "package",
        "sourceDisplayName",
        "channels",
        "deprecation",
        "name",
        "schema",
    ];
    write_members(package.meta().blob(), &own, out);
    crate::manifest::write_deprecation(package.deprecation(), out);
    out.key("channels");
    out.open(b'[');
    for channel in package.channels() {
        out.open(b'{');
        write_members(
            channel.meta().blob(),
            &["deprecation", "package", "schema"],
            out,
        );
        crate::manifest::write_deprecation(channel.deprecation(), out);
        out.close(b'}');
    }
    out.close(b']');
    out.close(b'}');
}

/// Writes the members of a blob unchanged, except for those in `without`.
fn write_members(blob: JsonValue<'_>, without: &[&str], out: &mut JsonWriter) {
    for (key, value) in blob.members().unwrap_or_default() {
        if !without.contains(&&*key.decode()) {
            out.raw_key(key.raw());
            out.raw(value.raw());
        }
    }
}
