//! Backoff between retries of a request.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::RETRY_AFTER;

/// Maximum number of retries of a request while the server is busy or away.
pub const MAX_RETRIES: u32 = 3;

/// Maximum wait before a retry. If `Retry-After` is longer, the request is not retried and the
/// caller gets the error.
pub const MAX_RETRY_WAIT: Duration = Duration::from_secs(10);

/// Wait before the first repetition; it doubles with each.
const INITIAL_WAIT: Duration = Duration::from_millis(100);

/// Returns the wait before the repetition of this number, from 0: half of it is random, so that
/// clients which failed together do not return together.
pub(crate) fn retry_delay(attempt: u32) -> Duration {
    let whole = INITIAL_WAIT
        .saturating_mul(1 << attempt.min(10))
        .min(MAX_RETRY_WAIT);
    whole.mul_f64(0.5 + fastrand::f64() / 2.0)
}

/// Returns what `Retry-After` asks for: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn waits_grow_and_vary_within_their_half() {
        for attempt in 0..4 {
            let whole = Duration::from_millis(100 << attempt);
            let waits: Vec<_> = (0..100).map(|_| retry_delay(attempt)).collect();
            assert!(
                waits.iter().all(|wait| (whole / 2..=whole).contains(wait)),
                "{waits:?}"
            );
            assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
        }
        assert!(retry_delay(99) <= MAX_RETRY_WAIT);
    }

    #[test]
    fn a_server_asks_for_a_wait_in_seconds_or_by_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let asked = |text| {
            retry_after(
                &HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]),
                now,
            )
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(
            asked("Sun, 06 Nov 1994 08:49:41 GMT"),
            Some(Duration::from_secs(4))
        );
        assert_eq!(asked("Sun, 06 Nov 1994 08:49:31 GMT"), Some(Duration::ZERO));
        assert_eq!(asked("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
