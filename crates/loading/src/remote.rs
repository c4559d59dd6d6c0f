//! Remote sources: files on HTTP servers and catalogs of other servers. One conditional request polls
//! the source and downloads it if it has changed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use images::unpack::{DownloadedFile, UnpackLimits, unpack_download};
use remote_sources::{
    Download, Fetch, Fetched, GitDownload, GitFetch, GitFetched, HttpClient, RemoteError,
    RemoteKind, RemoteReference, Validators,
};
use serving::Content;
use store::{ScratchFolder, SourceState};

use crate::LoadError;
use crate::event::LoadStep;
use crate::image::ImageFiles;

/// Name of the downloaded file, within a scratch folder.
const DOWNLOAD: &str = "download";

/// Revisions that have been rejected once because they are much smaller than the last content, by the
/// keys of their sources.
#[derive(Debug, Default)]
pub(crate) struct ShrunkSources(Mutex<HashMap<String, String>>);

/// A remote source that has changed, with its bytes in a folder that is removed with this.
pub(crate) struct RemoteDownload {
    scratch: ScratchFolder,
    downloaded: Downloaded,
    revision: String,
}

/// The form in which a source was downloaded.
enum Downloaded {
    File(Download),
    Folder(Box<GitDownload>),
}

/// A content that a server confirms to be its current one.
pub(crate) struct UnchangedSource {
    /// The content.
    pub(crate) content: Content,
    /// Time for which the server says that it is fresh.
    pub(crate) fresh_for: Option<Duration>,
    /// Validators to record in place of the known ones, if they differ.
    pub(crate) validators: Option<String>,
    /// Revision to record in place of the known one, if it differs.
    pub(crate) revision: Option<String>,
}

/// A stored content, with the state in which its source provided it.
pub(crate) struct KnownContent {
    pub(crate) content: Content,
    pub(crate) state: SourceState,
}

/// Folder of a download, and the server that makes it.
pub(crate) struct DownloadPlace<'a> {
    pub(crate) scratch: ScratchFolder,
    /// Id of this server.
    pub(crate) instance: &'a str,
}

/// The result of a poll of a remote source.
pub(crate) enum RemotePoll {
    /// The known content is the current one.
    Unchanged(UnchangedSource),
    Downloaded(Box<RemoteDownload>),
}

/// Polls a remote source. `known` is the stored content, if it can be served.
pub(crate) async fn poll(
    reference: &RemoteReference,
    client: &HttpClient,
    known: Option<KnownContent>,
    place: DownloadPlace<'_>,
    progress: impl Fn(LoadStep, u64, u64) + Clone + Send + Sync + 'static,
) -> Result<RemotePoll, LoadError> {
    if reference.kind() == RemoteKind::Git {
        return poll_git(reference, client, known, place.scratch, progress).await;
    }
    let DownloadPlace { scratch, instance } = place;
    let validators = known
        .as_ref()
        .and_then(|known| Validators::parse(known.state.validators.as_deref()?))
        .filter(Validators::is_usable);
    let path: PathBuf = scratch.path().join(DOWNLOAD);
    let fetch = Fetch {
        reference,
        known: validators.as_ref(),
        path: &path,
        instance: Some(instance),
    };
    let fetched = client.fetch(fetch, move |done, total| {
        progress(LoadStep::Fetch, done, total);
    });
    match fetched.await? {
        Fetched::NotModified {
            fresh_for,
            validators,
        } => {
            let known = known.ok_or_else(|| RemoteError::Malformed {
                url: reference.to_string(),
                reason: "a 304 response to a request without condition",
            })?;
            Ok(RemotePoll::Unchanged(UnchangedSource {
                content: known.content,
                fresh_for,
                validators: validators.map(|validators| validators.to_text()),
                revision: None,
            }))
        }
        Fetched::Downloaded(download) => {
            let folder = reference.path().unwrap_or_default();
            let revision = format!("bytes {} {folder}", download.digest);
            Ok(RemotePoll::Downloaded(Box::new(RemoteDownload {
                scratch,
                downloaded: Downloaded::File(download),
                revision: revision.trim_end().to_owned(),
            })))
        }
    }
}

