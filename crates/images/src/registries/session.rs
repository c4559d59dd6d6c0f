//! Requests to one repository: manifests and blobs, with authentication if the registry requires
//! it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fbc_grammar::Digest;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, RANGE};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;

use super::backoff::{Backoff, RegistryRequestError};
use super::conf::RepositoryLocation;
use super::login::{RepositoryAccess, log_in};
use super::response::{read, retry_after};
use super::signature_extension::SUPPORTS_SIGNATURES;
use super::transport::{RegistryTransport, Trust, continue_trace, unreachable};
use crate::manifest::{BlobDescriptor, MEDIA_TYPES};
use crate::metrics::METRICS;
use crate::{ImageError, RegistryReference};

/// Header with the digest of the response according to the registry.
pub(super) const CONTENT_DIGEST: &str = "docker-content-digest";

/// Prefix of the paths of manifests.
pub(super) const MANIFESTS: &str = "manifests/";

/// Prefix of the paths of lists of referrers.
pub(super) const REFERRERS: &str = "referrers/";

/// Maximum number of bytes that are read of the body of an error response.
pub const MAX_ERROR_BODY_BYTES: u64 = 16 * 1024;

/// Maximum number of characters of it that are shown in an error.
const SHOWN_ERROR_CHARS: usize = 200;

/// A client of one repository.
#[derive(Debug)]
pub(crate) struct RegistrySession {
    pub(super) transport: Arc<RegistryTransport>,
    pub(crate) location: RepositoryLocation,
    access: RepositoryAccess,
    /// Another repository of the registry, from which a blob is mounted.
    mounted_repository: Option<String>,
    /// Maximum number of attempts for manifests and configs.
    max_attempts: u32,
    state: Mutex<SessionState>,
}

/// A request for a manifest or a blob.
#[derive(Clone, Copy)]
pub(super) struct ResourceRequest<'a> {
    /// Name of the resource for errors.
    pub(super) resource: &'a str,
    /// Path within the repository, or on the registry's host if it begins with a slash.
    pub(super) path: &'a str,
    /// Offset of the first byte to download.
    pub(super) from: u64,
    /// Length of the resource in bytes, or the maximum length if it is unknown.
    pub(super) bytes: u64,
}

/// State of a session that earlier responses determined.
#[derive(Debug, Default)]
struct SessionState {
    /// URL scheme of the registry, after its first response.
    scheme: Option<&'static str>,
    /// `Authorization` header; marked as sensitive.
    authorization: Option<HeaderValue>,
    /// Description of the credentials in it, for errors.
    credentials: Option<String>,
    /// The registry stores signatures of simple signing itself.
    supports_signatures: bool,
}

/// The body of an error response.
#[derive(Deserialize)]
struct ErrorBody {
    errors: Vec<RegistryError>,
}

#[derive(Deserialize)]
struct RegistryError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl RegistrySession {
    /// Creates a client. `max_attempts` applies to manifests and configs; blobs are retried
    /// according to the retry policy.
    pub(super) fn new(
        transport: Arc<RegistryTransport>,
        location: RepositoryLocation,
        access: RepositoryAccess,
        max_attempts: u32,
    ) -> Self {
        Self {
            transport,
            location,
            access,
            mounted_repository: None,
            max_attempts,
            state: Mutex::default(),
        }
    }

    /// Creates a client that may also read another repository of the registry. Tokens are for the
    /// repositories that they name.
    pub(super) fn mounting(&self, from: &str) -> Self {
        Self {
            mounted_repository: Some(from.to_owned()),
            ..Self::new(
                self.transport.clone(),
                self.location.clone(),
                self.access,
                self.max_attempts,
            )
        }
    }

    /// Downloads the manifest or index of an image, and returns it with its digest.
    pub(super) async fn manifest(
        &self,
        image: &RegistryReference,
    ) -> Result<(Vec<u8>, Digest), ImageError> {
        let (resource, name) = match (image.digest(), image.tag()) {
            (Some(digest), _) => (format!("the manifest {digest}"), digest.to_string()),
            (None, tag) => {
                let tag = tag.unwrap_or_default();
                (format!("the tag `{tag}`"), tag.to_owned())
            }
        };
        self.verified_manifest(&resource, &name, image.digest())
            .await
    }

    /// Downloads a manifest that an index names.
    pub(super) async fn manifest_by_digest(
        &self,
        blob: BlobDescriptor,
    ) -> Result<Vec<u8>, ImageError> {
        let resource = format!("the manifest {}", blob.digest);
        let (bytes, _) = self
            .verified_manifest(&resource, &blob.digest.to_string(), Some(blob.digest))
            .await?;
        Ok(bytes)
    }

