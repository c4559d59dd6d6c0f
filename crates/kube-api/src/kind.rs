//! The kinds of objects, and what each says of itself in discovery, tables and selectors.

mod blobs;
mod names;

use std::sync::Arc;

use fbc::Channel;
use fbc_read::manifest::Manifests;
use serving::Served;

use crate::item::Item;
use crate::json::JsonWriter;
use crate::manifest::{self, CatalogSource, Manifest};
use crate::published::{CatalogObjects, Listed, Object, PublishedCatalog, hash_parts};
use crate::texts::Texts;

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A package as OLM v0's packageserver shows it.
    PackageManifest,
    /// A package with its channels, as they are in the catalog.
    Package,
    /// A bundle, as it is in the catalog.
    BundleMetadata,
    /// A package as `PackageManifest` shows it, without a namespace.
    OperatorPackage,
    /// A blob of any schema.
    CatalogMetadata,
}

/// What a kind says of itself.
struct Facts {
    name: &'static str,
    plural: &'static str,
    singular: &'static str,
    group: &'static str,
    version: &'static str,
    is_namespaced: bool,
    subresources: &'static [&'static str],
    columns: &'static [Column],
    /// Fields that field selectors may name.
    fields: &'static [&'static str],
}

/// The group of OLM v0's packageserver.
const PACKAGES: &str = "packages.operators.coreos.com";

/// The group of the objects that show what catalogs hold.
const CATALOGD: &str = "catalogd.operatorframework.io";

/// A column of a table.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// `name` for the name of the object, or nothing.
    pub(crate) format: &'static str,
    pub(crate) description: &'static str,
    /// 0 for columns that are always shown.
    pub(crate) priority: u8,
}

/// Description of the column `Name`, the text of `ObjectMeta.name`.
const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
    resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
    intended for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// Description of the column `Age`, the text of `ObjectMeta.creationTimestamp`.
const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not \
    guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is \
    represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

const NAME_COLUMN: Column = Column {
    name: "Name",
    format: "name",
    description: NAME,
    priority: 0,
};

const AGE_COLUMN: Column = Column {
    name: "Age",
    format: "",
    description: AGE,
    priority: 0,
};

/// A column of text that is always shown.
const fn column(name: &'static str, description: &'static str) -> Column {
    Column {
        name,
        format: "",
        description,
        priority: 0,
    }
}

const CATALOG_COLUMN: Column = column("Catalog", "The catalog that it is from");

const PACKAGE_COLUMN: Column = column("Package", "The package that it belongs to");

const VERSION_COLUMN: Column = column(
    "Version",
    "The version of the newest bundle of the default channel",
);

const MANIFESTS: Facts = Facts {
    name: "PackageManifest",
    plural: "packagemanifests",
    singular: "packagemanifest",
    group: PACKAGES,
    version: "v1",
    is_namespaced: true,
    subresources: &["icon"],
    columns: &[
        NAME_COLUMN,
        column("Catalog", "The source catalog for this package"),
        AGE_COLUMN,
    ],
    fields: &["metadata.name", "metadata.namespace"],
};

/// What the kinds of the group [`CATALOGD`] have in common.
const OWN: Facts = Facts {
    name: "",
    plural: "",
    singular: "",
    group: CATALOGD,
    version: "v1beta1",
    is_namespaced: false,
    subresources: &[],
    columns: &[],
    fields: &["metadata.name", "spec.catalog", "spec.package"],
};

const PACKAGE: Facts = Facts {
    name: "Package",
    plural: "packages",
    singular: "package",
    columns: &[
        NAME_COLUMN,
        CATALOG_COLUMN,
        PACKAGE_COLUMN,
        column(
            "Default-Channel",
            "The channel that is used where none is named",
        ),
        column("Channels", "The channels of the package"),
        AGE_COLUMN,
    ],
    ..OWN
};

const BUNDLES: Facts = Facts {
    name: "BundleMetadata",
    plural: "bundlemetadata",
    singular: "bundlemetadata",
    columns: &[
        NAME_COLUMN,
        PACKAGE_COLUMN,
        column("Version", "The version of the bundle"),
        Column {
            name: "Image",
            format: "",
            description: "The image of the bundle",
            priority: 1,
        },
        AGE_COLUMN,
    ],
    ..OWN
};

