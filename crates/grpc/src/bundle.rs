//! The `Bundle` message of an entry: written from the mapped lines, as `opm serve` writes it.

use std::borrow::Cow;

use bytes::BufMut;
use fbc::{Bundle, ChannelEntry, Property, PropertyKind};
use fbc_read::json::JsonValue;
use fbc_read::manifest::{Manifests, read_manifest};

use crate::csv;
use crate::json::{push_escaped, quoted};
use crate::message::write_deprecation;
use crate::wire::{write_bytes, write_text, write_texts};

/// Which fields of a bundle a call shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BundleForm {
    /// What it replaces and skips; no manifests if it has an image.
    Listed,
    /// Its manifests; not what it replaces and skips.
    Fetched,
}

/// Writes the bundle of an entry.
pub(crate) fn write_bundle(entry: ChannelEntry<'_>, form: BundleForm, out: &mut impl BufMut) {
    let channel = entry.channel();
    write_text(1, entry.name(), out);
    write_text(2, channel.package().name(), out);
    write_text(3, channel.name(), out);
    let Some(bundle) = entry.bundle() else { return };
    let image = bundle.image().decode();
    if form == BundleForm::Fetched || image.is_empty() {
        write_manifests(bundle, out);
    }
    write_text(6, &image, out);
    bundle
        .provided_apis()
        .for_each(|api| write_texts(7, &[api.group, api.version, api.kind], out));
    bundle
        .required_apis()
        .for_each(|api| write_texts(8, &[api.group, api.version, api.kind], out));
    write_text(9, version(bundle), out);
    write_text(10, entry.skip_range().unwrap_or_default(), out);
    bundle
        .properties()
        .for_each(|property| write_dependency(property, out));
    bundle
        .properties()
        .for_each(|property| write_property(property, out));
    if form == BundleForm::Listed {
        write_text(13, entry.replaces().unwrap_or_default(), out);
        entry
            .skips()
            .for_each(|skip| write_bytes(14, skip.as_bytes(), out));
    }
    write_deprecation(15, bundle.deprecation(), out);
}

/// Returns the version as its author wrote it.
fn version(bundle: Bundle<'_>) -> &str {
    let written = bundle
        .properties()
        .find_map(|property| match property.kind() {
            PropertyKind::Package { version, .. } => Some(version),
            _ => None,
        });
    written.unwrap_or_default()
}

fn write_property(property: Property<'_>, out: &mut impl BufMut) {
    if !matches!(property.type_name(), csv::OBJECT | csv::METADATA) {
        let value = property.value().map_or(&b""[..], JsonValue::raw);
        write_texts(12, &[property.type_name().as_bytes(), value], out);
    }
}

/// Writes a property as a dependency, if it is one.
fn write_dependency(property: Property<'_>, out: &mut impl BufMut) {
    match property.kind() {
        PropertyKind::GvkRequired(_) => {
            let value = property.value().map_or(&b""[..], JsonValue::raw);
            write_texts(11, &[b"olm.gvk", value], out);
        }
        PropertyKind::PackageRequired(required) => {
            let mut value = b"{\"packageName\":".to_vec();
            value.extend_from_slice(&quoted(required.package));
            value.extend_from_slice(b",\"version\":");
            value.extend_from_slice(&quoted(required.version_range));
            value.push(b'}');
            write_texts(11, &[b"olm.package", value.as_slice()], out);
        }
        _ => {}
    }
}

/// Writes the manifests of a bundle, and its `ClusterServiceVersion` among them or made of its
/// metadata.
fn write_manifests(bundle: Bundle<'_>, out: &mut impl BufMut) {
    let mut manifests = Manifests::default();
    let objects = bundle
        .properties()
        .filter(|property| property.type_name() == csv::OBJECT);
    let objects: Vec<_> = objects
        .filter_map(|object| Manifest::read(object.value()?, &mut manifests))
        .collect();
    let found = objects
        .iter()
        .find(|object| object.is_csv)
        .map(|object| Cow::Borrowed(&object.text));
    let csv = found.or_else(|| csv::of_metadata(bundle).map(Cow::Owned));
    if let Some(csv) = &csv {
        write_bytes(4, csv, out);
    }
    for object in &objects {
        write_bytes(5, &object.text, out);
    }
    if let Some(csv) = csv.filter(|_| objects.is_empty()) {
        write_bytes(5, &csv, out);
    }
}

/// An inline manifest.
struct Manifest {
    text: Vec<u8>,
    is_csv: bool,
}

impl Manifest {
    /// Reads the value of an `olm.bundle.object`: JSON as it is, YAML as JSON.
    fn read(value: JsonValue<'_>, manifests: &mut Manifests) -> Option<Self> {
        let mut text = Vec::new();
        read_manifest(value.raw(), &mut text)?;
        let json = manifests.decode(value.raw());
        let is_csv = json.as_deref().is_some_and(is_csv);
        if text.first() != Some(&b'{') {
            text.clear();
            push_escaped(&json?, &mut text);
        }
        // A field of protobuf is UTF-8.
        if let Cow::Owned(valid) = String::from_utf8_lossy(&text) {
            text = valid.into_bytes();
        }
        Some(Self { text, is_csv })
    }
}

fn is_csv(json: &[u8]) -> bool {
    let members = JsonValue::new(json).members().unwrap_or_default();
    let kind = members
        .into_iter()
        .find(|(key, _)| key.raw() == b"\"kind\"");
    kind.is_some_and(|(_, kind)| kind.raw() == b"\"ClusterServiceVersion\"")
}
