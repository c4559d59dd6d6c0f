//! The extension of `OpenShift`'s registry that stores signatures of simple signing beside its
//! images.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fbc_grammar::Digest;
use serde::{Deserialize, Deserializer};

use super::session::{RegistrySession, ResourceRequest};
use crate::ImageError;

/// Header of all responses of a registry with the extension; its value is `1`.
pub(super) const SUPPORTS_SIGNATURES: &str = "x-registry-supports-signatures";

/// Version and type of the signatures that are read.
const SCHEMA_VERSION: u64 = 2;
const SIGNATURE_TYPE: &str = "atomic";

#[derive(Deserialize)]
struct SignatureList {
    /// `null` for an image without signatures.
    signatures: Option<Vec<StoredSignature>>,
}

#[derive(Deserialize)]
struct StoredSignature {
    #[serde(rename = "schemaVersion", default)]
    schema_version: u64,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, deserialize_with = "base64_bytes")]
    content: Vec<u8>,
}

impl RegistrySession {
    /// Returns the place of the signatures of a manifest that the registry stores, for messages.
    pub(crate) fn stored_signatures_place(&self, digest: Digest) -> String {
        format!(
            "{}{}",
            self.location.host,
            stored_signatures_path(&self.location.repository, digest)
        )
    }

    /// Downloads the signatures of a manifest that the registry stores: a list of at most `limit`
    /// bytes. Signatures of other types are left out.
    pub(crate) async fn stored_signatures(
        &self,
        digest: Digest,
        limit: u64,
    ) -> Result<Vec<Vec<u8>>, ImageError> {
        let resource = format!("the signatures of {digest}");
        let path = stored_signatures_path(&self.location.repository, digest);
        let (list, _) = self
            .download(ResourceRequest {
                resource: &resource,
                path: &path,
                from: 0,
                bytes: limit,
            })
            .await?;
        parse(&list).map_err(|source| ImageError::Manifest { resource, source })
    }
}

/// Parses a list of signatures.
fn parse(list: &[u8]) -> serde_json::Result<Vec<Vec<u8>>> {
    let list: SignatureList = serde_json::from_slice(list)?;
    let stored = list.signatures.unwrap_or_default();
    let simple = stored
        .into_iter()
        .filter(|it| it.schema_version == SCHEMA_VERSION && it.kind == SIGNATURE_TYPE);
    Ok(simple.map(|signature| signature.content).collect())
}

fn stored_signatures_path(repository: &str, digest: Digest) -> String {
    format!("/extensions/v2/{repository}/signatures/{digest}")
}

fn base64_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    BASE64_STANDARD
        .decode(text)
        .map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_of_simple_signing_are_read_in_their_order_and_others_are_left_out() {
        let list = br#"{"signatures": [
            {"schemaVersion": 2, "name": "sha256:1@a", "type": "atomic", "content": "b25l"},
            {"schemaVersion": 1, "name": "sha256:1@b", "type": "atomic", "content": "b25l"},
            {"schemaVersion": 2, "name": "sha256:1@c", "type": "other", "content": null},
            {"schemaVersion": 2, "name": "sha256:1@d", "type": "atomic", "content": "dHdv"}
        ]}"#;
        assert_eq!(parse(list).unwrap(), [b"one", b"two"]);
    }

    #[test]
    fn an_image_may_have_no_signatures() {
        for list in ["{}", r#"{"signatures": null}"#, r#"{"signatures": []}"#] {
            assert_eq!(
                parse(list.as_bytes()).unwrap(),
                Vec::<Vec<u8>>::new(),
                "{list}"
            );
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_is_no_empty_list() {
        for list in [
            "",
            "[]",
            "<html>",
            r#"{"signatures": {}}"#,
            r#"{"signatures": [{"schemaVersion": 2, "type": "atomic", "content": "*"}]}"#,
        ] {
            assert!(parse(list.as_bytes()).is_err(), "{list}");
        }
    }
}
