//! Retries of requests within one pull or push: exponential backoff with full jitter, and
//! `Retry-After`.

use std::time::Duration;

use crate::ImageError;
use crate::limits::RetryPolicy;
use crate::metrics::METRICS;

/// A failed request.
#[derive(Debug)]
pub(super) enum RegistryRequestError {
    /// The request may succeed when it is retried, after the delay that the registry asks for, if
    /// any.
    Transient(ImageError, Option<Duration>),
    /// The request would fail again.
    Permanent(ImageError),
}

/// The attempts of one request.
#[derive(Debug)]
pub(super) struct Backoff {
    retry: RetryPolicy,
    attempts: u32,
}

impl From<ImageError> for RegistryRequestError {
    fn from(error: ImageError) -> Self {
        Self::Permanent(error)
    }
}

impl Backoff {
    /// Creates a backoff with another maximum number of attempts than the policy's.
    pub(super) fn new(retry: RetryPolicy, max_attempts: u32) -> Self {
        Self {
            retry: RetryPolicy {
                max_attempts,
                ..retry
            },
            attempts: 0,
        }
    }

    /// Resets the number of attempts, after progress was made.
    pub(super) fn reset(&mut self) {
        self.attempts = 0;
    }

    /// Waits before the next attempt. Returns the error if the request must not be retried.
    pub(super) async fn wait_after(
        &mut self,
        error: RegistryRequestError,
    ) -> Result<(), ImageError> {
        let delay = self.delay_after(error).inspect_err(|_| {
            METRICS.failed.inc();
        })?;
        METRICS.retried.inc();
        tokio::time::sleep(delay).await;
        Ok(())
    }

    /// Returns the delay before the next attempt, or the error if the request must not be retried.
    fn delay_after(&mut self, error: RegistryRequestError) -> Result<Duration, ImageError> {
        let (error, retry_after) = match error {
            RegistryRequestError::Permanent(error) => return Err(error),
            RegistryRequestError::Transient(error, retry_after) => {
                (error, retry_after.unwrap_or_default())
            }
        };
        self.attempts += 1;
        // A registry that asks for a longer delay than the maximum is not retried: the caller's own
        // backoff takes over.
        if self.attempts >= self.retry.max_attempts || retry_after > self.retry.max_backoff {
            return Err(error);
        }
        let delay = jitter(self.max_delay()).max(retry_after);
        tracing::debug!(%error, delay_seconds = delay.as_secs_f64(), "retrying the request");
        Ok(delay)
    }

    /// Returns the upper bound of the delay before the next attempt.
    fn max_delay(&self) -> Duration {
        let doubled = 1_u32.checked_shl(self.attempts - 1).unwrap_or(u32::MAX);
        self.retry
            .initial_backoff
            .saturating_mul(doubled)
            .min(self.retry.max_backoff)
    }
}

/// Returns a random delay up to a maximum ("full jitter").
//
// Clients that failed together would otherwise retry together.
fn jitter(max_delay: Duration) -> Duration {
    max_delay.mul_f64(fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transient(retry_after: Option<Duration>) -> RegistryRequestError {
        RegistryRequestError::Transient(ImageError::NoImage("it".to_owned()), retry_after)
    }

    #[test]
    fn each_wait_may_be_twice_as_long_as_the_one_before_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let retry = RetryPolicy {
            initial_backoff: seconds(1),
            max_backoff: seconds(10),
            ..RetryPolicy::default()
        };
        let ceilings = (1..7).map(|attempts| Backoff { retry, attempts }.max_delay());
        assert_eq!(
            ceilings.collect::<Vec<_>>(),
            [1, 2, 4, 8, 10, 10].map(seconds)
        );
    }

    #[tokio::test]
    async fn what_passes_is_tried_so_often_and_what_lasts_once() {
        let none = Duration::ZERO;
        let retry = RetryPolicy {
            initial_backoff: none,
            max_backoff: none,
            ..RetryPolicy::default()
        };
        let mut backoff = Backoff::new(retry, 3);
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            outcomes.push(backoff.wait_after(transient(None)).await.is_ok());
        }
        assert_eq!(outcomes, [true, true, false]);
        backoff.reset();
        assert!(backoff.wait_after(transient(None)).await.is_ok());
        assert!(
            backoff
                .wait_after(RegistryRequestError::Permanent(ImageError::NoImage(
                    "it".to_owned()
                )))
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn who_asks_for_more_than_the_longest_wait_is_not_waited_for() {
        let retry = RetryPolicy {
            max_backoff: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        assert!(
            Backoff::new(retry, 5)
                .wait_after(transient(Some(Duration::from_millis(1))))
                .await
                .is_ok()
        );
        assert!(
            Backoff::new(retry, 5)
                .wait_after(transient(Some(Duration::from_millis(2))))
                .await
                .is_err()
        );
    }
}
