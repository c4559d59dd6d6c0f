//! The `Bundle` message of a channel entry, as `opm serve` makes it, read from the mapped lines.

use std::borrow::Cow;

use bytes::Bytes;
use fbc::{Bundle, Catalog, ChannelEntry, GroupVersionKind, Property, PropertyKind};
use fbc_read::json::JsonValue;
use fbc_read::json::encode::{write_html_escaped, write_text};
use fbc_read::manifest::{Manifests, read_manifest};

use crate::csv;
use crate::package::deprecation_message;
use crate::proto::{ApiMessage, BundleMessage, PropertyMessage};

/// Selects the fields of a bundle that a call shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BundleForm {
    /// With `replaces` and `skips`; with manifests only if the bundle has no image.
    Listed,
    /// With manifests; without `replaces` and `skips`.
    Fetched,
}

/// Manifests of a bundle. Clones of one text share its memory.
#[derive(Default)]
struct BundleManifests {
    /// The `ClusterServiceVersion`; empty without one.
    csv: Bytes,
    objects: Vec<Bytes>,
}

/// Returns the message for the bundle of an entry of a catalog.
pub(crate) fn bundle_message(
    catalog: &Catalog,
    entry: ChannelEntry<'_>,
    form: BundleForm,
) -> BundleMessage {
    let channel = entry.channel();
    let named = BundleMessage {
        csv_name: entry.name().to_owned(),
        package_name: channel.package().name().to_owned(),
        channel_name: channel.name().to_owned(),
        ..BundleMessage::default()
    };
    let Some(bundle) = entry.bundle() else {
        return named;
    };

    let content = catalog.content();
    let image = bundle.image().decode().into_owned();
    let manifests = if form == BundleForm::Fetched || image.is_empty() {
        read_manifests(bundle)
    } else {
        BundleManifests::default()
    };
    let (replaces, skips) = match form {
        BundleForm::Listed => (
            entry.replaces().unwrap_or_default().to_owned(),
            entry.skips().map(ToOwned::to_owned).collect(),
        ),
        BundleForm::Fetched => (String::new(), Vec::new()),
    };

    BundleMessage {
        csv_json: manifests.csv,
        object: manifests.objects,
        bundle_path: image,
        provided_apis: bundle.provided_apis().map(api_message).collect(),
        required_apis: bundle.required_apis().map(api_message).collect(),
        version: written_version(bundle).to_owned(),
        skip_range: entry.skip_range().unwrap_or_default().to_owned(),
        dependencies: bundle
            .properties()
            .filter_map(|property| dependency_message(content, property))
            .collect(),
        properties: bundle
            .properties()
            .filter_map(|property| property_message(content, property))
            .collect(),
        replaces,
        skips,
        deprecation: deprecation_message(bundle.deprecation()),
        ..named
    }
}

/// Returns the version as its author wrote it.
fn written_version(bundle: Bundle<'_>) -> &str {
    let written = bundle
        .properties()
        .find_map(|property| match property.kind() {
            PropertyKind::Package { version, .. } => Some(version),
            _ => None,
        });
    written.unwrap_or_default()
}

fn api_message(api: GroupVersionKind<'_>) -> ApiMessage {
    ApiMessage {
        group: api.group.to_owned(),
        version: api.version.to_owned(),
        kind: api.kind.to_owned(),
        plural: String::new(),
    }
}

/// Returns a property, unless it holds manifests, which have fields of their own.
fn property_message(content: &Bytes, property: Property<'_>) -> Option<PropertyMessage> {
    let type_name = property.type_name();
    let holds_manifest = matches!(type_name, csv::OBJECT | csv::METADATA);
    (!holds_manifest).then(|| PropertyMessage {
        r#type: type_name.to_owned(),
        value: property_value(content, property),
    })
}

/// Returns the value of a property as a slice of the content, which is not copied.
fn property_value(content: &Bytes, property: Property<'_>) -> Bytes {
    content.slice_ref(property.value().map_or(b"", JsonValue::raw))
}

/// Returns a property as a dependency, if it is one.
fn dependency_message(content: &Bytes, property: Property<'_>) -> Option<PropertyMessage> {
    match property.kind() {
        PropertyKind::GvkRequired(_) => Some(PropertyMessage {
            r#type: "olm.gvk".to_owned(),
            value: property_value(content, property),
        }),
        PropertyKind::PackageRequired(required) => {
            // Upstream renames the members of the property and drops others.
            let mut value = b"{\"packageName\":".to_vec();
            write_text(&mut value, required.package);
            value.extend_from_slice(b",\"version\":");
            write_text(&mut value, required.version_range);
            value.push(b'}');
            Some(PropertyMessage {
                r#type: "olm.package".to_owned(),
                value: value.into(),
            })
        }
        _ => None,
    }
}

/// Reads the manifests of a bundle. Its `ClusterServiceVersion` is one of them, or is made from its
/// metadata.
fn read_manifests(bundle: Bundle<'_>) -> BundleManifests {
    let mut manifests = Manifests::default();
    let inline: Vec<_> = bundle
        .properties()
        .filter(|property| property.type_name() == csv::OBJECT)
        .filter_map(|property| InlineManifest::read(property.value()?, &mut manifests))
        .collect();

    let inline_csv = inline
        .iter()
        .find(|manifest| manifest.is_csv)
        .map(|manifest| manifest.text.clone());
    let csv = inline_csv.or_else(|| csv::from_metadata(bundle).map(Bytes::from));
    let mut objects: Vec<_> = inline.into_iter().map(|manifest| manifest.text).collect();
    if objects.is_empty() {
        objects.extend(csv.clone());
    }

    BundleManifests {
        csv: csv.unwrap_or_default(),
        objects,
    }
}

/// An inline manifest.
struct InlineManifest {
    text: Bytes,
    is_csv: bool,
}

impl InlineManifest {
    /// Reads the value of an `olm.bundle.object`: JSON as it is, YAML converted to JSON.
    fn read(value: JsonValue<'_>, manifests: &mut Manifests) -> Option<Self> {
        let mut text = Vec::new();
        read_manifest(value.raw(), &mut text)?;
        let json = manifests.decode(value.raw());
        let is_csv = json.as_deref().is_some_and(is_csv);
        if text.first() != Some(&b'{') {
            text.clear();
            write_html_escaped(&mut text, &json?);
        }
        // Clients refuse a message whose string field is not UTF-8.
        if let Cow::Owned(valid) = String::from_utf8_lossy(&text) {
            text = valid.into_bytes();
        }
        Some(Self {
            text: text.into(),
            is_csv,
        })
    }
}

fn is_csv(json: &[u8]) -> bool {
    let members = JsonValue::new(json).members().unwrap_or_default();
    let kind = members
        .into_iter()
        .find(|(key, _)| key.raw() == b"\"kind\"");
    kind.is_some_and(|(_, kind)| kind.raw() == b"\"ClusterServiceVersion\"")
}
