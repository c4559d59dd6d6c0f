//! Waiting for a condition, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// Deadline of everything that a test waits for; far longer than anything takes, so that only a
/// test that waits in vain reaches it.
pub const TEST_TIMEOUT: Duration = Duration::from_mins(2);

/// Pause between two looks at a condition, in which the processors do what the test waits for.
const PAUSE: Duration = Duration::from_millis(2);

/// Pauses between two looks at a condition.
pub fn pause() {
    thread::sleep(PAUSE);
}

/// Evaluates `condition` until it gives a value, and returns that. Panics after [`TEST_TIMEOUT`].
pub fn eventually<T>(condition: impl FnMut() -> Option<T>) -> T {
    eventually_within(TEST_TIMEOUT, condition)
}

/// Evaluates `condition` until it gives a value, and returns that. Panics after a time-out, which is
/// for what takes long where a disk is slow.
pub fn eventually_within<T>(timeout: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            started.elapsed() < timeout,
            "the condition does not hold after {timeout:?}"
        );
        pause();
    }
}
