//! Objects by their names: bounded reads and conditional writes, each with a time-out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{GetResult, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};
use tokio::time::{Instant, timeout};

use crate::client::reason;
use crate::{IDLE_TIMEOUT, MIN_DOWNLOAD_RATE, MIN_UPLOAD_RATE, REQUEST_TIMEOUT, SharedStoreError};

/// The objects of a store.
#[derive(Clone, Debug)]
pub(crate) struct Objects(pub(crate) Arc<dyn ObjectStore>);

/// The result of a write of an object that should not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    Created,
    Existed,
}

impl Objects {
    /// Reads a small object into memory; `None` if there is none.
    pub(crate) async fn get(
        &self,
        path: &Path,
        max_bytes: u64,
    ) -> Result<Option<Bytes>, SharedStoreError> {
        let mut bytes = Vec::new();
        let read = self.read(path, max_bytes, |chunk| {
            bytes.extend_from_slice(&chunk);
            Ok(())
        });
        let found = read.await?;
        Ok(found.then(|| Bytes::from(bytes)))
    }

    /// Reads an object in parts. Returns `false` if there is none.
    pub(crate) async fn read(
        &self,
        path: &Path,
        max_bytes: u64,
        mut part: impl FnMut(Bytes) -> std::io::Result<()>,
    ) -> Result<bool, SharedStoreError> {
        let begun = Instant::now();
        let timed_out = |timeout| SharedStoreError::TimedOut {
            action: "read",
            object: path.to_string(),
            timeout,
        };
        let got = timeout(REQUEST_TIMEOUT, self.0.get(path)).await;
        let got = match got.map_err(|_| timed_out(REQUEST_TIMEOUT))? {
            Ok(got) => got,
            Err(object_store::Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(failed("read", path, &error)),
        };
        let mut body = bounded(&got, path, max_bytes).map(|()| got.into_stream())?;

        let mut read = 0;
        loop {
            let next = timeout(IDLE_TIMEOUT, body.next()).await;
            let Some(chunk) = next.map_err(|_| timed_out(IDLE_TIMEOUT))? else {
                return Ok(true);
            };
            let chunk = chunk.map_err(|error| failed("read", path, &error))?;
            read += chunk.len() as u64;
            if read > max_bytes {
                return Err(too_long(path));
            }
            let allowed = REQUEST_TIMEOUT + Duration::from_secs(read / MIN_DOWNLOAD_RATE);
            if begun.elapsed() > allowed + IDLE_TIMEOUT {
                return Err(SharedStoreError::TooSlow {
                    object: path.to_string(),
                    rate: MIN_DOWNLOAD_RATE,
                });
            }
            part(chunk)?;
        }
    }

    /// Writes an object that should not exist.
    pub(crate) async fn create(
        &self,
        path: &Path,
        bytes: Bytes,
    ) -> Result<Creation, SharedStoreError> {
        match self.put(path, bytes, PutMode::Create).await? {
            Ok(()) => Ok(Creation::Created),
            // S3 answers 409 to a write that competes with another one.
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(Creation::Existed),
            Err(error) => Err(failed("write", path, &error)),
        }
    }

    /// Writes an object in place of the one that may be there.
    pub(crate) async fn replace(&self, path: &Path, bytes: Bytes) -> Result<(), SharedStoreError> {
        let put = self.put(path, bytes, PutMode::Overwrite).await?;
        put.map_err(|error| failed("write", path, &error))
    }

    /// Deletes an object. One that is not there is no error.
    pub(crate) async fn delete(&self, path: &Path) -> Result<(), SharedStoreError> {
        let deleted = timeout(REQUEST_TIMEOUT, self.0.delete(path)).await;
        let deleted = deleted.map_err(|_| SharedStoreError::TimedOut {
            action: "delete",
            object: path.to_string(),
            timeout: REQUEST_TIMEOUT,
        })?;
        match deleted {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed("delete", path, &error)),
        }
    }

    async fn put(
        &self,
        path: &Path,
        bytes: Bytes,
        mode: PutMode,
    ) -> Result<object_store::Result<()>, SharedStoreError> {
        let limit = REQUEST_TIMEOUT + Duration::from_secs(bytes.len() as u64 / MIN_UPLOAD_RATE);
        let options = PutOptions::from(mode);
        let put = self.0.put_opts(path, PutPayload::from(bytes), options);
        let put = timeout(limit, put).await;
        let put = put.map_err(|_| SharedStoreError::TimedOut {
            action: "write",
            object: path.to_string(),
            timeout: limit,
        })?;
        Ok(put.map(drop))
    }
}

/// Fails if the store says that an object is too long.
fn bounded(got: &GetResult, path: &Path, max_bytes: u64) -> Result<(), SharedStoreError> {
    if got.meta.size > max_bytes {
        return Err(too_long(path));
    }
    Ok(())
}

fn too_long(path: &Path) -> SharedStoreError {
    SharedStoreError::Damaged {
        object: path.to_string(),
        reason: "it is too long",
    }
}

fn failed(action: &'static str, path: &Path, error: &object_store::Error) -> SharedStoreError {
    SharedStoreError::Request {
        action,
        object: path.to_string(),
        reason: reason(error),
    }
}
