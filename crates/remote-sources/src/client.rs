//! The HTTP clients of remote sources: TLS, credentials, and shares of connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use images::{install_crypto_provider, parse_certificates};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Identity, Url};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::{AuthEntry, ParsedEntry, TlsFiles};
use crate::follow::Following;
use crate::redirect::{CheckedTarget, host};
use crate::{FetchLimits, HttpAuthError, RemoteError};

/// Maximum number of concurrent requests to one host.
pub const MAX_CONNECTIONS_PER_HOST: usize = 2;

/// Maximum number of downloads that are on the disk at one time.
pub const MAX_DOWNLOADS: usize = 4;

/// Maximum number of clients that are kept; each has its own connections.
const MAX_CLIENTS: usize = 32;

/// Settings of an [`HttpClient`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpSettings {
    /// Credentials by prefixes of URLs.
    pub auth: Vec<AuthEntry>,
    /// Certificates of authorities that are trusted in addition to the system's, in PEM.
    pub authorities: Vec<String>,
    /// Hosts (`HOST[:PORT]`) that may be used without TLS, or with a certificate that cannot be
    /// verified.
    pub insecure: Vec<String>,
    /// Hosts that redirects may lead to although their addresses are not public.
    pub allow_private: Vec<String>,
    /// Serve a content that has become much smaller at once, without a second poll.
    pub accept_shrink: bool,
    /// Limits of a download.
    pub limits: FetchLimits,
}

/// A client for remote sources. Clones are cheap and share connections.
#[derive(Clone, Debug)]
pub struct HttpClient(Arc<ClientState>);

#[derive(Debug)]
struct ClientState {
    settings: HttpSettings,
    auth: Vec<ParsedEntry>,
    authorities: Vec<Certificate>,
    /// Clients in use, by what distinguishes their connections.
    clients: Mutex<HashMap<ClientKey, Client>>,
    /// Shares of connections, by host and port.
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
    downloads: Arc<Semaphore>,
    /// Servers that are followed, by their URL.
    followed: Mutex<HashMap<String, Weak<Following>>>,
}

/// Properties that distinguish the connections of clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    is_insecure: bool,
    tls: TlsFiles,
}

/// A client for one request, with the credentials for its URL.
pub(crate) struct AuthorizedClient {
    pub(crate) client: Client,
    pub(crate) headers: HeaderMap,
    pub(crate) has_credentials: bool,
}

/// Equal if they share connections and settings.
impl PartialEq for HttpClient {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A client without credentials.
impl Default for HttpClient {
    fn default() -> Self {
        Self::create(HttpSettings::default(), Vec::new(), Vec::new())
    }
}

impl HttpClient {
    /// Creates a client. Files with secrets are read when a request needs them.
    pub fn new(settings: HttpSettings) -> Result<Self, RemoteError> {
        let auth = ParsedEntry::parse_all(&settings.auth)?;
        let mut authorities = Vec::new();
        for pem in &settings.authorities {
            authorities.extend(parse_certificates(pem).map_err(RemoteError::Authority)?);
        }
        Ok(Self::create(settings, auth, authorities))
    }

    /// Returns the settings.
    pub fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    fn create(
        settings: HttpSettings,
        auth: Vec<ParsedEntry>,
        authorities: Vec<Certificate>,
    ) -> Self {
        Self(Arc::new(ClientState {
            settings,
            auth,
            authorities,
            clients: Mutex::default(),
            hosts: Mutex::default(),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
            followed: Mutex::default(),
        }))
    }

