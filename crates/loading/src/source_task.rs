//! The task of one source: polls it at its interval, loads it when it has changed, and retries
//! failures with backoff.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use jiff::Timestamp;
use remote_sources::{RemoteKind, Validators};
use serving::{CatalogName, Content};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::attempt::Attempt;
use crate::directory::{self, DirectoryFingerprint};
use crate::event::LoaderEvent;
use crate::follow::Announcements;
use crate::low_priority::panic_message;
use crate::pipeline::{LoadPipeline, LoadedContent};
use crate::refresh::{FOLLOWED_POLL, POLL, jittered, remote_backoff};
use crate::span::LoadSpan;
use crate::{LoadError, Source, SourceSpec, SyncStatus, WatchInterval};

/// Keeps one source current.
pub(crate) struct SourceTask {
    /// Identifies the task among those of its loader.
    pub(crate) id: u64,
    /// A catalog of the source, for progress events.
    pub(crate) name: CatalogName,
    pub(crate) spec: SourceSpec,
    pub(crate) pipeline: Arc<LoadPipeline>,
    /// Number of refresh requests.
    pub(crate) requested: watch::Receiver<u64>,
    /// Receives contents whose index is in the store now.
    pub(crate) indexed: mpsc::Sender<IndexedContent>,
}

/// A content that was published before its index was stored.
#[derive(Debug)]
pub(crate) struct IndexedContent {
    /// Identifies the task of its source.
    pub(crate) task: u64,
    /// The content as it was published.
    pub(crate) before: Content,
    /// The same with the stored index.
    pub(crate) content: Content,
}

/// The loader has stopped and does not receive attempts any more.
struct LoaderStoppedError;

impl SourceTask {
    /// Runs until the loader stops, or the source cannot change any more.
    pub(crate) async fn run(
        self,
        attempts: mpsc::Sender<Attempt>,
        observe: impl Fn(LoaderEvent) + Clone + Send + Sync + 'static,
    ) {
        // A stopped loader is not an error: the task ends with it.
        let _ = self.keep_current(&attempts, &observe).await;
    }

    async fn keep_current(
        &self,
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(LoaderEvent) + Clone + Send + Sync + 'static),
    ) -> Result<(), LoaderStoppedError> {
        let mut served = None;
        if !matches!(self.spec.source, Source::Directory(_)) {
            // The registry or server may be slow or down. The stored content is served meanwhile.
            let begun = Instant::now();
            if let Some((content, is_analyzed)) = self.stored_content().await {
                let verification = self.pipeline.verify(&self.spec).await;
                let is_refused = verification.as_ref().is_some_and(|it| it.is_refused());
                // The signatures of a refused image may be in the registry by now.
                let is_current = self.spec.source.is_pinned() && is_analyzed && !is_refused;
                let status = if is_current {
                    SyncStatus::Synced
                } else {
                    SyncStatus::Pending
                };
                served = Some(content.clone());
                let attempt = Attempt {
                    verification,
                    ..self.end_attempt(Some(content), status, begun)
                };
                self.send(attempts, attempt).await?;
                self.store_index(&mut served).await;
                if is_current {
                    return Ok(());
                }
            }
        }

        let mut announcements = match &self.spec.source {
            Source::Remote(reference) if reference.kind() == RemoteKind::Catalogql => {
                Announcements::follow(&self.spec)
            }
            _ => None,
        };
        // The content of the last load, which is in use and need not be opened again.
        let mut loaded_last = None;
        let mut failures = 0_u32;
        loop {
            let requested = *self.requested.borrow();
            // Taken before the directory is read, so that a change during the read is noticed.
            let before = self.fingerprint().await;
            let begun = Instant::now();
            // Taken before, so that what is announced during the attempt is noticed.
            let announced = announcements.as_ref().and_then(Announcements::digest);
            let mut fresh_for = None;
            let mut is_loaded = false;
            let attempted = self.attempt(served.as_ref(), loaded_last.as_ref(), observe);
            let (mut content, status) = match attempted.await {
                Ok(loaded) => {
                    fresh_for = loaded.fresh_for;
                    is_loaded = true;
                    if loaded.may_announce && announcements.is_none() {
                        announcements = Announcements::follow(&self.spec);
                    }
                    (Some(loaded.content), SyncStatus::Synced)
                }
                Err(error) => {
                    // A directory is not served from the store at the start. If it cannot be read,
                    // the stored content is better than none.
                    let former = match &served {
                        Some(content) => Some(Content::clone(content)),
                        None => self.stored_content().await.map(|(content, _)| content),
                    };
                    (former, SyncStatus::Failed(Arc::new(error)))
                }
            };

            let is_emptied = matches!(status.error(), Some(LoadError::Emptied { .. }));
            failures = match status.error() {
                Some(_) => failures.saturating_add(1),
                None => 0,
            };
            self.prepare(served.as_ref(), &mut content).await;
            served.clone_from(&content);
            let verification = match &content {
                Some(_) => self.pipeline.verify(&self.spec).await,
                None => None,
            };

            let delay = self.delay(failures, status.error(), fresh_for);
            let next_check = delay.and_then(|delay| Timestamp::now().checked_add(delay).ok());
            let attempt = Attempt {
                verification,
                requested,
                failures,
                next_check,
                ..self.end_attempt(content, status, begun)
            };
            self.send(attempts, attempt).await?;
            self.store_index(&mut served).await;
            if is_loaded {
                loaded_last.clone_from(&served);
            }

            tokio::select! {
                may_change = self.wait(before, delay, failures > 0) => if !may_change {
                    if !is_emptied {
                        return Ok(());
                    }
                    // A directory that is loaded once is read a second time: a directory that has
                    // become empty counts only if it is found so twice.
                    sleep(WatchInterval::default().retry).await;
                },
                () = self.requested_after(requested) => {}
                () = new_content(announcements.as_mut(), announced.as_deref(), served.as_ref()) => {}
            }
        }
    }

