//! GraphQL documents of the commands, one operation in each. Their texts never vary, so that a
//! server that executes trusted documents only can list them.

/// Fields of bundles for a description.
pub const BUNDLE: &str = include_str!("../documents/bundle.graphql");
/// Properties of bundles by name.
pub const BUNDLE_PROPERTIES: &str = include_str!("../documents/bundle_properties.graphql");
/// List of bundles.
pub const BUNDLES: &str = include_str!("../documents/bundles.graphql");
/// List of catalogs.
pub const CATALOGS: &str = include_str!("../documents/catalogs.graphql");
/// Channels of packages.
pub const CHANNELS: &str = include_str!("../documents/channels.graphql");
/// Differences between two contents.
pub const DIFF: &str = include_str!("../documents/diff.graphql");
/// Values of the filters of `search`.
pub const FACET_VALUES: &str = include_str!("../documents/facet_values.graphql");
/// Update graph of a package.
pub const GRAPH: &str = include_str!("../documents/graph.graphql");
/// Result of the last load of each catalog, also of those that were never loaded.
pub const LOAD_STATUSES: &str = include_str!("../documents/load_statuses.graphql");
/// List of blobs.
pub const METAS: &str = include_str!("../documents/metas.graphql");
/// Bundles of installed packages with their judgements for OLM v1.
pub const MIGRATION_BUNDLES: &str = include_str!("../documents/migration_bundles.graphql");
/// Served catalogs with their digests and images.
pub const MIGRATION_CATALOGS: &str = include_str!("../documents/migration_catalogs.graphql");
/// Judgement of a bundle for OLM v1 from its manifests, also those in its image.
pub const MIGRATION_INSTALLATION: &str =
    include_str!("../documents/migration_installation.graphql");
/// Channels of installed packages.
pub const MIGRATION_PACKAGES: &str = include_str!("../documents/migration_packages.graphql");
/// Upgrades of installed bundles.
pub const MIGRATION_UPGRADES: &str = include_str!("../documents/migration_upgrades.graphql");
/// Part of a catalog that a disconnected cluster needs.
pub const MIRROR_SET: &str = include_str!("../documents/mirror_set.graphql");
/// Fields of packages for a description.
pub const PACKAGE: &str = include_str!("../documents/package.graphql");
/// Catalogs that have a package.
pub const PACKAGE_NAMES: &str = include_str!("../documents/package_names.graphql");
/// List of packages.
pub const PACKAGES: &str = include_str!("../documents/packages.graphql");
/// Plan for an upgrade of the platform.
pub const PLATFORM_UPGRADE: &str = include_str!("../documents/platform_upgrade.graphql");
/// List of problems of a catalog.
pub const PROBLEMS: &str = include_str!("../documents/problems.graphql");
/// Resolution of an installation or an upgrade.
pub const RESOLVE: &str = include_str!("../documents/resolve.graphql");
/// Served catalogs with their digests and labels.
pub const SERVED: &str = include_str!("../documents/served.graphql");
/// Packages with names similar to an unknown one.
pub const SIMILAR_PACKAGES: &str = include_str!("../documents/similar_packages.graphql");
/// Solution of dependencies.
pub const SOLVE: &str = include_str!("../documents/solve.graphql");

/// All of them.
pub const ALL: [&str; 25] = [
    BUNDLE,
    BUNDLE_PROPERTIES,
    BUNDLES,
    CATALOGS,
    CHANNELS,
    DIFF,
    FACET_VALUES,
    GRAPH,
    LOAD_STATUSES,
    METAS,
    MIGRATION_BUNDLES,
    MIGRATION_CATALOGS,
    MIGRATION_INSTALLATION,
    MIGRATION_PACKAGES,
    MIGRATION_UPGRADES,
    MIRROR_SET,
    PACKAGE,
    PACKAGE_NAMES,
    PACKAGES,
    PLATFORM_UPGRADE,
    PROBLEMS,
    RESOLVE,
    SERVED,
    SIMILAR_PACKAGES,
    SOLVE,
];
