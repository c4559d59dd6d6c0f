//! A blob on its way into a file: verified while it comes, and continued where it broke off.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

use fbc::Digest;
use reqwest::header::{CONTENT_RANGE, HeaderMap};
use reqwest::{Response, StatusCode};
use sha2::{Digest as _, Sha256};

use super::Session;
use super::backoff::{Backoff, Failure};
use super::session::Ask;
use crate::manifest::Blob;
use crate::{ImageError, io_error};

/// So many bytes more than at the last break prove that it is worth to go on: the tries are counted anew.
const ACHIEVED: u64 = 1024 * 1024;

/// A blob of which some bytes are there.
struct Partial<'a> {
    what: String,
    blob: Blob,
    path: &'a Path,
    file: File,
    hash: Sha256,
    got: u64,
    /// Whether its bytes are from more than one answer.
    resumed: bool,
    /// Whether all of it was fetched anew already because the answers did not fit together.
    repeated: bool,
}

/// Fetches a blob into a new file at this path. `progress` is told how many of its bytes are there.
pub(super) async fn fetch(
    session: &Session,
    blob: Blob,
    path: &Path,
    progress: impl Fn(u64) + Send + Sync,
) -> Result<(), ImageError> {
    let file = File::create(path).map_err(|source| io_error("create", path, source))?;
    let what = format!("the blob {}", blob.digest);
    let mut partial = Partial { what, blob, path, file, hash: Sha256::new(), got: 0, resumed: false, repeated: false };
    let retry = session.transport.settings.retry;
    let mut tries = Backoff::new(retry, retry.max_attempts);
    loop {
        let before = partial.got;
        if let Err(failure) = partial.attempt(session, &progress).await {
            if partial.got >= before.saturating_add(ACHIEVED) {
                tries.reset();
            }
            tries.after(failure).await?;
        } else if partial.verify(session)? {
            return Ok(());
        }
    }
}

impl Partial<'_> {
    /// One request for what is missing.
    async fn attempt(&mut self, session: &Session, progress: impl Fn(u64)) -> Result<(), Failure> {
        let Blob { digest, bytes } = self.blob;
        if self.got == bytes {
            return Ok(());
        }
        let path = format!("blobs/{digest}");
        let mut response = session.get(Ask { what: &self.what, path: &path, from: self.got, bytes }).await?;
        if self.got > 0 && !continues_at(&response, self.got) {
            self.restart()?;
        }
        self.resumed |= self.got > 0;
        self.check_length(session, &response)?;
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Err(Failure::Transient(self.cut(session, None), None)),
                Err(error) => return Err(Failure::Transient(self.cut(session, Some(error.without_url())), None)),
            };
            // What goes on after the last byte is not looked at.
            let rest = usize::try_from(bytes - self.got).unwrap_or(usize::MAX);
            let chunk = &chunk[..chunk.len().min(rest)];
            // Short writes to a file, which the page cache takes.
            self.file.write_all(chunk).map_err(|source| io_error("write", self.path, source))?;
            self.hash.update(chunk);
            self.got += chunk.len() as u64;
            progress(self.got);
            if self.got == bytes {
                return Ok(());
            }
        }
    }

    /// Whether what came is what was wanted. When it was put together of several answers, one of them may not have been
    /// the part that it should be: then all is to be fetched again, once.
    fn verify(&mut self, session: &Session) -> Result<bool, ImageError> {
        let actual = Digest::new(self.hash.clone().finalize().into());
        if actual == self.blob.digest {
            return Ok(true);
        }
        if !self.resumed || self.repeated {
            return Err(session.wrong_digest(&self.what, self.blob.digest, actual));
        }
        self.restart()?;
        self.repeated = true;
        Ok(false)
    }

    fn restart(&mut self) -> Result<(), ImageError> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(|source| io_error("empty", self.path, source))?;
        (self.hash, self.got) = (Sha256::new(), 0);
        Ok(())
    }

    /// Refuses an answer that says itself that it is not the blob or the rest of it.
    fn check_length(&self, session: &Session, response: &Response) -> Result<(), ImageError> {
        let Some(rest) = response.content_length() else { return Ok(()) };
        let (actual, expected) = (self.got.saturating_add(rest), self.blob.bytes);
        if actual == expected {
            return Ok(());
        }
        let (what, place, actual) = (self.what.clone(), session.place.to_string(), actual.to_string());
        Err(ImageError::WrongSize { what, place, expected, actual })
    }

    fn cut(&self, session: &Session, source: Option<reqwest::Error>) -> ImageError {
        let (what, place) = (self.what.clone(), session.place.to_string());
        ImageError::Cut { what, place, got: self.got, bytes: self.blob.bytes, source }
    }
}

/// Whether an answer is the part of the blob from this byte on.
fn continues_at(response: &Response, byte: u64) -> bool {
    response.status() == StatusCode::PARTIAL_CONTENT && range_start(response.headers()) == Some(byte)
}

fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    range.split_once('-')?.0.parse().ok()
}
