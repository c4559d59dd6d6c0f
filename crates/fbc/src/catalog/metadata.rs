//! What the author of a bundle says of it, for people: an `olm.csv.metadata`, or else the `ClusterServiceVersion` among
//! the inline manifests.
//!
//! The text is walked once, when it is asked for; what is asked of it is then cut from it. A member of the wrong type
//! is as good as absent. It knows nothing of who shows it.

mod annotation;
mod created;
mod kinds;
mod layout;
mod lists;
mod places;

use std::borrow::Cow;
use std::sync::LazyLock;

use jiff::Timestamp;

pub use kinds::{CapabilityLevel, InstallMode, InstallModes};
pub(super) use places::ManifestPlaces;

use super::record::Payload;
use super::{Bundle, JsonText, MAX_MANIFEST_DEPTH, Manifests, Property};
use crate::json::Cursor;
use crate::manifest::Word;
use crate::read;
use layout::{Layout, Member, Members};

/// The kind of the manifest that metadata is read from.
const KIND: &str = "ClusterServiceVersion";

/// Most manifests do not have it in them, and need not be decoded.
static KIND_WORD: LazyLock<Word> = LazyLock::new(|| Word::new(KIND));

/// What the author of a bundle says of it.
#[derive(Clone, Debug)]
pub struct CsvMetadata<'a> {
    /// An object in canonical JSON.
    text: Cow<'a, [u8]>,
    members: Members,
}

/// A name and where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// What to show; `None` when it is missing or empty.
    pub name: Option<JsonText<'a>>,
    /// Where it leads, as the author wrote it; `None` when it is missing or empty.
    pub url: Option<JsonText<'a>>,
}

/// A person or a team that maintains something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintainer<'a> {
    /// Name to show; `None` when it is missing or empty.
    pub name: Option<JsonText<'a>>,
    /// Where to write to; `None` when it is missing or empty.
    pub email: Option<JsonText<'a>>,
}

/// A custom resource, as described to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrdDescription<'a> {
    /// Name of the definition, such as `etcdclusters.etcd.database.coreos.com`; empty when it is missing.
    pub name: JsonText<'a>,
    /// API version; empty when it is missing.
    pub version: JsonText<'a>,
    /// Kind; empty when it is missing.
    pub kind: JsonText<'a>,
    /// Name to show; `None` when it is missing or empty.
    pub display_name: Option<JsonText<'a>>,
    /// What it is for; `None` when it is missing or empty.
    pub description: Option<JsonText<'a>>,
}

/// A built-in API that is needed; what is missing is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeApi<'a> {
    /// API group, empty for the core group.
    pub group: JsonText<'a>,
    /// API version, such as `v1`.
    pub version: JsonText<'a>,
    /// Kind, such as `ConfigMap`.
    pub kind: JsonText<'a>,
}

impl<'a> Bundle<'a> {
    /// What its author says of it: its first `olm.csv.metadata` whose value is an object, or else its first inline
    /// manifest that is a `ClusterServiceVersion`. That one is decoded anew each time.
    pub fn metadata(self) -> Option<CsvMetadata<'a>> {
        self.metadata_by(&mut Manifests::default())
    }

    /// The same, by a decoder that is used again.
    pub fn metadata_by(self, manifests: &mut Manifests) -> Option<CsvMetadata<'a>> {
        self.properties().find_map(Property::metadata).or_else(|| {
            let places = self.catalog().manifest_places();
            places.read_or_find(self.place(), self.properties(), |property| property.manifest_metadata(manifests))
        })
    }
}

impl<'a> Property<'a> {
    /// What an `olm.csv.metadata` says; `None` for other properties, and when the value is no object.
    pub fn metadata(self) -> Option<CsvMetadata<'a>> {
        match self.payload() {
            Payload::CsvMetadata => CsvMetadata::read(Cow::Borrowed(self.value()?.raw()), layout::PROPERTY),
            _ => None,
        }
    }

    /// What an `olm.bundle.object` says, if it is a `ClusterServiceVersion`.
    fn manifest_metadata(self, manifests: &mut Manifests) -> Option<CsvMetadata<'a>> {
        if self.payload() != Payload::BundleObject {
            return None;
        }
        let manifest = manifests.decode_with(self.value()?.raw(), &KIND_WORD)?;
        let kind = lists::texts(&mut Cursor::new(&manifest), ["kind"]).ok()?;
        if kind[0].is_none_or(|kind| kind.decode() != KIND) {
            return None;
        }
        CsvMetadata::read(Cow::Owned(manifest), layout::MANIFEST)
    }
}

