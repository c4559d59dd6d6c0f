//! When sources are looked at again. It knows no source and no clock.

use std::time::Duration;

/// Between two questions what the tag of an image names, unless said otherwise.
pub const POLL: Duration = Duration::from_mins(10);

/// Until a registry that failed is asked again. Each further pause is twice as long, up to that between two polls.
pub const RETRY: Duration = Duration::from_secs(30);

/// By how much of itself a pause is shorter or longer: processes that began together do not ask together for ever.
pub const JITTER: f64 = 0.1;

/// How sources are kept current once they were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshPolicy {
    /// Directories; loaded once when absent.
    pub directories: Option<WatchInterval>,
    /// Images; asked for once when absent.
    pub images: Option<PollPolicy>,
}

/// How often watched directories are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchInterval {
    /// Between two looks.
    pub poll: Duration,
    /// Until a source that failed is tried again although it looks unchanged.
    pub retry: Duration,
}

/// How often it is asked what an image is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollPolicy {
    /// Between two questions; when absent, only what failed is asked again.
    pub interval: Option<Duration>,
    /// Between a failure and the next attempt.
    pub retry: Duration,
}

impl RefreshPolicy {
    /// Everything is loaded once.
    pub const ONCE: Self = Self { directories: None, images: None };
}

impl Default for WatchInterval {
    fn default() -> Self {
        Self { poll: Duration::from_secs(1), retry: Duration::from_secs(30) }
    }
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self { interval: Some(POLL), retry: RETRY }
    }
}

impl PollPolicy {
    /// How long to wait after so many failures in a row; nothing when there is nothing to wait for. What is pinned never
    /// changes once it is there.
    pub(super) fn pause(&self, failures: u32, is_pinned: bool) -> Option<Duration> {
        let Some(doublings) = failures.checked_sub(1) else { return self.interval.filter(|_| !is_pinned) };
        let grown = self.retry.saturating_mul(2_u32.saturating_pow(doublings));
        Some(grown.min(self.interval.unwrap_or(POLL)))
    }
}

/// A pause with its jitter; `chance` is between 0 and 1.
pub(super) fn jittered(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(1.0 + JITTER * (2.0 * chance - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_tag_is_asked_for_at_its_interval_and_a_digest_never_again() {
        let polling = PollPolicy::default();
        assert_eq!(polling.pause(0, false), Some(POLL));
        assert_eq!(polling.pause(0, true), None);
        assert_eq!(PollPolicy { interval: None, ..polling }.pause(0, false), None);
    }

    #[test]
    fn pauses_after_failures_double_up_to_the_interval_also_where_nothing_is_polled() {
        let never = PollPolicy { interval: None, ..PollPolicy::default() };
        for (polling, is_pinned) in [(PollPolicy::default(), false), (PollPolicy::default(), true), (never, false)] {
            let pauses =
                [1, 2, 3, 5, 6, u32::MAX].map(|failures| polling.pause(failures, is_pinned).unwrap().as_secs());
            assert_eq!(pauses, [30, 60, 120, 480, 600, 600]);
        }
        let often = PollPolicy { interval: Some(SECOND), ..PollPolicy::default() };
        assert_eq!(often.pause(1, false), Some(SECOND));
    }

    #[test]
    fn jitter_makes_a_pause_a_tenth_shorter_or_longer_at_most() {
        let pauses = [0.0, 0.5, 1.0].map(|chance| jittered(POLL, chance).as_secs());
        assert_eq!(pauses, [540, 600, 660]);
    }
}
