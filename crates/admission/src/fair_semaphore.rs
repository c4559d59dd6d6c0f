//! A semaphore of which one requester holds at most half of the permits.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

/// Bounds concurrent requests of one kind, which are counted together by `R`: a user or an address.
/// Clones share the bound.
#[derive(Clone, Debug)]
pub struct FairSemaphore<R> {
    all: Arc<Semaphore>,
    /// Maximum number of permits of one requester.
    share: usize,
    /// Semaphores of the requesters that hold a permit or wait for one.
    requesters: Arc<Mutex<HashMap<R, Weak<Semaphore>>>>,
}

/// A permit of a requester. Dropping it returns it.
#[derive(Debug)]
pub struct FairPermit {
    _of_one: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl FairPermit {
    /// Runs work on a thread that serves no connections. The permit is held until the work has
    /// ended, even if the result is not awaited any more: a client that gives up and asks again
    /// would otherwise occupy any number of threads.
    pub fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        tokio::task::spawn_blocking(move || {
            let _held = self;
            work()
        })
    }
}

impl<R: Clone + Eq + Hash> FairSemaphore<R> {
    /// Creates a semaphore with this number of permits.
    pub fn new(permits: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(permits)),
            share: permits.div_ceil(2),
            requesters: Arc::default(),
        }
    }

    /// Creates a semaphore with a permit for each processor, at least two, for work that never
    /// waits: more of it at a time would gain nothing, and of one permit a requester would hold
    /// all.
    pub fn per_processor() -> Self {
        Self::new(
            std::thread::available_parallelism()
                .map_or(1, NonZero::get)
                .max(2),
        )
    }

    /// Returns the number of free permits.
    pub fn free(&self) -> usize {
        self.all.available_permits()
    }

    /// Returns a permit if one is free for this requester now.
    pub fn try_acquire(&self, requester: &R) -> Option<FairPermit> {
        let of_one = self.semaphore_of(requester).try_acquire_owned().ok()?;
        Some(FairPermit {
            _of_one: of_one,
            _of_all: Arc::clone(&self.all).try_acquire_owned().ok()?,
        })
    }

    /// Waits for a permit, first behind the other requests of the requester: it never has more
    /// requests than its share in the queue of all requesters.
    pub async fn acquire(&self, requester: &R) -> FairPermit {
        let of_one = acquire(self.semaphore_of(requester)).await;
        FairPermit {
            _of_one: of_one,
            _of_all: acquire(Arc::clone(&self.all)).await,
        }
    }

    /// Waits for a permit for at most this long.
    pub async fn acquire_within(&self, time: Duration, requester: &R) -> Option<FairPermit> {
        timeout(time, self.acquire(requester)).await.ok()
    }

    /// Returns a stream of the items of an iterator. Each item is made when it is polled for, with
    /// a permit of its own and on a thread that serves no connections: such a response delays no
    /// probe, and holds no permit while its client reads nothing. An item should take a few
    /// milliseconds at most.
    ///
    /// The stream ends with an error if the iterator panics.
    pub fn stream<T, I>(
        &self,
        requester: R,
        items: I,
    ) -> impl Stream<Item = Result<T, JoinError>> + Send + use<R, T, I>
    where
        R: Send + Sync + 'static,
        T: Send + 'static,
        I: Iterator<Item = T> + Send + 'static,
    {
        stream::unfold(
            (self.clone(), requester, Some(items)),
            async |(semaphore, requester, items)| {
                let mut items = items?;
                let permit = semaphore.acquire(&requester).await;
                let made = permit
                    .run(move || items.next().map(|item| (item, items)))
                    .await;
                match made {
                    Ok(Some((item, items))) => {
                        Some((Ok(item), (semaphore, requester, Some(items))))
                    }
                    Ok(None) => None,
                    Err(error) => Some((Err(error), (semaphore, requester, None))),
                }
            },
        )
    }

    fn semaphore_of(&self, requester: &R) -> Arc<Semaphore> {
        let mut requesters = self
            .requesters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(of_one) = requesters.get(requester).and_then(Weak::upgrade) {
            return of_one;
        }
        // Requesters are users and addresses of any number: those without a permit are forgotten.
        requesters.retain(|_, of_one| of_one.strong_count() > 0);
        let of_one = Arc::new(Semaphore::new(self.share));
        requesters.insert(requester.clone(), Arc::downgrade(&of_one));
        of_one
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore
        .acquire_owned()
        .await
        .expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use futures_util::{FutureExt as _, StreamExt as _};

    use super::*;

    #[test]
    fn one_requester_has_half_of_the_permits_and_all_together_have_all() {
        let semaphore = FairSemaphore::new(4);
        let mut held: Vec<_> = (0..2)
            .map(|_| semaphore.try_acquire(&"a").expect("half is free"))
            .collect();
        assert!(semaphore.try_acquire(&"a").is_none());
        let others = ["b", "c"].map(|name| semaphore.try_acquire(&name).expect("it is free"));
        assert!(semaphore.try_acquire(&"d").is_none(), "all are taken");
        held.pop();
        assert!(semaphore.try_acquire(&"d").is_some());
        drop((held, others));
        assert!(semaphore.try_acquire(&"e").is_some());
        assert_eq!(
            semaphore.requesters.lock().unwrap().len(),
            1,
            "those without a permit are forgotten"
        );
    }

    #[test]
    fn a_requester_waits_behind_its_own_requests() {
        let semaphore = FairSemaphore::new(2);
        let held = semaphore.try_acquire(&"a");
        let mut waiting = Box::pin(semaphore.acquire(&"a"));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(semaphore.acquire(&"b").now_or_never().is_some());
        drop(held);
        assert!(waiting.as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_wait_with_a_time_out_gets_a_permit_that_is_free_and_no_other() {
        let semaphore = FairSemaphore::new(2);
        let held = semaphore.acquire_within(Duration::ZERO, &"a").await;
        assert!(held.is_some());
        assert!(
            semaphore
                .acquire_within(Duration::ZERO, &"a")
                .await
                .is_none()
        );
        drop(held);
        assert!(
            semaphore
                .acquire_within(Duration::ZERO, &"a")
                .await
                .is_some()
        );
    }

    #[tokio::test]
    async fn a_permit_is_held_until_its_work_has_ended_although_nobody_waits_for_it() {
        let semaphore = FairSemaphore::new(1);
        let (go_on, told) = channel();
        let permit = semaphore.acquire(&"a").await;
        drop(permit.run(move || told.recv()));
        assert!(semaphore.acquire(&"b").now_or_never().is_none());
        go_on.send(()).unwrap();
        semaphore.acquire(&"b").await;
    }

    #[tokio::test]
    async fn items_are_made_on_other_threads_when_they_are_asked_for_and_hold_no_permit_meanwhile()
    {
        let semaphore = FairSemaphore::new(1);
        let made = |name: &'static str| (0..2).map(move |at| (name, at, thread::current().id()));
        let mut streams =
            ["first", "second"].map(|name| Box::pin(semaphore.stream(name, made(name))));
        let mut order = Vec::new();
        for at in [0, 1, 1, 0] {
            let (name, item, thread) = streams[at]
                .next()
                .await
                .expect("there is another")
                .expect("nothing panics");
            assert_ne!(
                thread,
                thread::current().id(),
                "this thread serves connections"
            );
            order.push((name, item));
        }
        assert_eq!(
            order,
            [("first", 0), ("second", 0), ("second", 1), ("first", 1)]
        );
        for stream in &mut streams {
            assert!(stream.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_stream_whose_iterator_panics_ends_with_an_error() {
        let semaphore = FairSemaphore::new(1);
        let items = [1, 0]
            .into_iter()
            .map(|divisor: u32| 1_u32.checked_div(divisor).expect("this one panics"));
        let made: Vec<_> = semaphore.stream("a", items).map(Result::ok).collect().await;
        assert_eq!(made, [Some(1), None]);
        assert!(
            semaphore.try_acquire(&"a").is_some(),
            "the permit is returned"
        );
    }
}