impl<'a> CsvMetadata<'a> {
    fn read(text: Cow<'a, [u8]>, layout: Layout) -> Option<Self> {
        let members = Members::find(&text, layout).ok()?;
        Some(Self { text, members })
    }
}

impl CsvMetadata<'_> {
    /// Name to show; `None` when it is missing or empty.
    pub fn display_name(&self) -> Option<JsonText<'_>> {
        self.text(Member::DisplayName)
    }

    /// Long description, in Markdown; `None` when it is missing or empty.
    pub fn description(&self) -> Option<JsonText<'_>> {
        self.text(Member::Description)
    }

    /// How mature it is, in the author's words; `None` when it is missing or empty.
    pub fn maturity(&self) -> Option<JsonText<'_>> {
        self.text(Member::Maturity)
    }

    /// Lowest Kubernetes version it runs on; `None` when it is missing or empty.
    pub fn min_kube_version(&self) -> Option<JsonText<'_>> {
        self.text(Member::MinKubeVersion)
    }

    /// Who provides it; `None` when neither a name nor a place is given.
    pub fn provider(&self) -> Option<Link<'_>> {
        let texts = lists::texts(&mut Cursor::new(self.value(Member::Provider)?), Link::FIELDS);
        Link::new(texts.ok()?)
    }

    /// Who maintains it, in the author's order; entries with neither a name nor an address are left out.
    pub fn maintainers(&self) -> Vec<Maintainer<'_>> {
        let is_something = |maintainer: &Maintainer<'_>| maintainer.name.is_some() || maintainer.email.is_some();
        self.objects(Member::Maintainers, ["name", "email"], |[name, email]| {
            Some(Maintainer { name, email }).filter(is_something)
        })
    }

    /// Where to read more, in the author's order; entries with neither a name nor a place are left out.
    pub fn links(&self) -> Vec<Link<'_>> {
        self.objects(Member::Links, Link::FIELDS, Link::new)
    }

    /// Words to find it by, as they stand there: the same one may come twice, and one may be empty.
    pub fn keywords(&self) -> Vec<JsonText<'_>> {
        self.value(Member::Keywords).map(lists::strings).unwrap_or_default()
    }

    /// Categories, from an annotation: in the author's order, each once, none blank.
    pub fn categories(&self) -> Vec<String> {
        self.annotation(Member::Categories).map(|text| annotation::categories(&text)).unwrap_or_default()
    }

    /// How much of the work is automated, from an annotation; `None` when it does not say, or not in a known word.
    pub fn capability_level(&self) -> Option<CapabilityLevel> {
        CapabilityLevel::read(&self.annotation(Member::Capabilities)?)
    }

    /// Which namespaces it can be installed for: the known modes that are said to be supported.
    pub fn install_modes(&self) -> InstallModes {
        self.value(Member::InstallModes).map(lists::install_modes).unwrap_or_default()
    }

    /// Platform features it supports, such as `fips-compliant`, by name: the union of what annotations of their own and
    /// an older list say. Where both speak of a feature, its own annotation counts.
    pub fn infrastructure_features(&self) -> Vec<String> {
        let is_feature = |key: JsonText<'_>| key.0[1..].starts_with(annotation::FEATURE_PREFIX.as_bytes());
        let features = self.annotations().into_iter().filter(|(key, _)| is_feature(*key)).map(|(key, value)| {
            let name = key.decode()[annotation::FEATURE_PREFIX.len()..].to_owned();
            (Cow::Owned(name), value.decode())
        });
        annotation::infrastructure_features(features, self.annotation(Member::InfrastructureFeatures).as_deref())
    }

    /// Whether it is certified, from an annotation; `None` when it does not say, or says neither `true` nor `false`.
    pub fn certified(&self) -> Option<bool> {
        annotation::boolean(&self.annotation(Member::Certified)?)
    }

    /// When it was created, from an annotation; `None` when it does not say, or in no known form, or in one that can be
    /// read in two ways, such as `03/04/2021`.
    pub fn created_at(&self) -> Option<Timestamp> {
        created::created_at(&self.annotation(Member::CreatedAt)?)
    }

    /// Image of the operator itself, from an annotation; `None` when it is missing or blank.
    pub fn container_image(&self) -> Option<Cow<'_, str>> {
        annotation::trimmed(self.annotation(Member::ContainerImage)?)
    }

    /// Where its source is, from an annotation; `None` when it is missing or blank.
    pub fn repository(&self) -> Option<Cow<'_, str>> {
        annotation::trimmed(self.annotation(Member::Repository)?)
    }

    /// Who supports it, from an annotation: a name, a place or any text; `None` when it is missing or blank.
    pub fn support(&self) -> Option<Cow<'_, str>> {
        annotation::trimmed(self.annotation(Member::Support)?)
    }

    /// Custom resources it defines, in the author's order.
    pub fn owned_crds(&self) -> Vec<CrdDescription<'_>> {
        self.crds(Member::OwnedCrds)
    }

    /// Custom resources it needs, in the author's order.
    pub fn required_crds(&self) -> Vec<CrdDescription<'_>> {
        self.crds(Member::RequiredCrds)
    }

    /// Built-in APIs it needs, in the author's order.
    pub fn native_apis(&self) -> Vec<NativeApi<'_>> {
        self.objects(Member::NativeApis, ["group", "version", "kind"], |texts| {
            let [group, version, kind] = texts.map(|text| text.unwrap_or(JsonText::EMPTY));
            Some(NativeApi { group, version, kind })
        })
    }

    /// Example resources in canonical JSON, from an annotation that holds JSON text; `None` when there are none, when
    /// they are no single JSON value, or when they are nested deeper than [`MAX_MANIFEST_DEPTH`].
    pub fn examples(&self) -> Option<Vec<u8>> {
        read::json_value(&self.annotation(Member::AlmExamples)?, MAX_MANIFEST_DEPTH)
    }

    /// Labels whose value is a string, by key.
    pub fn labels(&self) -> Vec<(JsonText<'_>, JsonText<'_>)> {
        self.value(Member::Labels).map(lists::pairs).unwrap_or_default()
    }

    /// Annotations whose value is a string, by key.
    pub fn annotations(&self) -> Vec<(JsonText<'_>, JsonText<'_>)> {
        self.value(Member::Annotations).map(lists::pairs).unwrap_or_default()
    }

    fn crds(&self, member: Member) -> Vec<CrdDescription<'_>> {
        let fields = ["name", "version", "kind", "displayName", "description"];
        self.objects(member, fields, |[name, version, kind, display_name, description]| {
            let [name, version, kind] = [name, version, kind].map(|text| text.unwrap_or(JsonText::EMPTY));
            Some(CrdDescription { name, version, kind, display_name, description })
        })
    }

    fn objects<'t, T, const N: usize>(
        &'t self,
        member: Member,
        fields: [&str; N],
        make: impl Fn([Option<JsonText<'t>>; N]) -> Option<T>,
    ) -> Vec<T> {
        self.value(member).map(|array| lists::objects(array, fields, make)).unwrap_or_default()
    }

    fn annotation(&self, member: Member) -> Option<Cow<'_, str>> {
        self.text(member).map(JsonText::decode)
    }

    /// A text that is not empty: upstream leaves out those that are when it writes metadata.
    fn text(&self, member: Member) -> Option<JsonText<'_>> {
        self.value(member).map(JsonText).filter(|text| !text.is_empty())
    }

    fn value(&self, member: Member) -> Option<&[u8]> {
        self.members.get(&self.text, member)
    }
}

impl<'a> Link<'a> {
    const FIELDS: [&'static str; 2] = ["name", "url"];

    /// A link, if there is anything in it.
    fn new([name, url]: [Option<JsonText<'a>>; 2]) -> Option<Self> {
        (name.is_some() || url.is_some()).then_some(Self { name, url })
    }
}