    /// Downloads an image config. The manifest's limits must have been checked.
    pub(super) async fn config(&self, blob: BlobDescriptor) -> Result<Vec<u8>, ImageError> {
        self.small_blob(&format!("the config {}", blob.digest), blob)
            .await
    }

    /// Downloads the payload of a signature. Its length must have been checked.
    pub(crate) async fn signature_payload(
        &self,
        blob: BlobDescriptor,
    ) -> Result<Vec<u8>, ImageError> {
        self.small_blob(&format!("the signature {}", blob.digest), blob)
            .await
    }

    async fn small_blob(
        &self,
        resource: &str,
        blob: BlobDescriptor,
    ) -> Result<Vec<u8>, ImageError> {
        let path = format!("blobs/{}", blob.digest);
        let (bytes, headers) = self
            .download(ResourceRequest {
                resource,
                path: &path,
                from: 0,
                bytes: blob.bytes,
            })
            .await?;
        self.verify(resource, &bytes, Some(blob.digest), &headers)?;
        Ok(bytes)
    }

    /// Downloads a manifest by its tag or digest; `None` if the repository does not have it.
    pub(crate) async fn find_manifest(
        &self,
        name: &str,
    ) -> Result<Option<(Vec<u8>, Digest)>, ImageError> {
        let digest = Digest::parse(name);
        let resource = match digest {
            Some(_) => format!("the manifest {name}"),
            None => format!("the tag `{name}`"),
        };
        match self.verified_manifest(&resource, name, digest).await {
            Ok(found) => Ok(Some(found)),
            Err(ImageError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn verified_manifest(
        &self,
        resource: &str,
        name: &str,
        digest: Option<Digest>,
    ) -> Result<(Vec<u8>, Digest), ImageError> {
        let bytes = self.transport.settings.limits.manifest_bytes;
        let path = format!("{MANIFESTS}{name}");
        let (bytes, headers) = self
            .download(ResourceRequest {
                resource,
                path: &path,
                from: 0,
                bytes,
            })
            .await?;
        // Everything else is fetched by digest. The manifest of a tag is verified by the header, if
        // the registry sends it.
        let digest = self.verify(resource, &bytes, digest, &headers)?;
        Ok((bytes, digest))
    }

    /// Computes the digest of a manifest and checks it against the expected one, or else against
    /// the one that the registry claims in a header.
    fn verify(
        &self,
        resource: &str,
        bytes: &[u8],
        expected: Option<Digest>,
        headers: &HeaderMap,
    ) -> Result<Digest, ImageError> {
        let claimed = headers
            .get(CONTENT_DIGEST)
            .and_then(|value| Digest::parse(value.to_str().ok()?));
        let actual = content_digest::digest(bytes);
        match expected.or(claimed) {
            Some(expected) if expected != actual => {
                Err(self.wrong_digest(resource, expected, actual))
            }
            _ => Ok(actual),
        }
    }

    pub(super) fn wrong_digest(
        &self,
        resource: &str,
        expected: Digest,
        actual: Digest,
    ) -> ImageError {
        ImageError::WrongDigest {
            resource: resource.to_owned(),
            location: self.location.to_string(),
            expected,
            actual,
        }
    }

    /// Downloads a resource into memory, and returns it with the response headers.
    //
    // oci-client's client is not used: it reads manifests, tokens and errors of any size, so that a
    // registry can fill the memory, and it reports neither `Retry-After` nor the status of an error.
    pub(super) async fn download(
        &self,
        request: ResourceRequest<'_>,
    ) -> Result<(Vec<u8>, HeaderMap), ImageError> {
        let mut backoff = self.backoff();
        loop {
            match self.download_once(request).await {
                Ok(downloaded) => {
                    METRICS.ok.inc();
                    METRICS.bytes.inc_by(downloaded.0.len() as u64);
                    return Ok(downloaded);
                }
                Err(error) => backoff.wait_after(error).await?,
            }
        }
    }

    async fn download_once(
        &self,
        request: ResourceRequest<'_>,
    ) -> Result<(Vec<u8>, HeaderMap), RegistryRequestError> {
        let response = self.get(request).await?;
        let headers = response.headers().clone();
        match read(response, request.bytes).await {
            Ok(Some(bytes)) => Ok((bytes, headers)),
            Ok(None) => {
                let resource = format!("{} of `{}`", request.resource, self.location);
                Err(ImageError::LargerThan {
                    resource,
                    limit: request.bytes,
                }
                .into())
            }
            Err(error) => Err(self.unreachable(error)),
        }
    }

    /// Requests a manifest or a blob, and returns a response of 2xx.
    pub(super) async fn get(
        &self,
        request: ResourceRequest<'_>,
    ) -> Result<Response, RegistryRequestError> {
        let response = self
            .exchange(|scheme| self.get_request(scheme, request))
            .await?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.error_for_status(request.resource, response).await)
        }
    }

    /// Sends a request, and logs in if the registry requires it. `build` makes the request for a
    /// URL scheme, once for each time that it is sent.
    pub(super) async fn exchange(
        &self,
        build: impl Fn(&str) -> Result<RequestBuilder, ImageError>,
    ) -> Result<Response, RegistryRequestError> {
        let response = self.send(&build).await?;
        // Any request may be challenged, because a token can expire in the middle of a pull.
        // A challenge from the target of a redirect is not trusted with credentials.
        if response.status() != StatusCode::UNAUTHORIZED || !self.is_own(response.url()) {
            return Ok(response);
        }
        let login = log_in(
            &self.transport,
            &self.location,
            self.scopes(),
            response.headers(),
        )
        .await?;
        {
            let mut state = self.state();
            state.authorization = Some(login.authorization);
            state.credentials = login.credentials;
        }
        self.send(&build).await
    }

    /// Creates a client of another repository of the registry.
    pub(crate) fn beside(&self, repository: &str) -> Self {
        let location = RepositoryLocation {
            repository: repository.to_owned(),
            ..self.location.clone()
        };
        Self::new(
            self.transport.clone(),
            location,
            self.access,
            self.max_attempts,
        )
    }

    /// Returns the scopes of the token that the session needs.
    fn scopes(&self) -> Vec<String> {
        let own = (&*self.location.repository, self.access);
        let mounted = self.mounted_repository.as_deref();
        let mounted = mounted.map(|repository| (repository, RepositoryAccess::Pull));
        let all = [Some(own), mounted].into_iter().flatten();
        all.map(|(repository, access)| format!("repository:{repository}:{}", access.actions()))
            .collect()
    }

    async fn send(
        &self,
        build: impl Fn(&str) -> Result<RequestBuilder, ImageError>,
    ) -> Result<Response, RegistryRequestError> {
        let known = self.state().scheme;
        let mut scheme = known.unwrap_or("https");
        let mut sent = self.authorized(build(scheme)?).send().await;
        // For an insecure registry, TLS is tried first and plain HTTP second, like podman and docker.
        let may_go_without = known.is_none() && self.location.trust == Trust::InsecureSkipVerify;
        if may_go_without && sent.as_ref().is_err_and(reqwest::Error::is_connect) {
            scheme = "http";
            sent = self.authorized(build(scheme)?).send().await;
        }
        let response = sent.map_err(|error| self.unreachable(error))?;
        let supports_signatures = self.is_own(response.url())
            && response
                .headers()
                .get(SUPPORTS_SIGNATURES)
                .is_some_and(|value| value == "1");
        let mut state = self.state();
        state.scheme = Some(scheme);
        state.supports_signatures |= supports_signatures;
        drop(state);
        Ok(response)
    }

    /// Sends a request to another host that a registry named. Credentials are for the registry alone
    /// and are not sent.
    pub(super) async fn send_unauthenticated(
        &self,
        build: impl Fn(&str) -> Result<RequestBuilder, ImageError>,
    ) -> Result<Response, RegistryRequestError> {
        build("https")?
            .send()
            .await
            .map_err(|error| self.unreachable(error))
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        let request = continue_trace(request);
        match &self.state().authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        }
    }

