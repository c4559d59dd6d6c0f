//! When to try again: exponential back-off with full jitter, and what a registry asks for.

use std::time::Duration;

use super::RetryPolicy;
use crate::ImageError;

/// How a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The same request may succeed later, no sooner than the registry asks for.
    Transient(ImageError, Option<Duration>),
    /// The same request would fail again.
    Permanent(ImageError),
}

/// Counts the tries of one request.
#[derive(Debug)]
pub(super) struct Backoff {
    retry: RetryPolicy,
    made: u32,
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        Self::Permanent(error)
    }
}

impl Backoff {
    /// So many tries, with the waits of this retry between them.
    pub(super) fn new(retry: RetryPolicy, tries: u32) -> Self {
        Self { retry: RetryPolicy { max_attempts: tries, ..retry }, made: 0 }
    }

    /// Counts anew, after something was achieved.
    pub(super) fn reset(&mut self) {
        self.made = 0;
    }

    /// Waits until the next try, or gives up with the error.
    pub(super) async fn after(&mut self, failure: Failure) -> Result<(), ImageError> {
        let (error, asked) = match failure {
            Failure::Permanent(error) => return Err(error),
            Failure::Transient(error, asked) => (error, asked.unwrap_or_default()),
        };
        self.made += 1;
        if self.made >= self.retry.max_attempts || asked > self.retry.max_backoff {
            return Err(error);
        }
        let wait = jitter(self.ceiling());
        tracing::debug!(%error, ?wait, "trying again");
        tokio::time::sleep(wait.max(asked)).await;
        Ok(())
    }

    /// The longest that is waited before the next try.
    fn ceiling(&self) -> Duration {
        let doubled = 1_u32.checked_shl(self.made - 1).unwrap_or(u32::MAX);
        self.retry.initial_backoff.saturating_mul(doubled).min(self.retry.max_backoff)
    }
}

/// Any time up to this one, so that those who failed together do not come back together.
fn jitter(ceiling: Duration) -> Duration {
    ceiling.mul_f64(fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(asked: Option<Duration>) -> Failure {
        Failure::Transient(ImageError::NoImage("it".to_owned()), asked)
    }

    #[test]
    fn each_wait_may_be_twice_as_long_as_the_one_before_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let retry = RetryPolicy { initial_backoff: seconds(1), max_backoff: seconds(10), ..RetryPolicy::default() };
        let ceilings = (1..7).map(|made| Backoff { retry, made }.ceiling());
        assert_eq!(ceilings.collect::<Vec<_>>(), [1, 2, 4, 8, 10, 10].map(seconds));
    }

    #[tokio::test]
    async fn what_passes_is_tried_so_often_and_what_lasts_once() {
        let none = Duration::ZERO;
        let retry = RetryPolicy { initial_backoff: none, max_backoff: none, ..RetryPolicy::default() };
        let mut tries = Backoff::new(retry, 3);
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            outcomes.push(tries.after(passing(None)).await.is_ok());
        }
        assert_eq!(outcomes, [true, true, false]);
        tries.reset();
        assert!(tries.after(passing(None)).await.is_ok());
        assert!(tries.after(Failure::Permanent(ImageError::NoImage("it".to_owned()))).await.is_err());
    }

    #[tokio::test]
    async fn who_asks_for_more_than_the_longest_wait_is_not_waited_for() {
        let retry = RetryPolicy { max_backoff: Duration::from_millis(1), ..RetryPolicy::default() };
        assert!(Backoff::new(retry, 5).after(passing(Some(Duration::from_millis(1)))).await.is_ok());
        assert!(Backoff::new(retry, 5).after(passing(Some(Duration::from_millis(2)))).await.is_err());
    }
}
