//! Recordings of what upstream answers, which are stored compressed with gzip.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

/// Returns the text of a recording.
///
/// # Panics
/// If the file cannot be read.
pub fn unpacked(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

/// Returns the cases of a recording, one JSON value a line.
///
/// # Panics
/// If the file cannot be read, or a line is not JSON.
pub fn cases(path: impl AsRef<Path>) -> Vec<Value> {
    unpacked(path)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case is JSON"))
        .collect()
}
