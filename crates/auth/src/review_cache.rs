//! Cache of the results of a `TokenReview` and a `SubjectAccessReview`. Callers that need the same
//! review at one time share one request to the API server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};

use crate::cache::{DecisionCache, Expiring};
use crate::key::Key;
use crate::{AuthError, CACHED_DECISIONS};

/// A decision of the API server, or why there is none.
type ReviewResult<V> = Result<Expiring<V>, AuthError>;

/// A request to the API server.
type ReviewRequest<V> = BoxFuture<'static, ReviewResult<V>>;

/// Reviews of one kind. Clones share the cache.
pub(crate) struct ReviewCache<V: Clone>(Arc<ReviewCacheState<V>>);

struct ReviewCacheState<V: Clone> {
    decisions: DecisionCache<Key, V>,
    /// Requests in flight, and some that have ended since the last request was added.
    ///
    /// Weak, because a request that no caller awaits is cancelled. `quick_cache` can share a
    /// request too, but it ties the request to the first caller and repeats it for each one that
    /// waits when it fails.
    pending: Mutex<HashMap<Key, WeakShared<ReviewRequest<V>>>>,
}

impl<V: Clone + Send + Sync + 'static> ReviewCache<V> {
    /// Creates an empty cache; `is_denial` tells denials from other decisions.
    pub(crate) fn new(is_denial: fn(&V) -> bool) -> Self {
        Self(Arc::new(ReviewCacheState {
            decisions: DecisionCache::new(CACHED_DECISIONS, is_denial),
            pending: Mutex::default(),
        }))
    }

    /// Returns a decision that has not expired.
    pub(crate) fn get(&self, key: &Key) -> Option<Expiring<V>> {
        self.0.decisions.get_expiring(key)
    }

    /// Returns a decision that is no denial, expired or not.
    pub(crate) fn get_stale(&self, key: &Key) -> Option<V> {
        self.0.decisions.get_stale(key)
    }

    /// Makes all decisions expire now.
    #[cfg(test)]
    pub(crate) fn expire(&self) {
        self.0.decisions.expire();
    }

    /// Returns a decision that has not expired, or requests one. Calls with the same key share one
    /// request. Errors are not cached.
    pub(crate) async fn get_or_request(
        &self,
        key: Key,
        request: impl Future<Output = ReviewResult<V>> + Send + 'static,
    ) -> ReviewResult<V> {
        let review = {
            let mut pending = self
                .0
                .pending
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(review) = pending.get(&key).and_then(WeakShared::upgrade) {
                review
            } else if let Some(decision) = self.get(&key) {
                // After `pending`: a decision is cached before its request ends, so that one of the
                // two is found.
                return Ok(decision);
            } else {
                pending.retain(|_, review| review.upgrade().is_some());
                let review = self.start(key, request);
                pending.extend(review.downgrade().map(|review| (key, review)));
                review
            }
        };
        review.await
    }

    fn start(
        &self,
        key: Key,
        request: impl Future<Output = ReviewResult<V>> + Send + 'static,
    ) -> Shared<ReviewRequest<V>> {
        let state = Arc::clone(&self.0);
        let request = async move {
            let decision = request.await?;
            state.decisions.insert(&key, decision.clone());
            Ok(decision)
        };
        request.boxed().shared()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::{join, pending};
    use tokio::sync::oneshot;

    use super::*;

    const TIME: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn simultaneous_reviews_with_one_key_share_one_request() {
        let reviews = ReviewCache::new(|_| false);
        let (sender, receiver) = oneshot::channel();
        let first = reviews.get_or_request([1; 32], async {
            Ok(Expiring::after(TIME, receiver.await.unwrap()))
        });
        let second = reviews.get_or_request([1; 32], async { panic!("it is asked already") });
        let other = async {
            let answer = reviews
                .get_or_request([2; 32], async { Ok(Expiring::after(TIME, "other")) })
                .await;
            sender.send("one").unwrap();
            answer
        };
        let ((first, second), other) = join(join(first, second), other).await;
        assert_eq!(
            [first, second, other].map(|reply| reply.unwrap().value),
            ["one", "one", "other"]
        );
        let known = reviews
            .get_or_request([1; 32], async { panic!("it is known") })
            .await;
        assert_eq!(known.unwrap().value, "one");
    }

    #[tokio::test]
    async fn a_request_outlives_the_caller_that_started_it() {
        let reviews = ReviewCache::new(|_| false);
        let (sender, receiver) = oneshot::channel();
        let mut first = Box::pin(reviews.get_or_request([1; 32], async {
            Ok(Expiring::after(TIME, receiver.await.unwrap()))
        }));
        let mut second = Box::pin(reviews.get_or_request([1; 32], pending()));
        assert!(
            first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none()
        );
        drop(first);
        sender.send("one").unwrap();
        assert_eq!(second.await.unwrap().value, "one");
    }

    #[tokio::test]
    async fn an_abandoned_request_leaves_nothing_behind_and_errors_are_not_cached() {
        let reviews = ReviewCache::<&str>::new(|_| false);
        for number in 0..100 {
            assert!(
                reviews
                    .get_or_request([number; 32], pending())
                    .now_or_never()
                    .is_none()
            );
        }
        assert_eq!(reviews.0.pending.lock().unwrap().len(), 1);
        let denied = reviews
            .get_or_request([1; 32], async { Err(AuthError::Unavailable) })
            .await;
        assert_eq!(denied, Err(AuthError::Unavailable));
        let answer = reviews
            .get_or_request([1; 32], async { Ok(Expiring::after(TIME, "one")) })
            .await;
        assert_eq!(answer.unwrap().value, "one", "no answer is not remembered");
    }
}
