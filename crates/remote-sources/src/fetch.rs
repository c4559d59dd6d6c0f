//! One download: a conditional request with its redirects, and the requests that continue it after an
//! interruption.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use images::{find_tls_error, range_start, retry_after};
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, HeaderMap, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_RANGE, RANGE,
};
use reqwest::{Response, StatusCode, Url};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant as TokioInstant, sleep, timeout_at};

use crate::client::AuthorizedClient;
use crate::error::RedirectReason;
use crate::metrics::remote_requests;
use crate::redirect::{self, host};
use crate::validators::{fresh_for, without_query};
use crate::{
    FetchLimits, HttpClient, MAX_HOPS, MAX_REDIRECTS, RemoteError, RemoteKind, RemoteReference,
    RequestResult, VIA, Validators, via,
};

/// Number of downloads of a catalog that changes while it is downloaded.
const ATTEMPTS: usize = 3;

/// Number of bytes that an attempt must download to reset the number of attempts.
const PROGRESS_BYTES: u64 = 1024 * 1024;

/// Maximum delay that `Retry-After` asks for and that is respected.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

/// A download to make.
#[derive(Debug)]
pub struct Fetch<'a> {
    /// The source.
    pub reference: &'a RemoteReference,
    /// Validators of the download that the caller has; `None` downloads unconditionally.
    pub known: Option<&'a Validators>,
    /// File to create.
    pub path: &'a Path,
    /// Id of this server: a catalog that came through it is refused. `None` for a command.
    pub instance: Option<&'a str>,
}

/// The result of a conditional request.
#[derive(Debug)]
pub enum Fetched {
    /// The server confirms that the download that the caller has is the current one.
    NotModified {
        /// Time for which the response is fresh, if the server says it.
        fresh_for: Option<Duration>,
        /// Validators to keep in place of the known ones, if they differ.
        validators: Option<Validators>,
    },
    /// A download.
    Downloaded(Download),
}

/// A downloaded file. It counts against [`MAX_DOWNLOADS`](crate::MAX_DOWNLOADS) until this is dropped.
#[derive(Debug)]
pub struct Download {
    /// The file.
    pub path: PathBuf,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, in their content coding.
    pub digest: Digest,
    /// Validators for the next request.
    pub validators: Validators,
    /// Time for which the response is fresh, if the server says it.
    pub fresh_for: Option<Duration>,
    permit: Option<OwnedSemaphorePermit>,
}

/// A request that is sent until it is answered by something other than a redirect.
struct DownloadRequest<'a> {
    client: &'a HttpClient,
    reference: &'a RemoteReference,
    instance: Option<&'a str>,
    limits: FetchLimits,
    /// Time at which the whole download must have ended.
    deadline: TokioInstant,
}

/// A file that is partly downloaded.
struct Partial {
    path: PathBuf,
    file: File,
    hash: DigestHasher,
    downloaded: u64,
    /// Length of the whole body in bytes, if the server said it.
    expected: Option<u64>,
    /// Validators of the first response.
    validators: Validators,
    fresh_for: Option<Duration>,
    started: Instant,
}

/// A response after redirects, with the URL that sent it.
struct Answer {
    response: Response,
    url: Url,
    has_credentials: bool,
    _connection: Option<OwnedSemaphorePermit>,
}

