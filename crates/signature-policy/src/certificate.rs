//! Certificates: chains to the roots of a policy, and who they name.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods of yasna's readers are not general in their lifetimes"
)]

use std::time::Duration;

use jiff::Timestamp;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{
    ALL_VERIFICATION_ALGS, EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeIdIter,
    anchor_from_trusted_cert,
};
use yasna::models::GeneralizedTime;
use yasna::{ASN1Result, BERReader, Tag};

use crate::key::{KeyError, PublicKey};

/// Maximum number of certificates in the chain of a signature.
pub const MAX_CHAIN_CERTIFICATES: usize = 10;

const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const SUBJECT_ALTERNATIVE_NAME: &[u64] = &[2, 5, 29, 17];
const ISSUER_V1: &[u64] = &[1, 3, 6, 1, 4, 1, 57264, 1, 1];
const ISSUER_V2: &[u64] = &[1, 3, 6, 1, 4, 1, 57264, 1, 8];
const CODE_SIGNING: &[usize] = &[1, 3, 6, 1, 5, 5, 7, 3, 3];
const ANY_PURPOSE: &[usize] = &[2, 5, 29, 37, 0];

/// The fields of a certificate that policies are about.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    der: CertificateDer<'static>,
    not_before: i64,
    not_after: i64,
    /// `SubjectPublicKeyInfo` in DER.
    public_key: Vec<u8>,
    is_authority: bool,
    pub(crate) emails: Vec<String>,
    issuer_v1: Option<Vec<u8>>,
    issuer_v2: Option<Vec<u8>>,
}

/// An error of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CertificateError {
    #[error("it has no `CERTIFICATE` in PEM")]
    NotPem,
    #[error("it has {0} certificates instead of one")]
    Several(usize),
    #[error("it has more than {MAX_CHAIN_CERTIFICATES} certificates")]
    TooLong,
    #[error("it is not a certificate in DER")]
    NotDer,
    #[error("its public key cannot be used: {0}")]
    Key(#[from] KeyError),
    #[error("the certificate has no valid chain to a root of the policy: {0}")]
    Chain(String),
    #[error("the certificate has no issuer of Fulcio")]
    NoIssuer,
    #[error("the certificate names two issuers")]
    TwoIssuers,
    #[error("the certificate is of the issuer `{found}` instead of `{expected}`")]
    Issuer { found: String, expected: String },
    #[error("the certificate is for {found} instead of the email address `{expected}`")]
    Email { found: String, expected: String },
    #[error("the certificate is not for the host `{0}`")]
    Host(String),
}

impl CertificateError {
    /// Returns whether the bytes are not those of certificates.
    pub(crate) fn is_malformed(&self) -> bool {
        matches!(
            self,
            Self::NotPem | Self::Several(_) | Self::TooLong | Self::NotDer
        )
    }
}

/// Parses all certificates of a PEM file; there must be one at least.
pub(crate) fn parse_pem(pem: &[u8]) -> Result<Vec<Certificate>, CertificateError> {
    let mut certificates = Vec::new();
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
        match section {
            Ok((SectionKind::Certificate, der)) => certificates.push(Certificate::parse(&der)?),
            Ok(_) => {}
            Err(_) => return Err(CertificateError::NotPem),
        }
    }
    if certificates.is_empty() {
        return Err(CertificateError::NotPem);
    }
    Ok(certificates)
}

/// Parses the chain of a signature, leaf first within its own text.
pub(crate) fn parse_chain(pem: &[u8]) -> Result<Vec<Certificate>, CertificateError> {
    let certificates = parse_pem(pem)?;
    if certificates.len() > MAX_CHAIN_CERTIFICATES {
        return Err(CertificateError::TooLong);
    }
    Ok(certificates)
}

/// Parses a PEM file with one certificate.
pub(crate) fn parse_leaf(pem: &[u8]) -> Result<Certificate, CertificateError> {
    let mut certificates = parse_pem(pem)?;
    match (certificates.len(), certificates.pop()) {
        (1, Some(leaf)) => Ok(leaf),
        (found, _) => Err(CertificateError::Several(found)),
    }
}

