//! The verification of one sigstore signature.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fbc_grammar::Digest;
use jiff::Timestamp;
use rustls_pki_types::pem::SectionKind;

use crate::certificate::{self, Certificate, CertificateError};
use crate::evidence::{
    AttachedSignature, CERTIFICATE_ANNOTATION, CHAIN_ANNOTATION, MAX_ANNOTATION_BYTES,
    REKOR_ANNOTATION, SIGNATURE_ANNOTATION,
};
use crate::identity::SignedIdentity;
use crate::key::PublicKey;
use crate::payload::{SIGSTORE_TYPE, SignedPayload};
use crate::rekor::{self, LoggedSignature, RekorError};
use crate::{PolicyReference, Refusal, RefusalCode};

/// A requirement of sigstore with its keys.
#[derive(Clone, Debug)]
pub(crate) struct SigstoreRequirement {
    pub(crate) trust: LoadedTrust,
    pub(crate) rekor: Option<Vec<PublicKey>>,
    pub(crate) identity: SignedIdentity,
}

/// Keys or certificate authorities that verify sigstore signatures, as they were read.
#[derive(Clone, Debug)]
pub(crate) enum LoadedTrust {
    Keys(Vec<PublicKey>),
    Fulcio {
        roots: Vec<Certificate>,
        issuer: String,
        email: String,
    },
    Pki {
        roots: Vec<Certificate>,
        intermediates: Vec<Certificate>,
        email: Option<String>,
        host: Option<String>,
    },
}

/// The image that a signature is to be for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignatureSubject<'a> {
    pub(crate) image: &'a PolicyReference,
    pub(crate) manifest: Digest,
    /// The time at which certificates without a log must be valid.
    pub(crate) now: Timestamp,
}

fn refusal(code: RefusalCode, message: impl Into<String>) -> Refusal {
    Refusal {
        code,
        message: message.into(),
    }
}

impl From<CertificateError> for Refusal {
    fn from(error: CertificateError) -> Self {
        let code = if error.is_malformed() {
            RefusalCode::SignatureMalformed
        } else {
            RefusalCode::SignatureCertificate
        };
        refusal(code, error.to_string())
    }
}

impl From<RekorError> for Refusal {
    fn from(error: RekorError) -> Self {
        let code = if error.is_malformed() {
            RefusalCode::SignatureMalformed
        } else {
            RefusalCode::SignatureCertificate
        };
        refusal(code, error.to_string())
    }
}

impl SigstoreRequirement {
    /// Verifies a signature, and returns who signed.
    pub(crate) fn verify(
        &self,
        subject: SignatureSubject<'_>,
        signature: &AttachedSignature,
    ) -> Result<String, Refusal> {
        let encoded = annotation(signature, SIGNATURE_ANNOTATION)?;
        let bytes = BASE64_STANDARD.decode(encoded).map_err(|error| {
            refusal(
                RefusalCode::SignatureMalformed,
                format!("the signature is not base64: {error}"),
            )
        })?;
        let trusted = self.trusted_keys(subject, signature, &bytes)?;
        let signer = trusted
            .iter()
            .find(|(key, _)| key.verifies(&signature.payload, &bytes));
        let Some((_, signer)) = signer else {
            let tried: Vec<_> = trusted.iter().map(|(_, signer)| signer.as_str()).collect();
            return Err(refusal(
                RefusalCode::SignatureNotVerified,
                format!("no key verifies the signature; tried {}", tried.join(", ")),
            ));
        };
        self.verify_payload(subject, &signature.payload)?;
        Ok(signer.clone())
    }

