//! The kinds of objects, and what each says of itself in discovery, tables and selectors.

use std::sync::Arc;

use fbc::catalog::Manifests;
use serving::Served;

use crate::item::Item;
use crate::json::JsonWriter;
use crate::manifest::{CatalogSource, Manifest};
use crate::published::{CatalogObjects, Listed, Object, PublishedCatalog, hash_parts};

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    PackageManifest,
}

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

/// The columns of `PackageManifests`.
const MANIFEST_COLUMNS: [Column; 3] = [
    Column { name: "Name", format: "name", description: NAME, priority: 0 },
    Column { name: "Catalog", format: "", description: "The source catalog for this package", priority: 0 },
    Column { name: "Age", format: "", description: AGE, priority: 0 },
];

impl Kind {
    pub(crate) const ALL: [Self; 1] = [Self::PackageManifest];

    /// Returns the kind of a resource of a group.
    pub(crate) fn find(group: &str, version: &str, resource: &str) -> Option<Self> {
        let is_it = |kind: &Self| kind.group() == group && kind.version() == version && kind.plural() == resource;
        Self::ALL.into_iter().find(is_it)
    }

    /// Returns its name, as in the field `kind` of objects.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PackageManifest => "PackageManifest",
        }
    }

    /// Returns the name of the resource.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::PackageManifest => "packagemanifests",
        }
    }

    /// Returns the name of one object of the resource.
    pub(crate) fn singular(self) -> &'static str {
        match self {
            Self::PackageManifest => "packagemanifest",
        }
    }

    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::PackageManifest => "packages.operators.coreos.com",
        }
    }

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::PackageManifest => "v1",
        }
    }

    /// Returns the group and version, as in the field `apiVersion` of objects.
    pub(crate) fn api_version(self) -> String {
        format!("{}/{}", self.group(), self.version())
    }

    /// Returns whether its objects have namespaces.
    pub(crate) fn is_namespaced(self) -> bool {
        match self {
            Self::PackageManifest => true,
        }
    }

    /// Returns the subresources of its objects.
    pub(crate) fn subresources(self) -> &'static [&'static str] {
        match self {
            Self::PackageManifest => &["icon"],
        }
    }

    /// Returns the columns of its tables, of which the first is the name and the last the age.
    pub(crate) fn columns(self) -> &'static [Column] {
        match self {
            Self::PackageManifest => &MANIFEST_COLUMNS,
        }
    }

    /// Returns the cells of an object between its name and its age.
    pub(crate) fn cells(self, item: &Item<'_>) -> Vec<String> {
        match self {
            Self::PackageManifest => vec![item.objects.source.display_name.clone()],
        }
    }

    /// Returns the fields that field selectors may name.
    pub(crate) fn selectable_fields(self) -> &'static [&'static str] {
        match self {
            Self::PackageManifest => &["metadata.name", "metadata.namespace"],
        }
    }

    /// Returns the value of a selectable field of an object that a request sees in this namespace.
    pub(crate) fn field(field: &str, namespace: &str, listed: &Listed) -> String {
        match field {
            "metadata.name" => listed.object.name.clone(),
            "metadata.namespace" => namespace.to_owned(),
            _ => String::new(),
        }
    }

    /// Lists the objects of a catalog, sorted by name, all with this revision.
    pub(crate) fn list(self, served: &Served, source: &CatalogSource, revision: u64) -> Vec<Listed> {
        match self {
            Self::PackageManifest => list_manifests(served, source, revision),
        }
    }

    /// Writes the members of an object that follow its metadata.
    pub(crate) fn write(self, catalog: &PublishedCatalog, listed: &Listed, out: &mut JsonWriter) {
        match self {
            Self::PackageManifest => {
                let package = catalog.served.content.catalog.package_at(listed.place);
                let manifest = Manifest::read(package, &catalog.objects.source, &mut Manifests::default());
                write_manifest(manifest.as_ref().map_or(b"{}", |manifest| manifest.status.as_slice()), out);
            }
        }
    }

    /// Writes the members that follow the metadata of an object that is gone: what names it.
    pub(crate) fn write_deleted(self, catalog: &CatalogObjects, object: &Object, out: &mut JsonWriter) {
        match self {
            Self::PackageManifest => {
                let mut status = JsonWriter::default();
                status.open(b'{');
                status.text_member("catalogSource", &catalog.source.name);
                status.text_member("catalogSourceNamespace", &catalog.source.namespace);
                status.text_member("packageName", &object.name);
                status.key("channels");
                status.raw(b"[]");
                status.close(b'}');
                write_manifest(&status.into_bytes(), out);
            }
        }
    }
}

fn write_manifest(status: &[u8], out: &mut JsonWriter) {
    out.key("spec");
    out.raw(b"{}");
    out.key("status");
    out.raw(status);
}

fn list_manifests(served: &Served, source: &CatalogSource, revision: u64) -> Vec<Listed> {
    let mut manifests = Manifests::default();
    let mut listed = Vec::new();
    for package in served.content.catalog.packages() {
        let Some(manifest) = Manifest::read(package, source, &mut manifests) else { continue };
        let Manifest { labels, annotations, status } = manifest;
        let metadata = format!("{:?}{labels:?}{annotations:?}", source.created);
        let [hash, _] = halves(hash_parts([metadata.as_bytes(), &status]));
        let object = Object { name: package.name().to_owned(), labels, annotations, hash, revision };
        listed.push(Listed { place: package.place(), object: Arc::new(object) });
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
