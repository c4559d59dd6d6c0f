//! TLS of a listener: versions, key exchanges and protocols, client certificates, and the reload of
//! certificates when their files change.

mod certificate;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use axum::http::Extensions;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::CertificateDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoClientAuth, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsAcceptor;

use certificate::{Certificate, PemFiles};

pub use certificate::TlsError;

/// Interval at which the files of a certificate are read again. Polling notices every way of
/// replacing them, on any file system: the symbolic link `..data` that the kubelet swaps, a rename,
/// and a write in place. Watches of files would have to follow links, and network file systems
/// notify of nothing.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// ALPN protocol id of HTTP/2.
pub(crate) const HTTP2: &[u8] = b"h2";

/// ALPN protocol id of HTTP/1.1.
const HTTP1: &[u8] = b"http/1.1";

/// TLS 1.2 and later.
static FROM_TLS12: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
/// TLS 1.3 and later.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2 and 1.3.
    #[default]
    Tls12,
    /// TLS 1.3 only.
    Tls13,
}

/// Returns the extensions of all requests of a connection whose client has proved to have this
/// chain of certificates, its own first.
pub type CertificateExtensions = fn(&[CertificateDer<'_>]) -> Extensions;

/// Application protocols that a connection may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlpnProtocols {
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
    configs: Arc<ArcSwap<TlsConfigs>>,
    client_extensions: CertificateExtensions,
}

/// The configurations of new connections, by the protocols that they may use.
struct TlsConfigs {
    all: Arc<ServerConfig>,
    http1: Arc<ServerConfig>,
}

/// The certificate of new connections.
#[derive(Debug)]
struct CurrentCertificate {
    files: TlsFiles,
    certificate: ArcSwap<Certificate>,
}

/// Reloads a certificate.
struct CertificateReloader {
    tls: Tls,
    /// Contents that were read last, or the error, which is logged once.
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
        let configs = TlsConfigs::new(&current, &provider, versions, Arc::new(NoClientAuth))?;
        Ok(Self {
            current,
            provider,
            versions,
            configs: Arc::new(ArcSwap::from_pointee(configs)),
            client_extensions: |_| Extensions::new(),
        })
    }

    /// Adds extensions to all requests of connections with a client certificate.
    #[must_use]
    pub fn with_client_extensions(self, client_extensions: CertificateExtensions) -> Self {
        Self {
            client_extensions,
            ..self
        }
    }

    /// Requests a certificate of these authorities from clients of new connections. Clients may
    /// have none; the handshake fails for a certificate of another authority.
    pub fn accept_clients(&self, roots: &Arc<RootCertStore>) {
        let verifier = WebPkiClientVerifier::builder_with_provider(
            Arc::clone(roots),
            Arc::clone(&self.provider),
        );
        // A client without a certificate may have a token.
        let verifier = match verifier.allow_unauthenticated().build() {
            Ok(verifier) => verifier,
            // rustls builds no verifier without authorities.
            Err(_) if roots.is_empty() => Arc::new(NoClientAuth),
            Err(error) => return tracing::error!(%error, "cannot verify certificates of clients"),
        };
        match TlsConfigs::new(&self.current, &self.provider, self.versions, verifier) {
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

    /// Returns when the certificate of new connections expires; `None` if its date cannot be read.
    pub fn not_after(&self) -> Option<SystemTime> {
        self.current.certificate.load().not_after
    }

    /// Reads the files again at this interval, and uses their certificate for new connections when
    /// they have changed. Files that cannot be used are logged once, and the last certificate
    /// stays. It never ends.
    pub async fn reload_changes(self, every: Duration) {
        let mut polls = interval(every);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reload = CertificateReloader::new(self);
        loop {
            polls.tick().await;
            reload.poll();
        }
    }

    /// Returns the extensions of requests of a client with these certificates.
    pub(crate) fn client_extensions(&self, chain: &[CertificateDer<'_>]) -> Extensions {
        (self.client_extensions)(chain)
    }

    /// Returns an acceptor of connections that may use these protocols.
    pub(crate) fn acceptor(&self, protocols: AlpnProtocols) -> TlsAcceptor {
        let configs = self.configs.load();
        TlsAcceptor::from(Arc::clone(match protocols {
            AlpnProtocols::All => &configs.all,
            AlpnProtocols::Http1 => &configs.http1,
        }))
    }
}

impl TlsConfigs {
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
        // Connections with reserved slots are offered HTTP/1.1 only, and need a configuration of
        // their own.
        let mut all = http1.clone();
        all.alpn_protocols.insert(0, HTTP2.to_vec());
        Ok(Self {
            all: Arc::new(all),
            http1: Arc::new(http1),
        })
    }
}

impl CertificateReloader {
    fn new(tls: Tls) -> Self {
        let last = Ok(tls.current.certificate.load().pem.clone());
        Self { tls, last }
    }

    /// Reads the files, and uses their certificate if it is a new one.
    fn poll(&mut self) {
        let files = self.tls.files();
        let read = PemFiles::read(files).map_err(|error| chain(&error));
        // Errors are compared, too: one that lasts would be logged every second.
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

/// Returns the cryptography of a server. Unlike the default of rustls, it prefers the post-quantum
/// key exchange where the client offers it; it costs servers less than clients, whose first message
/// grows by a kilobyte.
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

/// Returns the text of an error with its causes.
fn chain(error: &TlsError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
