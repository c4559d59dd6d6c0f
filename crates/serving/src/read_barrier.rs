//! A barrier before reads: a replica learns what the status of a catalog says in the cluster before
//! it answers.

use tokio::sync::{mpsc, oneshot};

/// Number of reads that are queued. Further ones wait until they can be queued.
pub const QUEUED_READS: usize = 1024;

/// Lets reads of a catalog wait until this replica knows every image that another one has written
/// into the status of the catalog before.
#[derive(Clone, Debug)]
pub struct ReadBarrier {
    reads: mpsc::Sender<WaitingRead>,
}

/// A read that waits at a [`ReadBarrier`]. Dropping it lets the read go on.
#[derive(Debug)]
pub struct WaitingRead {
    /// Name of the catalog that is read.
    pub catalog: String,
    _done: oneshot::Sender<()>,
}

/// Creates a barrier, and the receiver of the reads that wait at it. Without the receiver, no read
/// waits.
pub fn read_barrier() -> (ReadBarrier, mpsc::Receiver<WaitingRead>) {
    let (reads, receiver) = mpsc::channel(QUEUED_READS);
    (ReadBarrier { reads }, receiver)
}

impl ReadBarrier {
    /// Waits before a read of a catalog.
    pub async fn wait(&self, catalog: &str) {
        let (done, passed) = oneshot::channel();
        let read = WaitingRead {
            catalog: catalog.to_owned(),
            _done: done,
        };
        if self.reads.send(read).await.is_ok() {
            // Nothing is sent: the sender is dropped.
            let _ = passed.await;
        }
    }
}
