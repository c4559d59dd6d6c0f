//! Downloads of blobs into files. They are verified on the fly, and resumed after an interruption.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

use content_digest::DigestHasher;
use reqwest::header::{CONTENT_RANGE, HeaderMap};
use reqwest::{Response, StatusCode};

use super::backoff::{Backoff, RegistryRequestError};
use super::session::{RegistrySession, ResourceRequest};
use crate::manifest::BlobDescriptor;
use crate::metrics::METRICS;
use crate::{ImageError, io_error};

/// Number of bytes that an attempt must download to reset the number of attempts.
//
// A large blob over a bad connection needs more attempts than the retry policy has; a server that
// sends a few bytes per attempt must not be retried for ever.
const PROGRESS_BYTES: u64 = 1024 * 1024;

/// A blob that is partly downloaded.
struct PartialBlob<'a> {
    resource: String,
    blob: BlobDescriptor,
    path: &'a Path,
    file: File,
    hash: DigestHasher,
    /// Number of bytes that are downloaded.
    downloaded: u64,
    /// The bytes are from more than one response.
    resumed: bool,
    /// The download was restarted once because the digest of several responses together was wrong.
    restarted: bool,
}

/// Downloads a blob into a new file. `progress` is called with the number of bytes that are
/// downloaded.
pub(crate) async fn fetch(
    session: &RegistrySession,
    blob: BlobDescriptor,
    path: &Path,
    progress: impl Fn(u64) + Send + Sync,
) -> Result<(), ImageError> {
    let file = File::create(path).map_err(|source| io_error("create", path, source))?;
    let resource = format!("the blob {}", blob.digest);
    let mut partial = PartialBlob {
        resource,
        blob,
        path,
        file,
        hash: DigestHasher::new(),
        downloaded: 0,
        resumed: false,
        restarted: false,
    };
    let retry = session.transport.settings.retry;
    let mut backoff = Backoff::new(retry, retry.max_attempts);
    loop {
        let before = partial.downloaded;
        if let Err(error) = partial.attempt(session, &progress).await {
            if partial.downloaded >= before.saturating_add(PROGRESS_BYTES) {
                backoff.reset();
            }
            backoff.wait_after(error).await?;
        } else {
            METRICS.ok.inc();
            if partial.verify(session)? {
                return Ok(());
            }
        }
    }
}

impl PartialBlob<'_> {
    /// Requests the missing bytes once.
    async fn attempt(
        &mut self,
        session: &RegistrySession,
        progress: impl Fn(u64),
    ) -> Result<(), RegistryRequestError> {
        let BlobDescriptor { digest, bytes } = self.blob;
        if self.downloaded == bytes {
            return Ok(());
        }
        let path = format!("blobs/{digest}");
        let mut response = session
            .get(ResourceRequest {
                resource: &self.resource,
                path: &path,
                from: self.downloaded,
                bytes,
            })
            .await?;
        if self.downloaded > 0 && !continues_at(&response, self.downloaded) {
            self.restart()?;
        }
        self.resumed |= self.downloaded > 0;
        self.check_length(session, &response)?;
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => {
                    return Err(RegistryRequestError::Transient(
                        self.interrupted(session, None),
                        None,
                    ));
                }
                Err(error) => {
                    return Err(RegistryRequestError::Transient(
                        self.interrupted(session, Some(error.without_url())),
                        None,
                    ));
                }
            };
            // A response may be longer than the blob; the rest is ignored.
            let rest = usize::try_from(bytes - self.downloaded).unwrap_or(usize::MAX);
            let chunk = &chunk[..chunk.len().min(rest)];
            // Blocking, but short: the page cache takes a chunk.
            self.file
                .write_all(chunk)
                .map_err(|source| io_error("write", self.path, source))?;
            self.hash.update(chunk);
            self.downloaded += chunk.len() as u64;
            METRICS.bytes.inc_by(chunk.len() as u64);
            progress(self.downloaded);
            if self.downloaded == bytes {
                return Ok(());
            }
        }
    }

    /// Verifies the digest. If the bytes are from several responses, one of them may have had the
    /// wrong range: the first time, the download is then restarted and `false` returned.
    fn verify(&mut self, session: &RegistrySession) -> Result<bool, ImageError> {
        let actual = self.hash.clone().finish();
        if actual == self.blob.digest {
            return Ok(true);
        }
        if !self.resumed || self.restarted {
            return Err(session.wrong_digest(&self.resource, self.blob.digest, actual));
        }
        self.restart()?;
        self.restarted = true;
        Ok(false)
    }

    /// Discards the downloaded bytes.
    fn restart(&mut self) -> Result<(), ImageError> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(|source| io_error("truncate", self.path, source))?;
        self.hash = DigestHasher::new();
        self.downloaded = 0;
        Ok(())
    }

    /// Checks the `Content-Length` of a response against the missing bytes.
    fn check_length(
        &self,
        session: &RegistrySession,
        response: &Response,
    ) -> Result<(), ImageError> {
        let Some(rest) = response.content_length() else {
            return Ok(());
        };
        let actual = self.downloaded.saturating_add(rest);
        let expected = self.blob.bytes;
        if actual == expected {
            return Ok(());
        }
        let resource = self.resource.clone();
        let location = session.location.to_string();
        let actual = actual.to_string();
        Err(ImageError::WrongSize {
            resource,
            location,
            expected,
            actual,
        })
    }

    fn interrupted(&self, session: &RegistrySession, source: Option<reqwest::Error>) -> ImageError {
        let resource = self.resource.clone();
        let location = session.location.to_string();
        ImageError::Interrupted {
            resource,
            location,
            downloaded: self.downloaded,
            bytes: self.blob.bytes,
            source,
        }
    }
}

/// Returns whether a response is the part of the blob from a byte on.
fn continues_at(response: &Response, byte: u64) -> bool {
    response.status() == StatusCode::PARTIAL_CONTENT
        && range_start(response.headers()) == Some(byte)
}

/// Parses the first byte of `Content-Range`.
pub fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers
        .get(CONTENT_RANGE)?
        .to_str()
        .ok()?
        .strip_prefix("bytes ")?;
    range.split_once('-')?.0.parse().ok()
}
