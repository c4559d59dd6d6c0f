//! Nothing: cargo passes over `build-dependencies` of a crate without a build script.

fn main() {}
