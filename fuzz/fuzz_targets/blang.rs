//! Fuzzes ranges of `skipRange`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::targets::blang(data));
