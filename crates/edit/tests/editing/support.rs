//! The recordings, unpacked.

use std::collections::BTreeMap;
use std::path::Path;

use edit::bundle::{BundleFile, BundleFiles};
use serde::Deserialize;
use serde_json::Value;
use testing::golden::unpacked;

/// A recorded bundle.
#[derive(Deserialize)]
pub(crate) struct Bundle {
    pub(crate) id: String,
    pub(crate) image: String,
    files: BTreeMap<String, String>,
    pub(crate) rendered: Option<Value>,
    pub(crate) error: Option<String>,
}

impl Bundle {
    /// Returns the files of the bundle.
    pub(crate) fn files(&self) -> BundleFiles {
        let below = |folder: &str| {
            let files = self
                .files
                .iter()
                .filter_map(|(path, text)| Some((path.strip_prefix(folder)?, text)));
            files
                .map(|(name, text)| BundleFile {
                    name: name.to_owned(),
                    bytes: text.clone().into_bytes(),
                })
                .collect()
        };
        BundleFiles {
            manifests: below("manifests/"),
            metadata: below("metadata/"),
        }
    }
}

/// Reads a recording, one JSON object a line.
pub(crate) fn lines<T: for<'de> Deserialize<'de>>(name: &str) -> Vec<T> {
    text(name)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Unpacks a recording.
pub(crate) fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata");
    unpacked(folder.join(name))
}
