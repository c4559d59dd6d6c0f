//! Poll intervals of sources with their jitter, and the backoff of failed image pulls.

use std::time::Duration;

/// Default poll interval of the tag of an image.
pub const POLL: Duration = Duration::from_mins(10);

/// First backoff after a failed pull. It doubles with each further failure, up to the poll interval.
pub const PULL_BACKOFF: Duration = Duration::from_secs(30);

/// First backoff after a remote source has failed in a way that may pass. It doubles with each further
/// failure, up to [`MAX_REMOTE_BACKOFF`].
pub const REMOTE_BACKOFF: Duration = Duration::from_secs(1);

/// Maximum backoff of remote sources.
pub const MAX_REMOTE_BACKOFF: Duration = Duration::from_mins(5);

/// Shortest interval between two polls of a catalog whose server announces new contents.
pub const FOLLOWED_POLL: Duration = Duration::from_hours(1);

/// Jitter: fraction by which a delay is randomly shorter or longer.
//
// Replicas that started together would otherwise poll the registry together for ever.
pub const JITTER: f64 = 0.1;

/// Poll intervals of sources, by their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshPolicy {
    /// Intervals for directories; `None` loads them once.
    pub directories: Option<WatchInterval>,
    /// Intervals for images and remote sources; `None` loads them once.
    pub images: Option<PollPolicy>,
}

/// Intervals of a watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchInterval {
    /// Interval between two listings.
    pub poll: Duration,
    /// Time after a failed load until an unchanged directory is read again.
    pub retry: Duration,
}

/// Intervals of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollPolicy {
    /// Interval between two polls; `None` polls only after failures.
    pub interval: Option<Duration>,
    /// Delay between the first failure and the next attempt.
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
            retry: PULL_BACKOFF,
        }
    }
}

impl PollPolicy {
    /// Returns the delay before the next attempt after this number of consecutive failures:
    /// exponential backoff, bounded by the poll interval. `None` means never: a pinned image does not
    /// change once it is loaded.
    pub(crate) fn delay(&self, failures: u32, is_pinned: bool) -> Option<Duration> {
        let Some(doublings) = failures.checked_sub(1) else {
            return self.interval.filter(|_| !is_pinned);
        };
        let backoff = self.retry.saturating_mul(2_u32.saturating_pow(doublings));
        Some(backoff.min(self.interval.unwrap_or(POLL)))
    }
}

/// Returns the delay before the next attempt to load a remote source after failures that may pass. A
/// longer delay that the server asks for is respected.
pub(crate) fn remote_backoff(failures: u32, retry_after: Option<Duration>) -> Duration {
    let doublings = failures.saturating_sub(1);
    let backoff = REMOTE_BACKOFF.saturating_mul(2_u32.saturating_pow(doublings));
    let backoff = backoff.min(MAX_REMOTE_BACKOFF);
    retry_after.map_or(backoff, |delay| delay.max(backoff))
}

/// Adds jitter to a delay; `random` is between 0 and 1.
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
    fn a_remote_source_is_tried_again_soon_and_as_late_as_its_server_asks() {
        let seconds = |failures, asked: Option<u64>| {
            remote_backoff(failures, asked.map(Duration::from_secs)).as_secs()
        };
        let pauses = [1, 2, 3, 9, 10, u32::MAX].map(|failures| seconds(failures, None));
        assert_eq!(pauses, [1, 2, 4, 256, 300, 300]);
        assert_eq!((seconds(1, Some(60)), seconds(9, Some(60))), (60, 256));
    }

    #[test]
    fn jitter_makes_a_pause_a_tenth_shorter_or_longer_at_most() {
        let pauses = [0.0, 0.5, 1.0].map(|chance| jittered(POLL, chance).as_secs());
        assert_eq!(pauses, [540, 600, 660]);
    }
}
