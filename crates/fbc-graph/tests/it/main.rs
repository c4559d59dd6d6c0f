//! Tests of the public surface of fbc-graph, in one binary; a module is named for what it is about.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod graph;
mod resolve;
