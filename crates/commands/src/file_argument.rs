//! A file that an argument names: `-` is the standard input.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

/// Argument that stands for the standard input.
pub(crate) const STDIN: &str = "-";

/// Reads a file, or the standard input for `-`.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if path != Path::new(STDIN) {
        return fs::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a file, or of the standard input for `-`.
pub fn read_text(path: &Path) -> io::Result<String> {
    if path != Path::new(STDIN) {
        return fs::read_to_string(path);
    }
    io::read_to_string(io::stdin())
}