    fn get_request(
        &self,
        scheme: &str,
        request: ResourceRequest<'_>,
    ) -> Result<RequestBuilder, ImageError> {
        let rest = request.bytes.saturating_sub(request.from);
        let client = self.transport.client(self.location.trust)?;
        let mut builder = client
            .get(self.url(scheme, request.path))
            .timeout(self.request_timeout(rest));
        if request.path.starts_with(MANIFESTS) || request.path.starts_with(REFERRERS) {
            builder = builder.header(ACCEPT, MEDIA_TYPES.join(", "));
        }
        if request.from > 0 {
            builder = builder.header(RANGE, format!("bytes={}-", request.from));
        }
        Ok(builder)
    }

    /// Returns the URL of a path within the repository, or on the registry's host if it begins with
    /// a slash.
    pub(super) fn url(&self, scheme: &str, path: &str) -> String {
        let RepositoryLocation {
            host, repository, ..
        } = &self.location;
        if path.starts_with('/') {
            format!("{scheme}://{host}{path}")
        } else {
            format!("{scheme}://{host}/v2/{repository}/{path}")
        }
    }

    /// Returns the time-out of a request that transfers this number of bytes.
    pub(super) fn request_timeout(&self, bytes: u64) -> Duration {
        self.transport.settings.retry.request_timeout(bytes)
    }

