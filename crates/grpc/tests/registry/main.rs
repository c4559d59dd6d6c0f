//! The gRPC API as its clients see it: the bytes of requests and responses, without a network.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod choice;
mod client;
mod descriptors;
mod golden;
