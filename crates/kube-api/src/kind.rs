//! The kinds of objects, and what discovery, tables and selectors say about each.

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceKind {
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

/// The description of a kind.
struct ResourceFacts {
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

/// An API group with its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupVersion {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
}

/// The group of OLM v0's packageserver.
const PACKAGES: &str = "packages.operators.coreos.com";

/// The group of the objects that show what catalogs hold.
const CATALOGD: &str = "catalogd.operatorframework.io";

/// A column of a table.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// `name` for the name of the object, else empty.
    pub(crate) format: &'static str,
    pub(crate) description: &'static str,
    /// 0 for columns that are always shown; others are shown by `-o wide`.
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

const CATALOG_COLUMN: Column = column("Catalog", "Catalog of the object");

const PACKAGE_COLUMN: Column = column("Package", "Package of the object");

const VERSION_COLUMN: Column = column(
    "Version",
    "The version of the newest bundle of the default channel",
);

const MANIFESTS: ResourceFacts = ResourceFacts {
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

/// The common part of the kinds of the group [`CATALOGD`].
const OWN: ResourceFacts = ResourceFacts {
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

const PACKAGE: ResourceFacts = ResourceFacts {
    name: "Package",
    plural: "packages",
    singular: "package",
    columns: &[
        NAME_COLUMN,
        CATALOG_COLUMN,
        PACKAGE_COLUMN,
        column("Default-Channel", "Default channel of the package"),
        column("Channels", "The channels of the package"),
        AGE_COLUMN,
    ],
    ..OWN
};

const BUNDLES: ResourceFacts = ResourceFacts {
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

const OPERATORS: ResourceFacts = ResourceFacts {
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

const BLOBS: ResourceFacts = ResourceFacts {
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

impl ResourceKind {
    pub(crate) const ALL: [Self; 5] = [
        Self::PackageManifest,
        Self::Package,
        Self::BundleMetadata,
        Self::OperatorPackage,
        Self::CatalogMetadata,
    ];

    fn facts(self) -> &'static ResourceFacts {
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
}

/// Returns each API group with its version. Every group has one version.
pub(crate) fn groups() -> impl Iterator<Item = GroupVersion> {
    let mut groups: Vec<_> = ResourceKind::ALL
        .into_iter()
        .map(|kind| GroupVersion {
            group: kind.group(),
            version: kind.version(),
        })
        .collect();
    groups.dedup();
    groups.into_iter()
}

impl GroupVersion {
    /// Returns the kinds of the group.
    pub(crate) fn kinds(self) -> impl Iterator<Item = ResourceKind> {
        ResourceKind::ALL
            .into_iter()
            .filter(move |kind| kind.group() == self.group && kind.version() == self.version)
    }
}