const OPERATORS: Facts = Facts {
    name: "OperatorPackage",
    plural: "operatorpackages",
    singular: "operatorpackage",
    columns: &[
        NAME_COLUMN,
        CATALOG_COLUMN,
        VERSION_COLUMN,
        column("Provider", "The provider of the package"),
        AGE_COLUMN,
    ],
    ..OWN
};

const BLOBS: Facts = Facts {
    name: "CatalogMetadata",
    plural: "catalogmetadata",
    singular: "catalogmetadata",
    columns: &[
        NAME_COLUMN,
        CATALOG_COLUMN,
        column("Schema", "The schema of the blob"),
        PACKAGE_COLUMN,
        AGE_COLUMN,
    ],
    fields: &[
        "metadata.name",
        "spec.catalog",
        "spec.package",
        "spec.schema",
    ],
    ..OWN
};

impl Kind {
    pub(crate) const ALL: [Self; 5] = [
        Self::PackageManifest,
        Self::Package,
        Self::BundleMetadata,
        Self::OperatorPackage,
        Self::CatalogMetadata,
    ];

    fn facts(self) -> &'static Facts {
        match self {
            Self::PackageManifest => &MANIFESTS,
            Self::Package => &PACKAGE,
            Self::BundleMetadata => &BUNDLES,
            Self::OperatorPackage => &OPERATORS,
            Self::CatalogMetadata => &BLOBS,
        }
    }

    /// Returns the kind of a resource of a group.
    pub(crate) fn find(group: &str, version: &str, resource: &str) -> Option<Self> {
        let is_it = |kind: &Self| {
            kind.group() == group && kind.version() == version && kind.plural() == resource
        };
        Self::ALL.into_iter().find(is_it)
    }

    /// Returns its name, as in the field `kind` of objects.
    pub(crate) fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the name of the resource.
    pub(crate) fn plural(self) -> &'static str {
        self.facts().plural
    }

    /// Returns the name of one object of the resource.
    pub(crate) fn singular(self) -> &'static str {
        self.facts().singular
    }

    pub(crate) fn group(self) -> &'static str {
        self.facts().group
    }

    pub(crate) fn version(self) -> &'static str {
        self.facts().version
    }

    /// Returns the group and version, as in the field `apiVersion` of objects.
    pub(crate) fn api_version(self) -> String {
        format!("{}/{}", self.group(), self.version())
    }

    /// Returns whether its objects have namespaces.
    pub(crate) fn is_namespaced(self) -> bool {
        self.facts().is_namespaced
    }

    /// Returns the subresources of its objects.
    pub(crate) fn subresources(self) -> &'static [&'static str] {
        self.facts().subresources
    }

    /// Returns the columns of its tables, of which the first is the name and the last the age.
    pub(crate) fn columns(self) -> &'static [Column] {
        self.facts().columns
    }

    /// Returns the fields that field selectors may name.
    pub(crate) fn selectable_fields(self) -> &'static [&'static str] {
        self.facts().fields
    }

    /// Returns the cells of an object between its name and its age.
    pub(crate) fn cells(self, item: &Item<'_>) -> Vec<String> {
        let field = |name: &str| item.object.field(name).to_owned();
        let package = || {
            item.published
                .map(|(catalog, listed)| catalog.served.content.catalog.package_at(listed.place))
        };
        match self {
            Self::PackageManifest => vec![item.objects.source.display_name.clone()],
            Self::Package => {
                let default = package().map(|package| package.default_channel_name().to_owned());
                let channels = package()
                    .map(|package| package.channels().map(Channel::name).collect::<Vec<_>>());
                let channels = channels.unwrap_or_default().join(",");
                vec![
                    field("spec.catalog"),
                    field("spec.package"),
                    default.unwrap_or_default(),
                    channels,
                ]
            }
            Self::BundleMetadata => {
                let image = item.published.map(|(catalog, listed)| {
                    catalog
                        .served
                        .content
                        .catalog
                        .bundle_at(listed.place)
                        .image()
                        .decode()
                        .into_owned()
                });
                vec![
                    field("spec.package"),
                    field("version"),
                    image.unwrap_or_default(),
                ]
            }
            Self::OperatorPackage => {
                vec![field("spec.catalog"), field("version"), field("provider")]
            }
            Self::CatalogMetadata => vec![
                field("spec.catalog"),
                field("spec.schema"),
                field("spec.package"),
            ],
        }
    }

    /// Returns the value of a selectable field of an object that a request sees in this namespace.
    pub(crate) fn field<'o>(field: &str, namespace: &'o str, object: &'o Object) -> &'o str {
        match field {
            "metadata.name" => &object.name,
            "metadata.namespace" => namespace,
            other => object.field(other),
        }
    }

    /// Lists the objects of a catalog, sorted by name, all with this revision. What is read for
    /// that and would be read again is kept in its texts.
    pub(crate) fn list(
        self,
        served: &Served,
        source: &CatalogSource,
        texts: &Texts,
        revision: u64,
    ) -> Vec<Listed> {
        match self {
            Self::PackageManifest => list_manifests(served, source, texts, revision),
            kind => blobs::list(kind, served, source, texts, revision),
        }
    }

    /// Returns how many bytes [`Kind::write`] copies, roughly; `None` if it does more than that.
    pub(crate) fn copied_bytes(self, catalog: &PublishedCatalog, listed: &Listed) -> Option<usize> {
        match self {
            Self::PackageManifest | Self::OperatorPackage => {
                Some(catalog.texts.get(listed.place)?.plain.len())
            }
            kind => Some(blobs::copied_bytes(kind, &catalog.served, listed.place)),
        }
    }

    /// Writes the members of an object that follow its metadata.
    pub(crate) fn write(self, catalog: &PublishedCatalog, listed: &Listed, out: &mut JsonWriter) {
        match self {
            Self::PackageManifest | Self::OperatorPackage => {
                write_manifest(catalog, listed.place, out);
            }
            kind => blobs::write(
                kind,
                &catalog.served,
                &catalog.objects.source,
                listed.place,
                out,
            ),
        }
    }

    /// Writes the members that follow the metadata of an object that is gone: what names it.
    pub(crate) fn write_deleted(
        self,
        catalog: &CatalogObjects,
        object: &Object,
        out: &mut JsonWriter,
    ) {
        if self != Self::PackageManifest {
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
        out.text_member("catalogSource", &catalog.source.name);
        out.text_member("catalogSourceNamespace", &catalog.source.namespace);
        out.text_member("packageName", &object.name);
        out.key("channels");
        out.raw(b"[]");
        out.close(b'}');
    }
}

