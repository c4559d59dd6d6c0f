//! Fuzzes the reader of packs of git.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::packs::packs(data));
