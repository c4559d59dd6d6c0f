//! The shared store: searches and uploads.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fbc_grammar::Digest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout};

use crate::breaker::CircuitBreaker;
use crate::client::Location;
use crate::lease::Lease;
use crate::objects::{Creation, Objects};
use crate::record::{RevisionKey, RevisionRecord};
use crate::{
    DOWNLOAD_TIMEOUT, Lookup, MAX_ANALYSIS_BYTES, MAX_COMPRESSED_BYTES, MAX_COMPRESSION,
    MAX_CONCURRENT_DOWNLOADS, MAX_CONTENT_BYTES, MAX_PENDING_UPLOADS, MAX_RECORD_BYTES,
    SharedLookup, SharedStoreError, SharedStoreMetrics, SharedUpload, UPLOAD_ATTEMPTS,
    UPLOAD_BACKOFF, Upload, WAIT_FOR_REPLICA,
};

/// Name of a downloaded file of compressed lines, within the folder that a caller names.
const DOWNLOAD: &str = "shared";

/// Average time between the first two searches while another replica pulls a revision; it doubles
/// with each further search.
const FIRST_WAIT_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum average time between two such searches.
const MAX_WAIT_INTERVAL: Duration = Duration::from_secs(1);

/// A shared store, as one process uses it.
#[derive(Debug)]
pub struct SharedStore {
    objects: Objects,
    url: String,
    /// Identity of the code that reads contents.
    build: String,
    breaker: CircuitBreaker,
    /// Uploads that wait or run.
    pending: Semaphore,
    /// Uploads that run: one.
    uploading: Semaphore,
    /// [`MAX_CONCURRENT_DOWNLOADS`] permits.
    downloading: Arc<Semaphore>,
    metrics: SharedStoreMetrics,
}

/// A content that was downloaded. Its lines are not verified yet.
#[derive(Debug)]
pub struct SharedContent {
    download: Download,
    ticket: UploadTicket,
    store: Arc<SharedStore>,
}

/// The objects of a record.
#[derive(Debug)]
struct Download {
    record: RevisionRecord,
    compressed: File,
    analysis: Bytes,
    /// Held until the content was verified: it takes memory and room on the disk until then.
    _permit: OwnedSemaphorePermit,
}

/// Permission to upload the content of a revision after it was loaded from its source. If this
/// replica holds the lease of the revision, dropping the ticket ends that.
#[derive(Debug)]
pub struct UploadTicket {
    key: RevisionKey,
    lease: Option<Lease>,
    /// Objects are damaged, and must be replaced.
    replaces: bool,
}

/// The result of a search for a record.
enum RecordSearch {
    Found(RevisionRecord),
    /// This replica should pull the revision.
    Leased(Lease),
    /// Another replica pulls the revision, and takes too long.
    Waited,
}

impl SharedStore {
    /// Opens the store that a URL names. `build` identifies the code that reads contents. It sends no
    /// request.
    pub fn open(url: &str, build: &str) -> Result<Arc<Self>, SharedStoreError> {
        Ok(Arc::new(Self::new(Location::open(url)?, build)))
    }

    pub(crate) fn new(location: Location, build: &str) -> Self {
        Self {
            objects: Objects(location.objects),
            url: location.url,
            build: build.to_owned(),
            breaker: CircuitBreaker::default(),
            pending: Semaphore::new(MAX_PENDING_UPLOADS),
            uploading: Semaphore::new(1),
            downloading: Arc::new(Semaphore::new(MAX_CONCURRENT_DOWNLOADS)),
            metrics: SharedStoreMetrics::default(),
        }
    }

    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the counters.
    pub fn metrics(&self) -> &SharedStoreMetrics {
        &self.metrics
    }

    /// Searches the content of a revision, and downloads it to a folder. While another replica pulls
    /// the revision, it waits for at most [`WAIT_FOR_REPLICA`]. Failures are logged.
    pub async fn find(self: &Arc<Self>, revision: &str, folder: &FilePath) -> Lookup {
        let mut ticket = UploadTicket {
            key: RevisionKey::new(&self.build, revision),
            lease: None,
            replaces: false,
        };
        if !self.breaker.allows() {
            self.count(SharedLookup::Skipped);
            return Lookup::Absent(ticket);
        }
        let found = match self.find_record(&ticket.key).await {
            Ok(RecordSearch::Found(record)) => self.download(record, folder).await,
            Ok(RecordSearch::Leased(lease)) => {
                self.breaker.succeeded();
                self.count(SharedLookup::Miss);
                ticket.lease = Some(lease);
                return Lookup::Absent(ticket);
            }
            Ok(RecordSearch::Waited) => {
                self.count(SharedLookup::Miss);
                tracing::info!(
                    revision,
                    "another replica takes long to pull the image, pulling it, too"
                );
                return Lookup::Absent(ticket);
            }
            Err(error) => Err(error),
        };
        match found {
            Ok(download) => {
                self.breaker.succeeded();
                Lookup::Found(SharedContent {
                    download,
                    ticket,
                    store: Arc::clone(self),
                })
            }
            Err(error) => {
                ticket.replaces = self.record_failure(revision, &error);
                Lookup::Absent(ticket)
            }
        }
    }

