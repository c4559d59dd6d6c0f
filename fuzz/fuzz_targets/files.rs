//! Fuzzes the readers of JSON and YAML.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::targets::files(data));
