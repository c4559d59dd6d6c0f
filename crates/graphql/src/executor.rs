//! The fair queue of long executions: bounds the number of those that run, and of those that wait.
//! It does not know what they do.
//!
//! Short requests are executed where they arrive, without a permit: they take less time than
//! waiting would. Long ones wait for a permit, and run on threads that serve no connections, so
//! that short ones never wait behind them. Peers get permits round robin, so that one that sends
//! many long requests delays the others by one of them.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admission::Peer;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Maximum number of long requests that wait for a permit.
pub const MAX_WAITING: usize = 128;

/// Maximum number of long requests of one peer that wait for a permit: a quarter of all, so that a
/// few peers cannot keep the others from waiting.
pub const MAX_WAITING_OF_PEER: usize = MAX_WAITING / 4;

/// Maximum time that a long request waits for a permit.
pub const MAX_WAIT: Duration = Duration::from_secs(5);

/// Bounds the number of long executions at one time, and with it the memory of responses that are
/// being written.
pub(super) struct Executor(Arc<Mutex<PermitQueue>>);

/// The number of free permits, and the requests that wait for one.
struct PermitQueue {
    free: usize,
    /// Waiting requests by peer. The first peer gets the next permit, and is then the last one.
    peers: VecDeque<(Peer, VecDeque<oneshot::Sender<ExecutionPermit>>)>,
}

/// Permit to execute one long request. Dropping it passes it on to the next waiting request.
pub(super) struct ExecutionPermit(Arc<Mutex<PermitQueue>>);

/// Too many long requests are waiting, or this one waited too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverloadedError;

/// An entry in the queue, removed on drop.
struct QueueEntry<'e> {
    executor: &'e Executor,
    peer: Peer,
    permit: oneshot::Receiver<ExecutionPermit>,
}

impl Default for Executor {
    /// Allows one long execution per processor: they never wait, so that more of them would gain
    /// nothing. The scheduler of the operating system lets short requests in between.
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, NonZero::get))
    }
}

impl Executor {
    fn new(permits: usize) -> Self {
        Self(Arc::new(Mutex::new(PermitQueue {
            free: permits,
            peers: VecDeque::new(),
        })))
    }

    /// Waits for a permit to execute a long request.
    ///
    /// # Errors
    /// If [`MAX_WAITING`] requests wait already, [`MAX_WAITING_OF_PEER`] of them of this peer, or
    /// this one waited for [`MAX_WAIT`].
    pub(super) async fn acquire(&self, peer: Peer) -> Result<ExecutionPermit, OverloadedError> {
        let mut entry = self
            .enqueue(peer, MAX_WAITING, MAX_WAITING_OF_PEER)
            .ok_or(OverloadedError)?;
        if let Ok(permit) = entry.permit.try_recv() {
            return Ok(permit);
        }
        // The sender is in the queue for as long as the entry, so that only the timeout fails.
        timeout(MAX_WAIT, &mut entry.permit)
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or(OverloadedError)
    }

    /// Returns a permit if one is free. No request is waiting then.
    pub(super) fn try_acquire(&self) -> Option<ExecutionPermit> {
        let mut queue = lock(&self.0);
        queue.free = queue.free.checked_sub(1)?;
        Some(ExecutionPermit(Arc::clone(&self.0)))
    }

    /// Waits for a permit for as long as it takes, for work whose amount is bounded elsewhere.
    ///
    /// `None` only if the executor is gone.
    pub(super) async fn acquire_patiently(&self, peer: Peer) -> Option<ExecutionPermit> {
        let mut entry = self.enqueue(peer, usize::MAX, usize::MAX)?;
        (&mut entry.permit).await.ok()
    }

    /// Adds an entry to the queue, which has its permit already if one is free; `None` if the
    /// maximum number of requests is waiting, of all peers or of this one.
    fn enqueue(
        &self,
        peer: Peer,
        maximum: usize,
        maximum_of_peer: usize,
    ) -> Option<QueueEntry<'_>> {
        let mut queue = lock(&self.0);
        let (sender, permit) = oneshot::channel();
        if let Some(free) = queue.free.checked_sub(1) {
            queue.free = free;
            let _ = sender.send(ExecutionPermit(Arc::clone(&self.0)));
            return Some(QueueEntry {
                executor: self,
                peer,
                permit,
            });
        }
        if queue.waiting() >= maximum {
            return None;
        }
        // A peer that is new in the queue is appended: it waits for one permit of each other peer,
        // however many requests those have.
        match queue.peers.iter_mut().find(|(other, _)| *other == peer) {
            Some((_, own)) if own.len() >= maximum_of_peer => return None,
            Some((_, own)) => own.push_back(sender),
            None => queue.peers.push_back((peer, VecDeque::from([sender]))),
        }
        Some(QueueEntry {
            executor: self,
            peer,
            permit,
        })
    }
}

impl PermitQueue {
    fn waiting(&self) -> usize {
        self.peers.iter().map(|(_, own)| own.len()).sum()
    }

