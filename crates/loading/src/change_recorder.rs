//! Records the changes of published contents in the change logs of their catalogs.
//!
//! Contents arrive in the order of their publication. A log that was not written, because of a kill or
//! a full disk, is continued from its last content: changes come later then, and neither twice nor
//! never. Readers see a change once it is stored, so that a restart does not make it anew.

use std::sync::Arc;

use fbc::Outline;
use fbc::work::Work;
use fbc_grammar::Digest;
use jiff::Timestamp;
use serving::{CatalogName, ChangeLog, Content, History};
use store::Store;
use tokio::sync::mpsc;

use crate::LoadError;
use crate::pipeline::LoadPipeline;

/// Maximum number of contents that wait to be recorded. A further one is recorded with the next one
/// of its catalog.
pub const QUEUED_CONTENTS: usize = 64;

/// Sends published contents to the task that records them.
#[derive(Debug)]
pub(crate) struct ChangeRecorder {
    history: History,
    published: mpsc::Sender<PublishedChange>,
}

/// A content that was published.
#[derive(Debug)]
struct PublishedChange {
    name: CatalogName,
    content: Content,
}

impl ChangeRecorder {
    /// Creates a recorder, and the future that does its work until the recorder is dropped.
    pub(crate) fn new(
        pipeline: Arc<LoadPipeline>,
        history: History,
    ) -> (Self, impl Future<Output = ()> + use<>) {
        let (published, mut waiting) = mpsc::channel::<PublishedChange>(QUEUED_CONTENTS);
        let recorder = Self {
            history: history.clone(),
            published,
        };
        let record = async move {
            while let Some(change) = waiting.recv().await {
                let history = history.clone();
                let done = pipeline
                    .run_in_background(move |pipeline| {
                        record(&pipeline.contents.store, &history, &change)
                    })
                    .await;
                if let Err(error) = done {
                    let error = error.chain();
                    tracing::warn!(error, "cannot record the changes of the content");
                }
            }
        };
        (recorder, record)
    }

    /// Opens the change log of a catalog that is about to be published for the first time.
    pub(crate) fn open(&self, store: &Store, name: &CatalogName) {
        if self.history.change_log(name.as_str()).is_none() {
            let log = stored_log(store, name).unwrap_or_default();
            self.history.set_change_log(name.as_str(), log);
        }
    }

    /// Records a content that was published.
    pub(crate) fn record(&self, name: &CatalogName, content: &Content) {
        let change = PublishedChange {
            name: name.clone(),
            content: content.clone(),
        };
        // The log is continued with the next content.
        if self.published.try_send(change).is_err() {
            tracing::warn!(catalog = %name, "too many contents wait to be recorded, skipping one");
        }
    }
}

fn record(store: &Store, history: &History, change: &PublishedChange) -> Result<(), LoadError> {
    let PublishedChange { name, content } = change;
    let log = stored_log(store, name).unwrap_or_default();
    let last = log.last_content();
    if last == Some(content.digest) {
        return Ok(());
    }
    let outline = content.catalog.outline();
    // Before the log: its last content can be compared with the next one, also after a kill.
    store.save_outline(&content.digest, outline)?;
    let former = last.and_then(|last| former_outline(store, history, name, last));
    let diff = former
        .as_ref()
        .and_then(|former| former.diff(outline, &Work::unlimited()).ok());
    if diff.is_none() && last.is_some() {
        tracing::warn!(catalog = %name, "the outline of the last recorded content is lost, its changes are not listed");
    }
    let next = log.append(content.digest, diff.as_ref(), Timestamp::now());
    if !store.save_change_log(name.as_str(), next.as_bytes())? {
        tracing::warn!(catalog = %name, "skipping the changes of the content: the store is full");
        return Ok(());
    }
    // The mapped file in place of the copy on the heap.
    let next = stored_log(store, name).unwrap_or(next);
    if history.change_log(name.as_str()).is_some() {
        history.set_change_log(name.as_str(), next);
    }
    Ok(())
}

fn stored_log(store: &Store, name: &CatalogName) -> Option<ChangeLog> {
    let log = ChangeLog::from_bytes(store.change_log(name.as_str())?);
    if log.is_none() {
        tracing::warn!(catalog = %name, "the change log of the catalog is damaged, starting a new one");
    }
    log
}

fn former_outline(
    store: &Store,
    history: &History,
    name: &CatalogName,
    digest: Digest,
) -> Option<Outline> {
    let known = history.find(&digest, |other| other == name.as_str());
    known.or_else(|| store.outline(&digest))
}
