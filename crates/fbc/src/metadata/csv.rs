//! Display metadata of a bundle, located in one pass and read field by field.

use std::borrow::Cow;
use std::sync::LazyLock;

use jiff::Timestamp;

use fbc_read::json::{JsonCursor, JsonText};
use fbc_read::json_value;
use fbc_read::manifest::{Base64Pattern, MAX_MANIFEST_DEPTH, Manifests};

use super::layout::{MetadataField, MetadataFields};
use super::lists;
use super::{annotation, created, layout};
use crate::bundle::Bundle;
use crate::csv_enums::{CapabilityLevel, InstallModes};
use crate::gvk::RawGroupVersionKind;
use crate::property::Property;
use crate::record::Payload;

/// Kind of the manifest with the metadata.
const KIND: &str = "ClusterServiceVersion";

/// Pattern that skips manifests which cannot contain the kind, without decoding them.
static KIND_PATTERN: LazyLock<Base64Pattern> = LazyLock::new(|| Base64Pattern::new(KIND));

/// Display metadata of a bundle, by its author.
#[derive(Clone, Debug)]
pub struct CsvMetadata<'a> {
    /// A JSON object in canonical form.
    text: Cow<'a, [u8]>,
    fields: MetadataFields,
    /// `true` when the text is a `ClusterServiceVersion`.
    pub(crate) is_manifest: bool,
}

/// A named link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Link text; `None` when missing or empty.
    pub name: Option<JsonText<'a>>,
    /// URL as written by the author, not validated; `None` when missing or empty.
    pub url: Option<JsonText<'a>>,
}

/// A maintainer: a person or a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintainer<'a> {
    /// Name; `None` when missing or empty.
    pub name: Option<JsonText<'a>>,
    /// Email address; `None` when missing or empty.
    pub email: Option<JsonText<'a>>,
}

impl<'a> Bundle<'a> {
    /// Returns its display metadata: its first `olm.csv.metadata` whose value is an object, or else
    /// its first inline manifest that is a `ClusterServiceVersion`, which is decoded at each call.
    pub fn metadata(self) -> Option<CsvMetadata<'a>> {
        self.metadata_by(&mut Manifests::default())
    }

    /// Returns whether it has more than one `olm.csv.metadata`, which OLM v0 cannot show.
    pub fn has_several_metadata(self) -> bool {
        self.properties()
            .filter(|property| property.type_name() == "olm.csv.metadata")
            .take(2)
            .count()
            > 1
    }

    /// Returns its display metadata as [`Bundle::metadata`] does, but reuses the buffers of a
    /// decoder.
    pub fn metadata_by(self, manifests: &mut Manifests) -> Option<CsvMetadata<'a>> {
        self.properties()
            .find_map(Property::metadata)
            .or_else(|| self.manifest_metadata_by(manifests))
    }

    /// Returns the metadata of its first inline manifest that is a `ClusterServiceVersion`; `None`
    /// when the catalog has none.
    pub(crate) fn manifest_metadata_by(self, manifests: &mut Manifests) -> Option<CsvMetadata<'a>> {
        let positions = self.catalog().csv_positions();
        positions.read_or_find(self.place(), self.properties(), |property| {
            property.manifest_metadata(manifests)
        })
    }

    /// Decodes its first inline manifest that is a `ClusterServiceVersion`, as canonical JSON.
    pub fn csv_manifest(self, manifests: &mut Manifests) -> Option<Vec<u8>> {
        let positions = self.catalog().csv_positions();
        positions.read_or_find(self.place(), self.properties(), |property| {
            property.csv_manifest(manifests)
        })
    }
}

impl<'a> Property<'a> {
    /// Reads the value of an `olm.csv.metadata`; `None` for other properties, and when the value is
    /// not an object.
    pub fn metadata(self) -> Option<CsvMetadata<'a>> {
        match self.payload() {
            Payload::CsvMetadata => CsvMetadata::read(Cow::Borrowed(self.value()?.raw()), false),
            _ => None,
        }
    }

    fn manifest_metadata(self, manifests: &mut Manifests) -> Option<CsvMetadata<'a>> {
        CsvMetadata::read(Cow::Owned(self.csv_manifest(manifests)?), true)
    }

    /// Decodes the value of an `olm.bundle.object`, if it is a `ClusterServiceVersion`.
    fn csv_manifest(self, manifests: &mut Manifests) -> Option<Vec<u8>> {
        if self.payload() != Payload::BundleObject {
            return None;
        }
        let manifest = manifests.decode_containing(self.value()?.raw(), &KIND_PATTERN)?;
        let kind = lists::texts(&mut JsonCursor::new(&manifest), ["kind"]).ok()?;
        if kind[0].is_none_or(|kind| kind.decode() != KIND) {
            return None;
        }
        Some(manifest)
    }
}

