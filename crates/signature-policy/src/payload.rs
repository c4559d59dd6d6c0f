//! The signed text: which image a signature is for.

use fbc_grammar::Digest;

use crate::json::{JsonError, JsonObject};

/// Type of payloads of sigstore.
pub(crate) const SIGSTORE_TYPE: &str = "cosign container image signature";

/// Type of payloads of simple signing.
pub(crate) const SIMPLE_TYPE: &str = "atomic container signature";

/// The digest and the name that a signature is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedPayload {
    pub(crate) reference: String,
    /// The digest of the manifest, as it is written.
    pub(crate) digest: String,
}

/// An error in a payload.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayloadError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("the type `{0}` is not that of an image signature")]
    Type(String),
    #[error("the timestamp {0} is not a whole number")]
    Timestamp(f64),
    #[error("it is not UTF-8")]
    NotUtf8,
}

impl SignedPayload {
    /// Parses a payload whose signature was verified. `kind` is the type that it must have.
    pub(crate) fn parse(bytes: &[u8], kind: &str) -> Result<Self, PayloadError> {
        let text = std::str::from_utf8(bytes).map_err(|_| PayloadError::NotUtf8)?;
        let payload = JsonObject::with_exactly(text, &["critical", "optional"])?;
        let critical = payload.get("critical").unwrap_or_default();
        let critical = JsonObject::with_exactly(critical, &["type", "image", "identity"])?;
        let found: String = critical.require("type")?;
        if found != kind {
            return Err(PayloadError::Type(found));
        }
        let image = critical.get("image").unwrap_or_default();
        let image = JsonObject::with_exactly(image, &["docker-manifest-digest"])?;
        let identity = critical.get("identity").unwrap_or_default();
        let identity = JsonObject::with_exactly(identity, &["docker-reference"])?;
        let optional = payload.get("optional").unwrap_or_default();
        if kind != SIGSTORE_TYPE || optional != "null" {
            let optional = JsonObject::parse(optional)?;
            optional.read::<String>("creator")?;
            if let Some(timestamp) = optional.read::<f64>("timestamp")?
                && timestamp.fract() != 0.0
            {
                return Err(PayloadError::Timestamp(timestamp));
            }
        }
        Ok(Self {
            reference: identity.require("docker-reference")?,
            digest: image.require("docker-manifest-digest")?,
        })
    }

    /// Returns whether the signature is for a manifest with this digest.
    pub(crate) fn is_for(&self, manifest: Digest) -> bool {
        Digest::parse(&self.digest) == Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(optional: &str, kind: &str) -> Result<SignedPayload, PayloadError> {
        let text = format!(
            r#"{{"critical":{{"type":"{kind}","image":{{"docker-manifest-digest":"sha256:1"}},"identity":{{"docker-reference":"quay.io/a"}}}},"optional":{optional}}}"#
        );
        SignedPayload::parse(text.as_bytes(), kind)
    }

    #[test]
    fn what_is_optional_may_be_null_in_sigstore_and_has_whole_timestamps() {
        for optional in ["null", "{}", r#"{"timestamp":1,"creator":"x","other":[1]}"#] {
            assert!(parse(optional, SIGSTORE_TYPE).is_ok(), "{optional}");
        }
        for optional in [
            "1",
            r#"{"timestamp":1.5}"#,
            r#"{"creator":1}"#,
            r#"{"a":1,"a":1}"#,
        ] {
            assert!(parse(optional, SIGSTORE_TYPE).is_err(), "{optional}");
        }
        assert!(parse("null", SIMPLE_TYPE).is_err());
        assert!(parse("{}", SIMPLE_TYPE).is_ok());
    }
}
