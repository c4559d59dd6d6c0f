//! Fuzzes canonical lines that a store may hold.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::targets::lines(data));
