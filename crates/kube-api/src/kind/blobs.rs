//! The objects of the group `catalogd.operatorframework.io`: what catalogs hold, as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use fbc::Catalog;
use fbc_read::json::JsonValue;
use fbc_read::manifest::Manifests;
use serving::Served;

use super::{Kind, halves, names};
use crate::json::JsonWriter;
use crate::manifest::{self, CatalogSource, Manifest};
use crate::published::{Listed, Object, hash_parts};
use crate::texts::{TextWriter, Texts};

/// What names an object, and the values of its fields by which it is selected or shown.
struct Draft {
    name: String,
    fields: Vec<(&'static str, String)>,
    /// Everything that the object shows beside them.
    text: Vec<u8>,
}

/// What reads manifests, and keeps the texts of packages.
struct Reader {
    manifests: Manifests,
    writer: Option<TextWriter<()>>,
}

/// Lists the objects of a kind, sorted by name.
pub(super) fn list(
    kind: Kind,
    served: &Served,
    source: &CatalogSource,
    texts: &Texts,
    revision: u64,
) -> Vec<Listed> {
    let catalog = &served.content.catalog;
    let count = match kind {
        Kind::BundleMetadata => catalog.bundles().len(),
        Kind::CatalogMetadata => catalog.meta_count(),
        _ => catalog.packages().len(),
    };
    let writer = if kind == Kind::OperatorPackage {
        texts.writer()
    } else {
        None
    };
    let mut reader = Reader {
        manifests: Manifests::default(),
        writer,
    };
    let drafts =
        (0..count).filter_map(|at| Some((at, draft(kind, served, source, at, &mut reader)?)));
    let mut drafts: Vec<_> = drafts.collect();
    if let Some(writer) = reader.writer {
        texts.keep(writer);
    }
    names::number_repeated(drafts.iter_mut().map(|(_, draft)| &mut draft.name));
    drafts.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    let listed = drafts
        .into_iter()
        .map(|(place, Draft { name, fields, text })| {
            let [hash, _] = halves(hash_parts([
                format!("{:?}{fields:?}", source.created).as_bytes(),
                &text,
            ]));
            let labels = labels(&fields);
            let annotations = BTreeMap::new();
            Listed {
                place,
                object: Arc::new(Object {
                    name,
                    labels,
                    annotations,
                    fields,
                    hash,
                    revision,
                }),
            }
        });
    listed.collect()
}

fn draft(
    kind: Kind,
    served: &Served,
    source: &CatalogSource,
    at: usize,
    reader: &mut Reader,
) -> Option<Draft> {
    let catalog = &served.content.catalog;
    let mut fields = vec![("spec.catalog", served.name.clone())];
    let mut out = JsonWriter::default();
    out.open(b'{');
    let name = match kind {
        Kind::BundleMetadata => {
            let bundle = catalog.bundle_at(at);
            fields.push(("spec.package", bundle.package().name().to_owned()));
            fields.push(("version", bundle.version().unwrap_or_default().to_owned()));
            names::object_name(&served.name, &[bundle.name()])
        }
        Kind::CatalogMetadata => {
            let meta = catalog.meta_at(at);
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
            let package = catalog.package_at(at);
            fields.push(("spec.package", package.name().to_owned()));
            if kind == Kind::OperatorPackage {
                let manifest = Manifest::read(package, source, &mut reader.manifests)?;
                if let Some(writer) = &mut reader.writer {
                    writer.push(at, &manifest.rest, ());
                }
                fields.push(("version", manifest.version));
                fields.push(("provider", manifest.provider));
                manifest::write_source(source, &mut out);
                out.rest(&manifest.rest);
            }
            names::object_name(&served.name, &[package.name()])
        }
    };
    if kind != Kind::OperatorPackage {
        write(kind, served, source, at, &mut out);
    }
    Some(Draft {
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
    kind: Kind,
    served: &Served,
    source: &CatalogSource,
    at: usize,
    out: &mut JsonWriter,
) {
    let catalog = &served.content.catalog;
    match kind {
        Kind::BundleMetadata => {
            out.key("spec");
            out.open(b'{');
            out.text_member("catalog", &served.name);
            write_members(catalog.bundle_at(at).meta().blob(), &["catalog"], out);
            out.close(b'}');
        }
        Kind::CatalogMetadata => write_blob(&served.name, catalog, at, out),
        _ => write_package(&served.name, source, catalog, at, out),
    }
}

/// Returns how many bytes of blobs the members of an object have.
pub(super) fn copied_bytes(kind: Kind, served: &Served, at: usize) -> usize {
    let catalog = &served.content.catalog;
    match kind {
        Kind::BundleMetadata => catalog.bundle_at(at).meta().blob().raw().len(),
        Kind::CatalogMetadata => catalog.meta_at(at).blob().raw().len(),
        _ => {
            let package = catalog.package_at(at);
            let channels = package
                .channels()
                .map(|channel| channel.meta().blob().raw().len());
            package.meta().blob().raw().len() + channels.sum::<usize>()
        }
    }
}

fn write_blob(name: &str, catalog: &Catalog, at: usize, out: &mut JsonWriter) {
    let meta = catalog.meta_at(at);
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
    at: usize,
    out: &mut JsonWriter,
) {
    let package = catalog.package_at(at);
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

/// Writes the members of a blob, as they are, but for some.
fn write_members(blob: JsonValue<'_>, without: &[&str], out: &mut JsonWriter) {
    for (key, value) in blob.members().unwrap_or_default() {
        if !without.contains(&&*key.decode()) {
            out.raw_key(key.raw());
            out.raw(value.raw());
        }
    }
}
