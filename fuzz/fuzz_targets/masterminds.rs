//! Fuzzes ranges of a `ClusterExtension`.

#![no_main]

#[path = "../targets.rs"]
#[expect(dead_code, reason = "each binary fuzzes one of them")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::masterminds(data));
