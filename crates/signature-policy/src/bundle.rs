//! Sigstore bundles, as cosign 3 attaches them: a signature with everything that verifies it.
//!
//! The signed text is a statement of in-toto, which names the image by its digest and by no name.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fbc_grammar::Digest;
use jiff::Timestamp;
use rustls_pki_types::pem::SectionKind;
use serde::{Deserialize, Deserializer};

use crate::certificate::{Certificate, CertificateError, MAX_CHAIN_CERTIFICATES};
use crate::json::{JsonObject, elements};
use crate::key::PublicKey;
use crate::log_proof::InclusionProof;
use crate::rekor::{LoggedSignature, PromisedEntry};
use crate::sigstore::{SignatureMaterial, SigstoreRequirement, find_signer};
use crate::subject::{SignatureSubject, refusal};
use crate::{Refusal, RefusalCode};

/// Media type of bundles.
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// Type of the statements that sign an image. Others attest something of it.
pub const SIGN_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// Maximum length of a bundle, in bytes.
pub const MAX_BUNDLE_BYTES: u64 = 1 << 20;

/// Maximum number of log entries of a bundle.
pub const MAX_LOG_ENTRIES: usize = 8;

/// Type of the payload of an envelope with a statement.
const STATEMENT_PAYLOAD: &str = "application/vnd.in-toto+json";

