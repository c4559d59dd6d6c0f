//! Compares renderings with those of the OLM v1 controller. `testdata/golden/README.md` says what is
//! recorded.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod crd_upgrade;
mod recorded;
mod refusals;
mod summary;
