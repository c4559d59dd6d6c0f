//! A circuit breaker: a store that failed is not asked for a while, so that it costs each load at
//! most one short wait.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::{BREAKER_BACKOFF, MAX_BREAKER_BACKOFF};

/// Decides whether a store is asked.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    /// Failures since the last success.
    failures: u32,
    /// Time until which the store is not asked.
    open_until: Option<Instant>,
}

impl CircuitBreaker {
    /// Returns whether the store may be asked.
    pub(crate) fn allows(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.open_until.is_none_or(|until| Instant::now() >= until)
    }

    /// Remembers that the store answered.
    pub(crate) fn succeeded(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = BreakerState::default();
    }

    /// Remembers that the store failed. Failures of concurrent requests count once.
    pub(crate) fn failed(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.open_until.is_some_and(|until| now < until) {
            return;
        }
        state.open_until = Some(now + backoff(state.failures));
        state.failures = state.failures.saturating_add(1);
    }
}

/// Returns the time for which a store is not asked after a failure that follows this number of
/// failures.
fn backoff(failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    BREAKER_BACKOFF
        .saturating_mul(factor)
        .min(MAX_BREAKER_BACKOFF)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_that_failed_is_asked_again_after_a_time_that_doubles_up_to_a_bound() {
        let breaker = CircuitBreaker::default();
        let moment = Duration::from_millis(1);
        for seconds in [10, 20, 40, 80, 160, 300, 300] {
            assert!(breaker.allows());
            breaker.failed();
            // A request that began at the same time fails, too.
            breaker.failed();
            advance(Duration::from_secs(seconds).saturating_sub(moment)).await;
            assert!(!breaker.allows(), "{seconds}");
            advance(moment).await;
        }
        breaker.succeeded();
        breaker.failed();
        advance(BREAKER_BACKOFF).await;
        assert!(breaker.allows());
    }
}
