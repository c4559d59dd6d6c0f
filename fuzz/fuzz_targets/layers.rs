//! Fuzzes the reader of layers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::layers::layers(data));
