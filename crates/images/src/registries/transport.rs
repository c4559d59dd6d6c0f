//! HTTP clients for registries: TLS, proxies, time-outs, and redirects.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, RootCertStore};

use super::RegistrySettings;
use super::backoff::RegistryRequestError;
use crate::ImageError;

/// Maximum number of redirects of one request.
pub const MAX_REDIRECTS: usize = 10;

/// The HTTP clients and settings that all sessions share.
#[derive(Debug)]
pub(super) struct RegistryTransport {
    pub(super) settings: RegistrySettings,
    authorities: Vec<Certificate>,
    /// Created on first use, because creating a client fails on a system without certificates,
    /// which can still serve directories.
    verifying: OnceLock<Client>,
    insecure: OnceLock<Client>,
    /// The same for pushing.
    push_verifying: OnceLock<Client>,
    push_insecure: OnceLock<Client>,
}

/// The trust that a connection requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// TLS with a valid certificate, also after every redirect.
    Verified,
    /// Any certificate, or no TLS, because the settings allow it.
    InsecureSkipVerify,
}

/// A redirect that is not followed.
#[derive(Debug, thiserror::Error)]
enum RedirectError {
    #[error("the registry redirects to `{0}` without TLS")]
    WithoutTls(String),
    #[error("the registry redirects more than {MAX_REDIRECTS} times")]
    TooOften,
}

impl RegistryTransport {
    pub(super) fn new(mut settings: RegistrySettings) -> Result<Self, ImageError> {
        install_crypto_provider();
        settings.conf = settings.conf.with_insecure(&settings.insecure);
        let mut authorities = Vec::new();
        for pem in &settings.authorities {
            authorities.extend(parse_certificates(pem).map_err(ImageError::InvalidAuthority)?);
        }
        let verifying = OnceLock::new();
        let insecure = OnceLock::new();
        let push_verifying = OnceLock::new();
        let push_insecure = OnceLock::new();
        Ok(Self {
            settings,
            authorities,
            verifying,
            insecure,
            push_verifying,
            push_insecure,
        })
    }

    /// Returns whether the settings name a host, given with its port, as insecure.
    pub(super) fn is_insecure(&self, host: &str) -> bool {
        self.settings
            .insecure
            .iter()
            .any(|insecure| insecure == host)
    }

    /// Returns the client for a trust.
    pub(super) fn client(&self, trust: Trust) -> Result<&Client, ImageError> {
        let cell = match trust {
            Trust::Verified => &self.verifying,
            Trust::InsecureSkipVerify => &self.insecure,
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let redirects = match trust {
            Trust::Verified => Policy::custom(follow_with_tls),
            Trust::InsecureSkipVerify => Policy::limited(MAX_REDIRECTS),
        };
        let client = self.build(trust, redirects, Some(self.settings.retry.read_timeout))?;
        Ok(cell.get_or_init(|| client))
    }

    /// Creates a client that follows no redirects, which would resend the body of a request to
    /// another host.
    pub(super) fn client_without_redirects(&self, trust: Trust) -> Result<Client, ImageError> {
        self.build(
            trust,
            Policy::none(),
            Some(self.settings.retry.read_timeout),
        )
    }

    /// Returns the client that pushes for a trust. It follows no redirects. Time before a response
    /// counts as time between the bytes of one, so that only the time-out of each whole request
    /// bounds uploads.
    pub(super) fn push_client(&self, trust: Trust) -> Result<&Client, ImageError> {
        let cell = match trust {
            Trust::Verified => &self.push_verifying,
            Trust::InsecureSkipVerify => &self.push_insecure,
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = self.build(trust, Policy::none(), None)?;
        Ok(cell.get_or_init(|| client))
    }

    fn build(
        &self,
        trust: Trust,
        redirects: Policy,
        read_timeout: Option<Duration>,
    ) -> Result<Client, ImageError> {
        let builder = Client::builder()
            .user_agent(concat!("catalogql/", env!("CARGO_PKG_VERSION")))
            // As in builds without the feature `shared-store`, whose library brings HTTP/2.
            .http1_only()
            .connect_timeout(self.settings.retry.connect_timeout)
            .tls_certs_merge(self.authorities.clone())
            .tls_danger_accept_invalid_certs(trust == Trust::InsecureSkipVerify)
            .redirect(redirects)
            .referer(false);
        let builder = read_timeout
            .into_iter()
            .fold(builder, ClientBuilder::read_timeout);
        builder.build().map_err(ImageError::TlsSetup)
    }
}

/// Adds the header by which a registry continues the current trace (W3C Trace Context §3.2), if
/// there is one.
pub(super) fn continue_trace(request: RequestBuilder) -> RequestBuilder {
    let context = Context::current();
    let span = context.span().span_context().clone();
    if !span.is_valid() {
        return request;
    }
    let trace = span.trace_id();
    let parent = span.span_id();
    let flags = span.trace_flags().to_u8();
    request.header("traceparent", format!("00-{trace}-{parent}-{flags:02x}"))
}

/// Installs the cryptography that all TLS clients of this process use.
pub fn install_crypto_provider() {
    // Fails if another part of the program has installed a provider, which is fine.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

/// Parses certificates of authorities in PEM.
pub fn parse_certificates(pem: &str) -> Result<Vec<Certificate>, String> {
    let mut found = Vec::new();
    for der in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let der = der.map_err(|error| error.to_string())?;
        RootCertStore::empty()
            .add(der.clone())
            .map_err(|error| error.to_string())?;
        found.push(Certificate::from_der(&der).map_err(|error| error.to_string())?);
    }
    if found.is_empty() {
        Err("no certificate found".to_owned())
    } else {
        Ok(found)
    }
}

/// Follows redirects to https URLs only.
//
// reqwest follows redirects from https to http, which would leave TLS for the rest of the download.
fn follow_with_tls(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.url().scheme() != "https" {
        let host = attempt.url().host_str().unwrap_or_default().to_owned();
        return attempt.error(RedirectError::WithoutTls(host));
    }
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error(RedirectError::TooOften)
    } else {
        attempt.follow()
    }
}

/// Classifies the error of a request without a response.
pub(super) fn unreachable(host: &str, error: reqwest::Error) -> RegistryRequestError {
    // The URL may contain a signature, and the error names the host already.
    let error = error.without_url();
    let host = host.to_owned();
    match find_tls_error(&error) {
        // A trusted authority with the same name, such as its predecessor, makes the signature
        // invalid.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => RegistryRequestError::Permanent(ImageError::UntrustedIssuer(host)),
        Some(rustls::Error::InvalidCertificate(_)) => {
            RegistryRequestError::Permanent(ImageError::InvalidCertificate {
                host,
                source: error,
            })
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            RegistryRequestError::Permanent(ImageError::WithoutTls(host))
        }
        _ if error.is_redirect() => RegistryRequestError::Permanent(ImageError::Redirect {
            host,
            source: error,
        }),
        _ => RegistryRequestError::Transient(
            ImageError::Unreachable {
                host,
                source: error,
            },
            None,
        ),
    }
}

/// Finds a TLS error among the causes of an error.
pub fn find_tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        // `io::Error::source` skips the error that it wraps.
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        let found = error
            .downcast_ref()
            .or_else(|| inner.and_then(|inner| inner.downcast_ref()));
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
