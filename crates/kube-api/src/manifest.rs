//! The `PackageManifest` of a package: the view of it that OLM v0 gives clients, for one
//! `CatalogSource`.
//!
//! It is cut from the canonical lines when it is needed. As upstream does, it omits channels whose
//! head has no readable `ClusterServiceVersion`, and a package without any other channel has no
//! manifest: clients depend on the version of each channel.

mod csv;
mod icon;

use std::collections::BTreeMap;

use fbc::{Bundle, Channel, ChannelEntry, Deprecation, Head, Package, PropertyKind};
use fbc_grammar::version::Version;
use fbc_read::manifest::Manifests;
use jiff::Timestamp;

use crate::json::JsonWriter;
use csv::Csv;

/// The object that a catalog comes from, as manifests show it: a `CatalogSource`, or its equivalent
/// for other sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CatalogSource {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) display_name: String,
    pub(crate) publisher: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Creation time of the object; `None` if it is unknown.
    pub(crate) created: Option<Timestamp>,
}

/// A `PackageManifest` without the parts that depend on the request.
#[derive(Debug)]
pub(crate) struct PackageManifest {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// JSON text of `status` after the members that name the source. It depends on the content
    /// alone.
    pub(crate) rest: Vec<u8>,
    /// Version of the newest bundle of the default channel.
    pub(crate) version: String,
    /// Name of the provider; empty if there is none.
    pub(crate) provider: String,
}

/// Labels that name the catalog of a package, and the annotations that show the values which a
/// package declares for them. Clients select by these labels, so that a package must not set them.
const CATALOG_LABELS: [(&str, &str); 2] = [
    ("catalog", "catalogql.io/declared-catalog"),
    (
        "catalog-namespace",
        "catalogql.io/declared-catalog-namespace",
    ),
];

/// Labels for the operating system and the architecture of a package that declares none. Upstream
/// adds each unless a label begins with the prefix.
const PLATFORM_LABELS: [(&str, &str); 2] = [
    ("operatorframework.io/os", "operatorframework.io/os.linux"),
    (
        "operatorframework.io/arch",
        "operatorframework.io/arch.amd64",
    ),
];

/// A channel with its head's `ClusterServiceVersion`.
struct ShownChannel<'a> {
    channel: Channel<'a>,
    head: Bundle<'a>,
    csv: Csv,
}

impl PackageManifest {
    /// Reads the manifest of a package; `None` if no channel can be shown.
    pub(crate) fn read(
        package: Package<'_>,
        source: &CatalogSource,
        manifests: &mut Manifests,
    ) -> Option<Self> {
        let mut channels = shown_channels(package, manifests);
        let default = default_channel(package, &channels)?;
        let Csv {
            labels,
            provider,
            provider_texts,
            version,
            ..
        } = &mut channels[default].csv;
        let labels = std::mem::take(labels);
        let provider = std::mem::take(provider);
        let version = std::mem::take(version);
        let provider_texts = std::mem::take(provider_texts);
        let (labels, annotations) = all_labels(source, &provider_texts, labels);
        let mut out = JsonWriter::default();
        out.rest(b",\"provider\":");
        out.raw(&provider);
        out.text_member("packageName", package.name());
        write_deprecation(package.deprecation(), &mut out);
        out.key("channels");
        out.open(b'[');
        for channel in &channels {
            channel.write(&mut out);
        }
        out.close(b']');
        out.text_member("defaultChannel", channels[default].channel.name());
        out.close(b'}');
        let [provider, _] = provider_texts;
        Some(Self {
            labels,
            annotations,
            rest: out.into_bytes(),
            version,
            provider,
        })
    }
}

/// Returns the icon of a package, from the head of its default channel; `None` if it has none.
pub(crate) fn icon(package: Package<'_>, manifests: &mut Manifests) -> Option<Vec<u8>> {
    let channels = shown_channels(package, manifests);
    let head = channels[default_channel(package, &channels)?].head;
    icon::icon(head, manifests)
}

/// Writes the first members of `status`, which name the source; the rest of a manifest follows.
pub(crate) fn write_source(source: &CatalogSource, out: &mut JsonWriter) {
    out.key("status");
    out.open(b'{');
    out.text_member("catalogSource", &source.name);
    out.text_member("catalogSourceDisplayName", &source.display_name);
    out.text_member("catalogSourcePublisher", &source.publisher);
    out.text_member("catalogSourceNamespace", &source.namespace);
}

