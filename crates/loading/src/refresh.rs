//! When sources are polled again. It knows no source and no clock.

use std::time::Duration;

/// Default interval between two polls of the tag of an image.
pub const POLL: Duration = Duration::from_mins(10);

/// Delay before a registry that failed is tried again. It doubles with each further failure, up to
/// the poll interval.
pub const RETRY: Duration = Duration::from_secs(30);

/// The share of itself by which a delay is shorter or longer, so that processes that started
/// together do not poll together for ever.
pub const JITTER: f64 = 0.1;

/// When a source is polled again once it was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshPolicy {
    /// For directories; `None` loads them once.
    pub directories: Option<WatchInterval>,
    /// For images; `None` loads them once.
    pub images: Option<PollPolicy>,
}

/// How often a watched directory is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchInterval {
    /// Between two listings.
    pub poll: Duration,
    /// Until a source that failed is tried again although it looks unchanged.
    pub retry: Duration,
}

/// How often an image is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollPolicy {
    /// Between two polls; `None` polls only after failures.
    pub interval: Option<Duration>,
    /// Between the first failure and the next attempt.
    pub retry: Duration,
}

impl RefreshPolicy {
    /// Every source is loaded once.
    pub const ONCE: Self = Self {
        directories: None,
        images: None,
    };
}

impl Default for WatchInterval {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(1),
            retry: Duration::from_secs(30),
        }
    }
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self {
            interval: Some(POLL),
            retry: RETRY,
        }
    }
}

impl PollPolicy {
    /// The delay before the next attempt after so many failures in a row: exponential backoff,
    /// bounded by the poll interval. `None` when there is nothing to wait for: a pinned image never
    /// changes once it is loaded.
    pub(crate) fn delay(&self, failures: u32, is_pinned: bool) -> Option<Duration> {
        let Some(doublings) = failures.checked_sub(1) else {
            return self.interval.filter(|_| !is_pinned);
        };
        let backoff = self.retry.saturating_mul(2_u32.saturating_pow(doublings));
        Some(backoff.min(self.interval.unwrap_or(POLL)))
    }
}

/// A delay with its jitter; `random` is between 0 and 1.
pub(crate) fn jittered(delay: Duration, random: f64) -> Duration {
    delay.mul_f64(1.0 + JITTER * (2.0 * random - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_tag_is_asked_for_at_its_interval_and_a_digest_never_again() {
        let policy = PollPolicy::default();
        assert_eq!(policy.delay(0, false), Some(POLL));
        assert_eq!(policy.delay(0, true), None);
        assert_eq!(
            PollPolicy {
                interval: None,
                ..policy
            }
            .delay(0, false),
            None
        );
    }

    #[test]
    fn pauses_after_failures_double_up_to_the_interval_also_where_nothing_is_polled() {
        let never = PollPolicy {
            interval: None,
            ..PollPolicy::default()
        };
        for (policy, is_pinned) in [
            (PollPolicy::default(), false),
            (PollPolicy::default(), true),
            (never, false),
        ] {
            let pauses = [1, 2, 3, 5, 6, u32::MAX]
                .map(|failures| policy.delay(failures, is_pinned).unwrap().as_secs());
            assert_eq!(pauses, [30, 60, 120, 480, 600, 600]);
        }
        let often = PollPolicy {
            interval: Some(SECOND),
            ..PollPolicy::default()
        };
        assert_eq!(often.delay(1, false), Some(SECOND));
    }

    #[test]
    fn jitter_makes_a_pause_a_tenth_shorter_or_longer_at_most() {
        let pauses = [0.0, 0.5, 1.0].map(|chance| jittered(POLL, chance).as_secs());
        assert_eq!(pauses, [540, 600, 660]);
    }
}
