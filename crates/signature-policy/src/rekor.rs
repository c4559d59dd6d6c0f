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
    pub(crate) payload: &'a [u8],
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
    #[error("the entry of the log is of the kind `{0}`, not hashedrekord 0.0.1")]
    Kind(String),
    #[error("the entry of the log is for another {0}")]
    Another(&'static str),
}

#[derive(Deserialize)]
struct Entry {
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
    let time: i64 = payload.require("integratedTime")?;
    let index: i64 = payload.require("logIndex")?;
    let log: String = payload.require("logID")?;
    if [time, index]
        .iter()
        .any(|number| !(-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(number))
    {
        return Err(RekorError::Malformed("a number is too large"));
    }

    // Canonical JSON (RFC 8785) of these members: sorted, without white space.
    let canonical = format!(
        r#"{{"body":{},"integratedTime":{time},"logID":{},"logIndex":{index}}}"#,
        serde_json::Value::from(body.as_str()),
        serde_json::Value::from(log),
    );
    if !keys
        .iter()
        .any(|key| key.verifies(canonical.as_bytes(), &signature))
    {
        return Err(RekorError::NotVerified);
    }
    verify_body(&decode(&body)?, logged)?;
    Timestamp::from_second(time).map_err(|_| RekorError::Malformed("its time is out of range"))
}

fn verify_body(body: &[u8], logged: &LoggedSignature<'_>) -> Result<(), RekorError> {
    let json = |error| RekorError::Json(JsonError::Syntax(error));
    let entry: Entry = serde_json::from_slice(body).map_err(json)?;
    if entry.kind != "hashedrekord" || entry.version != "0.0.1" {
        return Err(RekorError::Kind(format!(
            "{} {}",
            entry.kind, entry.version
        )));
    }
    let spec: HashedRekord = serde_json::from_str(entry.spec.get()).map_err(json)?;
    let key = decode(&spec.signature.public_key.content)?;
    let (kind, der) = <(SectionKind, Vec<u8>)>::from_pem_slice(&key)
        .map_err(|_| RekorError::Malformed("its key is not PEM"))?;
    if kind != logged.kind || der != logged.der {
        return Err(RekorError::Another("key or certificate"));
    }
    if decode(&spec.signature.content)? != logged.signature {
        return Err(RekorError::Another("signature"));
    }
    let hash = content_digest::digest(logged.payload).hex();
    if spec.data.hash.algorithm != "sha256" || spec.data.hash.value != hash {
        return Err(RekorError::Another("payload"));
    }
    Ok(())
}

fn decode(text: &str) -> Result<Vec<u8>, RekorError> {
    BASE64_STANDARD
        .decode(text)
        .map_err(|_| RekorError::Malformed("a value is not base64"))
}