impl Certificate {
    pub(crate) fn parse(der: &[u8]) -> Result<Self, CertificateError> {
        let parsed = yasna::parse_der(der, |reader| {
            reader.read_sequence(|reader| {
                let fields = reader.next().read_sequence(read_fields)?;
                // Signature algorithm and signature, which webpki verifies.
                reader.next().read_der()?;
                reader.next().read_der()?;
                Ok(fields)
            })
        });
        let fields = parsed.map_err(|_| CertificateError::NotDer)?;
        let mut certificate = Self {
            der: CertificateDer::from(der.to_vec()),
            not_before: fields.not_before,
            not_after: fields.not_after,
            public_key: fields.public_key,
            is_authority: false,
            emails: Vec::new(),
            issuer_v1: None,
            issuer_v2: None,
        };
        for (at, (id, value)) in fields.extensions.iter().enumerate() {
            // A repeated extension could be read differently by another reader.
            if fields.extensions[..at].iter().any(|(other, _)| other == id) {
                return Err(CertificateError::NotDer);
            }
            let malformed = |_| CertificateError::NotDer;
            match id.as_slice() {
                BASIC_CONSTRAINTS => {
                    certificate.is_authority =
                        yasna::parse_der(value, read_basic_constraints).map_err(malformed)?;
                }
                SUBJECT_ALTERNATIVE_NAME => {
                    certificate.emails = yasna::parse_der(value, read_emails).map_err(malformed)?;
                }
                ISSUER_V1 => certificate.issuer_v1 = Some(value.clone()),
                ISSUER_V2 => {
                    let text = yasna::parse_der(value, |reader| reader.read_utf8string());
                    certificate.issuer_v2 = Some(text.map_err(malformed)?.into_bytes());
                }
                _ => {}
            }
        }
        Ok(certificate)
    }

    /// Returns the public key.
    pub(crate) fn key(&self) -> Result<PublicKey, CertificateError> {
        Ok(PublicKey::from_der(&self.public_key)?)
    }

    /// The certificate in DER.
    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    /// Verifies that it has a chain for code signing to a root, at a time.
    pub(crate) fn verify_chain(
        &self,
        roots: &[Certificate],
        intermediates: &[Certificate],
        time: Timestamp,
    ) -> Result<(), CertificateError> {
        let chain = |reason: String| CertificateError::Chain(reason);
        let seconds = time.as_second();
        let unsigned =
            u64::try_from(seconds).map_err(|_| chain("the time is before 1970".to_owned()))?;
        // webpki reads nothing but names and keys of roots.
        let valid = roots.iter().filter(|root| {
            root.is_authority && root.not_before <= seconds && seconds <= root.not_after
        });
        let anchors: Result<Vec<_>, _> = valid
            .map(|root| anchor_from_trusted_cert(&root.der))
            .collect();
        let anchors = anchors.map_err(|error| chain(error.to_string()))?;
        if anchors.is_empty() {
            return Err(chain("no root is valid at this time".to_owned()));
        }
        let intermediates: Vec<_> = intermediates
            .iter()
            .map(|certificate| certificate.der.clone())
            .collect();
        let leaf = EndEntityCert::try_from(&self.der).map_err(|error| chain(error.to_string()))?;
        leaf.verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &anchors,
            &intermediates,
            UnixTime::since_unix_epoch(Duration::from_secs(unsigned)),
            CodeSigning,
            None,
            None,
        )
        .map_err(|error| chain(error.to_string()))?;
        Ok(())
    }

    /// Verifies the issuer of the identity, which Fulcio writes into its certificates.
    pub(crate) fn verify_issuer(&self, expected: &str) -> Result<(), CertificateError> {
        let issuer = match (&self.issuer_v1, &self.issuer_v2) {
            (Some(first), Some(second)) if first != second => {
                return Err(CertificateError::TwoIssuers);
            }
            (Some(issuer), _) | (None, Some(issuer)) => issuer,
            (None, None) => return Err(CertificateError::NoIssuer),
        };
        if issuer == expected.as_bytes() {
            Ok(())
        } else {
            Err(CertificateError::Issuer {
                found: String::from_utf8_lossy(issuer).into_owned(),
                expected: expected.to_owned(),
            })
        }
    }

    /// Verifies that an email address is among its names.
    pub(crate) fn verify_email(&self, expected: &str) -> Result<(), CertificateError> {
        if self.emails.iter().any(|email| email == expected) {
            return Ok(());
        }
        let found = match self.emails.as_slice() {
            [] => "no email address".to_owned(),
            emails => format!("`{}`", emails.join("`, `")),
        };
        Err(CertificateError::Email {
            found,
            expected: expected.to_owned(),
        })
    }

    /// Verifies that it is for a host.
    pub(crate) fn verify_host(&self, expected: &str) -> Result<(), CertificateError> {
        let is_valid = || {
            let leaf = EndEntityCert::try_from(&self.der).ok()?;
            let name = ServerName::try_from(expected).ok()?;
            leaf.verify_is_valid_for_subject_name(&name).ok()
        };
        is_valid().ok_or_else(|| CertificateError::Host(expected.to_owned()))
    }
}

