//! The budget of an execution: its maximum work and time, and cancellation.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fbc::work::UNIT;

use super::errors::{Code, Error};
use super::limits::Limits;

/// Units of work between two checks of the clock and of cancellation: less than a millisecond.
const UNITS_PER_CHECK: u64 = 256;

/// Cancels an execution whose client has left. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

/// Cancels an execution when it is dropped, unless the execution completed before.
pub(super) struct CancelOnDrop(pub(super) Cancellation);

/// Kind of thread that executes an operation, which limits the time that it may take.
#[derive(Clone, Debug)]
pub(super) enum ExecutionMode {
    /// On a thread that serves connections: only while it takes less than about a millisecond,
    /// because all connections of the thread wait.
    Inline,
    /// On a thread that serves no connections: within the limits, until the client leaves.
    Offloaded(Cancellation),
}

/// Limits on the work of one execution.
#[derive(Debug)]
pub struct Budget {
    /// Maximum work, in units.
    work: u64,
    time: Duration,
    deadline: Instant,
    cancellation: Cancellation,
    /// True if `work` is less than the limit of requests, so that another execution may do more.
    is_short: bool,
    /// The limit that stopped the work.
    exceeded: Cell<Option<Exceeded>>,
}

#[derive(Clone, Copy, Debug)]
enum Exceeded {
    Work,
    Time,
    Cancelled,
}

impl Budget {
    /// Creates the budget of an execution that begins now.
    pub fn new(limits: &Limits, cancellation: Cancellation) -> Self {
        let Limits { work, time, .. } = *limits;
        let deadline = Instant::now() + time;
        Self {
            work,
            time,
            deadline,
            cancellation,
            is_short: false,
            exceeded: Cell::new(None),
        }
    }

    /// Creates the budget of an inline execution: at most `work` units.
    pub(super) fn short(limits: &Limits, work: u64) -> Self {
        let is_short = work < limits.work;
        Self {
            work: work.min(limits.work),
            is_short,
            ..Self::new(limits, Cancellation::default())
        }
    }

    /// Returns whether the work was stopped by the limit of inline executions.
    pub(super) fn was_too_short(&self) -> bool {
        self.is_short && matches!(self.exceeded.get(), Some(Exceeded::Work))
    }

    /// Checks the work drawn so far, in nanoseconds of [`fbc::work`]. Returns the sum at which to
    /// check again, `None` if a limit is exceeded.
    pub fn check(&self, drawn: u64) -> Option<u64> {
        let maximum = self.work.saturating_mul(UNIT);
        let exceeded = if drawn > maximum {
            Exceeded::Work
        } else if self.cancellation.is_cancelled() {
            Exceeded::Cancelled
        } else if Instant::now() > self.deadline {
            Exceeded::Time
        } else {
            return Some(
                drawn
                    .saturating_add(UNITS_PER_CHECK * UNIT)
                    .min(maximum.saturating_add(1)),
            );
        };
        self.exceeded.set(Some(exceeded));
        None
    }

    /// Returns the error of the limit that stopped the work; `None` if none did.
    pub fn error(&self) -> Option<Error> {
        Some(match self.exceeded.get()? {
            Exceeded::Work => {
                let message = format!("the request takes more than {} units of work", self.work);
                Error::request(Code::CostActual, message)
            }
            Exceeded::Time => {
                let message = format!("the request takes more than {} s", self.time.as_secs_f32());
                Error::request(Code::Timeout, message)
            }
            // Nobody reads it.
            Exceeded::Cancelled => {
                Error::request(Code::Timeout, "the client disconnected".to_owned())
            }
        })
    }
}

impl Cancellation {
    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use ::metrics::Label as _;

    use super::*;

    fn budget(work: u64, time: Duration, cancellation: Cancellation) -> Budget {
        Budget::new(
            &Limits {
                work,
                time,
                ..Limits::default()
            },
            cancellation,
        )
    }

    fn code(budget: &Budget) -> Option<&'static str> {
        Some(budget.error()?.code.as_str())
    }

    #[test]
    fn work_goes_on_until_its_limit() {
        let budget = budget(300, Duration::from_hours(1), Cancellation::default());
        assert_eq!(
            budget.check(0),
            Some(256 * UNIT),
            "the clock is looked at in between"
        );
        assert_eq!(budget.check(256 * UNIT), Some(300 * UNIT + 1));
        assert_eq!(
            (budget.check(300 * UNIT), code(&budget)),
            (Some(300 * UNIT + 1), None)
        );
        assert_eq!(
            (budget.check(300 * UNIT + 1), code(&budget)),
            (None, Some("COST_ACTUAL_TOO_EXPENSIVE"))
        );
    }

    #[test]
    fn work_ends_when_its_time_is_over() {
        let budget = budget(300, Duration::ZERO, Cancellation::default());
        while Instant::now() <= budget.deadline {}
        assert_eq!((budget.check(0), code(&budget)), (None, Some("TIMEOUT")));
    }

    #[test]
    fn work_ends_when_its_client_leaves() {
        let cancellation = Cancellation::default();
        let budget = budget(300, Duration::from_hours(1), cancellation.clone());
        let waits = CancelOnDrop(cancellation);
        assert!(budget.check(0).is_some());
        drop(waits);
        assert_eq!(budget.check(0), None);
    }

    #[test]
    fn short_work_that_exceeds_its_budget_may_go_on_elsewhere_but_not_beyond_the_limit() {
        let within = |limit| {
            let short = Budget::short(
                &Limits {
                    work: limit,
                    ..Limits::default()
                },
                10,
            );
            assert_eq!(short.check(limit.min(10) * UNIT + 1), None);
            short.was_too_short()
        };
        assert_eq!([within(11), within(10), within(9)], [true, false, false]);
    }
}
