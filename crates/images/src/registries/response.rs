//! Parts of responses that sessions and logins read.

use std::time::{Duration, SystemTime};

use reqwest::Response;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Reads the body of a response; `None` if it has more than `limit` bytes.
pub(super) async fn read(mut response: Response, limit: u64) -> reqwest::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// Parses `Retry-After`: seconds, or a date in the future.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text)
            .ok()?
            .duration_since(SystemTime::now())
            .ok(),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{AGE, DATE, HeaderValue};

    use super::*;

    #[test]
    fn a_registry_names_seconds_or_a_moment_until_which_it_is_left_alone() {
        let delay = |text: &str| {
            retry_after(&HeaderMap::from_iter([(
                RETRY_AFTER,
                text.parse().unwrap(),
            )]))
        };
        assert_eq!(delay("120"), Some(Duration::from_mins(2)));
        let later = delay(&httpdate::fmt_http_date(
            SystemTime::now() + Duration::from_mins(10),
        ))
        .unwrap();
        assert!((590..=600).contains(&later.as_secs()), "{later:?}");
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "-1", "soon"] {
            assert_eq!(delay(text), None, "{text}");
        }
        assert_eq!(
            retry_after(&HeaderMap::from_iter([
                (AGE, HeaderValue::from(1)),
                (DATE, HeaderValue::from(1))
            ])),
            None
        );
    }
}
