//! Reads the status of catalogs before a replica that does not write it answers with their content.
//!
//! operator-controller reads a catalog when its status changes, from any replica, and keeps the
//! content for the image in the status. The watch of a replica may be later than the watch of
//! operator-controller, so that the replica cannot know that it is behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use kube::api::{Api, ListParams};
use loading::ExpectedImages;
use olm_api::ClusterCatalog;
use serving::{CatalogName, WaitingRead};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::desired::resolved_source;

/// Maximum number of statuses that are read at a time. Reads of one catalog share one request.
pub const MAX_STATUS_READS: usize = 8;

/// Maximum time for one request. A read goes on without it.
pub const STATUS_READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Time without requests after one has failed. A stopped API server must not delay every read.
pub const STATUS_READ_BACKOFF: Duration = Duration::from_secs(5);

/// Reads the statuses for the reads that wait at a barrier.
pub(crate) struct StatusReader {
    pub(crate) cluster_catalogs: Api<ClusterCatalog>,
    pub(crate) expected: ExpectedImages,
    /// Whether this replica writes the statuses.
    pub(crate) is_leader: watch::Receiver<bool>,
}

impl StatusReader {
    /// Runs until the barrier is dropped.
    pub(crate) async fn run(mut self, mut reads: mpsc::Receiver<WaitingRead>) {
        let mut paused_until = None;
        // Statuses that this replica alone has written since it read them.
        let mut own = BTreeSet::new();
        let mut batch = Vec::new();
        // A read waits for a request that begins after it, so that requests cannot be shared with
        // the reads that arrive while they run.
        while reads.recv_many(&mut batch, usize::MAX).await > 0 {
            let mut by_name: BTreeMap<String, Vec<WaitingRead>> = BTreeMap::new();
            for read in batch.drain(..) {
                by_name.entry(read.catalog.clone()).or_default().push(read);
            }
            if paused_until.is_some_and(|end| Instant::now() < end) {
                continue;
            }
            // The former leader may have written until a moment ago.
            if self.is_leader.has_changed().unwrap_or_default() {
                own.clear();
            }
            let is_leader = *self.is_leader.borrow_and_update();
            by_name.retain(|name, _| !own.contains(name));

            let results: Vec<_> = stream::iter(by_name)
                .map(async |(name, waiting)| {
                    let is_read = self.read(&name).await;
                    drop(waiting);
                    (name, is_read)
                })
                .buffer_unordered(MAX_STATUS_READS)
                .collect()
                .await;
            let has_failed = results.iter().any(|(_, is_read)| !is_read);
            paused_until = has_failed.then(|| Instant::now() + STATUS_READ_BACKOFF);
            if is_leader {
                let read = results.into_iter().filter(|(_, is_read)| *is_read);
                own.extend(read.map(|(name, _)| name));
            }
        }
    }

    /// Reads the status of a catalog, and tells the loader which image it names. Returns whether the
    /// API server has responded.
    async fn read(&self, name: &str) -> bool {
        // Replicas have the right to list, not to get. A list without a resource version is the
        // newest one.
        let of_name = ListParams::default().fields(&format!("metadata.name={name}"));
        let list = timeout(STATUS_READ_TIMEOUT, self.cluster_catalogs.list(&of_name)).await;
        let Ok(Ok(list)) = list else {
            tracing::warn!(
                catalog = name,
                "cannot read the status of the catalog; answering with the content that is here"
            );
            return false;
        };
        for object in &list {
            if let (Some(image), Ok(name)) = (resolved_source(object), CatalogName::new(name)) {
                self.expected.expect(name, image.into()).await;
            }
        }
        true
    }
}
