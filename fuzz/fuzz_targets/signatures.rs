//! Fuzzes the signatures that a stranger attaches to an image.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::signatures::signatures(data));
