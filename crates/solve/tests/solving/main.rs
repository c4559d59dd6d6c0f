//! Solving as users of the crate see it.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod bad_requests;
mod bounds;
mod community;
mod explanations;
mod extensions;
mod hard_searches;
mod rule_bounds;
mod rules;
mod vectors;
