//! Fuzz targets, run by cargo-fuzz in `fuzz` and briefly by `tests/it/fuzz.rs`. Each is a function
//! that takes any bytes and panics where a property does not hold.

pub mod layers;
pub mod packs;
pub mod signatures;
pub mod targets;
