//! Manifests and signatures, as they are fetched for a judgement and stored for later ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Maximum number of signatures of a manifest.
pub const MAX_SIGNATURES: usize = 128;

/// Maximum length of the payload of a signature, in bytes.
pub const MAX_PAYLOAD_BYTES: u64 = 4 << 20;

/// Maximum length of an annotation of a signature, in bytes.
pub const MAX_ANNOTATION_BYTES: usize = 64 << 10;

/// Media type of layers that are signatures.
pub const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// Annotation with the signature in base64.
pub const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";

/// Annotation with the signed entry of a transparency log.
pub const REKOR_ANNOTATION: &str = "dev.sigstore.cosign/bundle";

/// Annotation with the certificate of the signer in PEM.
pub const CERTIFICATE_ANNOTATION: &str = "dev.sigstore.cosign/certificate";

/// Annotation with the chain of the certificate in PEM.
pub const CHAIN_ANNOTATION: &str = "dev.sigstore.cosign/chain";

/// Everything that a judgement of an image needs, apart from the policy and the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The manifest of the selected platform, with its signatures.
    pub manifest: SignedManifest,
    /// The index that names the manifest by its digest, if the image has one.
    pub index: Option<SignedManifest>,
}

/// A manifest or index with its signatures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignedManifest {
    /// The bytes of the manifest.
    #[serde(with = "base64_bytes")]
    pub bytes: Vec<u8>,
    /// Its signatures.
    pub signatures: ImageSignatures,
}

/// The signatures that were found for a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageSignatures {
    /// Sigstore signatures, in their order.
    pub attached: Vec<AttachedSignature>,
    /// Sigstore bundles, in their order: JSON texts.
    pub bundles: Vec<EvidenceBytes>,
    /// Signatures of simple signing, in their order: `OpenPGP` messages.
    pub simple: Vec<EvidenceBytes>,
    /// Number of other layers beside the sigstore signatures.
    pub other_layers: usize,
    /// Places where sigstore signatures were looked for, for messages.
    pub places: Vec<String>,
    /// Those of them that could not be read, with the causes.
    pub unreachable: Vec<String>,
    /// Places where signatures of simple signing were looked for, for messages.
    pub lookaside_places: Vec<String>,
    /// Those of them that could not be read, with the causes.
    pub lookaside_unreachable: Vec<String>,
    /// Attachments were not looked for, because registries.d turns them off.
    pub attachments_off: bool,
}

/// Bytes that are stored in base64.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EvidenceBytes(#[serde(with = "base64_bytes")] pub Vec<u8>);

/// A sigstore signature that is attached to an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttachedSignature {
    /// The signed text.
    #[serde(with = "base64_bytes")]
    pub payload: Vec<u8>,
    /// The annotations of the layer, with the signature in one of them.
    pub annotations: BTreeMap<String, String>,
}

impl Evidence {
    /// Adds what was known of the same manifests before, where their signatures were not looked for
    /// now, or could not be fetched.
    #[must_use]
    pub fn or_known(self, before: Self) -> Self {
        let index = match (self.index, before.index) {
            (Some(index), Some(before)) => Some(index.or_known(&before)),
            (index, _) => index,
        };
        Self {
            manifest: self.manifest.or_known(&before.manifest),
            index,
        }
    }
}

impl SignedManifest {
    fn or_known(self, before: &Self) -> Self {
        if self.bytes != before.bytes {
            return self;
        }
        Self {
            bytes: self.bytes,
            signatures: self.signatures.or_known(&before.signatures),
        }
    }
}

impl ImageSignatures {
    /// Returns whether sigstore signatures were looked for, whether or not there are some.
    pub fn knows_sigstore(&self) -> bool {
        self.attachments_off || !self.places.is_empty() || !self.unreachable.is_empty()
    }

    /// Returns whether signatures of simple signing were looked for, whether or not there are some.
    pub fn knows_simple(&self) -> bool {
        !self.lookaside_places.is_empty() || !self.lookaside_unreachable.is_empty()
    }

    fn or_known(&self, before: &Self) -> Self {
        let keeps_sigstore = self.knows_sigstore() && self.unreachable.is_empty();
        let keeps_simple = self.knows_simple() && self.lookaside_unreachable.is_empty();
        let takes_sigstore = !keeps_sigstore && before.knows_sigstore();
        let takes_simple = !keeps_simple && before.knows_simple();
        let sigstore = if takes_sigstore { before } else { self };
        let simple = if takes_simple { before } else { self };
        Self {
            attached: sigstore.attached.clone(),
            bundles: sigstore.bundles.clone(),
            other_layers: sigstore.other_layers,
            places: sigstore.places.clone(),
            unreachable: sigstore.unreachable.clone(),
            attachments_off: sigstore.attachments_off,
            simple: simple.simple.clone(),
            lookaside_places: simple.lookaside_places.clone(),
            lookaside_unreachable: simple.lookaside_unreachable.clone(),
        }
    }
}

mod base64_bytes {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        BASE64_STANDARD.encode(bytes).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD
            .decode(text)
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(manifest: &str, signatures: ImageSignatures) -> Evidence {
        Evidence {
            manifest: SignedManifest {
                bytes: manifest.as_bytes().to_vec(),
                signatures,
            },
            index: None,
        }
    }

    #[test]
    fn signatures_that_are_not_known_now_are_those_that_were_known_of_the_same_manifest() {
        let found = |unreachable: &[&str]| ImageSignatures {
            places: vec!["a".to_owned()],
            unreachable: unreachable.iter().map(|&cause| cause.to_owned()).collect(),
            ..ImageSignatures::default()
        };
        let known = evidence("a", found(&[]));
        let unknown = evidence("a", ImageSignatures::default());
        let unreachable = evidence("a", found(&["503"]));
        let other = evidence("b", ImageSignatures::default());
        let cases = [
            (&unknown, &known, &known),
            (&unreachable, &known, &known),
            (&known, &unreachable, &known),
            (&unreachable, &unknown, &unreachable),
            (&other, &known, &other),
        ];
        for (now, before, expected) in cases {
            assert_eq!(now.clone().or_known(before.clone()), *expected);
        }
    }
}