    /// Returns a client for a URL. Only requests to the origin of the source have credentials, those
    /// of the longest prefix. `checked` are the only addresses for the target of a redirect.
    pub(crate) fn authorize(
        &self,
        url: &Url,
        is_source: bool,
        checked: Option<&CheckedTarget>,
    ) -> Result<AuthorizedClient, RemoteError> {
        let is_insecure = self.is_insecure(url);
        if url.scheme() != "https" && !is_insecure && is_source {
            return Err(RemoteError::WithoutTls(authority(url)));
        }
        let entry = ParsedEntry::find(&self.0.auth, url).filter(|_| is_source);
        let headers = entry.map(ParsedEntry::headers).transpose()?;
        let tls = entry.map(ParsedEntry::tls_files).transpose()?;
        let has_identity = tls.as_ref().is_some_and(|tls| tls.identity.is_some());
        let has_credentials =
            has_identity || headers.as_ref().is_some_and(|headers| !headers.is_empty());
        let key = ClientKey {
            is_insecure,
            tls: tls.unwrap_or_default(),
        };
        let client = match checked {
            Some(_) => self.build(&key, entry, checked)?,
            None => self.client(key, entry)?,
        };
        Ok(AuthorizedClient {
            client,
            headers: headers.unwrap_or_default(),
            has_credentials,
        })
    }

    /// Waits for a share of the connections to a host.
    pub(crate) async fn connect(&self, url: &Url) -> Option<OwnedSemaphorePermit> {
        let share = {
            let mut hosts = lock(&self.0.hosts);
            hosts.retain(|_, share| Arc::strong_count(share) > 1);
            Arc::clone(
                hosts
                    .entry(authority(url))
                    .or_insert_with(|| Arc::new(Semaphore::new(MAX_CONNECTIONS_PER_HOST))),
            )
        };
        share.acquire_owned().await.ok()
    }

    /// Returns the servers that are followed, by their URL.
    pub(crate) fn followed(&self) -> MutexGuard<'_, HashMap<String, Weak<Following>>> {
        lock(&self.0.followed)
    }

    /// Waits for room on the disk for a download.
    pub(crate) async fn reserve_download(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.downloads).acquire_owned().await.ok()
    }

    /// Reserves room on the disk for a download, if there is some.
    pub(crate) fn try_reserve_download(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.downloads).try_acquire_owned().ok()
    }

    fn is_insecure(&self, url: &Url) -> bool {
        let with_port = authority(url);
        let host = host(url);
        let mut insecure = self.0.settings.insecure.iter();
        insecure.any(|insecure| *insecure == with_port || *insecure == host && url.port().is_none())
    }

    fn client(&self, key: ClientKey, entry: Option<&ParsedEntry>) -> Result<Client, RemoteError> {
        let mut clients = lock(&self.0.clients);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = self.build(&key, entry, None)?;
        if clients.len() >= MAX_CLIENTS {
            // Certificates were rotated many times; connections are opened again.
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }

    fn build(
        &self,
        key: &ClientKey,
        entry: Option<&ParsedEntry>,
        checked: Option<&CheckedTarget>,
    ) -> Result<Client, RemoteError> {
        install_crypto_provider();
        let limits = self.0.settings.limits;
        let mut authorities = self.0.authorities.clone();
        if let Some(pem) = &key.tls.ca {
            let pem = String::from_utf8_lossy(pem);
            authorities.extend(parse_certificates(&pem).map_err(RemoteError::Authority)?);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("catalogql/", env!("CARGO_PKG_VERSION")))
            // As in builds without the feature `shared-store`, whose library brings HTTP/2.
            .http1_only()
            .connect_timeout(limits.connect_timeout)
            .read_timeout(limits.silence)
            .tls_certs_merge(authorities)
            .tls_danger_accept_invalid_certs(key.is_insecure)
            .redirect(Policy::none())
            .referer(false);
        if let Some(pem) = &key.tls.identity {
            let path = entry.map(ParsedEntry::certificate_file).unwrap_or_default();
            let identity = Identity::from_pem(pem).map_err(|_| HttpAuthError::Content {
                path,
                reason: "it and its key are not a valid certificate with its key in PEM",
            })?;
            builder = builder.identity(identity);
        }
        if let Some(CheckedTarget { host, addresses }) = checked {
            builder = builder.resolve_to_addrs(host, addresses);
        }
        builder.build().map_err(RemoteError::TlsSetup)
    }
}

/// Returns the host of a URL with its port, if it has one.
pub(crate) fn authority(url: &Url) -> String {
    match url.port() {
        Some(port) => format!("{}:{port}", host(url)),
        None => host(url),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
