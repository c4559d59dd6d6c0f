//! When to try again: exponential back-off with full jitter, and what a registry asks for.

use std::time::Duration;

use super::Patience;
use crate::ImageError;

/// How a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The same request may succeed later, no sooner than the registry asks for.
    Passing(ImageError, Option<Duration>),
    /// The same request would fail again.
    Lasting(ImageError),
}

/// Counts the tries of one request.
#[derive(Debug)]
pub(super) struct Tries {
    patience: Patience,
    made: u32,
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        Self::Lasting(error)
    }
}

impl Tries {
    /// So many tries, with the waits of this patience between them.
    pub(super) fn new(patience: Patience, tries: u32) -> Self {
        Self { patience: Patience { tries, ..patience }, made: 0 }
    }

    /// Counts anew, after something was achieved.
    pub(super) fn reset(&mut self) {
        self.made = 0;
    }

    /// Waits until the next try, or gives up with the error.
    pub(super) async fn after(&mut self, failure: Failure) -> Result<(), ImageError> {
        let (error, asked) = match failure {
            Failure::Lasting(error) => return Err(error),
            Failure::Passing(error, asked) => (error, asked.unwrap_or_default()),
        };
        self.made += 1;
        if self.made >= self.patience.tries || asked > self.patience.longest_wait {
            return Err(error);
        }
        let wait = jitter(self.ceiling());
        tracing::debug!(%error, ?wait, "trying again");
        tokio::time::sleep(wait.max(asked)).await;
        Ok(())
    }

    /// The longest that is waited before the next try.
    fn ceiling(&self) -> Duration {
        let doubled = 1_u32.checked_shl(self.made - 1).unwrap_or(u32::MAX);
        self.patience.first_wait.saturating_mul(doubled).min(self.patience.longest_wait)
    }
}

/// Any time up to this one, so that those who failed together do not come back together.
fn jitter(ceiling: Duration) -> Duration {
    ceiling.mul_f64(fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(asked: Option<Duration>) -> Failure {
        Failure::Passing(ImageError::NoImage("it".to_owned()), asked)
    }

    #[test]
    fn each_wait_may_be_twice_as_long_as_the_one_before_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let patience = Patience { first_wait: seconds(1), longest_wait: seconds(10), ..Patience::default() };
        let ceilings = (1..7).map(|made| Tries { patience, made }.ceiling());
        assert_eq!(ceilings.collect::<Vec<_>>(), [1, 2, 4, 8, 10, 10].map(seconds));
    }

    #[tokio::test]
    async fn what_passes_is_tried_so_often_and_what_lasts_once() {
        let none = Duration::ZERO;
        let patience = Patience { first_wait: none, longest_wait: none, ..Patience::default() };
        let mut tries = Tries::new(patience, 3);
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            outcomes.push(tries.after(passing(None)).await.is_ok());
        }
        assert_eq!(outcomes, [true, true, false]);
        tries.reset();
        assert!(tries.after(passing(None)).await.is_ok());
        assert!(tries.after(Failure::Lasting(ImageError::NoImage("it".to_owned()))).await.is_err());
    }

    #[tokio::test]
    async fn who_asks_for_more_than_the_longest_wait_is_not_waited_for() {
        let patience = Patience { longest_wait: Duration::from_millis(1), ..Patience::default() };
        assert!(Tries::new(patience, 5).after(passing(Some(Duration::from_millis(1)))).await.is_ok());
        assert!(Tries::new(patience, 5).after(passing(Some(Duration::from_millis(2)))).await.is_err());
    }
}