    /// Removes the next that waits, and lets its peer be the last.
    fn next(&mut self) -> Option<oneshot::Sender<ExecutionPermit>> {
        let (peer, mut own) = self.peers.pop_front()?;
        let next = own.pop_front();
        if !own.is_empty() {
            self.peers.push_back((peer, own));
        }
        next
    }

    /// Removes those of a peer that wait no more.
    fn remove_closed(&mut self, peer: Peer) {
        for (_, own) in self.peers.iter_mut().filter(|(other, _)| *other == peer) {
            own.retain(|sender| !sender.is_closed());
        }
        self.peers.retain(|(_, own)| !own.is_empty());
    }
}

impl Drop for ExecutionPermit {
    fn drop(&mut self) {
        let mut queue = lock(&self.0);
        let Some(next) = queue.next() else {
            queue.free += 1;
            return;
        };
        drop(queue);
        // If that one has just left, its permit is dropped, and passed on to the one behind it.
        let _ = next.send(Self(Arc::clone(&self.0)));
    }
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        self.permit.close();
        // A permit may have come at the last moment: it is passed on.
        drop(self.permit.try_recv());
        lock(&self.executor.0).remove_closed(self.peer);
    }
}

fn lock(queue: &Mutex<PermitQueue>) -> MutexGuard<'_, PermitQueue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::sync::mpsc;
    use tokio::task::{JoinHandle, yield_now};

    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::new(Ipv4Addr::new(192, 0, 2, last).into())
    }

    /// Waits for a permit of a peer, and sends its number when it has one.
    fn wait(
        executor: &Arc<Executor>,
        last: u8,
        order: &mpsc::UnboundedSender<u8>,
    ) -> JoinHandle<Result<(), OverloadedError>> {
        let executor = Arc::clone(executor);
        let order = order.clone();
        tokio::spawn(async move {
            let _permit = executor.acquire(peer(last)).await?;
            order.send(last).unwrap();
            Ok(())
        })
    }

    async fn until_so_many_wait(executor: &Executor, count: usize) {
        while lock(&executor.0).waiting() != count {
            yield_now().await;
        }
    }

    #[test]
    fn who_comes_to_wait_gets_a_permit_that_has_become_free() {
        let executor = Executor::new(1);
        let mut entry = executor.enqueue(peer(0), 1, 1).expect("nobody waits");
        let permit = entry.permit.try_recv().expect("it is free");
        drop(entry);
        assert!(executor.try_acquire().is_none());
        drop(permit);
        assert!(executor.try_acquire().is_some());
    }

    #[tokio::test]
    async fn only_so_many_wait_and_the_others_are_refused_at_once() {
        let executor = Arc::new(Executor::new(1));
        let running = executor.acquire(peer(0)).await.unwrap();
        let (order, _received) = mpsc::unbounded_channel();
        let mut waiting = Vec::new();
        for last in 0..4 {
            waiting.extend((0..MAX_WAITING_OF_PEER).map(|_| wait(&executor, last, &order)));
            until_so_many_wait(&executor, waiting.len()).await;
            if last == 0 {
                let refused = executor.acquire(peer(0)).await.map(drop);
                assert_eq!(
                    refused,
                    Err(OverloadedError),
                    "a peer has no more than its share"
                );
            }
        }
        assert_eq!(
            executor.acquire(peer(9)).await.map(drop),
            Err(OverloadedError),
            "no place is left"
        );
        drop(running);
        for task in waiting {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
        let queue = lock(&executor.0);
        assert_eq!(
            (queue.waiting(), queue.free),
            (0, 1),
            "those that waited left their places"
        );
    }

    #[tokio::test]
    async fn peers_take_turns_however_many_of_one_wait() {
        let executor = Arc::new(Executor::new(1));
        let running = executor.acquire(peer(0)).await.unwrap();
        let (order, mut received) = mpsc::unbounded_channel();
        for (count, last) in [1, 1, 1, 1, 2, 3, 2].into_iter().enumerate() {
            wait(&executor, last, &order);
            until_so_many_wait(&executor, count + 1).await;
        }
        drop((running, order));
        let mut order = Vec::new();
        while let Some(last) = received.recv().await {
            order.push(last);
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 1, 1]);
    }

    #[tokio::test]
    async fn one_that_waits_no_more_leaves_its_place_and_passes_its_permit_on() {
        let executor = Arc::new(Executor::new(1));
        let running = executor.acquire(peer(0)).await.unwrap();
        let (order, mut received) = mpsc::unbounded_channel();
        let gone = [wait(&executor, 1, &order), wait(&executor, 2, &order)];
        until_so_many_wait(&executor, 2).await;
        gone[0].abort();
        until_so_many_wait(&executor, 1).await;
        wait(&executor, 3, &order);
        until_so_many_wait(&executor, 2).await;
        // The permit is sent to the task before it is aborted, and the task never runs again.
        drop(running);
        gone[1].abort();
        assert_eq!(received.recv().await, Some(3));
    }
}
