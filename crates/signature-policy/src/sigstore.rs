//! The verification of one sigstore signature.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use rustls_pki_types::pem::SectionKind;

use crate::certificate::{self, Certificate, CertificateError};
use crate::evidence::{
    AttachedSignature, CERTIFICATE_ANNOTATION, CHAIN_ANNOTATION, MAX_ANNOTATION_BYTES,
    REKOR_ANNOTATION, SIGNATURE_ANNOTATION,
};
use crate::identity::SignedIdentity;
use crate::key::PublicKey;
use crate::payload::SIGSTORE_TYPE;
use crate::rekor::{self, LoggedSignature, RekorError};
use crate::subject::{SignatureSubject, refusal};
use crate::{Refusal, RefusalCode};

/// A requirement of sigstore with its keys.
#[derive(Clone, Debug)]
pub(crate) struct SigstoreRequirement {
    pub(crate) trust: LoadedTrust,
    pub(crate) rekor: Option<Vec<PublicKey>>,
    pub(crate) identity: SignedIdentity,
}

/// The parts that come with a signature: a certificate with its chain, and the entry of a log.
pub(crate) trait SignatureMaterial {
    /// Returns the certificate of the signer.
    fn leaf(&self) -> Result<Certificate, Refusal>;

    /// Returns the certificates between the leaf and the root.
    fn intermediates(&self) -> Result<Vec<Certificate>, Refusal>;

    /// Verifies that a log has the signature by this key or certificate. Returns the time of the
    /// entry if the log promised it.
    fn logged(
        &self,
        logs: &[PublicKey],
        kind: SectionKind,
        der: &[u8],
    ) -> Result<Option<Timestamp>, Refusal>;
}

/// A key that may have signed, with the name of its owner.
pub(crate) struct TrustedKey {
    key: PublicKey,
    signer: String,
}

/// A signature that is attached to an image, with its bytes.
struct AttachedMaterial<'a> {
    signature: &'a AttachedSignature,
    bytes: Vec<u8>,
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
        let material = AttachedMaterial { signature, bytes };
        let trusted = self.trusted_keys(subject, &material)?;
        let signer = find_signer(&trusted, &signature.payload, &material.bytes)?;
        subject.verify_payload(&self.identity, &signature.payload, SIGSTORE_TYPE)?;
        Ok(signer.to_owned())
    }

    /// Returns the keys that may verify the signature.
    pub(crate) fn trusted_keys(
        &self,
        subject: SignatureSubject<'_>,
        material: &impl SignatureMaterial,
    ) -> Result<Vec<TrustedKey>, Refusal> {
        match &self.trust {
            LoadedTrust::Keys(keys) => {
                let Some(logs) = &self.rekor else {
                    return Ok(keys.iter().map(named_key).collect());
                };
                let mut logged = Vec::new();
                let mut failure = None;
                for key in keys {
                    match material.logged(logs, SectionKind::PublicKey, key.der()) {
                        Ok(_) => logged.push(named_key(key)),
                        Err(refusal) => failure = Some(refusal),
                    }
                }
                match failure {
                    Some(refusal) if logged.is_empty() => Err(refusal),
                    _ => Ok(logged),
                }
            }
            LoadedTrust::Fulcio {
                roots,
                issuer,
                email,
            } => {
                let leaf = material.leaf()?;
                let logs = self.rekor.as_deref().unwrap_or_default();
                let Some(time) = material.logged(logs, SectionKind::Certificate, leaf.der())?
                else {
                    return Err(refusal(
                        RefusalCode::SignatureCertificate,
                        "the log does not promise the time of its entry, at which the certificate must be valid",
                    ));
                };
                leaf.verify_chain(roots, &material.intermediates()?, time)?;
                leaf.verify_issuer(issuer)?;
                leaf.verify_email(email)?;
                Ok(vec![TrustedKey {
                    key: leaf.key()?,
                    signer: format!("{email} ({issuer})"),
                }])
            }
            LoadedTrust::Pki {
                roots,
                intermediates,
                email,
                host,
            } => {
                let leaf = material.leaf()?;
                // Those of the policy replace those of the signature.
                let attached = if intermediates.is_empty() {
                    material.intermediates()?
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
                Ok(vec![TrustedKey {
                    key: leaf.key()?,
                    signer: names.join(" and "),
                }])
            }
        }
    }
}

impl SignatureMaterial for AttachedMaterial<'_> {
    fn leaf(&self) -> Result<Certificate, Refusal> {
        let pem = annotation(self.signature, CERTIFICATE_ANNOTATION)?;
        Ok(certificate::parse_leaf(pem.as_bytes())?)
    }

    /// The last certificate of a chain is its root, which only the policy can name.
    fn intermediates(&self) -> Result<Vec<Certificate>, Refusal> {
        if !self.signature.annotations.contains_key(CHAIN_ANNOTATION) {
            return Ok(Vec::new());
        }
        let chain = annotation(self.signature, CHAIN_ANNOTATION)?;
        if chain.is_empty() {
            return Ok(Vec::new());
        }
        let mut chain = certificate::parse_chain(chain.as_bytes())?;
        chain.pop();
        Ok(chain)
    }

    fn logged(
        &self,
        logs: &[PublicKey],
        kind: SectionKind,
        der: &[u8],
    ) -> Result<Option<Timestamp>, Refusal> {
        let set = annotation(self.signature, REKOR_ANNOTATION)?;
        let entry = LoggedSignature {
            kind,
            der,
            signature: &self.bytes,
            payload: &self.signature.payload,
            enveloped: None,
        };
        Ok(Some(rekor::verify(logs, set, &entry)?))
    }
}

fn named_key(key: &PublicKey) -> TrustedKey {
    TrustedKey {
        key: key.clone(),
        signer: format!("key {}", key.fingerprint()),
    }
}

/// Returns who signed a message.
pub(crate) fn find_signer<'a>(
    trusted: &'a [TrustedKey],
    message: &[u8],
    signature: &[u8],
) -> Result<&'a str, Refusal> {
    let signer = trusted
        .iter()
        .find(|trusted| trusted.key.verifies(message, signature));
    signer
        .map(|trusted| trusted.signer.as_str())
        .ok_or_else(|| {
            let tried: Vec<_> = trusted
                .iter()
                .map(|trusted| trusted.signer.as_str())
                .collect();
            refusal(
                RefusalCode::SignatureNotVerified,
                format!("no key verifies the signature; tried {}", tried.join(", ")),
            )
        })
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
