//! Tests of the crate as its users see it.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests read recorded results and the corpus"
)]

mod configuration;
mod golden;
mod need;
mod selection;