/// Types of statements.
const STATEMENTS: [&str; 2] = [
    "https://in-toto.io/Statement/v1",
    "https://in-toto.io/Statement/v0.1",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SigstoreBundle {
    media_type: String,
    verification_material: BundleMaterial,
    dsse_envelope: Option<DsseEnvelope>,
    message_signature: Option<MessageSignature>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleMaterial {
    certificate: Option<BundleCertificate>,
    x509_certificate_chain: Option<BundleChain>,
    #[serde(default)]
    tlog_entries: Vec<BundleEntry>,
}

#[derive(Deserialize)]
struct BundleChain {
    certificates: Vec<BundleCertificate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleCertificate {
    #[serde(deserialize_with = "base64_bytes")]
    raw_bytes: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleEntry {
    #[serde(default, deserialize_with = "integer")]
    log_index: i64,
    log_id: Option<BundleLog>,
    #[serde(default, deserialize_with = "integer")]
    integrated_time: i64,
    inclusion_promise: Option<BundlePromise>,
    inclusion_proof: Option<BundleProof>,
    /// In base64, as the promise covers it.
    canonicalized_body: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleLog {
    #[serde(deserialize_with = "base64_bytes")]
    key_id: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundlePromise {
    #[serde(deserialize_with = "base64_bytes")]
    signed_entry_timestamp: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleProof {
    #[serde(default, deserialize_with = "integer")]
    log_index: i64,
    #[serde(default, deserialize_with = "integer")]
    tree_size: i64,
    #[serde(default)]
    hashes: Vec<ProofHash>,
    checkpoint: ProofCheckpoint,
}

#[derive(Deserialize)]
struct ProofHash(#[serde(deserialize_with = "base64_bytes")] Vec<u8>);

#[derive(Deserialize)]
struct ProofCheckpoint {
    envelope: String,
}

/// A signed payload with its type (DSSE).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DsseEnvelope {
    #[serde(deserialize_with = "base64_bytes")]
    payload: Vec<u8>,
    payload_type: String,
    signatures: Vec<DsseSignature>,
}

#[derive(Deserialize)]
struct DsseSignature {
    #[serde(deserialize_with = "base64_bytes")]
    sig: Vec<u8>,
}

/// A signature of the manifest itself.
#[derive(Deserialize)]
struct MessageSignature {
    #[serde(deserialize_with = "base64_bytes")]
    signature: Vec<u8>,
}

/// A bundle of which the signed bytes are known.
struct OpenBundle {
    material: BundleMaterial,
    /// The signed bytes.
    message: Vec<u8>,
    signature: Vec<u8>,
    /// The statement, if it is not the manifest that is signed.
    statement: Option<Vec<u8>>,
}

fn malformed(reason: impl Into<String>) -> Refusal {
    refusal(RefusalCode::SignatureMalformed, reason)
}

impl SigstoreRequirement {
    /// Verifies a bundle for the manifest with these bytes, and returns who signed. It names no
    /// image but by the digest: rules for names hold if `any_name` says it, or if they ask for the
    /// repository, in which the bundle was found.
    pub(crate) fn verify_bundle(
        &self,
        subject: SignatureSubject<'_>,
        manifest: &[u8],
        bundle: &[u8],
        any_name: bool,
    ) -> Result<String, Refusal> {
        let bundle = OpenBundle::parse(bundle, manifest)?;
        let trusted = self.trusted_keys(subject, &bundle)?;
        let signer = find_signer(&trusted, &bundle.message, &bundle.signature)?;
        if let Some(statement) = &bundle.statement {
            verify_statement(subject, statement)?;
        }
        if any_name || self.identity.accepts_location(subject.image) {
            return Ok(signer.to_owned());
        }
        Err(refusal(
            RefusalCode::SignatureOfAnotherName,
            format!(
                "the signature names no image, and {} needs a name: a signedIdentity of the type matchRepository accepts it, and --accept-bundles-without-identity does",
                self.identity.name()
            ),
        ))
    }
}

impl OpenBundle {
    fn parse(bytes: &[u8], manifest: &[u8]) -> Result<Self, Refusal> {
        let bundle: SigstoreBundle = serde_json::from_slice(bytes)
            .map_err(|error| malformed(format!("cannot read the bundle: {error}")))?;
        if bundle.media_type != SIGSTORE_BUNDLE {
            return Err(malformed(format!(
                "the bundle is of the type `{}`, not {SIGSTORE_BUNDLE}",
                bundle.media_type
            )));
        }
        let material = bundle.verification_material;
        if material.tlog_entries.len() > MAX_LOG_ENTRIES {
            return Err(malformed(format!(
                "the bundle has more than {MAX_LOG_ENTRIES} entries of logs"
            )));
        }
        match (bundle.dsse_envelope, bundle.message_signature) {
            (Some(envelope), None) => {
                let message = envelope.signed_bytes();
                if envelope.payload_type != STATEMENT_PAYLOAD {
                    return Err(malformed(format!(
                        "the payload of the bundle is `{}`, not a statement",
                        envelope.payload_type
                    )));
                }
                let Ok([signature]) = <[_; 1]>::try_from(envelope.signatures) else {
                    return Err(malformed("the bundle has not one signature"));
                };
                Ok(Self {
                    material,
                    message,
                    signature: signature.sig,
                    statement: Some(envelope.payload),
                })
            }
            (None, Some(signed)) => Ok(Self {
                material,
                message: manifest.to_vec(),
                signature: signed.signature,
                statement: None,
            }),
            _ => Err(malformed("the bundle has not one signed content")),
        }
    }
}

impl DsseEnvelope {
    /// Returns the bytes that are signed (PAE).
    fn signed_bytes(&self) -> Vec<u8> {
        let kind = &self.payload_type;
        let head = format!("DSSEv1 {} {kind} {} ", kind.len(), self.payload.len());
        [head.as_bytes(), &self.payload].concat()
    }
}

impl SignatureMaterial for OpenBundle {
    fn leaf(&self) -> Result<Certificate, Refusal> {
        let chain = self.material.x509_certificate_chain.as_ref();
        let first = chain.and_then(|chain| chain.certificates.first());
        let leaf = self.material.certificate.as_ref().or(first);
        let leaf = leaf.ok_or_else(|| malformed("the bundle has no certificate"))?;
        Ok(Certificate::parse(&leaf.raw_bytes)?)
    }

    fn intermediates(&self) -> Result<Vec<Certificate>, Refusal> {
        let Some(chain) = &self.material.x509_certificate_chain else {
            return Ok(Vec::new());
        };
        if chain.certificates.len() > MAX_CHAIN_CERTIFICATES {
            return Err(CertificateError::TooLong.into());
        }
        let others = chain.certificates.iter().skip(1);
        let parsed: Result<_, CertificateError> = others
            .map(|certificate| Certificate::parse(&certificate.raw_bytes))
            .collect();
        Ok(parsed?)
    }

    fn logged(
        &self,
        logs: &[PublicKey],
        kind: SectionKind,
        der: &[u8],
    ) -> Result<Option<Timestamp>, Refusal> {
        let logged = LoggedSignature {
            kind,
            der,
            signature: &self.signature,
            payload: &self.message,
            enveloped: self.statement.as_deref(),
        };
        let mut failure = refusal(
            RefusalCode::SignatureCertificate,
            "the bundle has no entry of a log",
        );
        let mut is_logged = false;
        for entry in &self.material.tlog_entries {
            match entry.verify(logs, &logged) {
                // The time at which a certificate must be valid is known from a promise alone.
                Ok(Some(time)) => return Ok(Some(time)),
                Ok(None) => is_logged = true,
                Err(refusal) => failure = refusal,
            }
        }
        if is_logged { Ok(None) } else { Err(failure) }
    }
}

impl BundleEntry {
    /// Verifies that a log has the signature, by its promise or else by a proof. Returns the time
    /// that the log promised.
    fn verify(
        &self,
        logs: &[PublicKey],
        logged: &LoggedSignature<'_>,
    ) -> Result<Option<Timestamp>, Refusal> {
        let body = BASE64_STANDARD
            .decode(&self.canonicalized_body)
            .map_err(|_| malformed("the entry of the log is not base64"))?;
        let mut time = None;
        if let Some(promise) = &self.inclusion_promise {
            let log = self.log_id.as_ref();
            let log = log.ok_or_else(|| malformed("the entry of the log names no log"))?;
            let log = hex(&log.key_id);
            let promised = PromisedEntry {
                body: &self.canonicalized_body,
                time: self.integrated_time,
                index: self.log_index,
                log: &log,
            };
            time = Some(promised.verify(logs, &promise.signed_entry_timestamp)?);
        } else if let Some(proof) = &self.inclusion_proof {
            let unsigned = |number| {
                u64::try_from(number).map_err(|_| malformed("a number of the proof is negative"))
            };
            let hashes: Vec<_> = proof.hashes.iter().map(|hash| hash.0.clone()).collect();
            let proof = InclusionProof {
                index: unsigned(proof.log_index)?,
                tree_size: unsigned(proof.tree_size)?,
                hashes: &hashes,
                checkpoint: &proof.checkpoint.envelope,
            };
            proof.verify(logs, &body)?;
        } else {
            return Err(malformed(
                "the entry of the log has neither a promise nor a proof",
            ));
        }
        logged.verify_body(&body)?;
        Ok(time)
    }
}

/// Compares a statement whose signature was verified with the image.
fn verify_statement(subject: SignatureSubject<'_>, statement: &[u8]) -> Result<(), Refusal> {
    let unreadable =
        |reason: String| malformed(format!("cannot read the signed statement: {reason}"));
    let json = |error: crate::json::JsonError| unreadable(error.to_string());
    let text = std::str::from_utf8(statement).map_err(|error| unreadable(error.to_string()))?;
    let statement = JsonObject::parse(text).map_err(json)?;
    let kind: String = statement.require("_type").map_err(json)?;
    if !STATEMENTS.contains(&kind.as_str()) {
        return Err(unreadable(format!("its type is `{kind}`")));
    }
    let predicate: String = statement.require("predicateType").map_err(json)?;
    if predicate != SIGN_PREDICATE {
        return Err(malformed(format!(
            "the statement is `{predicate}`, which does not sign an image"
        )));
    }
    let subjects = elements(statement.get("subject").unwrap_or("[]")).map_err(json)?;
    let mut signed = Vec::new();
    for one in subjects {
        let one = JsonObject::parse(one).map_err(json)?;
        let digests = one.get("digest").unwrap_or("{}");
        let digests = JsonObject::parse(digests).map_err(json)?;
        if let Some(hex) = digests.read::<String>("sha256").map_err(json)? {
            let digest = format!("sha256:{hex}");
            if Digest::parse(&digest) == Some(subject.manifest) {
                return Ok(());
            }
            signed.push(digest);
        }
    }
    Err(subject.other_digest(&signed.join("`, `")))
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

fn base64_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    BASE64_STANDARD
        .decode(text)
        .map_err(serde::de::Error::custom)
}

/// Reads an integer of 64 bits, which JSON of protocol buffers has as a text.
fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrNumber {
        Text(String),
        Number(i64),
    }
    match TextOrNumber::deserialize(deserializer)? {
        TextOrNumber::Text(text) => text.parse().map_err(serde::de::Error::custom),
        TextOrNumber::Number(number) => Ok(number),
    }
}
