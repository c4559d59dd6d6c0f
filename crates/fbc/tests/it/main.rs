//! Tests of the public surface of fbc, in one binary; a module is named for what it is about.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod finding;
mod finding_properties;
mod icons;
mod index;
mod lifecycles;
mod metadata;
mod olm_v1;
mod outlines;
mod requirements;
mod searching;
mod searching_community;
mod searching_merged;
mod stored;
mod summaries;
mod validation;
