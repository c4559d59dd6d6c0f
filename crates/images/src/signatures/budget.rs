//! The time and the bytes that the signatures of one image may take.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::ImageError;

/// Time-out of each request for signatures.
pub const SIGNATURE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time-out of all requests for the signatures of an image together.
pub const SIGNATURES_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum length in bytes of all signatures of an image, which are held in memory.
pub const MAX_SIGNATURE_BYTES: u64 = 32 << 20;

/// Time and bytes that are left for the signatures of an image.
#[derive(Debug)]
pub(super) struct SignatureBudget {
    deadline: Instant,
    bytes: u64,
}

impl SignatureBudget {
    pub(super) fn new() -> Self {
        Self {
            deadline: Instant::now() + SIGNATURES_TIMEOUT,
            bytes: MAX_SIGNATURE_BYTES,
        }
    }

    /// Returns the number of bytes that a signature may have, which is at most `limit`.
    pub(super) fn limit(&self, limit: u64) -> u64 {
        self.bytes.min(limit)
    }

    /// Charges the bytes of a signature.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), String> {
        let rest = self.bytes.checked_sub(bytes);
        self.bytes = rest.ok_or_else(|| {
            format!("the signatures of the image have more than {MAX_SIGNATURE_BYTES} bytes")
        })?;
        Ok(())
    }

    /// Waits for a request, and returns its failure as text.
    pub(super) async fn wait<T>(
        &self,
        request: impl Future<Output = Result<T, ImageError>>,
    ) -> Result<T, String> {
        let own = Instant::now() + SIGNATURE_TIMEOUT;
        match timeout_at(own.min(self.deadline), request).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                let cause = std::error::Error::source(&error);
                Err(match cause {
                    Some(cause) => format!("{error}: {cause}"),
                    None => error.to_string(),
                })
            }
            Err(_) if own < self.deadline => Err(format!(
                "no response within {} seconds",
                SIGNATURE_TIMEOUT.as_secs()
            )),
            Err(_) => Err(format!(
                "all signatures of the image took more than {} seconds",
                SIGNATURES_TIMEOUT.as_secs()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_may_have_their_limit_together_and_no_byte_more() {
        let mut budget = SignatureBudget::new();
        assert!(budget.charge(MAX_SIGNATURE_BYTES - 1).is_ok());
        assert_eq!(budget.limit(10), 1);
        assert!(budget.charge(1).is_ok());
        assert!(budget.charge(1).is_err());
    }
}
