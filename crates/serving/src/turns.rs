//! How many requests of one kind are worked on at a time, of which one requester has half, so that who takes its time keeps
//! nobody else out.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle};
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

    /// Creates a bound of as many requests as the machine has processors, for work that never waits: more of it at a time would
    /// gain nothing. There are two turns at least, so that one requester has not all of them.
    pub fn per_processor() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, NonZero::get).max(2))
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

    /// Makes a stream of what an iterator yields. Each item is made in a turn of its own, on a thread that serves no connections,
    /// and when it is asked for: a response that is written so holds up neither probes nor, while its client reads nothing, the
    /// turns of others. An item should take a few milliseconds at most.
    ///
    /// The stream ends with an error if the iterator panics.
    pub fn stream<T, I>(&self, requester: R, items: I) -> impl Stream<Item = Result<T, JoinError>> + Send + use<R, T, I>
    where
        R: Send + Sync + 'static,
        T: Send + 'static,
        I: Iterator<Item = T> + Send + 'static,
    {
        stream::unfold((self.clone(), requester, Some(items)), async |(turns, requester, items)| {
            let mut items = items?;
            let turn = turns.take(&requester).await;
            let made = turn.run(move || items.next().map(|item| (item, items))).await;
            match made {
                Ok(Some((item, items))) => Some((Ok(item), (turns, requester, Some(items)))),
                Ok(None) => None,
                Err(error) => Some((Err(error), (turns, requester, None))),
            }
        })
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
    use std::thread;

    use futures_util::{FutureExt as _, StreamExt as _};

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

    #[tokio::test]
    async fn items_are_made_on_other_threads_when_they_are_asked_for_and_hold_no_turn_meanwhile() {
        let turns = Turns::new(1);
        let made = |name: &'static str| (0..2).map(move |at| (name, at, thread::current().id()));
        let mut streams = ["first", "second"].map(|name| Box::pin(turns.stream(name, made(name))));
        let mut order = Vec::new();
        for at in [0, 1, 1, 0] {
            let (name, item, thread) = streams[at].next().await.expect("there is another").expect("nothing panics");
            assert_ne!(thread, thread::current().id(), "this thread serves connections");
            order.push((name, item));
        }
        assert_eq!(order, [("first", 0), ("second", 0), ("second", 1), ("first", 1)]);
        for stream in &mut streams {
            assert!(stream.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_stream_whose_iterator_panics_ends_with_an_error() {
        let turns = Turns::new(1);
        let items = [1, 0].into_iter().map(|divisor: u32| 1_u32.checked_div(divisor).expect("this one panics"));
        let made: Vec<_> = turns.stream("a", items).map(Result::ok).collect().await;
        assert_eq!(made, [Some(1), None]);
        assert!(turns.try_take(&"a").is_some(), "the turn is given back");
    }
}
