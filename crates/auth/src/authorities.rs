//! Authorities of client certificates, which kube-apiserver publishes for servers like this one in
//! the `ConfigMap` `kube-system/extension-apiserver-authentication`.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use http::HeaderMap;
use k8s_openapi::api::authentication::v1::UserInfo;
use percent_encoding::percent_decode_str;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use sha2::{Digest as _, Sha256};

use crate::key::Key;
use crate::subject::Subject;
use crate::{CACHE_TIME, User};

/// Keys of the `ConfigMap` with certificates of authorities.
const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";

/// Key in `extra` under which a user of a certificate has the certificate's SHA-256.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Authorities of client certificates, and the headers in which a front proxy names a user.
pub struct Authorities {
    /// Verifies certificates of users; `None` where the cluster has none.
    users: Option<Arc<dyn ClientCertVerifier>>,
    /// Verifies certificates of front proxies, such as kube-apiserver's.
    proxies: Option<Arc<dyn ClientCertVerifier>>,
    /// The authorities of both.
    roots: Arc<RootCertStore>,
    /// Common names that a front proxy may have; empty for any.
    proxy_names: Vec<String>,
    headers: ProxyHeaders,
}

/// Headers in which a front proxy names a user, in lower case.
#[derive(Debug)]
struct ProxyHeaders {
    users: Vec<String>,
    uids: Vec<String>,
    groups: Vec<String>,
    /// Prefixes of header names; the rest of a name is the key of an extra field.
    extra_prefixes: Vec<String>,
}

/// Certificate chain of a TLS client, which lives as long as the connection.
pub struct ClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    /// SHA-256 of the client's own certificate.
    pub(crate) id: Key,
    verified: Mutex<Option<CachedVerdict>>,
}

/// The last verdict on a certificate.
struct CachedVerdict {
    authorities: Arc<Authorities>,
    verified_at: Instant,
    verdict: Verdict,
}

/// Result of verifying a client certificate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// True for the certificate of a front proxy, which may name any user.
    pub(crate) is_proxy: bool,
    /// User of the certificate, if it is valid for one.
    pub(crate) user: Option<Arc<User>>,
}