/// Returns the channels whose heads have readable `ClusterServiceVersion`s, sorted by name.
fn shown_channels<'a>(package: Package<'a>, manifests: &mut Manifests) -> Vec<ShownChannel<'a>> {
    let shown = |channel: Channel<'a>| {
        let Head::One(entry) = channel.head() else {
            return None;
        };
        let head = entry.bundle()?;
        Some(ShownChannel {
            channel,
            head,
            csv: Csv::read(head, manifests)?,
        })
    };
    package.channels().filter_map(shown).collect()
}

/// Returns the position of the default channel, or else of the first; `None` if there is none.
fn default_channel(package: Package<'_>, channels: &[ShownChannel<'_>]) -> Option<usize> {
    // As upstream does: a default channel without a readable head is replaced by the first one.
    let default = channels
        .iter()
        .position(|shown| shown.channel.name() == package.default_channel_name());
    default.or_else(|| (!channels.is_empty()).then_some(0))
}

/// Returns the labels of a manifest (those of the catalog, ours, and those that the package
/// declares, of which later ones replace earlier ones), and the annotations with the labels that
/// the package may not declare.
fn all_labels(
    source: &CatalogSource,
    provider_texts: &[String; 2],
    declared: Vec<(String, String)>,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let [provider, url] = provider_texts;
    let mut labels = source.labels.clone();
    let mut annotations = BTreeMap::new();
    let own = [
        ("catalog", source.name.clone()),
        ("catalog-namespace", source.namespace.clone()),
    ];
    let own = own.into_iter().chain([
        ("provider", provider.clone()),
        ("provider-url", url.clone()),
    ]);
    labels.extend(own.map(|(key, value)| (key.to_owned(), value)));
    for (key, value) in declared {
        // Otherwise a package could show itself as one of another catalog.
        match CATALOG_LABELS.iter().find(|(label, _)| *label == key) {
            Some((_, annotation)) => annotations.insert((*annotation).to_owned(), value),
            None => labels.insert(key, value),
        };
    }
    for (prefix, label) in PLATFORM_LABELS {
        if !labels.keys().any(|key| key.starts_with(prefix)) {
            labels.insert(label.to_owned(), "supported".to_owned());
        }
    }
    (labels, annotations)
}

impl ShownChannel<'_> {
    fn write(&self, out: &mut JsonWriter) {
        out.open(b'{');
        out.text_member("name", self.channel.name());
        out.key("currentCSV");
        out.raw(&self.csv.name);
        out.key("currentCSVDesc");
        out.raw(&self.csv.description);
        write_deprecation(self.channel.deprecation(), out);
        out.key("entries");
        write_entries(self.channel, out);
        out.close(b'}');
    }
}

/// Writes the bundles of a channel, highest version first, without those that have the property
/// `olm.deprecated`.
fn write_entries(channel: Channel<'_>, out: &mut JsonWriter) {
    let is_shown = |bundle: &Bundle<'_>| {
        bundle
            .properties()
            .all(|property| property.type_name() != "olm.deprecated")
    };
    let mut bundles: Vec<_> = channel
        .entries()
        .filter_map(ChannelEntry::bundle)
        .filter(is_shown)
        .collect();
    if bundles.is_empty() {
        // The empty slice of Go, as upstream writes it.
        return out.raw(b"null");
    }
    bundles.sort_by(|a, b| match (version_or_zero(*a), version_or_zero(*b)) {
        (Some(a), Some(b)) => b.precedence(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    out.open(b'[');
    for bundle in bundles {
        out.open(b'{');
        out.text_member("name", bundle.name());
        if let Some(version) = written_version(bundle) {
            out.text_member("version", version);
        }
        write_deprecation(bundle.deprecation(), out);
        out.close(b'}');
    }
    out.close(b']');
}

/// Returns the version by which bundles are sorted.
fn version_or_zero(bundle: Bundle<'_>) -> Option<Version<'_>> {
    Version::parse(bundle.version().unwrap_or("0.0.0")).ok()
}

/// Returns the version of a bundle as its author wrote it.
fn written_version(bundle: Bundle<'_>) -> Option<&str> {
    bundle
        .properties()
        .find_map(|property| match property.kind() {
            PropertyKind::Package { version, .. } => Some(version),
            _ => None,
        })
}

/// Writes the member `deprecation`, if there is one.
pub(crate) fn write_deprecation(deprecation: Option<Deprecation<'_>>, out: &mut JsonWriter) {
    let Some(deprecation) = deprecation else {
        return;
    };
    out.key("deprecation");
    out.open(b'{');
    out.key("message");
    out.raw(
        deprecation
            .message()
            .map_or(b"\"\"", |message| message.raw()),
    );
    out.close(b'}');
}
