//! Signed entries of a transparency log (Rekor): a promise that the log has a signature.
//!
//! The log itself is not asked.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{JsonError, JsonObject};
use crate::key::PublicKey;

/// Largest integer that JSON numbers of JavaScript represent, which canonical JSON is made of.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// The parts of a signature that an entry must have.
pub(crate) struct LoggedSignature<'a> {
    /// Kind of the PEM section of the key or certificate.
    pub(crate) kind: SectionKind,
    /// The key or certificate in DER.
    pub(crate) der: &'a [u8],
    pub(crate) signature: &'a [u8],
    /// The signed bytes.
    pub(crate) payload: &'a [u8],
    /// The payload of a DSSE envelope, if the signed bytes are those of one.
    pub(crate) enveloped: Option<&'a [u8]>,
}

/// An entry as a log promised it.
#[derive(Debug)]
pub(crate) struct PromisedEntry<'a> {
    /// The body in base64.
    pub(crate) body: &'a str,
    /// Seconds since 1970.
    pub(crate) time: i64,
    pub(crate) index: i64,
    /// The hash of the log's key in hexadecimal digits.
    pub(crate) log: &'a str,
}

/// An error of an entry.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RekorError {
    #[error("the entry of the log is malformed: {0}")]
    Json(#[from] JsonError),
    #[error("the entry of the log is malformed: {0}")]
    Malformed(&'static str),
    #[error("no key of the log verifies its entry")]
    NotVerified,
    #[error("the entry of the log is of the kind `{0}`, which is not supported")]
    Kind(String),
    #[error("the entry of the log is for another {0}")]
    Another(&'static str),
    #[error("the log does not have its entry: {0}")]
    NotIncluded(&'static str),
}

#[derive(Deserialize)]
struct EntryBody {
    #[serde(rename = "apiVersion")]
    version: String,
    kind: String,
    spec: Box<RawValue>,
}

#[derive(Deserialize)]
struct HashedRekord {
    data: EntryData,
    signature: EntrySignature,
}

#[derive(Deserialize)]
struct EntryData {
    hash: EntryHash,
}

#[derive(Deserialize)]
struct EntryHash {
    algorithm: String,
    value: String,
}

#[derive(Deserialize)]
struct EntrySignature {
    content: String,
    #[serde(rename = "publicKey")]
    public_key: EntryKey,
}

#[derive(Deserialize)]
struct EntryKey {
    content: String,
}

/// An entry for a DSSE envelope.
#[derive(Deserialize)]
struct LoggedEnvelope {
    #[serde(rename = "payloadHash")]
    payload_hash: EntryHash,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    signature: String,
    verifier: String,
}

impl RekorError {
    /// Returns whether the entry cannot be read.
    pub(crate) fn is_malformed(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Malformed(_))
    }
}

/// Verifies an entry by the keys of logs, and returns its time.
pub(crate) fn verify(
    keys: &[PublicKey],
    set: &str,
    logged: &LoggedSignature<'_>,
) -> Result<Timestamp, RekorError> {
    let set = JsonObject::with_exactly(set, &["SignedEntryTimestamp", "Payload"])?;
    let signature = decode(&set.require::<String>("SignedEntryTimestamp")?)?;
    let payload = set.get("Payload").unwrap_or_default();
    let payload =
        JsonObject::with_exactly(payload, &["body", "integratedTime", "logIndex", "logID"])?;
    let body: String = payload.require("body")?;
    let log: String = payload.require("logID")?;
    let entry = PromisedEntry {
        body: &body,
        time: payload.require("integratedTime")?,
        index: payload.require("logIndex")?,
        log: &log,
    };
    let time = entry.verify(keys, &signature)?;
    logged.verify_body(&decode(&body)?)?;
    Ok(time)
}

impl PromisedEntry<'_> {
    /// Verifies the promise of a log that it has the entry, and returns the time of the entry.
    pub(crate) fn verify(
        &self,
        keys: &[PublicKey],
        signature: &[u8],
    ) -> Result<Timestamp, RekorError> {
        let is_large = |number| !(-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number);
        if is_large(self.time) || is_large(self.index) {
            return Err(RekorError::Malformed("a number is too large"));
        }

        // Canonical JSON (RFC 8785) of these members: sorted, without white space.
        let canonical = format!(
            r#"{{"body":{},"integratedTime":{},"logID":{},"logIndex":{}}}"#,
            serde_json::Value::from(self.body),
            self.time,
            serde_json::Value::from(self.log),
            self.index,
        );
        if !keys
            .iter()
            .any(|key| key.verifies(canonical.as_bytes(), signature))
        {
            return Err(RekorError::NotVerified);
        }
        Timestamp::from_second(self.time)
            .map_err(|_| RekorError::Malformed("its time is out of range"))
    }
}

impl LoggedSignature<'_> {
    /// Compares the body of an entry with the signature.
    pub(crate) fn verify_body(&self, body: &[u8]) -> Result<(), RekorError> {
        let json = |error| RekorError::Json(JsonError::Syntax(error));
        let entry: EntryBody = serde_json::from_slice(body).map_err(json)?;
        match (entry.kind.as_str(), entry.version.as_str(), self.enveloped) {
            ("hashedrekord", "0.0.1", _) => {
                let spec: HashedRekord = serde_json::from_str(entry.spec.get()).map_err(json)?;
                self.verify_signer(&spec.signature.public_key.content)?;
                self.verify_signature(&spec.signature.content)?;
                verify_hash(&spec.data.hash, self.payload)
            }
            ("dsse", "0.0.1", Some(payload)) => {
                let spec: LoggedEnvelope = serde_json::from_str(entry.spec.get()).map_err(json)?;
                let [signature] = spec.signatures.as_slice() else {
                    return Err(RekorError::Malformed("it has not one signature"));
                };
                self.verify_signer(&signature.verifier)?;
                self.verify_signature(&signature.signature)?;
                verify_hash(&spec.payload_hash, payload)
            }
            (kind, version, _) => Err(RekorError::Kind(format!("{kind} {version}"))),
        }
    }

    /// Compares the key or certificate of an entry.
    fn verify_signer(&self, pem: &str) -> Result<(), RekorError> {
        let (kind, der) = <(SectionKind, Vec<u8>)>::from_pem_slice(&decode(pem)?)
            .map_err(|_| RekorError::Malformed("its key is not PEM"))?;
        if kind == self.kind && der == self.der {
            Ok(())
        } else {
            Err(RekorError::Another("key or certificate"))
        }
    }

    fn verify_signature(&self, signature: &str) -> Result<(), RekorError> {
        if decode(signature)? == self.signature {
            Ok(())
        } else {
            Err(RekorError::Another("signature"))
        }
    }
}

fn verify_hash(hash: &EntryHash, payload: &[u8]) -> Result<(), RekorError> {
    if hash.algorithm == "sha256" && hash.value == content_digest::digest(payload).hex() {
        Ok(())
    } else {
        Err(RekorError::Another("payload"))
    }
}

fn decode(text: &str) -> Result<Vec<u8>, RekorError> {
    BASE64_STANDARD
        .decode(text)
        .map_err(|_| RekorError::Malformed("a value is not base64"))
}