    /// Uploads a content that was loaded from its source, one at a time and with retries, and ends the
    /// lease of its revision. `compress` gives the content, or `None` if that failed. It runs when it is
    /// the turn of this upload. Failures are logged.
    pub async fn upload(
        self: &Arc<Self>,
        ticket: UploadTicket,
        compress: impl Future<Output = Option<Upload>> + Send,
    ) {
        let Some(_turn) = self.turn().await else {
            tracing::info!("skipping an upload to the shared store: too many contents wait");
            self.metrics.uploads[SharedUpload::Dropped].inc();
            return;
        };
        let result = match compress.await {
            Some(upload) if !is_shareable(&upload) => {
                tracing::info!(digest = %upload.digest, "skipping an upload to the shared store: no replica would load a content of this size");
                SharedUpload::Dropped
            }
            Some(upload) => self.upload_with_retries(ticket, &upload).await,
            None => SharedUpload::Failed,
        };
        self.metrics.uploads[result].inc();
    }

    /// Waits until no other upload runs; `None` if too many wait.
    async fn turn(&self) -> Option<[SemaphorePermit<'_>; 2]> {
        let pending = self.pending.try_acquire().ok()?;
        let uploading = self.uploading.acquire().await.ok()?;
        Some([pending, uploading])
    }

    async fn upload_with_retries(&self, mut ticket: UploadTicket, upload: &Upload) -> SharedUpload {
        let digest = upload.digest;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let error = match self.upload_once(&ticket, upload).await {
                Ok(Creation::Created) => {
                    tracing::info!(%digest, "content uploaded to the shared store");
                    return SharedUpload::Stored;
                }
                Ok(Creation::Existed) => return SharedUpload::Exists,
                Err(error) => error,
            };
            if attempts == UPLOAD_ATTEMPTS {
                tracing::warn!(%digest, %error, attempts, "cannot upload a content to the shared store");
                return SharedUpload::Failed;
            }
            tracing::debug!(%digest, %error, attempts, "an upload to the shared store failed, trying again");
            // The other replicas would serve the former content until the next attempt.
            ticket.lease = None;
            let longest = UPLOAD_BACKOFF * (1 << (attempts - 1));
            sleep(longest.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        }
    }

    /// Uploads the objects of a content. The record comes last, so that it names no object that is not
    /// there.
    async fn upload_once(
        &self,
        ticket: &UploadTicket,
        upload: &Upload,
    ) -> Result<Creation, SharedStoreError> {
        let record = RevisionRecord {
            content: upload.digest,
            bytes: upload.bytes,
            analysis: content_digest::digest(&upload.analysis),
        };
        let text = Bytes::from(record.to_json());
        let objects = [
            (record.content_path(), upload.compressed.clone()),
            (record.analysis_path(), upload.analysis.clone()),
            (ticket.key.record_path(), text),
        ];
        let mut last = Creation::Created;
        for (path, bytes) in objects {
            if ticket.replaces {
                self.objects.replace(&path, bytes).await?;
            } else {
                last = self.objects.create(&path, bytes).await?;
            }
        }
        Ok(last)
    }

    /// Finds the record of a revision, takes its lease, or waits for the replica that holds it.
    async fn find_record(&self, key: &RevisionKey) -> Result<RecordSearch, SharedStoreError> {
        let deadline = Instant::now() + WAIT_FOR_REPLICA;
        let mut interval = FIRST_WAIT_INTERVAL;
        loop {
            if let Some(record) = self.record(key).await? {
                return Ok(RecordSearch::Found(record));
            }
            if let Some(lease) = Lease::take(&self.objects, key).await? {
                // Its last holder may have finished just before.
                return match self.record(key).await? {
                    Some(record) => Ok(RecordSearch::Found(record)),
                    None => Ok(RecordSearch::Leased(lease)),
                };
            }
            if interval == FIRST_WAIT_INTERVAL {
                tracing::info!("waiting for another replica that pulls the image");
            }
            if Instant::now() >= deadline {
                return Ok(RecordSearch::Waited);
            }
            // Replicas that start together do not ask together.
            sleep(interval.mul_f64(0.5 + fastrand::f64())).await;
            interval = (interval * 2).min(MAX_WAIT_INTERVAL);
        }
    }

    async fn record(&self, key: &RevisionKey) -> Result<Option<RevisionRecord>, SharedStoreError> {
        let path = key.record_path();
        let Some(text) = self.objects.get(&path, MAX_RECORD_BYTES).await? else {
            return Ok(None);
        };
        let record = RevisionRecord::from_json(&text);
        let record = record.ok_or_else(|| SharedStoreError::Damaged {
            object: path.to_string(),
            reason: "it is not a record of a content that may be loaded",
        })?;
        Ok(Some(record))
    }

