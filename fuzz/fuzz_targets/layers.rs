//! Fuzzes the reader of layers.

#![no_main]

#[path = "../../tests/it/support/archive.rs"]
#[expect(dead_code, reason = "the tests of layers use more of it")]
mod archive;
#[path = "../layers.rs"]
mod layers;

use archive::Archive;

libfuzzer_sys::fuzz_target!(|data: &[u8]| layers::layers(data));