/// Error in the `ConfigMap`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthoritiesError {
    #[error("`{0}` has no certificates in PEM format")]
    Pem(&'static str, #[source] pem::Error),
    #[error("`{0}` has no certificate of an authority")]
    Root(&'static str),
    #[error("cannot verify certificates by `{0}`")]
    Verifier(&'static str, #[source] VerifierBuilderError),
    #[error("`{0}` is not a JSON array of texts")]
    Names(&'static str, #[source] serde_json::Error),
}

impl Authorities {
    /// Reads the `ConfigMap`. A missing key is an empty list.
    pub(crate) fn read(data: &BTreeMap<String, String>) -> Result<Self, AuthoritiesError> {
        let users = roots(data, CLIENT_CA)?;
        let proxies = roots(data, PROXY_CA)?;
        let mut all = RootCertStore::empty();
        all.roots
            .extend(users.roots.iter().chain(&proxies.roots).cloned());
        let lower = |key| {
            Ok(names(data, key)?
                .into_iter()
                .map(|name| name.to_ascii_lowercase())
                .collect())
        };
        Ok(Self {
            users: verifier(users, CLIENT_CA)?,
            proxies: verifier(proxies, PROXY_CA)?,
            roots: Arc::new(all),
            proxy_names: names(data, "requestheader-allowed-names")?,
            headers: ProxyHeaders {
                users: lower("requestheader-username-headers")?,
                uids: lower("requestheader-uid-headers")?,
                groups: lower("requestheader-group-headers")?,
                extra_prefixes: lower("requestheader-extra-headers-prefix")?,
            },
        })
    }

    /// Returns the authorities whose certificates clients may present.
    pub fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots
    }

    /// Returns the user that a front proxy names in headers.
    pub(crate) fn proxied_user(&self, headers: &HeaderMap) -> Option<User> {
        self.headers.user(headers)
    }

    fn verify(&self, chain: &[CertificateDer<'_>], date: UnixTime) -> Verdict {
        let Some((certificate, intermediates)) = chain.split_first() else {
            return Verdict::default();
        };
        let is_of = |verifier: &Option<Arc<dyn ClientCertVerifier>>| {
            verifier.as_ref().is_some_and(|own| {
                own.verify_client_cert(certificate, intermediates, date)
                    .is_ok()
            })
        };
        let subject = Subject::from_certificate(certificate);
        let has_name =
            self.proxy_names.is_empty() || self.proxy_names.contains(&subject.common_name);
        let is_proxy = has_name && is_of(&self.proxies);
        let is_user = !subject.common_name.is_empty() && is_of(&self.users);
        Verdict {
            is_proxy,
            user: is_user.then(|| Arc::new(user(subject, certificate))),
        }
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities")
            .field("proxy_names", &self.proxy_names)
            .finish_non_exhaustive()
    }
}

impl ProxyHeaders {
    fn user(&self, headers: &HeaderMap) -> Option<User> {
        let values = |names: &[String]| -> Option<Vec<String>> {
            names
                .iter()
                .flat_map(|name| headers.get_all(name))
                .map(|value| text(value.as_bytes()))
                .collect()
        };
        let first =
            |names: &[String]| Some(values(names)?.into_iter().find(|value| !value.is_empty()));
        let mut extra = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in headers {
            let key = self
                .extra_prefixes
                .iter()
                .find_map(|prefix| name.as_str().strip_prefix(prefix.as_str()));
            if let Some(key) = key {
                let key = percent_decode_str(key).decode_utf8().ok()?.into_owned();
                extra.entry(key).or_default().push(text(value.as_bytes())?);
            }
        }
        let username = Some(first(&self.users)??);
        let groups = Some(values(&self.groups)?);
        let uid = first(&self.uids)?;
        Some(User::authenticated(UserInfo {
            username,
            uid,
            groups,
            extra: Some(extra).filter(|all| !all.is_empty()),
        }))
    }
}

impl ClientCertificate {
    /// Creates it from the certificates of a handshake, the client's own first. `None` if there is
    /// none.
    pub fn new(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let id = Sha256::digest(chain.first()?).into();
        let chain = chain
            .iter()
            .map(|certificate| certificate.clone().into_owned())
            .collect();
        Some(Self {
            chain,
            id,
            verified: Mutex::default(),
        })
    }

    /// Verifies the certificate. The result is cached until the authorities change, and for at most
    /// [`CACHE_TIME`], because certificates expire.
    pub(crate) fn verdict(&self, authorities: &Arc<Authorities>) -> Verdict {
        self.verdict_at(authorities, Instant::now(), UnixTime::now())
    }

    /// Verifies the certificate at a moment with this date.
    pub(crate) fn verdict_at(
        &self,
        authorities: &Arc<Authorities>,
        now: Instant,
        date: UnixTime,
    ) -> Verdict {
        let mut cached = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*cached
            && Arc::ptr_eq(&last.authorities, authorities)
            && now.duration_since(last.verified_at) < CACHE_TIME
        {
            return last.verdict.clone();
        }
        let verdict = authorities.verify(&self.chain, date);
        *cached = Some(CachedVerdict {
            authorities: Arc::clone(authorities),
            verified_at: now,
            verdict: verdict.clone(),
        });
        verdict
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate")
            .field("certificates", &self.chain.len())
            .finish_non_exhaustive()
    }
}

/// Returns the certificates under a key; none if it is missing.
fn roots(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<RootCertStore, AuthoritiesError> {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = data.get(key) {
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        let certificates = certificates.map_err(|error| AuthoritiesError::Pem(key, error))?;
        let (added, ignored) = roots.add_parsable_certificates(certificates);
        if added == 0 && ignored > 0 {
            return Err(AuthoritiesError::Root(key));
        }
    }
    Ok(roots)
}

fn verifier(
    roots: RootCertStore,
    key: &'static str,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, AuthoritiesError> {
    if roots.is_empty() {
        return Ok(None);
    }
    let verifier =
        WebPkiClientVerifier::builder_with_provider(roots.into(), default_provider().into())
            .build();
    verifier
        .map(Some)
        .map_err(|error| AuthoritiesError::Verifier(key, error))
}

fn names(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Vec<String>, AuthoritiesError> {
    let Some(json) = data.get(key) else {
        return Ok(Vec::new());
    };
    serde_json::from_str(json).map_err(|error| AuthoritiesError::Names(key, error))
}

/// Returns the user of a certificate.
fn user(subject: Subject, certificate: &CertificateDer<'_>) -> User {
    let mut id = "X509SHA256=".to_owned();
    for byte in Sha256::digest(certificate) {
        write!(id, "{byte:02x}").expect("a string takes all text");
    }
    let extra = [(CREDENTIAL_ID.to_owned(), vec![id])].into();
    let username = Some(subject.common_name);
    let groups = Some(subject.organizations);
    User::authenticated(UserInfo {
        username,
        groups,
        extra: Some(extra),
        ..UserInfo::default()
    })
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}
