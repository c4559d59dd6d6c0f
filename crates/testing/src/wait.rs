//! Waiting for a condition, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// Deadline of everything that a test waits for; far longer than anything takes, so that only a
/// test that waits in vain reaches it.
pub const TEST_TIMEOUT: Duration = Duration::from_mins(2);

/// Evaluates `condition` until it gives a value, and returns that. Panics after [`TEST_TIMEOUT`].
pub fn eventually<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            started.elapsed() < TEST_TIMEOUT,
            "the condition does not hold after {TEST_TIMEOUT:?}"
        );
        thread::yield_now();
    }
}