/// Writes the members of a manifest that follow its metadata, as they are kept, or else from the
/// content.
fn write_manifest(catalog: &PublishedCatalog, place: usize, out: &mut JsonWriter) {
    out.key("spec");
    out.raw(b"{}");
    let source = &catalog.objects.source;
    manifest::write_source(source, out);
    if let Some(text) = catalog.texts.get(place) {
        return out.kept(text);
    }
    let package = catalog.served.content.catalog.package_at(place);
    match Manifest::read(package, source, &mut Manifests::default()) {
        Some(manifest) => out.rest(&manifest.rest),
        None => out.close(b'}'),
    }
}

fn list_manifests(
    served: &Served,
    source: &CatalogSource,
    texts: &Texts,
    revision: u64,
) -> Vec<Listed> {
    let mut manifests = Manifests::default();
    let mut writer = texts.writer();
    let mut listed = Vec::new();
    for package in served.content.catalog.packages() {
        let Some(manifest) = Manifest::read(package, source, &mut manifests) else {
            continue;
        };
        let Manifest {
            labels,
            annotations,
            rest,
            ..
        } = manifest;
        if let Some(writer) = &mut writer {
            writer.push(package.place(), &rest, ());
        }
        let metadata = format!("{source:?}{labels:?}{annotations:?}");
        let [hash, _] = halves(hash_parts([metadata.as_bytes(), &rest]));
        let name = package.name().to_owned();
        let fields = Vec::new();
        let object = Object {
            name,
            labels,
            annotations,
            fields,
            hash,
            revision,
        };
        listed.push(Listed {
            place: package.place(),
            object: Arc::new(object),
        });
    }
    if let Some(writer) = writer {
        texts.keep(writer);
    }
    listed
}

/// Returns both halves of a hash.
pub(crate) fn halves(hash: [u8; 16]) -> [u64; 2] {
    let whole = u128::from_be_bytes(hash);
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    let lower = whole as u64;
    [(whole >> 64) as u64, lower]
}
