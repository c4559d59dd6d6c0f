//! Public keys and the verification of signatures with them.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods of yasna's readers are not general in their lifetimes"
)]

use std::fmt;
use std::ops::RangeInclusive;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P521_SHA256_ASN1, ED25519,
    RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use content_digest::digest;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use yasna::models::ObjectIdentifier;

/// Maximum number of keys of a requirement.
pub const MAX_KEYS: usize = 100;

/// Maximum length of a file with keys or certificates, in bytes.
pub const MAX_KEYRING_BYTES: usize = 1 << 20;

/// Maximum length of an `OpenPGP` message after decompression, in bytes.
pub const MAX_OPENPGP_BYTES: u64 = 4 << 20;

/// Sizes of RSA keys of `OpenPGP` that are accepted, in bits.
pub const OPENPGP_RSA_BITS: RangeInclusive<u16> = 2048..=8192;

const EC: &[u64] = &[1, 2, 840, 10045, 2, 1];
const P256: &[u64] = &[1, 2, 840, 10045, 3, 1, 7];
const P384: &[u64] = &[1, 3, 132, 0, 34];
const P521: &[u64] = &[1, 3, 132, 0, 35];
const RSA: &[u64] = &[1, 2, 840, 113_549, 1, 1, 1];
const ED25519_OID: &[u64] = &[1, 3, 101, 112];

/// A public key.
#[derive(Clone)]
pub(crate) struct PublicKey {
    /// `SubjectPublicKeyInfo` in DER.
    der: Vec<u8>,
    algorithm: &'static dyn VerificationAlgorithm,
    is_ecdsa: bool,
}

/// An error in a public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("it has no `PUBLIC KEY` in PEM")]
    NotPem,
    #[error("it is not a SubjectPublicKeyInfo in DER")]
    NotDer,
    #[error("its algorithm is not supported: use ECDSA with P-256, P-384 or P-521, RSA or Ed25519")]
    Algorithm,
    #[error("it is not an ECDSA key")]
    NotEcdsa,
}

impl PublicKey {
    /// Parses the first section of a PEM file.
    pub(crate) fn from_pem(pem: &[u8]) -> Result<Self, KeyError> {
        let section = <(SectionKind, Vec<u8>)>::from_pem_slice(pem);
        match section {
            Ok((SectionKind::PublicKey, der)) => Self::from_der(&der),
            _ => Err(KeyError::NotPem),
        }
    }

    /// Parses a `SubjectPublicKeyInfo`.
    pub(crate) fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let (algorithm, curve) = algorithm(der)?;
        let is_ecdsa = algorithm.components().as_slice() == EC;
        let curve = curve.as_ref().map(|curve| curve.components().as_slice());
        let algorithm: &'static dyn VerificationAlgorithm =
            match (algorithm.components().as_slice(), curve) {
                (EC, Some(P256)) => &ECDSA_P256_SHA256_ASN1,
                (EC, Some(P384)) => &ECDSA_P384_SHA256_ASN1,
                (EC, Some(P521)) => &ECDSA_P521_SHA256_ASN1,
                (RSA, _) => &RSA_PKCS1_2048_8192_SHA256,
                (ED25519_OID, _) => &ED25519,
                _ => return Err(KeyError::Algorithm),
            };
        Ok(Self {
            der: der.to_vec(),
            algorithm,
            is_ecdsa,
        })
    }

    /// Returns whether it is an ECDSA key, as those of logs must be.
    pub(crate) fn is_ecdsa(&self) -> bool {
        self.is_ecdsa
    }

    /// The key in DER.
    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns whether a signature of this key is for a message.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.algorithm, &self.der)
            .verify(message, signature)
            .is_ok()
    }

    /// SHA-256 of the key in DER.
    pub(crate) fn fingerprint(&self) -> String {
        digest(&self.der).to_string()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublicKey")
            .field(&self.fingerprint())
            .finish()
    }
}

/// Reads the algorithm, and the named curve of an elliptic one.
fn algorithm(der: &[u8]) -> Result<(ObjectIdentifier, Option<ObjectIdentifier>), KeyError> {
    let parsed = yasna::parse_der(der, |reader| {
        reader.read_sequence(|reader| {
            let found = reader.next().read_sequence(|reader| {
                let algorithm = reader.next().read_oid()?;
                let parameters = reader.read_optional(|reader| reader.read_der())?;
                Ok((algorithm, parameters))
            })?;
            reader.next().read_bitvec_bytes()?;
            Ok(found)
        })
    });
    let (algorithm, parameters) = parsed.map_err(|_| KeyError::NotDer)?;
    let curve = parameters
        .and_then(|parameters| yasna::parse_der(&parameters, |reader| reader.read_oid()).ok());
    Ok((algorithm, curve))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::PublicKey;

    /// Start of a `SubjectPublicKeyInfo` of P-256, before the point.
    const P256_HEADER: [u8; 26] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
        0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ];

    /// Makes a key of its uncompressed point.
    pub(crate) fn p256(point: &[u8]) -> PublicKey {
        PublicKey::from_der(&[&P256_HEADER, point].concat()).expect("it is a key")
    }
}
