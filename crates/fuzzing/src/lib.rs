//! What is fuzzed, by cargo-fuzz in `fuzz` and briefly by `tests/it/fuzz.rs`: each target takes any bytes, and panics
//! where something does not hold.

pub mod layers;
pub mod targets;
