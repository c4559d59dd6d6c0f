//! Authentication of requests, in the order of the servers of Kubernetes: by a front proxy's
//! headers, a client certificate or a bearer token. Others are anonymous.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use admission::Peer;
use futures_util::StreamExt as _;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::watch_object;
use kube::{Client, Error};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::authorities::{Authorities, ClientCertificate};
use crate::key::Key;
use crate::{AuthError, User};

/// Namespace and name of the `ConfigMap` in which kube-apiserver publishes the authorities of
/// client certificates.
const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// Prefix of impersonation headers. A front proxy evaluates them; this server refuses them.
const IMPERSONATE: &str = "impersonate-";

/// Authenticates requests. Clones share the authorities.
#[derive(Clone, Debug)]
pub struct Authenticator(watch::Receiver<Option<Arc<Authorities>>>);

/// Credentials of a request.
#[derive(Clone)]
pub enum RequestCredentials<'r> {
    /// No credentials: the caller is `system:anonymous`.
    None,
    /// A bearer token, which the API server reviews, and the peer that sent it.
    Token(Cow<'r, [u8]>, Peer),
    /// A user that a client certificate proves.
    User(CertifiedUser),
}

/// A user with the client certificate that proves it.
#[derive(Clone)]
pub struct CertifiedUser {
    user: Arc<User>,
    certificate: Arc<ClientCertificate>,
    /// True if a front proxy, whose certificate this is, named the user.
    is_proxied: bool,
    authenticator: Authenticator,
}

/// Identifies credentials without holding a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CredentialsKey {
    None,
    /// SHA-256 of the token.
    Token(Key),
    User {
        user: Key,
        certificate: Key,
    },
}

impl Authenticator {
    /// Creates an authenticator, and the task that keeps its authorities current. No certificate is
    /// accepted before that task has read them.
    pub fn new(client: Client) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (sender, receiver) = watch::channel(None);
        (Self(receiver), watch_authorities(client, sender))
    }

    /// The authorities of client certificates; `None` until they are known.
    pub fn authorities(&self) -> watch::Receiver<Option<Arc<Authorities>>> {
        self.0.clone()
    }

    /// Returns the credentials of a request with these headers from this peer, on a connection
    /// whose client has this certificate.
    ///
    /// # Errors
    /// No authority vouches for the certificate, or the request has impersonation headers.
    pub fn credentials<'r>(
        &self,
        headers: &'r HeaderMap,
        certificate: Option<&Arc<ClientCertificate>>,
        peer: Peer,
    ) -> Result<RequestCredentials<'r>, AuthError> {
        if headers
            .keys()
            .any(|name| name.as_str().starts_with(IMPERSONATE))
        {
            return Err(AuthError::Impersonation);
        }
        if let Some(certificate) = certificate {
            let authorities = self.0.borrow().clone().ok_or(AuthError::Unauthenticated)?;
            let verdict = certificate.verdict(&authorities);
            // Without a front proxy's certificate, any client could send such headers.
            let proxied = if verdict.is_proxy {
                authorities.proxied_user(headers)
            } else {
                None
            };
            let is_proxied = proxied.is_some();
            if let Some(user) = proxied.map(Arc::new).or(verdict.user) {
                let certificate = Arc::clone(certificate);
                let authenticator = self.clone();
                return Ok(RequestCredentials::User(CertifiedUser {
                    user,
                    certificate,
                    is_proxied,
                    authenticator,
                }));
            }
        }
        match bearer_token(headers) {
            Some(token) => Ok(RequestCredentials::Token(Cow::Borrowed(token), peer)),
            None if certificate.is_some() => Err(AuthError::Unauthenticated),
            None => Ok(RequestCredentials::None),
        }
    }
}

impl CertifiedUser {
    /// Returns the name of the user.
    pub fn name(&self) -> &str {
        self.user.name()
    }

    /// Returns the user, if the certificate still proves it: a stream may outlive the certificate,
    /// or the authority that signed it.
    pub(crate) fn verified(&self) -> Result<&Arc<User>, AuthError> {
        let authorities = self
            .authenticator
            .0
            .borrow()
            .clone()
            .ok_or(AuthError::Unauthenticated)?;
        let verdict = self.certificate.verdict(&authorities);
        let is_verified = if self.is_proxied {
            verdict.is_proxy
        } else {
            verdict.user.is_some()
        };
        is_verified
            .then_some(&self.user)
            .ok_or(AuthError::Unauthenticated)
    }
}

impl RequestCredentials<'_> {
    /// Returns the same credentials without borrowing from the request.
    pub fn into_owned(self) -> RequestCredentials<'static> {
        match self {
            Self::None => RequestCredentials::None,
            Self::Token(token, peer) => {
                RequestCredentials::Token(Cow::Owned(token.into_owned()), peer)
            }
            Self::User(user) => RequestCredentials::User(user),
        }
    }

    pub(crate) fn key(&self) -> CredentialsKey {
        match self {
            Self::None => CredentialsKey::None,
            Self::Token(token, _) => CredentialsKey::Token(Sha256::digest(token).into()),
            Self::User(user) => CredentialsKey::User {
                user: user.user.id,
                certificate: user.certificate.id,
            },
        }
    }

    /// Returns an error if the user has a certificate that does not prove it any more.
    pub(crate) fn verify(&self) -> Result<(), AuthError> {
        match self {
            Self::User(user) => user.verified().map(drop),
            Self::None | Self::Token(..) => Ok(()),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl fmt::Debug for RequestCredentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token is a secret.
        f.debug_tuple("RequestCredentials")
            .field(&self.key())
            .finish()
    }
}

/// Returns the token of a request (RFC 6750 §2.1); `None` without one, or with other credentials.
pub fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at(value.iter().position(|byte| *byte == b' ')?);
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
}

/// Keeps the authorities of client certificates current. An error leaves the former ones.
async fn watch_authorities(client: Client, sender: watch::Sender<Option<Arc<Authorities>>>) {
    let maps = Api::<ConfigMap>::namespaced(client, NAMESPACE);
    let mut events = std::pin::pin!(watch_object(maps, NAME).default_backoff());
    let mut last = None;
    let mut is_failing = false;
    while let Some(event) = events.next().await {
        let data = match event {
            Ok(map) => map.and_then(|map| map.data).unwrap_or_default(),
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    warn(&error);
                }
                continue;
            }
        };
        is_failing = false;
        if last.as_ref() == Some(&data) || data.is_empty() {
            continue;
        }
        match Authorities::read(&data) {
            Ok(authorities) => {
                tracing::info!(
                    authorities = authorities.roots().len(),
                    "authorities of client certificates loaded"
                );
                sender.send_replace(Some(Arc::new(authorities)));
            }
            Err(error) => {
                let error = std::error::Error::source(&error)
                    .map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
                tracing::error!(
                    namespace = NAMESPACE,
                    name = NAME,
                    error,
                    "cannot use the authorities of client certificates, keeping the last ones"
                );
            }
        }
        last = Some(data);
    }
}

fn warn(error: &kube::runtime::watcher::Error) {
    use kube::runtime::watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    let is_refused = matches!(error, InitialListFailed(Error::Api(status)) | WatchStartFailed(Error::Api(status))
        | WatchFailed(Error::Api(status)) if status.code == 403);
    let hint = if is_refused {
        ": bind the Role extension-apiserver-authentication-reader"
    } else {
        ""
    };
    let error = format!("{error}{hint}");
    tracing::warn!(
        namespace = NAMESPACE,
        name = NAME,
        error,
        "cannot read the authorities of client certificates"
    );
}

#[cfg(test)]
pub(crate) mod tests;
