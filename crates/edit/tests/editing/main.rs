//! What `opm` makes of bundles and of edits, recorded: `tests/testdata/README.md` says how.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod bundles;
mod limits;
mod notices;
mod properties;
mod rendering;
mod sequences;
mod support;
mod templates;
