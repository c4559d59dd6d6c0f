//! Waiting for a condition, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything here takes, so that a test which waits in vain fails.
pub const TOO_LONG: Duration = Duration::from_mins(2);

/// Waits until there is a value.
pub fn eventually<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(started.elapsed() < TOO_LONG, "it never happens");
        thread::yield_now();
    }
}
