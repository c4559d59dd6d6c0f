//! The connections to registries: TLS, proxies, time-outs, redirects.

use std::io;
use std::sync::OnceLock;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, RootCertStore};

use super::RegistrySettings;
use super::backoff::Failure;
use crate::ImageError;

/// How often a registry may send us elsewhere for one request.
pub const MAX_REDIRECTS: usize = 10;

/// What all requests share.
#[derive(Debug)]
pub(super) struct Transport {
    pub(super) settings: RegistrySettings,
    authorities: Vec<Certificate>,
    /// Made when first needed: a system without certificates can serve directories.
    strict: OnceLock<Client>,
    lax: OnceLock<Client>,
}

/// Whether a host must prove who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// TLS with a certificate that can be verified, also after every redirect.
    Verified,
    /// Certificates are not verified, because the user said so.
    InsecureSkipVerify,
}

/// A redirect that is not followed.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the registry redirects to `{0}` without TLS")]
    WithoutTls(String),
    #[error("the registry redirects more than {MAX_REDIRECTS} times")]
    TooOften,
}

impl Transport {
    pub(super) fn new(mut settings: RegistrySettings) -> Result<Self, ImageError> {
        // Another part of the program may have chosen it before.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        settings.conf = settings.conf.with_insecure(&settings.insecure);
        let mut authorities = Vec::new();
        for pem in &settings.authorities {
            authorities.extend(certificates(pem).map_err(ImageError::Authority)?);
        }
        let transport = Self { settings, authorities, strict: OnceLock::new(), lax: OnceLock::new() };
        Ok(transport)
    }

    /// Whether this host, with its port, may be reached without TLS.
    pub(super) fn is_insecure(&self, host: &str) -> bool {
        self.settings.insecure.iter().any(|insecure| insecure == host)
    }

    pub(super) fn client(&self, trust: Trust) -> Result<&Client, ImageError> {
        let cell = match trust {
            Trust::Verified => &self.strict,
            Trust::InsecureSkipVerify => &self.lax,
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let redirects = match trust {
            Trust::Verified => Policy::custom(follow_with_tls),
            Trust::InsecureSkipVerify => Policy::limited(MAX_REDIRECTS),
        };
        let client = self.build(trust, redirects)?;
        Ok(cell.get_or_init(|| client))
    }

    /// A client that goes nowhere else: a redirect would take along what is in the body of a request.
    pub(super) fn client_without_redirects(&self, trust: Trust) -> Result<Client, ImageError> {
        self.build(trust, Policy::none())
    }

    fn build(&self, trust: Trust, redirects: Policy) -> Result<Client, ImageError> {
        Client::builder()
            .user_agent(concat!("catalogql/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.settings.retry.connect_timeout)
            .read_timeout(self.settings.retry.read_timeout)
            .tls_certs_merge(self.authorities.clone())
            .tls_danger_accept_invalid_certs(trust == Trust::InsecureSkipVerify)
            .redirect(redirects)
            .referer(false)
            .build()
            .map_err(ImageError::Tls)
    }
}

/// The certificates of a text in PEM, each of which can be one of an authority, or why they cannot.
fn certificates(pem: &str) -> Result<Vec<Certificate>, String> {
    let mut found = Vec::new();
    for der in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let der = der.map_err(|error| error.to_string())?;
        RootCertStore::empty().add(der.clone()).map_err(|error| error.to_string())?;
        found.push(Certificate::from_der(&der).map_err(|error| error.to_string())?);
    }
    if found.is_empty() { Err("there is no certificate in it".to_owned()) } else { Ok(found) }
}

fn follow_with_tls(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.url().scheme() != "https" {
        let host = attempt.url().host_str().unwrap_or_default().to_owned();
        return attempt.error(Refused::WithoutTls(host));
    }
    if attempt.previous().len() > MAX_REDIRECTS { attempt.error(Refused::TooOften) } else { attempt.follow() }
}

/// Why no answer came from this host.
pub(super) fn unreachable(host: &str, error: reqwest::Error) -> Failure {
    // The address may hold a signature, and the registry is named already.
    let error = error.without_url();
    let host = host.to_owned();
    match tls_error(&error) {
        // The signature is wrong when an authority of the same name is trusted, such as its predecessor.
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            Failure::Permanent(ImageError::UntrustedAuthority(host))
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            Failure::Permanent(ImageError::Certificate { host, source: error })
        }
        Some(rustls::Error::InvalidMessage(_)) => Failure::Permanent(ImageError::WithoutTls(host)),
        _ if error.is_redirect() => Failure::Permanent(ImageError::Redirect { host, source: error }),
        _ => Failure::Transient(ImageError::Unreachable { host, source: error }, None),
    }
}

/// The complaint of TLS among the causes of an error, if it is one.
fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        // An IO error hides what it was made of from its own causes.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let found = error.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref()));
        if found.is_some() {
            return found;
        }
        cause = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}
