//! Tests of the public surface of fbc, in one binary; a module is named for what it is about.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod blang;
mod drawings;
mod finding;
mod finding_properties;
mod graph;
mod icons;
mod index;
mod lifecycles;
mod metadata;
mod outlines;
mod pointers;
mod ranges;
mod reading;
mod reading_properties;
mod requirements;
mod resolve;
mod searching;
mod summaries;
mod validation;