/// Polls a folder of a git repository.
async fn poll_git(
    reference: &RemoteReference,
    client: &HttpClient,
    known: Option<KnownContent>,
    scratch: ScratchFolder,
    progress: impl Fn(LoadStep, u64, u64) + Clone + Send + Sync + 'static,
) -> Result<RemotePoll, LoadError> {
    let revision = known
        .as_ref()
        .and_then(|known| known.state.revision.clone());
    let fetch = GitFetch {
        reference,
        known: revision.as_deref(),
        folder: scratch.path(),
    };
    let fetched = client.fetch_git(fetch, move |done, total| {
        progress(LoadStep::Fetch, done, total);
    });
    let revision = match fetched.await? {
        GitFetched::Unchanged => None,
        GitFetched::Moved { revision } => Some(revision),
        GitFetched::Downloaded(download) => {
            return Ok(RemotePoll::Downloaded(Box::new(RemoteDownload {
                scratch,
                revision: download.revision().to_owned(),
                downloaded: Downloaded::Folder(download),
            })));
        }
    };
    // Only what is known can be unchanged.
    let known = known.ok_or_else(|| RemoteError::Malformed {
        url: reference.to_string(),
        reason: "it is unchanged, and was never read",
    })?;
    Ok(RemotePoll::Unchanged(UnchangedSource {
        content: known.content,
        fresh_for: None,
        validators: None,
        revision,
    }))
}

impl RemoteDownload {
    /// Returns the state of the source that was downloaded. The digest of the bytes of a file is its
    /// revision: servers make new entity tags and times for the same bytes.
    pub(crate) fn state(&self) -> SourceState {
        let validators = match &self.downloaded {
            Downloaded::File(download) => Some(download.validators.to_text()),
            Downloaded::Folder(_) => None,
        };
        SourceState {
            revision: Some(self.revision.clone()),
            image: None,
            validators,
            evidence: None,
        }
    }

    /// Returns the time for which the server says that the download is fresh.
    pub(crate) fn fresh_for(&self) -> Option<Duration> {
        match &self.downloaded {
            Downloaded::File(download) => download.fresh_for,
            Downloaded::Folder(_) => None,
        }
    }

    /// Unpacks the download into files. `progress` receives the done and the total bytes.
    pub(crate) fn unpack(
        &self,
        reference: &RemoteReference,
        progress: impl Fn(u64, u64),
    ) -> Result<ImageFiles, LoadError> {
        let unpacked = match &self.downloaded {
            Downloaded::File(download) => {
                let file = DownloadedFile {
                    path: &download.path,
                    name: reference.file_name(),
                    root: reference.path(),
                    is_lines: reference.kind() != RemoteKind::Http,
                };
                let total = download.bytes;
                let unpacked = unpack_download(
                    file,
                    self.scratch.path(),
                    &UnpackLimits::default(),
                    |done| progress(done.min(total), total),
                );
                unpacked.map_err(LoadError::Archive)?
            }
            Downloaded::Folder(download) => {
                let total = download.entries();
                let unpacked = download.unpack(self.scratch.path(), |done| progress(done, total));
                unpacked.map_err(|error| match error {
                    RemoteError::Unpack(error) => LoadError::Archive(error),
                    other => other.into(),
                })?
            }
        };
        let files = unpacked.files().map_err(LoadError::Archive)?;
        Ok(ImageFiles { unpacked, files })
    }
}

impl ShrunkSources {
    /// Rejects a content without blobs, or with fewer than half of the packages of the last content,
    /// the first time that it is read: it is usually an upload that is not complete.
    pub(crate) fn check(
        &self,
        key: &str,
        state: &SourceState,
        packages: usize,
        former: Option<&Content>,
    ) -> Result<(), LoadError> {
        let revision = state.revision.clone().unwrap_or_default();
        let former = former.map_or(0, |former| former.catalog.packages().len());
        let mut rejected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_confirmed = rejected.remove(key).as_ref() == Some(&revision);
        if is_confirmed || packages >= former.div_ceil(2) {
            return Ok(());
        }
        rejected.insert(key.to_owned(), revision);
        Err(LoadError::Shrunk { packages, former })
    }
}
