//! Certificates in files: read as a pair with their key, checked, and with the date at which they
//! expire.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use yasna::models::GeneralizedTime;
use yasna::{ASN1Result, BERReader, Tag};

use super::TlsFiles;

/// Maximum number of reads of a pair that changes meanwhile.
const READ_ATTEMPTS: usize = 3;

/// An error of the configuration of TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// A file has no valid certificate.
    #[error("cannot use `{}`: expected certificates in PEM format", .0.display())]
    Certificate(PathBuf, #[source] pem::Error),
    /// The file of the certificate has a private key.
    #[error("cannot use `{}` as the certificate: it has a private key; swap the files if `{}` is the certificate", .0.display(), .1.display())]
    Swapped(PathBuf, PathBuf),
    /// A file has no valid private key.
    #[error("cannot use `{}`: expected a private key in PEM format (PKCS #8, PKCS #1 or SEC1)", .0.display())]
    PrivateKey(PathBuf, #[source] pem::Error),
    /// A certificate and a private key cannot be used together.
    #[error("cannot use the certificate `{}` with the private key `{}`", .0.display(), .1.display())]
    Pair(PathBuf, PathBuf, #[source] rustls::Error),
    /// TLS cannot be configured.
    #[error("cannot configure TLS")]
    Config(#[from] rustls::Error),
}

/// The contents of the two files.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PemFiles {
    certificate: Vec<u8>,
    private_key: Vec<u8>,
}

/// A certificate with its private key, which belong together.
#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    /// Date at which it expires.
    pub(super) not_after: Option<SystemTime>,
    /// Files that it was parsed from, to notice changes.
    pub(super) pem: PemFiles,
}

impl PemFiles {
    /// Reads both files.
    pub(super) fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let mut certificate = read(&files.certificate)?;
        let mut private_key = read(&files.private_key)?;
        // While the files are replaced, the certificate of one pair and the key of another could be
        // read: an unchanged certificate after the key shows that they are one pair.
        for _ in 1..READ_ATTEMPTS {
            let again = read(&files.certificate)?;
            if again == certificate {
                break;
            }
            certificate = again;
            private_key = read(&files.private_key)?;
        }
        Ok(Self {
            certificate,
            private_key,
        })
    }
}

impl std::fmt::Debug for PemFiles {
    /// The key is a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PemFiles").finish_non_exhaustive()
    }
}

impl Certificate {
    /// Parses a certificate and its key, and checks that they belong together.
    pub(super) fn parse(
        files: &TlsFiles,
        pem: &PemFiles,
        provider: &CryptoProvider,
    ) -> Result<Self, TlsError> {
        let TlsFiles {
            certificate,
            private_key,
        } = files;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem.certificate).collect();
        let chain = chain.and_then(|chain| {
            if chain.is_empty() {
                Err(pem::Error::NoItemsFound)
            } else {
                Ok(chain)
            }
        });
        let chain = chain.map_err(|error| {
            if PrivateKeyDer::from_pem_slice(&pem.certificate).is_ok() {
                TlsError::Swapped(certificate.clone(), private_key.clone())
            } else {
                TlsError::Certificate(certificate.clone(), error)
            }
        })?;
        let key = PrivateKeyDer::from_pem_slice(&pem.private_key);
        let key = key.map_err(|error| TlsError::PrivateKey(private_key.clone(), error))?;
        let not_after = not_after(&chain[0]);
        let key = CertifiedKey::from_der(chain, key, provider)
            .map_err(|error| TlsError::Pair(certificate.clone(), private_key.clone(), error))?;
        Ok(Self {
            key: Arc::new(key),
            not_after,
            pem: pem.clone(),
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::Read(path.to_owned(), error))
}

/// Returns when a certificate expires (RFC 5280 §4.1.2.5).
fn not_after(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let mut found = None;
    // The fields after the validity are not read, which yasna reports as an error.
    let _ = yasna::parse_der(certificate, |reader| {
        reader.read_sequence(|reader| {
            reader.next().read_sequence(|reader| {
                reader.read_optional(|reader| {
                    reader.read_tagged(Tag::context(0), |version| version.read_u8().map(drop))
                })?;
                // Serial number, signature algorithm, issuer.
                for _ in 0..3 {
                    reader.next().read_der()?;
                }
                reader.next().read_sequence(|reader| {
                    reader.next().read_der()?;
                    found = Some(read_time(reader.next())?);
                    Ok(())
                })
            })
        })
    });
    let seconds = found?.datetime().unix_timestamp();
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// Reads a `Time`: years from 2050 on are generalized times.
fn read_time(reader: BERReader<'_, '_>) -> ASN1Result<GeneralizedTime> {
    if reader.lookahead_tag()? == yasna::tags::TAG_UTCTIME {
        let time = reader.read_utctime()?;
        return Ok(GeneralizedTime::from_datetime(*time.datetime()));
    }
    reader.read_generalized_time()
}
