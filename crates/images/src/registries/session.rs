//! One repository of one registry: its manifests and blobs, with a login where it asks for one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fbc::Digest;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, RANGE, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;

use super::backoff::{Backoff, Failure};
use super::conf::Place;
use super::login::log_in;
use super::transport::{Transport, Trust, unreachable};
use crate::manifest::{self, Blob, MEDIA_TYPES};
use crate::{ImageError, RegistryReference};

/// In this header a registry says which digest it believes to send.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// What the paths of manifests begin with.
const MANIFESTS: &str = "manifests/";

/// How many bytes are read of what a registry says when it refuses.
pub const MAX_ERROR_BODY_BYTES: u64 = 16 * 1024;

/// How many characters of it are shown.
const REFUSAL_SHOWN: usize = 200;

/// Requests to one repository.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) transport: Arc<Transport>,
    pub(super) place: Place,
    /// How often manifests and configs are asked for.
    tries: u32,
    state: Mutex<State>,
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    /// Names it in errors.
    pub(super) what: &'a str,
    /// Within the repository.
    pub(super) path: &'a str,
    /// The first byte that is wanted.
    pub(super) from: u64,
    /// How many bytes it has, or may have.
    pub(super) bytes: u64,
}

/// What is learned on the way.
#[derive(Debug, Default)]
struct State {
    /// How the registry speaks, once it answered.
    scheme: Option<&'static str>,
    /// What we say to be let in; the value is hidden when it is shown.
    authorization: Option<HeaderValue>,
    /// Which credentials that was made of.
    tried: Option<String>,
}

/// What a registry says when it refuses.
#[derive(Deserialize)]
struct Refusal {
    errors: Vec<RefusalError>,
}

#[derive(Deserialize)]
struct RefusalError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Session {
    /// Requests to this place; what it has is asked for so often, and blobs as often as retry allows.
    pub(super) fn new(transport: Arc<Transport>, place: Place, tries: u32) -> Self {
        Self { transport, place, tries, state: Mutex::default() }
    }

    /// The manifest or index that an image names here, with its digest.
    pub(super) async fn manifest(&self, image: &RegistryReference) -> Result<(Vec<u8>, Digest), ImageError> {
        let (what, name) = match (image.digest(), image.tag()) {
            (Some(digest), _) => (format!("the manifest {digest}"), digest.to_string()),
            (None, tag) => {
                let tag = tag.unwrap_or_default();
                (format!("the tag `{tag}`"), tag.to_owned())
            }
        };
        self.verified_manifest(&what, &name, image.digest()).await
    }

    /// A manifest that an index names.
    pub(super) async fn manifest_by_digest(&self, blob: Blob) -> Result<Vec<u8>, ImageError> {
        let what = format!("the manifest {}", blob.digest);
        let (bytes, _) = self.verified_manifest(&what, &blob.digest.to_string(), Some(blob.digest)).await?;
        Ok(bytes)
    }

    /// A config, whose size was checked.
    pub(super) async fn config(&self, blob: Blob) -> Result<Vec<u8>, ImageError> {
        let what = format!("the config {}", blob.digest);
        let path = format!("blobs/{}", blob.digest);
        let (bytes, headers) = self.small(Ask { what: &what, path: &path, from: 0, bytes: blob.bytes }).await?;
        self.verify(&what, &bytes, Some(blob.digest), &headers)?;
        Ok(bytes)
    }

    async fn verified_manifest(
        &self,
        what: &str,
        name: &str,
        digest: Option<Digest>,
    ) -> Result<(Vec<u8>, Digest), ImageError> {
        let bytes = self.transport.settings.limits.manifest_bytes;
        let path = format!("{MANIFESTS}{name}");
        let (bytes, headers) = self.small(Ask { what, path: &path, from: 0, bytes }).await?;
        let digest = self.verify(what, &bytes, digest, &headers)?;
        Ok((bytes, digest))
    }

    /// The digest of some bytes, when it is the one that was asked for, or else the one that the registry claims.
    fn verify(
        &self,
        what: &str,
        bytes: &[u8],
        wanted: Option<Digest>,
        headers: &HeaderMap,
    ) -> Result<Digest, ImageError> {
        let claimed = headers.get(CONTENT_DIGEST).and_then(|value| Digest::parse(value.to_str().ok()?));
        let actual = manifest::digest(bytes);
        match wanted.or(claimed) {
            Some(expected) if expected != actual => Err(self.wrong_digest(what, expected, actual)),
            _ => Ok(actual),
        }
    }

    pub(super) fn wrong_digest(&self, what: &str, expected: Digest, actual: Digest) -> ImageError {
        ImageError::WrongDigest { what: what.to_owned(), place: self.place.to_string(), expected, actual }
    }

    /// What fits into memory, with the headers that came before it.
    async fn small(&self, ask: Ask<'_>) -> Result<(Vec<u8>, HeaderMap), ImageError> {
        let mut tries = Backoff::new(self.transport.settings.retry, self.tries);
        loop {
            match self.small_once(ask).await {
                Ok(got) => return Ok(got),
                Err(failure) => tries.after(failure).await?,
            }
        }
    }

    async fn small_once(&self, ask: Ask<'_>) -> Result<(Vec<u8>, HeaderMap), Failure> {
        let response = self.get(ask).await?;
        let headers = response.headers().clone();
        match read(response, ask.bytes).await {
            Ok(Some(bytes)) => Ok((bytes, headers)),
            Ok(None) => {
                let what = format!("{} of `{}`", ask.what, self.place);
                Err(ImageError::LargerThan { what, limit: ask.bytes }.into())
            }
            Err(error) => Err(self.unreachable(error)),
        }
    }

