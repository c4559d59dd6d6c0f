//! Documents of this crate, and the list of documents for servers that execute trusted ones only.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::client::compact;

pub(crate) use generated::*;

/// The documents that this crate sends, one operation in each.
pub const DOCUMENTS: [&str; 8] = [
    include_str!("../documents/bundles.graphql"),
    include_str!("../documents/changes.graphql"),
    include_str!("../documents/diff.graphql"),
    include_str!("../documents/heads.graphql"),
    include_str!("../documents/packages.graphql"),
    include_str!("../documents/resolve.graphql"),
    include_str!("../documents/served.graphql"),
    include_str!("../documents/upgrade_path.graphql"),
];

/// Returns documents as they are sent, each by the SHA-256 of its text: the trusted documents of a
/// server.
pub fn trusted_documents<'d>(
    documents: impl IntoIterator<Item = &'d str>,
) -> BTreeMap<String, String> {
    let sent = documents.into_iter().map(compact);
    sent.map(|text| {
        let digest =
            Sha256::digest(&text)
                .iter()
                .fold(String::with_capacity(64), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}");
                    hex
                });
        (digest, text)
    })
    .collect()
}

/// Types of the documents, which the build script makes: an inner matter of this crate.
mod generated {
    #![expect(
        unused_imports,
        nonstandard_style,
        unreachable_pub,
        clippy::all,
        reason = "generated"
    )]

    include!(concat!(env!("OUT_DIR"), "/documents.rs"));
}
