//! The dialect as its clients see it: requests and responses of its route, without a network.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod builds;
mod golden;
mod hostile;
mod server;
