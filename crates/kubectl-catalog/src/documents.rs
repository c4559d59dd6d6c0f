//! The documents that are sent, one operation in each. Their texts do not vary, so that a server
//! which takes trusted documents only can know them.

use catalogql_client::{DOCUMENTS, trusted_documents};

pub(crate) const BUNDLE: &str = include_str!("../documents/bundle.graphql");
pub(crate) const BUNDLES: &str = include_str!("../documents/bundles.graphql");
pub(crate) const BUNDLE_NAMES: &str = include_str!("../documents/bundle_names.graphql");
pub(crate) const BUNDLE_PROPERTIES: &str = include_str!("../documents/bundle_properties.graphql");
pub(crate) const CATALOGS: &str = include_str!("../documents/catalogs.graphql");
pub(crate) const CHANNELS: &str = include_str!("../documents/channels.graphql");
pub(crate) const COUNTS: &str = include_str!("../documents/counts.graphql");
pub(crate) const DIFF: &str = include_str!("../documents/diff.graphql");
pub(crate) const GRAPH: &str = include_str!("../documents/graph.graphql");
pub(crate) const IMAGES: &str = include_str!("../documents/images.graphql");
pub(crate) const MANIFEST: &str = include_str!("../documents/manifest.graphql");
pub(crate) const METAS: &str = include_str!("../documents/metas.graphql");
pub(crate) const PACKAGE: &str = include_str!("../documents/package.graphql");
pub(crate) const PACKAGES: &str = include_str!("../documents/packages.graphql");
pub(crate) const PACKAGE_NAMES: &str = include_str!("../documents/package_names.graphql");
pub(crate) const PATH: &str = include_str!("../documents/path.graphql");
pub(crate) const PROBLEMS: &str = include_str!("../documents/problems.graphql");
pub(crate) const PROVIDERS: &str = include_str!("../documents/providers.graphql");
pub(crate) const RESOLVE: &str = include_str!("../documents/resolve.graphql");
pub(crate) const SERVED: &str = include_str!("../documents/served.graphql");
pub(crate) const SERVER: &str = include_str!("../documents/server.graphql");
pub(crate) const SIMILAR_PACKAGES: &str = include_str!("../documents/similar_packages.graphql");
pub(crate) const SOLVE: &str = include_str!("../documents/solve.graphql");
pub(crate) const SUGGEST: &str = include_str!("../documents/suggest.graphql");
pub(crate) const UPGRADES: &str = include_str!("../documents/upgrades.graphql");
pub(crate) const SUCCESSORS: &str = include_str!("../documents/successors.graphql");

/// Every document of this program.
const ALL: [&str; 26] = [
    BUNDLE,
    BUNDLES,
    BUNDLE_NAMES,
    BUNDLE_PROPERTIES,
    CATALOGS,
    CHANNELS,
    COUNTS,
    DIFF,
    GRAPH,
    IMAGES,
    MANIFEST,
    METAS,
    PACKAGE,
    PACKAGES,
    PACKAGE_NAMES,
    PATH,
    PROBLEMS,
    PROVIDERS,
    RESOLVE,
    SERVED,
    SERVER,
    SIMILAR_PACKAGES,
    SOLVE,
    SUCCESSORS,
    SUGGEST,
    UPGRADES,
];

/// The documents as they are sent, each by the SHA-256 of its text: a file for `catalogql serve
/// --documents`.
pub(crate) fn trusted() -> String {
    let documents = trusted_documents(ALL.into_iter().chain(DOCUMENTS));
    serde_json::to_string_pretty(&documents).expect("it is JSON") + "\n"
}
