//! Tests of the crate as its users see it.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod configuration;
mod golden;
mod selection;