/// Accepts certificates for code signing or any purpose, and those without purposes.
struct CodeSigning;

impl ExtendedKeyUsageValidator for CodeSigning {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let mut has_purposes = false;
        for purpose in purposes {
            has_purposes = true;
            let purpose = purpose?.to_decoded_oid();
            if purpose == CODE_SIGNING || purpose == ANY_PURPOSE {
                return Ok(());
            }
        }
        if has_purposes {
            Err(webpki::Error::RequiredEkuNotFoundContext(
                webpki::RequiredEkuNotFoundContext {
                    required: webpki::KeyUsage::required(&[
                        0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03,
                    ]),
                    present: Vec::new(),
                },
            ))
        } else {
            Ok(())
        }
    }
}

struct CertificateFields {
    not_before: i64,
    not_after: i64,
    public_key: Vec<u8>,
    extensions: Vec<(Vec<u64>, Vec<u8>)>,
}

/// Reads a `TBSCertificate` (RFC 5280 §4.1).
fn read_fields(reader: &mut yasna::BERReaderSeq<'_, '_>) -> ASN1Result<CertificateFields> {
    reader
        .read_optional(|reader| reader.read_tagged(Tag::context(0), |version| version.read_u8()))?;
    // Serial number, signature algorithm, issuer.
    for _ in 0..3 {
        reader.next().read_der()?;
    }
    let (not_before, not_after) = reader.next().read_sequence(|reader| {
        let not_before = read_time(reader.next())?;
        Ok((not_before, read_time(reader.next())?))
    })?;
    reader.next().read_der()?;
    let public_key = reader.next().read_der()?;
    for unique_id in [1, 2] {
        reader.read_optional(|reader| {
            reader
                .read_tagged_implicit(Tag::context(unique_id), |reader| reader.read_bitvec_bytes())
        })?;
    }
    let extensions = reader.read_optional(|reader| {
        reader.read_tagged(Tag::context(3), |reader| {
            reader.collect_sequence_of(|reader| {
                reader.read_sequence(|reader| {
                    let id = reader.next().read_oid()?;
                    reader.read_default(false, |reader| reader.read_bool())?;
                    let value = reader.next().read_bytes()?;
                    Ok((id.components().clone(), value))
                })
            })
        })
    })?;
    Ok(CertificateFields {
        not_before,
        not_after,
        public_key,
        extensions: extensions.unwrap_or_default(),
    })
}

fn read_basic_constraints(reader: BERReader<'_, '_>) -> ASN1Result<bool> {
    reader.read_sequence(|reader| {
        let is_authority = reader.read_default(false, |reader| reader.read_bool())?;
        reader.read_optional(|reader| reader.read_u64())?;
        Ok(is_authority)
    })
}

/// Reads the email addresses of a `SubjectAltName` (RFC 5280 §4.2.1.6).
fn read_emails(reader: BERReader<'_, '_>) -> ASN1Result<Vec<String>> {
    let mut emails = Vec::new();
    reader.read_sequence_of(|reader| {
        let name = reader.read_tagged_der()?;
        if name.tag() == Tag::context(1) {
            emails.push(String::from_utf8_lossy(name.value()).into_owned());
        }
        Ok(())
    })?;
    Ok(emails)
}

/// Reads a `Time`: years from 2050 on are generalized times.
fn read_time(reader: BERReader<'_, '_>) -> ASN1Result<i64> {
    let time = if reader.lookahead_tag()? == yasna::tags::TAG_UTCTIME {
        GeneralizedTime::from_datetime(*reader.read_utctime()?.datetime())
    } else {
        reader.read_generalized_time()?
    };
    Ok(time.datetime().unix_timestamp())
}