impl<'a> CsvMetadata<'a> {
    /// Reads the metadata of a `ClusterServiceVersion` in JSON; `None` when it is not an object.
    pub fn from_manifest(json: &'a [u8]) -> Option<Self> {
        Self::read(Cow::Borrowed(json), true)
    }

    fn read(text: Cow<'a, [u8]>, is_manifest: bool) -> Option<Self> {
        let layout = if is_manifest {
            layout::MANIFEST
        } else {
            layout::PROPERTY
        };
        let fields = MetadataFields::find(&text, layout).ok()?;
        Some(Self {
            text,
            fields,
            is_manifest,
        })
    }
}

impl CsvMetadata<'_> {
    /// Returns the display name; `None` when missing or empty.
    pub fn display_name(&self) -> Option<JsonText<'_>> {
        self.text(MetadataField::DisplayName)
    }

    /// Returns the long description, in Markdown; `None` when missing or empty.
    pub fn description(&self) -> Option<JsonText<'_>> {
        self.text(MetadataField::Description)
    }

    /// Returns the maturity, in the author's words; `None` when missing or empty.
    pub fn maturity(&self) -> Option<JsonText<'_>> {
        self.text(MetadataField::Maturity)
    }

    /// Returns the lowest supported Kubernetes version; `None` when missing or empty.
    pub fn min_kube_version(&self) -> Option<JsonText<'_>> {
        self.text(MetadataField::MinKubeVersion)
    }

    /// Returns the provider; `None` when it has neither a name nor a URL.
    pub fn provider(&self) -> Option<Link<'_>> {
        let texts = lists::texts(
            &mut JsonCursor::new(self.value(MetadataField::Provider)?),
            Link::FIELDS,
        );
        Link::new(texts.ok()?)
    }

    /// Returns the maintainers, in the author's order; skips entries with neither a name nor an
    /// address.
    pub fn maintainers(&self) -> Vec<Maintainer<'_>> {
        let is_known =
            |maintainer: &Maintainer<'_>| maintainer.name.is_some() || maintainer.email.is_some();
        self.objects(
            MetadataField::Maintainers,
            ["name", "email"],
            |[name, email]| Some(Maintainer { name, email }).filter(is_known),
        )
    }

    /// Returns the links, in the author's order; skips entries with neither a name nor a URL.
    pub fn links(&self) -> Vec<Link<'_>> {
        self.objects(MetadataField::Links, Link::FIELDS, Link::new)
    }

    /// Returns the keywords as written: there may be duplicates and empty ones.
    pub fn keywords(&self) -> Vec<JsonText<'_>> {
        self.value(MetadataField::Keywords)
            .map(lists::strings)
            .unwrap_or_default()
    }

    /// Returns the categories, from an annotation, without duplicates and blank ones, in the
    /// author's order.
    pub fn categories(&self) -> Vec<String> {
        self.known_annotation(MetadataField::Categories)
            .map(|text| annotation::categories(&text))
            .unwrap_or_default()
    }

    /// Returns the capability level, from an annotation; `None` when missing or unknown.
    pub fn capability_level(&self) -> Option<CapabilityLevel> {
        CapabilityLevel::parse(&self.known_annotation(MetadataField::Capabilities)?)
    }

    /// Returns the known install modes that are marked as supported.
    pub fn install_modes(&self) -> InstallModes {
        self.value(MetadataField::InstallModes)
            .map(lists::install_modes)
            .unwrap_or_default()
    }

    /// Tells whether it lists install modes, supported or not.
    pub fn lists_install_modes(&self) -> bool {
        self.value(MetadataField::InstallModes).is_some()
    }

    /// Returns the supported platform features, such as `fips-compliant`, sorted by name: the union
    /// of the annotations of single features and an older list. The annotation of a feature takes
    /// precedence over the list.
    pub fn infrastructure_features(&self) -> Vec<String> {
        let is_feature =
            |key: JsonText<'_>| key.raw()[1..].starts_with(annotation::FEATURE_PREFIX.as_bytes());
        let features = self
            .annotations()
            .into_iter()
            .filter(|(key, _)| is_feature(*key))
            .map(|(key, value)| {
                let name = key.decode()[annotation::FEATURE_PREFIX.len()..].to_owned();
                (Cow::Owned(name), value.decode())
            });
        annotation::infrastructure_features(
            features,
            self.known_annotation(MetadataField::InfrastructureFeatures)
                .as_deref(),
        )
    }

    /// Returns whether it is certified, from an annotation; `None` unless that is `true` or
    /// `false`.
    pub fn certified(&self) -> Option<bool> {
        annotation::boolean(&self.known_annotation(MetadataField::Certified)?)
    }

    /// Returns when it was created, from an annotation; `None` when missing, in an unknown format,
    /// or ambiguous, such as `03/04/2021`.
    pub fn created_at(&self) -> Option<Timestamp> {
        created::created_at(&self.known_annotation(MetadataField::CreatedAt)?)
    }

    /// Returns the image of the operator itself, from an annotation; `None` when missing or blank.
    pub fn container_image(&self) -> Option<Cow<'_, str>> {
        annotation::trimmed(self.known_annotation(MetadataField::ContainerImage)?)
    }

    /// Returns the source repository, from an annotation; `None` when missing or blank.
    pub fn repository(&self) -> Option<Cow<'_, str>> {
        annotation::trimmed(self.known_annotation(MetadataField::Repository)?)
    }

    /// Returns the support contact, from an annotation: a name, a URL or any text; `None` when
    /// missing or blank.
    pub fn support(&self) -> Option<Cow<'_, str>> {
        annotation::trimmed(self.known_annotation(MetadataField::Support)?)
    }

    /// Returns the built-in APIs that it requires, in the author's order.
    pub fn native_apis(&self) -> Vec<RawGroupVersionKind<'_>> {
        self.objects(
            MetadataField::NativeApis,
            ["group", "version", "kind"],
            |texts| {
                let [group, version, kind] = texts.map(|text| text.unwrap_or(JsonText::EMPTY));
                Some(RawGroupVersionKind {
                    group,
                    version,
                    kind,
                })
            },
        )
    }

    /// Returns the example resources in canonical JSON, from an annotation that holds JSON text;
    /// `None` when missing, not a single JSON value, or nested deeper than [`MAX_MANIFEST_DEPTH`].
    pub fn examples(&self) -> Option<Vec<u8>> {
        json_value(
            &self.known_annotation(MetadataField::AlmExamples)?,
            MAX_MANIFEST_DEPTH,
        )
    }

    /// Returns the labels with string values, sorted by key.
    pub fn labels(&self) -> Vec<(JsonText<'_>, JsonText<'_>)> {
        self.value(MetadataField::Labels)
            .map(lists::pairs)
            .unwrap_or_default()
    }

    /// Returns the annotations with string values, sorted by key.
    pub fn annotations(&self) -> Vec<(JsonText<'_>, JsonText<'_>)> {
        self.value(MetadataField::Annotations)
            .map(lists::pairs)
            .unwrap_or_default()
    }

    pub(super) fn objects<'t, T, const N: usize>(
        &'t self,
        field: MetadataField,
        fields: [&str; N],
        make: impl Fn([Option<JsonText<'t>>; N]) -> Option<T>,
    ) -> Vec<T> {
        self.value(field)
            .map(|array| lists::objects(array, fields, make))
            .unwrap_or_default()
    }

    pub(super) fn known_annotation(&self, field: MetadataField) -> Option<Cow<'_, str>> {
        self.text(field).map(JsonText::decode)
    }

    /// Returns a non-empty text: upstream omits empty ones when it writes metadata.
    pub(super) fn text(&self, field: MetadataField) -> Option<JsonText<'_>> {
        self.value(field)
            .map(JsonText::new)
            .filter(|text| !text.is_empty())
    }

    pub(super) fn value(&self, field: MetadataField) -> Option<&[u8]> {
        self.fields.get(&self.text, field)
    }
}

impl<'a> Link<'a> {
    const FIELDS: [&'static str; 2] = ["name", "url"];

    /// Creates a link unless both fields are absent.
    fn new([name, url]: [Option<JsonText<'a>>; 2]) -> Option<Self> {
        (name.is_some() || url.is_some()).then_some(Self { name, url })
    }
}