    /// Loads the source. A panic is returned as an error, so that the task survives it. `served` is the
    /// content of the last attempt, and `loaded` that of the last one that succeeded.
    async fn attempt(
        &self,
        served: Option<&Content>,
        loaded: Option<&Content>,
        observe: &(impl Fn(LoaderEvent) + Clone + Send + Sync + 'static),
    ) -> Result<LoadedContent, LoadError> {
        let name = self.name.clone();
        let observe = observe.clone();
        let progress = move |step, done, total| {
            observe(LoaderEvent::Progress {
                name: name.clone(),
                step,
                done,
                total,
            });
        };
        let span = LoadSpan::begin(&self.name, &self.spec.source);
        let load =
            AssertUnwindSafe(self.pipeline.load(&self.spec, loaded, progress)).catch_unwind();
        let done = span
            .run(load)
            .await
            .unwrap_or_else(|panic| Err(LoadError::Panicked(panic_message(&*panic))));
        span.end(served, &done);
        done
    }

    /// Computes the data that queries need beyond the index, and stores all of it, before a content
    /// replaces another. Requests that arrive just after the change then need not wait for it.
    async fn prepare(&self, before: Option<&Content>, next: &mut Option<Content>) {
        let (Some(before), Some(content)) = (before, &next) else {
            return;
        };
        if content.is_same(before) {
            return;
        }
        let content = content.clone();
        let prepared = self.pipeline.run_serialized(move |pipeline| {
            content.catalog.prepare();
            Ok(pipeline.contents.store_index(&content))
        });
        // A failure is harmless: the data is computed when a request needs it.
        if let Ok(Some(stored)) = prepared.await {
            *next = Some(stored);
        }
    }

    /// Stores the index of a content that has been published, and publishes it again with the stored
    /// one, which takes little memory.
    async fn store_index(&self, served: &mut Option<Content>) {
        let Some(before) = served else {
            return;
        };
        if !self.pipeline.contents.needs_index(before) {
            return;
        }
        let content = before.clone();
        let stored = self
            .pipeline
            .run_in_background(move |pipeline| Ok(pipeline.contents.store_index(&content)));
        let Ok(Some(content)) = stored.await else {
            return;
        };
        let indexed = IndexedContent {
            task: self.id,
            before: std::mem::replace(before, content.clone()),
            content,
        };
        // The loader does not wait for indexes when it stops.
        let _ = self.indexed.send(indexed).await;
    }

    /// Returns the fingerprint of a watched directory.
    async fn fingerprint(&self) -> Option<DirectoryFingerprint> {
        self.spec.refresh.directories?;
        match &self.spec.source {
            Source::Directory(root) => Some(DirectoryFingerprint::poll(root).await),
            Source::Image(_) | Source::Remote(_) => None,
        }
    }

    /// Returns the delay until an image or a remote source is polled again; `None` if it never is, and for directories,
    /// which are watched.
    fn delay(
        &self,
        failures: u32,
        error: Option<&LoadError>,
        fresh_for: Option<Duration>,
    ) -> Option<Duration> {
        let is_pinned = self.spec.source.is_pinned();
        let policy = self.spec.refresh.images?;
        let delay = match (&self.spec.source, error) {
            (Source::Directory(_), _) => return None,
            (Source::Image(_), _) => policy.delay(failures, is_pinned),
            (Source::Remote(_), Some(LoadError::Remote(error))) if error.is_transient() => {
                let backoff = remote_backoff(failures, error.retry_after());
                Some(backoff)
            }
            // Until somebody acts, the source is polled as if it were current.
            (Source::Remote(_), Some(_)) => Some(policy.interval.unwrap_or(POLL)),
            // Its server announces new contents.
            (Source::Remote(reference), None) if reference.kind() == RemoteKind::Catalogql => {
                Some(policy.interval.unwrap_or(POLL).max(FOLLOWED_POLL))
            }
            (Source::Remote(_), None) => policy
                .delay(0, is_pinned)
                .map(|delay| delay.max(fresh_for.unwrap_or_default())),
        };
        delay.map(|delay| jittered(delay, fastrand::f64()))
    }

    /// Waits until the source has changed, or a retry is due. Returns `false` at once if neither can
    /// happen.
    async fn wait(
        &self,
        before: Option<DirectoryFingerprint>,
        delay: Option<Duration>,
        failed: bool,
    ) -> bool {
        match &self.spec.source {
            Source::Directory(root) => {
                let Some(interval) = self.spec.refresh.directories else {
                    return false;
                };
                directory::wait_for_change(root, interval, before.as_ref(), failed).await;
            }
            Source::Image(_) | Source::Remote(_) => {
                let Some(delay) = delay else { return false };
                sleep(delay).await;
            }
        }
        true
    }

    /// Waits for a refresh request beyond the first `answered`. It is cancel-safe.
    async fn requested_after(&self, answered: u64) {
        let mut requested = self.requested.clone();
        let more = requested
            .wait_for(|requested| *requested > answered)
            .await
            .is_ok();
        if !more {
            // The loader has dropped the sender.
            std::future::pending::<()>().await;
        }
    }

    /// Returns the stored content of the source, and whether this build has analyzed it.
    async fn stored_content(&self) -> Option<(Content, bool)> {
        let key = self.spec.key();
        self.pipeline
            .run_serialized(move |pipeline| Ok(pipeline.contents.last(&key)))
            .await
            .ok()
            .flatten()
    }

    /// Creates the result of an attempt that began at this time and ends now.
    fn end_attempt(&self, content: Option<Content>, status: SyncStatus, begun: Instant) -> Attempt {
        let duration = begun.elapsed();
        let at = Timestamp::now();
        Attempt {
            task: self.id,
            content,
            verification: None,
            status,
            duration,
            requested: 0,
            failures: 0,
            revision: self.revision(),
            via: self.via(),
            at,
            next_check: None,
        }
    }

    /// Returns the revision of the source that was loaded last; `None` for a directory, whose revision
    /// concerns only its server.
    fn revision(&self) -> Option<String> {
        match self.spec.source {
            Source::Directory(_) => None,
            Source::Image(_) | Source::Remote(_) => {
                let state = self.pipeline.contents.store.last_state(&self.spec.key());
                state?.revision
            }
        }
    }

    /// Returns the servers that the content came through, with this one first.
    fn via(&self) -> Arc<str> {
        let store = &self.pipeline.contents.store;
        // Only other servers say it; the file is read for no other source.
        let validators = match self.spec.source {
            Source::Remote(_) => {
                let state = store.last_state(&self.spec.key());
                state.and_then(|state| Validators::parse(&state.validators?))
            }
            Source::Directory(_) | Source::Image(_) => None,
        };
        let mut ids = vec![store.instance_id().to_owned()];
        ids.extend(validators.iter().flat_map(Validators::via).cloned());
        ids.join(", ").into()
    }

    async fn send(
        &self,
        attempts: &mpsc::Sender<Attempt>,
        attempt: Attempt,
    ) -> Result<(), LoaderStoppedError> {
        attempts.send(attempt).await.map_err(|_| LoaderStoppedError)
    }
}

/// Waits until the server of a source announces a content other than the one that is served.
async fn new_content(
    announcements: Option<&mut Announcements>,
    before: Option<&str>,
    served: Option<&Content>,
) {
    let Some(announcements) = announcements else {
        return std::future::pending().await;
    };
    let served = served.map(|content| content.digest.to_string());
    announcements.other_than(before, served.as_deref()).await;
}
