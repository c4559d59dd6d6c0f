//! How many requests of one kind are worked on at a time, of which one requester has half, so that who takes its time keeps
//! nobody else out.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Bounds the requests of one kind, which are counted together by `R`: a user or an address. Clones share the bound.
#[derive(Clone, Debug)]
pub struct Turns<R> {
    all: Arc<Semaphore>,
    maximum_of_one: usize,
    /// Of requesters that have a turn or wait for one.
    requesters: Arc<Mutex<HashMap<R, Weak<Semaphore>>>>,
}

/// The turn of a request, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _of_one: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Turn {
    /// Does work on a thread that serves no connections. The turn lasts until the work has ended, also where nobody waits for it
    /// any more: who gives up and asks again would otherwise have any number of them.
    pub fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        tokio::task::spawn_blocking(move || {
            let _held = self;
            work()
        })
    }
}

impl<R: Clone + Eq + Hash> Turns<R> {
    /// Creates a bound of so many requests.
    pub fn new(maximum: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(maximum)), maximum_of_one: maximum.div_ceil(2), requesters: Arc::default() }
    }

    /// Returns a turn if there is one for this requester now.
    pub fn try_take(&self, requester: &R) -> Option<Turn> {
        let of_one = self.of_one(requester).try_acquire_owned().ok()?;
        Some(Turn { _of_one: of_one, _of_all: Arc::clone(&self.all).try_acquire_owned().ok()? })
    }

    /// Waits for a turn: behind the other requests of the requester first, so that it has no more places than turns in the queue
    /// of all.
    pub async fn take(&self, requester: &R) -> Turn {
        let of_one = acquire(self.of_one(requester)).await;
        Turn { _of_one: of_one, _of_all: acquire(Arc::clone(&self.all)).await }
    }

    /// Waits for a turn; `None` if that takes longer than this.
    pub async fn take_within(&self, time: Duration, requester: &R) -> Option<Turn> {
        timeout(time, self.take(requester)).await.ok()
    }

    fn of_one(&self, requester: &R) -> Arc<Semaphore> {
        let mut requesters = self.requesters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_one) = requesters.get(requester).and_then(Weak::upgrade) {
            return of_one;
        }
        requesters.retain(|_, of_one| of_one.strong_count() > 0);
        let of_one = Arc::new(Semaphore::new(self.maximum_of_one));
        requesters.insert(requester.clone(), Arc::downgrade(&of_one));
        of_one
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.acquire_owned().await.expect("nobody closes the semaphore")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn one_requester_has_half_of_the_turns_and_all_together_have_all() {
        let turns = Turns::new(4);
        let mut held: Vec<_> = (0..2).map(|_| turns.try_take(&"a").expect("half is free")).collect();
        assert!(turns.try_take(&"a").is_none());
        let others = ["b", "c"].map(|name| turns.try_take(&name).expect("it is free"));
        assert!(turns.try_take(&"d").is_none(), "all are taken");
        held.pop();
        assert!(turns.try_take(&"d").is_some());
        drop((held, others));
        assert!(turns.try_take(&"e").is_some());
        assert_eq!(turns.requesters.lock().unwrap().len(), 1, "those without a turn are forgotten");
    }

    #[test]
    fn a_requester_waits_for_its_own_turns() {
        let turns = Turns::new(2);
        let held = turns.try_take(&"a");
        let mut waiting = Box::pin(turns.take(&"a"));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(turns.take(&"b").now_or_never().is_some());
        drop(held);
        assert!(waiting.as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_waits_only_so_long_gets_a_turn_that_is_free_and_no_other() {
        let turns = Turns::new(2);
        let held = turns.take_within(Duration::ZERO, &"a").await;
        assert!(held.is_some());
        assert!(turns.take_within(Duration::ZERO, &"a").await.is_none());
        drop(held);
        assert!(turns.take_within(Duration::ZERO, &"a").await.is_some());
    }

    #[tokio::test]
    async fn a_turn_lasts_until_its_work_has_ended_whoever_waits_for_it() {
        let turns = Turns::new(1);
        let (go_on, told) = channel();
        let turn = turns.take(&"a").await;
        drop(turn.run(move || told.recv()));
        assert!(turns.take(&"b").now_or_never().is_none());
        go_on.send(()).unwrap();
        turns.take(&"b").await;
    }
}