    /// Asks for something, and logs in if the registry wants that.
    pub(super) async fn get(&self, ask: Ask<'_>) -> Result<Response, Failure> {
        let mut response = self.send(ask).await?;
        // Somebody else, to whom we were sent, is told nothing and believed nothing.
        if response.status() == StatusCode::UNAUTHORIZED && self.is_own(response.url()) {
            let login = log_in(&self.transport, &self.place, response.headers()).await?;
            {
                let mut state = self.state();
                (state.authorization, state.tried) = (Some(login.authorization), login.tried);
            }
            response = self.send(ask).await?;
        }
        if response.status().is_success() { Ok(response) } else { Err(self.refused(ask.what, response).await) }
    }

    async fn send(&self, ask: Ask<'_>) -> Result<Response, Failure> {
        let known = self.state().scheme;
        let mut scheme = known.unwrap_or("https");
        let mut sent = self.send_by(scheme, ask)?.await;
        // Where the user allows both, TLS is tried before going without.
        let may_go_without = known.is_none() && self.place.trust == Trust::InsecureSkipVerify;
        if may_go_without && sent.as_ref().is_err_and(reqwest::Error::is_connect) {
            scheme = "http";
            sent = self.send_by(scheme, ask)?.await;
        }
        let response = sent.map_err(|error| self.unreachable(error))?;
        self.state().scheme = Some(scheme);
        Ok(response)
    }

    fn send_by(
        &self,
        scheme: &str,
        ask: Ask<'_>,
    ) -> Result<impl Future<Output = reqwest::Result<Response>> + use<>, ImageError> {
        let Place { host, repository, trust, .. } = &self.place;
        let url = format!("{scheme}://{host}/v2/{repository}/{}", ask.path);
        let rest = ask.bytes.saturating_sub(ask.from);
        let mut request = self.transport.client(*trust)?.get(url).timeout(self.transport.settings.retry.whole(rest));
        if ask.path.starts_with(MANIFESTS) {
            request = request.header(ACCEPT, MEDIA_TYPES.join(", "));
        }
        if ask.from > 0 {
            request = request.header(RANGE, format!("bytes={}-", ask.from));
        }
        if let Some(authorization) = &self.state().authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        Ok(request.send())
    }

    /// Whether an answer is from this registry, and not from where a redirect led.
    fn is_own(&self, answered: &Url) -> bool {
        let own = Url::parse(&format!("{}://{}", answered.scheme(), self.place.host));
        own.is_ok_and(|own| own.host() == answered.host() && own.port() == answered.port())
    }

    pub(super) fn unreachable(&self, error: reqwest::Error) -> Failure {
        unreachable(&self.place.registry, error)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why something was not given, and whether that may change.
    async fn refused(&self, what: &str, response: Response) -> Failure {
        let (status, wait) = (response.status(), retry_after(response.headers()));
        let (what, place) = (what.to_owned(), self.place.to_string());
        let tried = || self.state().tried.clone().unwrap_or_else(|| "someone who did not log in".to_owned());
        let error = match status {
            StatusCode::UNAUTHORIZED => return self.unauthorized().into(),
            StatusCode::FORBIDDEN => ImageError::Forbidden { what, place, tried: tried(), said: said(response).await },
            StatusCode::NOT_FOUND => ImageError::NotFound { what, place },
            StatusCode::TOO_MANY_REQUESTS => ImageError::TooManyRequests { place, wait },
            _ => ImageError::Status { what, place, status: status.as_u16(), said: said(response).await },
        };
        let passes = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
            || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
        if passes { Failure::Transient(error, wait) } else { Failure::Permanent(error) }
    }

    /// The registry wants to know who we are and is not content with what it hears.
    fn unauthorized(&self) -> ImageError {
        self.place.unauthorized(self.state().tried.as_deref())
    }
}

/// The bytes of an answer, if there are no more than so many.
pub(super) async fn read(mut response: Response, limit: u64) -> reqwest::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// How long the registry asks to be left alone.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::now()).ok(),
    }
}

/// What a registry says when it refuses, short and in one line: `: denied: …`, or nothing.
async fn said(response: Response) -> String {
    let bytes = read(response, MAX_ERROR_BODY_BYTES).await.ok().flatten().unwrap_or_default();
    let Ok(refusal) = serde_json::from_slice::<Refusal>(&bytes) else { return String::new() };
    let Some(RefusalError { code, message }) = refusal.errors.into_iter().next() else { return String::new() };
    let text = if message.is_empty() { code } else { message };
    let shown: String = text.chars().filter(|c| !c.is_control()).take(REFUSAL_SHOWN).collect();
    if shown.is_empty() { shown } else { format!(": {shown}") }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{AGE, DATE};

    use super::*;

    #[test]
    fn a_registry_names_seconds_or_a_moment_until_which_it_is_left_alone() {
        let asked = |text: &str| retry_after(&HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]));
        assert_eq!(asked("120"), Some(Duration::from_mins(2)));
        let later = asked(&httpdate::fmt_http_date(SystemTime::now() + Duration::from_mins(10))).unwrap();
        assert!((590..=600).contains(&later.as_secs()), "{later:?}");
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "-1", "soon"] {
            assert_eq!(asked(text), None, "{text}");
        }
        assert_eq!(
            retry_after(&HeaderMap::from_iter([(AGE, HeaderValue::from(1)), (DATE, HeaderValue::from(1))])),
            None
        );
    }
}