/// Headers that make a request conditional, or ask for a part.
enum Condition<'a> {
    Whole,
    Changed(&'a Validators),
    From(u64, &'a str),
}

impl HttpClient {
    /// Downloads a file if it has changed. `progress` is called with the number of bytes that are
    /// downloaded and their total, 0 if that is unknown.
    pub async fn fetch(
        &self,
        fetch: Fetch<'_>,
        progress: impl Fn(u64, u64) + Send + Sync,
    ) -> Result<Fetched, RemoteError> {
        let counts = &remote_requests()[fetch.reference.kind()];
        let fetched = self.fetch_stable(&fetch, &progress).await;
        let result = match &fetched {
            Ok(Fetched::NotModified { .. }) => RequestResult::NotModified,
            Ok(Fetched::Downloaded(_)) => RequestResult::Downloaded,
            Err(_) => RequestResult::Failed,
        };
        counts[result].inc();
        fetched
    }

    /// Downloads a file, and a catalog without entity tag again if it changes meanwhile: its server
    /// replaces it without a sign in the middle of a response.
    async fn fetch_stable(
        &self,
        fetch: &Fetch<'_>,
        progress: &(impl Fn(u64, u64) + Send + Sync),
    ) -> Result<Fetched, RemoteError> {
        let reference = fetch.reference;
        let limits = self.settings().limits;
        let request = DownloadRequest {
            client: self,
            reference,
            instance: fetch.instance,
            limits,
            deadline: TokioInstant::now() + limits.total,
        };
        let mut fetched = request.fetch(fetch, None, progress).await?;
        for _ in 0..ATTEMPTS {
            let Fetched::Downloaded(mut download) = fetched else {
                return Ok(fetched);
            };
            let is_stable = reference.kind() == RemoteKind::Http
                || download.validators.strong_etag().is_some()
                || download.validators.last_modified.is_none();
            if is_stable {
                check_pin(reference, &download)?;
                return Ok(Fetched::Downloaded(download));
            }
            let permit = download.permit.take();
            let since = Fetch {
                known: Some(&download.validators),
                ..*fetch
            };
            match request.fetch(&since, permit, progress).await? {
                Fetched::NotModified { .. } => return Ok(Fetched::Downloaded(download)),
                // The same bytes with another time: the server stores them anew at each poll.
                Fetched::Downloaded(again) if again.digest == download.digest => {
                    return Ok(Fetched::Downloaded(again));
                }
                changed @ Fetched::Downloaded(_) => fetched = changed,
            }
        }
        Err(RemoteError::Unstable {
            url: without_query(reference.url()),
            attempts: ATTEMPTS,
        })
    }
}

impl DownloadRequest<'_> {
    /// Downloads a file once.
    async fn fetch(
        &self,
        fetch: &Fetch<'_>,
        permit: Option<OwnedSemaphorePermit>,
        progress: &(impl Fn(u64, u64) + Send + Sync),
    ) -> Result<Fetched, RemoteError> {
        let known = fetch.known;
        let condition = known.map_or(Condition::Whole, Condition::Changed);
        let mut answer = self.send(&condition).await?;
        if answer.response.status() == StatusCode::NOT_MODIFIED {
            let Some(known) = known else {
                return Err(self.malformed("a 304 response to a request without condition"));
            };
            if known.url == without_query(&answer.url) {
                let via = via::parse(answer.response.headers());
                let validators = (via != known.via).then(|| known.with_via(via));
                return Ok(Fetched::NotModified {
                    fresh_for: fresh_for(answer.response.headers()),
                    validators,
                });
            }
            // The tag of one file may be that of another one.
            answer = self.send(&Condition::Whole).await?;
        }
        if answer.response.status() != StatusCode::OK {
            return Err(self.status_error(&answer));
        }
        let mut permit = permit.or_else(|| self.client.try_reserve_download());
        if permit.is_none() {
            // A connection that waits for room on the disk would keep it from the downloads that
            // have room and want to be continued.
            drop(answer);
            permit = self.client.reserve_download().await;
            answer = self.send(&Condition::Whole).await?;
            if answer.response.status() != StatusCode::OK {
                return Err(self.status_error(&answer));
            }
        }
        let mut partial = Partial::new(fetch.path, &answer)?;
        let mut attempts = 0;
        loop {
            let before = partial.downloaded;
            let Err(error) = self.receive(&mut partial, answer, progress).await else {
                return Ok(Fetched::Downloaded(partial.finish(permit)));
            };
            attempts = if partial.downloaded >= before.saturating_add(PROGRESS_BYTES) {
                1
            } else {
                attempts + 1
            };
            let etag = partial.validators.strong_etag().map(str::to_owned);
            let is_interrupted = matches!(error, RemoteError::Interrupted { .. });
            let Some(etag) = etag.filter(|_| is_interrupted && attempts < self.limits.attempts)
            else {
                return Err(error);
            };
            answer = self.resume(&mut partial, &etag, attempts, error).await?;
        }
    }

    /// Asks for the rest of a file, until there is a response.
    async fn resume(
        &self,
        partial: &mut Partial,
        etag: &str,
        mut attempts: u32,
        mut cause: RemoteError,
    ) -> Result<Answer, RemoteError> {
        let answer = loop {
            let doubled = 1_u32.checked_shl(attempts - 1).unwrap_or(u32::MAX);
            let delay = self.limits.initial_backoff.saturating_mul(doubled);
            let delay = delay.mul_f64(fastrand::f64());
            if attempts >= self.limits.attempts || TokioInstant::now() + delay > self.deadline {
                return Err(cause);
            }
            tracing::debug!(source = %self.reference, error = %cause, "continuing the download");
            sleep(delay).await;
            match self.send(&Condition::From(partial.downloaded, etag)).await {
                Ok(answer) => break answer,
                Err(error) if error.is_transient() => cause = error,
                Err(error) => return Err(error),
            }
            attempts += 1;
        };
        match answer.response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let has_range = range_start(answer.response.headers()) == Some(partial.downloaded);
                let total = range_total(answer.response.headers());
                let is_same =
                    partial.expected.is_none() || total.is_none() || partial.expected == total;
                if !has_range || !is_same {
                    return Err(self.malformed(
                        "a 206 response with another range than the one that was requested",
                    ));
                }
                Ok(answer)
            }
            // The file has changed, or the server has no ranges.
            StatusCode::OK => {
                partial.restart(&answer)?;
                Ok(answer)
            }
            _ => Err(self.status_error(&answer)),
        }
    }

    /// Receives a body.
    async fn receive(
        &self,
        partial: &mut Partial,
        mut answer: Answer,
        progress: &(impl Fn(u64, u64) + Send + Sync),
    ) -> Result<(), RemoteError> {
        loop {
            let next = timeout_at(self.deadline, answer.response.chunk()).await;
            let chunk = match next {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) if partial.is_complete() => return Ok(()),
                Ok(Ok(None)) => return Err(self.interrupted(partial, None)),
                Ok(Err(error)) => return Err(self.interrupted(partial, Some(error.without_url()))),
                Err(_) => return Err(self.too_slow(partial)),
            };
            if partial.downloaded + chunk.len() as u64 > self.limits.body_bytes {
                return Err(self.too_large("its body", self.limits.body_bytes));
            }
            partial.write(&chunk)?;
            progress(partial.downloaded, partial.expected.unwrap_or_default());
            let elapsed = partial
                .started
                .elapsed()
                .saturating_sub(self.limits.silence);
            let least = elapsed
                .as_secs()
                .saturating_mul(self.limits.min_bytes_per_second);
            if partial.downloaded < least {
                return Err(self.too_slow(partial));
            }
        }
    }

    /// Sends a request and follows its redirects.
    async fn send(&self, condition: &Condition<'_>) -> Result<Answer, RemoteError> {
        let source = self.reference.url();
        let settings = self.client.settings();
        let mut url = source.clone();
        let mut checked = None;
        for _ in 0..=MAX_REDIRECTS {
            // Credentials are for the origin that the user has named, also when a redirect leads to
            // another one with credentials of its own.
            let is_source = url.origin() == source.origin();
            let authorized = self.client.authorize(&url, is_source, checked.as_ref())?;
            let connection = self.client.connect(&url).await;
            let answer = self.send_once(authorized, url.clone(), condition).await?;
            self.check_head(&answer.response)?;
            if !matches!(
                answer.response.status().as_u16(),
                301 | 302 | 303 | 307 | 308
            ) {
                return Ok(Answer {
                    _connection: connection,
                    ..answer
                });
            }
            url = redirect::target(&url, answer.response.headers())?;
            checked = redirect::check_target(source, &url, &settings.allow_private).await?;
        }
        Err(RemoteError::Redirect {
            url: without_query(source),
            reason: RedirectReason::TooMany,
        })
    }

    async fn send_once(
        &self,
        authorized: AuthorizedClient,
        url: Url,
        condition: &Condition<'_>,
    ) -> Result<Answer, RemoteError> {
        let AuthorizedClient {
            client,
            headers,
            has_credentials,
        } = authorized;
        // An archive has its own compression, and a part of a compressed body is of no use.
        let may_be_coded = self.reference.kind() != RemoteKind::Http;
        let codings = if may_be_coded && !matches!(condition, Condition::From(..)) {
            "zstd, gzip"
        } else {
            "identity"
        };
        let request = client
            .get(url.clone())
            .headers(headers)
            .header(ACCEPT_ENCODING, codings);
        let request = match self.instance.filter(|_| may_be_coded) {
            Some(id) => request.header(VIA, id),
            None => request,
        };
        let request = match condition {
            // A server that has entity tags evaluates nothing else, and one that has none takes
            // `If-None-Match` for a reason to ignore the time.
            Condition::Changed(Validators {
                etag: Some(etag), ..
            }) => request.header(IF_NONE_MATCH, etag),
            Condition::Changed(Validators {
                last_modified: Some(time),
                ..
            }) => request.header(IF_MODIFIED_SINCE, time),
            Condition::Whole | Condition::Changed(_) => request,
            Condition::From(at, etag) => request
                .header(RANGE, format!("bytes={at}-"))
                .header(IF_RANGE, *etag),
        };
        let sent = timeout_at(self.deadline, request.send()).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&url, error)),
            Err(_) => {
                return Err(RemoteError::TooSlow {
                    url: without_query(&url),
                    downloaded: 0,
                    seconds: self.limits.total.as_secs(),
                });
            }
        };
        Ok(Answer {
            response,
            url,
            has_credentials,
            _connection: None,
        })
    }

    fn check_head(&self, response: &Response) -> Result<(), RemoteError> {
        let headers = response.headers().iter();
        let bytes: usize = headers
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        if bytes > self.limits.head_bytes {
            return Err(self.too_large("the head of the response", self.limits.head_bytes as u64));
        }
        if response
            .content_length()
            .is_some_and(|bytes| bytes > self.limits.body_bytes)
        {
            return Err(self.too_large("its body", self.limits.body_bytes));
        }
        self.check_via(response.headers())?;
        let coding = response
            .headers()
            .get(CONTENT_ENCODING)
            .map(HeaderValue::as_bytes);
        if coding.is_some_and(|coding| {
            ![&b"gzip"[..], b"x-gzip", b"zstd", b"identity", b""].contains(&coding)
        }) {
            return Err(self.malformed("its Content-Encoding is neither gzip nor zstd"));
        }
        Ok(())
    }

    /// Refuses a catalog that came through this server, or through too many.
    fn check_via(&self, headers: &HeaderMap) -> Result<(), RemoteError> {
        let Some(instance) = self.instance else {
            return Ok(());
        };
        let url = || without_query(self.reference.url());
        let via = via::parse(headers);
        if via.iter().any(|id| id == instance) {
            return Err(RemoteError::Loop { url: url() });
        }
        if via.len() > MAX_HOPS {
            return Err(RemoteError::TooManyHops { url: url() });
        }
        Ok(())
    }

    /// Returns the error for a response that is neither a file nor a redirect.
    fn status_error(&self, answer: &Answer) -> RemoteError {
        let url = without_query(self.reference.url());
        let status = answer.response.status();
        match status.as_u16() {
            206 => self.malformed("a 206 response to a request without range"),
            401 | 403 => RemoteError::Unauthorized {
                url,
                status: status.as_u16(),
                has_credentials: answer.has_credentials,
            },
            code => {
                // A replica that has just started, or does not lead, does not serve its catalogs yet.
                let is_starting = code == 404 && self.reference.kind() != RemoteKind::Http;
                let delay = retry_after(answer.response.headers());
                RemoteError::Status {
                    url,
                    status: code,
                    retry_after: delay.map(|delay| delay.min(MAX_RETRY_AFTER)),
                    is_transient: is_starting
                        || status.is_server_error()
                        || matches!(code, 408 | 425 | 429),
                }
            }
        }
    }

    fn malformed(&self, reason: &'static str) -> RemoteError {
        RemoteError::Malformed {
            url: without_query(self.reference.url()),
            reason,
        }
    }

    fn too_large(&self, part: &'static str, limit: u64) -> RemoteError {
        RemoteError::TooLarge {
            url: without_query(self.reference.url()),
            part,
            limit,
        }
    }

    fn too_slow(&self, partial: &Partial) -> RemoteError {
        RemoteError::TooSlow {
            url: without_query(self.reference.url()),
            downloaded: partial.downloaded,
            seconds: partial.started.elapsed().as_secs(),
        }
    }

    fn interrupted(&self, partial: &Partial, source: Option<reqwest::Error>) -> RemoteError {
        RemoteError::Interrupted {
            url: without_query(self.reference.url()),
            downloaded: partial.downloaded,
            expected: partial.expected,
            source,
        }
    }
}