    /// Returns the client for requests that push.
    pub(super) fn push_client(&self) -> Result<&Client, ImageError> {
        self.transport.push_client(self.location.trust)
    }

    /// Returns the attempts of one request.
    pub(super) fn backoff(&self) -> Backoff {
        Backoff::new(self.transport.settings.retry, self.max_attempts)
    }

    /// Describes the credentials that were sent, for errors.
    pub(super) fn credentials_name(&self) -> String {
        self.state()
            .credentials
            .clone()
            .unwrap_or_else(|| "an anonymous client".to_owned())
    }

    /// Returns whether a URL belongs to this registry, and not to the target of a redirect.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        let own = Url::parse(&format!("{}://{}", url.scheme(), self.location.host));
        own.is_ok_and(|own| own.host() == url.host() && own.port() == url.port())
    }

    pub(super) fn unreachable(&self, error: reqwest::Error) -> RegistryRequestError {
        unreachable(&self.location.registry, error)
    }

    /// Returns whether a response of the registry said that it stores signatures of simple signing
    /// itself.
    pub(crate) fn supports_signatures(&self) -> bool {
        self.state().supports_signatures
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error for a response other than 2xx, and whether the request may be retried.
    pub(super) async fn error_for_status(
        &self,
        resource: &str,
        response: Response,
    ) -> RegistryRequestError {
        let status = response.status();
        let wait = retry_after(response.headers());
        let resource = resource.to_owned();
        let location = self.location.to_string();
        let error = match status {
            StatusCode::UNAUTHORIZED => return self.unauthorized().into(),
            StatusCode::TOO_MANY_REQUESTS => ImageError::TooManyRequests {
                location,
                retry_after: wait,
            },
            _ if self.access == RepositoryAccess::Push => {
                self.push_error(resource, status, &read_error_body(response).await)
            }
            StatusCode::FORBIDDEN => ImageError::Forbidden {
                resource,
                location,
                credentials: self.credentials_name(),
                error_body: read_error_body(response).await,
            },
            StatusCode::NOT_FOUND => ImageError::NotFound { resource, location },
            _ => ImageError::Status {
                resource,
                location,
                status: status.as_u16(),
                error_body: read_error_body(response).await,
            },
        };
        let is_transient = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
            || matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
            );
        if is_transient {
            RegistryRequestError::Transient(error, wait)
        } else {
            RegistryRequestError::Permanent(error)
        }
    }

    /// Returns the error for a registry that rejects a push.
    fn push_error(&self, resource: String, status: StatusCode, text: &str) -> ImageError {
        let reason = match status {
            StatusCode::FORBIDDEN => format!("access denied for {}{text}", self.credentials_name()),
            _ => format!("HTTP status {}{text}", status.as_u16()),
        };
        ImageError::Push {
            resource,
            location: self.location.to_string(),
            reason,
        }
    }

    /// Returns the error for a 401 response after logging in, or without a supported challenge.
    fn unauthorized(&self) -> ImageError {
        self.location
            .unauthorized(self.state().credentials.as_deref())
    }
}

/// Reads the error message of a registry for our own, short and on one line: `: denied`. Empty if
/// there is none.
async fn read_error_body(response: Response) -> String {
    let bytes = read(response, MAX_ERROR_BODY_BYTES)
        .await
        .ok()
        .flatten()
        .unwrap_or_default();
    let Ok(body) = serde_json::from_slice::<ErrorBody>(&bytes) else {
        return String::new();
    };
    let Some(RegistryError { code, message }) = body.errors.into_iter().next() else {
        return String::new();
    };
    let text = if message.is_empty() { code } else { message };
    let shown: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(SHOWN_ERROR_CHARS)
        .collect();
    if shown.is_empty() {
        shown
    } else {
        format!(": {shown}")
    }
}
