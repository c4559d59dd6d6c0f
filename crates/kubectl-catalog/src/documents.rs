//! The documents that are sent, one operation in each. Their texts do not vary, so that a server
//! which takes trusted documents only can know them.

use catalogql_client::{DOCUMENTS, trusted_documents};

pub(crate) const BUNDLE_NAMES: &str = include_str!("../documents/bundle_names.graphql");
pub(crate) const CATALOG_IMAGES: &str = include_str!("../documents/catalog_images.graphql");
pub(crate) const COUNTS: &str = include_str!("../documents/counts.graphql");
pub(crate) const DEFAULT_HEAD: &str = include_str!("../documents/default_head.graphql");
pub(crate) const IMAGES: &str = include_str!("../documents/images.graphql");
pub(crate) const INSTALLATION: &str = include_str!("../documents/installation.graphql");
pub(crate) const MANIFEST: &str = include_str!("../documents/manifest.graphql");
pub(crate) const PATH: &str = include_str!("../documents/path.graphql");
pub(crate) const PROVIDERS: &str = include_str!("../documents/providers.graphql");
pub(crate) const SERVER: &str = include_str!("../documents/server.graphql");
pub(crate) const SUGGEST: &str = include_str!("../documents/suggest.graphql");
pub(crate) const UPGRADES: &str = include_str!("../documents/upgrades.graphql");
pub(crate) const SUCCESSORS: &str = include_str!("../documents/successors.graphql");

/// Documents of the commands that this program alone has.
const OWN: [&str; 13] = [
    BUNDLE_NAMES,
    CATALOG_IMAGES,
    COUNTS,
    DEFAULT_HEAD,
    IMAGES,
    INSTALLATION,
    MANIFEST,
    PATH,
    PROVIDERS,
    SERVER,
    SUCCESSORS,
    SUGGEST,
    UPGRADES,
];

/// The documents as they are sent, each by the SHA-256 of its text: a file for `catalogql serve
/// --documents`.
pub(crate) fn trusted() -> String {
    let documents = trusted_documents(
        commands::documents::ALL
            .into_iter()
            .chain(OWN)
            .chain(DOCUMENTS),
    );
    serde_json::to_string_pretty(&documents).expect("it is JSON") + "\n"
}