impl Partial {
    fn new(path: &Path, answer: &Answer) -> Result<Self, RemoteError> {
        let file = File::create(path).map_err(|source| io_error("create", path, source))?;
        let headers = answer.response.headers();
        Ok(Self {
            path: path.to_owned(),
            file,
            hash: DigestHasher::new(),
            downloaded: 0,
            expected: answer.response.content_length(),
            validators: Validators::from_response(&answer.url, headers),
            fresh_for: fresh_for(headers),
            started: Instant::now(),
        })
    }

    /// Discards the downloaded bytes, because another representation follows.
    fn restart(&mut self, answer: &Answer) -> Result<(), RemoteError> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(|source| io_error("truncate", &self.path, source))?;
        let headers = answer.response.headers();
        self.hash = DigestHasher::new();
        self.downloaded = 0;
        self.expected = answer.response.content_length();
        self.validators = Validators::from_response(&answer.url, headers);
        self.fresh_for = fresh_for(headers);
        Ok(())
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), RemoteError> {
        // Blocking, but short: the page cache takes a chunk.
        let written = self.file.write_all(chunk);
        written.map_err(|source| io_error("write", &self.path, source))?;
        self.hash.update(chunk);
        self.downloaded += chunk.len() as u64;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.expected
            .is_none_or(|expected| self.downloaded == expected)
    }

    fn finish(self, permit: Option<OwnedSemaphorePermit>) -> Download {
        Download {
            path: self.path,
            bytes: self.downloaded,
            digest: self.hash.finish(),
            validators: self.validators,
            fresh_for: self.fresh_for,
            permit,
        }
    }
}

/// Compares a download with the digest that its reference pins.
fn check_pin(reference: &RemoteReference, download: &Download) -> Result<(), RemoteError> {
    match reference.sha256() {
        Some(expected) if expected != download.digest => Err(RemoteError::WrongDigest {
            url: without_query(reference.url()),
            expected,
            actual: download.digest,
        }),
        _ => Ok(()),
    }
}

/// Classifies the error of a request without a response.
pub(crate) fn unreachable(url: &Url, error: reqwest::Error) -> RemoteError {
    let source = error.without_url();
    let host = host(url);
    match find_tls_error(&source) {
        Some(_) => RemoteError::Certificate { host, source },
        None => RemoteError::Unreachable { host, source },
    }
}

/// Parses the length of the whole file from `Content-Range`.
fn range_total(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(CONTENT_RANGE)?
        .to_str()
        .ok()?
        .rsplit_once('/')?
        .1
        .parse()
        .ok()
}

pub(crate) fn io_error(action: &'static str, path: &Path, source: std::io::Error) -> RemoteError {
    RemoteError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