    /// Returns the keys that may verify the signature, each with its name.
    fn trusted_keys(
        &self,
        subject: SignatureSubject<'_>,
        signature: &AttachedSignature,
        bytes: &[u8],
    ) -> Result<Vec<(PublicKey, String)>, Refusal> {
        match &self.trust {
            LoadedTrust::Keys(keys) => {
                let Some(logs) = &self.rekor else {
                    return Ok(keys.iter().map(named_key).collect());
                };
                let set = annotation(signature, REKOR_ANNOTATION)?;
                let mut logged = Vec::new();
                let mut failure = None;
                for key in keys {
                    let entry = LoggedSignature {
                        kind: SectionKind::PublicKey,
                        der: key.der(),
                        signature: bytes,
                        payload: &signature.payload,
                    };
                    match rekor::verify(logs, set, &entry) {
                        Ok(_) => logged.push(named_key(key)),
                        Err(error) => failure = Some(error),
                    }
                }
                match failure {
                    Some(error) if logged.is_empty() => Err(error.into()),
                    _ => Ok(logged),
                }
            }
            LoadedTrust::Fulcio {
                roots,
                issuer,
                email,
            } => {
                let set = annotation(signature, REKOR_ANNOTATION)?;
                let pem = annotation(signature, CERTIFICATE_ANNOTATION)?;
                let leaf = certificate::parse_leaf(pem.as_bytes())?;
                let entry = LoggedSignature {
                    kind: SectionKind::Certificate,
                    der: leaf.der(),
                    signature: bytes,
                    payload: &signature.payload,
                };
                let time = rekor::verify(self.rekor.as_deref().unwrap_or_default(), set, &entry)?;
                leaf.verify_chain(roots, &attached_intermediates(signature)?, time)?;
                leaf.verify_issuer(issuer)?;
                leaf.verify_email(email)?;
                Ok(vec![(leaf.key()?, format!("{email} ({issuer})"))])
            }
            LoadedTrust::Pki {
                roots,
                intermediates,
                email,
                host,
            } => {
                let pem = annotation(signature, CERTIFICATE_ANNOTATION)?;
                let leaf = certificate::parse_leaf(pem.as_bytes())?;
                // Those of the policy replace those of the signature.
                let attached = if intermediates.is_empty() {
                    attached_intermediates(signature)?
                } else {
                    intermediates.clone()
                };
                leaf.verify_chain(roots, &attached, subject.now)?;
                let mut names = Vec::new();
                if let Some(email) = email {
                    leaf.verify_email(email)?;
                    names.push(email.as_str());
                }
                if let Some(host) = host {
                    leaf.verify_host(host)?;
                    names.push(host.as_str());
                }
                Ok(vec![(leaf.key()?, names.join(" and "))])
            }
        }
    }

    fn verify_payload(&self, subject: SignatureSubject<'_>, payload: &[u8]) -> Result<(), Refusal> {
        let payload = SignedPayload::parse(payload, SIGSTORE_TYPE).map_err(|error| {
            refusal(
                RefusalCode::SignatureMalformed,
                format!("cannot read the signed payload: {error}"),
            )
        })?;
        if !payload.is_for(subject.manifest) {
            return Err(refusal(
                RefusalCode::SignatureOfAnotherDigest,
                format!(
                    "the signature is for the digest `{}`, not for {}",
                    payload.digest, subject.manifest
                ),
            ));
        }
        if self.identity.accepts(subject.image, &payload.reference) {
            return Ok(());
        }
        let hint = if SignedIdentity::MatchRepository.accepts(subject.image, &payload.reference) {
            "; a signedIdentity of the type matchRepository accepts it"
        } else {
            ""
        };
        Err(refusal(
            RefusalCode::SignatureOfAnotherName,
            format!(
                "the signature is for `{}`, which {} does not accept for `{}`{hint}",
                payload.reference,
                self.identity.name(),
                subject.image.identity()
            ),
        ))
    }
}

fn named_key(key: &PublicKey) -> (PublicKey, String) {
    (key.clone(), format!("key {}", key.fingerprint()))
}

fn annotation<'a>(signature: &'a AttachedSignature, name: &str) -> Result<&'a str, Refusal> {
    match signature.annotations.get(name) {
        None => Err(refusal(
            RefusalCode::SignatureMalformed,
            format!("the signature has no annotation `{name}`"),
        )),
        Some(text) if text.len() > MAX_ANNOTATION_BYTES => Err(refusal(
            RefusalCode::SignatureMalformed,
            format!("the annotation `{name}` has more than {MAX_ANNOTATION_BYTES} bytes"),
        )),
        Some(text) => Ok(text),
    }
}

/// Returns the certificates between the leaf and the root: the last one of a chain is its root,
/// which only the policy can name.
fn attached_intermediates(signature: &AttachedSignature) -> Result<Vec<Certificate>, Refusal> {
    if !signature.annotations.contains_key(CHAIN_ANNOTATION) {
        return Ok(Vec::new());
    }
    let chain = annotation(signature, CHAIN_ANNOTATION)?;
    if chain.is_empty() {
        return Ok(Vec::new());
    }
    let mut chain = certificate::parse_chain(chain.as_bytes())?;
    chain.pop();
    Ok(chain)
}