    /// Downloads the compressed lines and the analysis of a record.
    async fn download(
        &self,
        record: RevisionRecord,
        folder: &FilePath,
    ) -> Result<Download, SharedStoreError> {
        let permits = Arc::clone(&self.downloading);
        // Always granted: the semaphore is not closed.
        let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
        // Those before this one may have waited for a store that does not answer.
        if !self.breaker.allows() {
            return Err(SharedStoreError::Suspended);
        }
        let content = self.download_content(&record, folder);
        let analysis = self.download_analysis(&record);
        let both = async { tokio::try_join!(content, analysis) };
        let downloaded = timeout(DOWNLOAD_TIMEOUT, both).await;
        let (compressed, analysis) = downloaded.map_err(|_| SharedStoreError::TimedOut {
            action: "read",
            object: record.content_path().to_string(),
            timeout: DOWNLOAD_TIMEOUT,
        })??;
        Ok(Download {
            record,
            compressed,
            analysis,
            _permit: permit,
        })
    }

    async fn download_content(
        &self,
        record: &RevisionRecord,
        folder: &FilePath,
    ) -> Result<File, SharedStoreError> {
        let path = record.content_path();
        let file_path = folder.join(DOWNLOAD);
        let mut file = File::create(&file_path)?;
        let mut length = 0;
        let read = self.objects.read(&path, MAX_COMPRESSED_BYTES, |part| {
            length += part.len() as u64;
            file.write_all(&part)
        });
        if !read.await? {
            return Err(SharedStoreError::Missing(path.to_string()));
        }
        if record.bytes > length.saturating_mul(MAX_COMPRESSION) {
            return Err(SharedStoreError::Damaged {
                object: path.to_string(),
                reason: "its record names a length that it cannot have",
            });
        }
        Ok(File::open(&file_path)?)
    }

    async fn download_analysis(&self, record: &RevisionRecord) -> Result<Bytes, SharedStoreError> {
        let path = record.analysis_path();
        let analysis = self.objects.get(&path, MAX_ANALYSIS_BYTES).await?;
        let analysis = analysis.ok_or_else(|| SharedStoreError::Missing(path.to_string()))?;
        if content_digest::digest(&analysis) != record.analysis {
            return Err(SharedStoreError::Damaged {
                object: path.to_string(),
                reason: "it does not have the digest in its name",
            });
        }
        Ok(analysis)
    }

    /// Logs and counts a failed search. Returns whether objects must be replaced.
    fn record_failure(&self, revision: &str, error: &SharedStoreError) -> bool {
        let result = match error {
            SharedStoreError::Missing(_) => SharedLookup::Miss,
            SharedStoreError::Damaged { .. } => SharedLookup::Corrupt,
            SharedStoreError::Suspended => SharedLookup::Skipped,
            _ => SharedLookup::Error,
        };
        // A full disk of this replica is no failure of the store.
        let is_local = matches!(error, SharedStoreError::Io(_));
        if result == SharedLookup::Error && !is_local {
            self.breaker.failed();
        }
        tracing::warn!(
            revision,
            %error,
            "cannot use the shared store for an image, pulling it"
        );
        self.count(result);
        result == SharedLookup::Corrupt
    }

    fn count(&self, result: SharedLookup) {
        self.metrics.lookups[result].inc();
    }
}

impl SharedContent {
    /// Returns the digest that the lines must have.
    pub fn digest(&self) -> Digest {
        self.download.record.content
    }

    /// Returns the length that the lines must have, in bytes.
    pub fn bytes(&self) -> u64 {
        self.download.record.bytes
    }

    /// Returns the compressed lines, as a file that was not read yet.
    pub fn compressed(&self) -> &File {
        &self.download.compressed
    }

    /// Returns the analysis, whose digest was verified.
    pub fn analysis(&self) -> &Bytes {
        &self.download.analysis
    }

    /// Logs and counts a hit: the content is used.
    pub fn accept(self) {
        let digest = self.digest();
        tracing::info!(%digest, "content copied from the shared store");
        self.store.count(SharedLookup::Hit);
    }

    /// Logs and counts a content that cannot be used. Its objects are replaced by those that are
    /// uploaded with the ticket.
    pub fn reject(self, reason: &dyn Display) -> UploadTicket {
        let digest = self.digest();
        tracing::warn!(
            %digest,
            %reason,
            "cannot use a content of the shared store, pulling its image"
        );
        self.store.count(SharedLookup::Corrupt);
        UploadTicket {
            replaces: true,
            ..self.ticket
        }
    }

    /// Logs and counts a content that this replica cannot add to its own store. Its objects stay.
    pub fn give_up(self, reason: &dyn Display) -> UploadTicket {
        let digest = self.digest();
        tracing::warn!(%digest, %reason, "cannot store a content of the shared store, pulling its image");
        self.store.count(SharedLookup::Error);
        self.ticket
    }
}

/// Returns whether other replicas would load a content of these sizes.
fn is_shareable(upload: &Upload) -> bool {
    let compressed = upload.compressed.len() as u64;
    compressed <= MAX_COMPRESSED_BYTES
        && upload.bytes <= MAX_CONTENT_BYTES
        && upload.bytes <= compressed.saturating_mul(MAX_COMPRESSION)
        && upload.analysis.len() as u64 <= MAX_ANALYSIS_BYTES
}

#[cfg(test)]
mod tests;
