//! TLS: which versions and key exchanges are offered, and certificates that are reloaded when their
//! files change.
//!
//! It does not know what is requested on a connection.

mod certificate;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use clap::ValueEnum;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoClientAuth, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsAcceptor;

use certificate::{Certificate, PemFiles};

pub use certificate::TlsError;

/// Interval at which the files of a certificate are read again. Reading is what notices every way
/// of replacing them: the symbolic link `..data` that the kubelet swaps, a rename, and a write in
/// place, on any file system.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// ALPN protocol id of HTTP/2.
pub(super) const HTTP2: &[u8] = b"h2";

/// ALPN protocol id of HTTP/1.1.
const HTTP1: &[u8] = b"http/1.1";

/// Versions from TLS 1.2 on, and from TLS 1.3 on.
static FROM_TLS12: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
static FROM_TLS13: &[&SupportedProtocolVersion] = &[&TLS13];

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those of intermediate authorities (PEM).
    pub certificate: PathBuf,
    /// The private key of the certificate (PEM).
    pub private_key: PathBuf,
}

/// Lowest version of TLS that is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TlsVersion {
    /// TLS 1.2 and 1.3
    #[default]
    #[value(name = "VersionTLS12")]
    Tls12,
    /// TLS 1.3 only
    #[value(name = "VersionTLS13")]
    Tls13,
}

/// Application protocols that a connection may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocols {
    /// HTTP/2, or else HTTP/1.1.
    All,
    /// HTTP/1.1 only.
    Http1,
}

/// The TLS of a listener. Clones share the certificate.
#[derive(Clone)]
pub struct Tls {
    current: Arc<CurrentCertificate>,
    provider: Arc<CryptoProvider>,
    versions: &'static [&'static SupportedProtocolVersion],
    configs: Arc<ArcSwap<Configs>>,
}

/// The configurations of new connections, by the protocols that they may use.
struct Configs {
    all: Arc<ServerConfig>,
    http1: Arc<ServerConfig>,
}

/// The certificate that new connections get.
#[derive(Debug)]
struct CurrentCertificate {
    files: TlsFiles,
    certificate: ArcSwap<Certificate>,
}

/// Reloads a certificate.
struct Reload {
    tls: Tls,
    /// What was read last, whether it could be used or not.
    last: Result<PemFiles, String>,
}

impl Tls {
    /// Reads the certificate.
    pub fn new(files: TlsFiles, min_version: TlsVersion) -> Result<Self, TlsError> {
        let provider = Arc::new(provider());
        let certificate = Certificate::parse(&files, &PemFiles::read(&files)?, &provider)?;
        let current = Arc::new(CurrentCertificate {
            files,
            certificate: ArcSwap::from_pointee(certificate),
        });
        let versions: &'static [&'static SupportedProtocolVersion] = match min_version {
            TlsVersion::Tls12 => FROM_TLS12,
            TlsVersion::Tls13 => FROM_TLS13,
        };
        let configs = Configs::new(&current, &provider, versions, Arc::new(NoClientAuth))?;
        Ok(Self {
            current,
            provider,
            versions,
            configs: Arc::new(ArcSwap::from_pointee(configs)),
        })
    }

    /// Asks clients of new connections for a certificate of these authorities. They may have none;
    /// one of another authority is refused in the handshake.
    pub fn accept_clients(&self, roots: &Arc<RootCertStore>) {
        let verifier = WebPkiClientVerifier::builder_with_provider(
            Arc::clone(roots),
            Arc::clone(&self.provider),
        );
        let verifier = match verifier.allow_unauthenticated().build() {
            Ok(verifier) => verifier,
            Err(_) if roots.is_empty() => Arc::new(NoClientAuth),
            Err(error) => return tracing::error!(%error, "cannot verify certificates of clients"),
        };
        match Configs::new(&self.current, &self.provider, self.versions, verifier) {
            Ok(configs) => self.configs.store(Arc::new(configs)),
            Err(error) => {
                tracing::error!(error = chain(&error), "cannot ask clients for certificates");
            }
        }
    }

    /// Returns the files of the certificate.
    pub fn files(&self) -> &TlsFiles {
        &self.current.files
    }

    /// Returns when the certificate expires that new connections get; `None` if it does not say so
    /// in a way that is understood.
    pub fn not_after(&self) -> Option<SystemTime> {
        self.current.certificate.load().not_after
    }

    /// Reads the files again at this interval, and uses their certificate from then on when they
    /// have changed. What cannot be used is logged once, and the last certificate stays. It never
    /// ends.
    pub async fn reload_changes(self, every: Duration) {
        let mut polls = interval(every);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reload = Reload::new(self);
        loop {
            polls.tick().await;
            reload.poll();
        }
    }

    /// Returns what accepts connections that may use these protocols.
    pub(super) fn acceptor(&self, protocols: Protocols) -> TlsAcceptor {
        let configs = self.configs.load();
        TlsAcceptor::from(Arc::clone(match protocols {
            Protocols::All => &configs.all,
            Protocols::Http1 => &configs.http1,
        }))
    }
}

impl Configs {
    fn new(
        current: &Arc<CurrentCertificate>,
        provider: &Arc<CryptoProvider>,
        versions: &[&'static SupportedProtocolVersion],
        verifier: Arc<dyn ClientCertVerifier>,
    ) -> Result<Self, TlsError> {
        let config = ServerConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(versions)?;
        let resolver = Arc::clone(current) as Arc<dyn ResolvesServerCert>;
        let mut http1 = config
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(resolver);
        http1.alpn_protocols = vec![HTTP1.to_vec()];
        let mut all = http1.clone();
        all.alpn_protocols.insert(0, HTTP2.to_vec());
        Ok(Self {
            all: Arc::new(all),
            http1: Arc::new(http1),
        })
    }
}

impl Reload {
    fn new(tls: Tls) -> Self {
        let last = Ok(tls.current.certificate.load().pem.clone());
        Self { tls, last }
    }

    /// Reads the files, and uses their certificate if it is a new one.
    fn poll(&mut self) {
        let files = self.tls.files();
        let read = PemFiles::read(files).map_err(|error| chain(&error));
        if read == self.last {
            return;
        }
        self.last.clone_from(&read);
        let provider = &self.tls.provider;
        let parsed = read.and_then(|pem| {
            Certificate::parse(files, &pem, provider).map_err(|error| chain(&error))
        });
        match parsed {
            Ok(certificate) => {
                tracing::info!(file = %files.certificate.display(), "certificate reloaded");
                self.tls.current.certificate.store(Arc::new(certificate));
            }
            Err(error) => {
                tracing::error!(error, "cannot reload the certificate, keeping the last one");
            }
        }
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tls")
            .field("files", self.files())
            .finish_non_exhaustive()
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.certificate.load().key))
    }
}

/// The cryptography of a server. Unlike the default, it prefers the key exchange that resists
/// quantum computers, where the client offers it; servers pay less for it than clients, whose first
/// message grows by a kilobyte.
fn provider() -> CryptoProvider {
    let kx_groups = vec![
        kx_group::X25519MLKEM768,
        kx_group::X25519,
        kx_group::SECP256R1,
        kx_group::SECP384R1,
    ];
    CryptoProvider {
        kx_groups,
        ..default_provider()
    }
}

/// Returns an error with its causes.
fn chain(error: &TlsError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
