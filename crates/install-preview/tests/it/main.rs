//! Compares renderings with those of the OLM v1 controller. `testdata/golden/README.md` says what is
//! recorded.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_types,
    reason = "what helpers of tests cannot do fails the test, and they read files"
)]

mod recorded;
mod refusals;
mod summary;
