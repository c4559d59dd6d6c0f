//! Unnamed temporary files, for data that is derived from contents. They are mapped, so that they take
//! no heap, and removed with their last map. They do not count against the quota: their users bound
//! their size.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::file::map_file;
use super::{StoreError, io_error};

/// An unnamed temporary file that is being written.
#[derive(Debug)]
pub struct UnnamedFile {
    file: BufWriter<File>,
    /// The folder on whose file system it is.
    folder: PathBuf,
}

impl UnnamedFile {
    /// Creates a file on the file system of a folder.
    pub fn create_in(folder: &Path) -> Result<Self, StoreError> {
        let file = tempfile::tempfile_in(folder)
            .map_err(|source| io_error("create a file in", folder, source))?;
        Ok(Self {
            file: BufWriter::new(file),
            folder: folder.to_owned(),
        })
    }

    /// Maps the written bytes. The file cannot be written to any more.
    pub fn map(self) -> Result<Bytes, StoreError> {
        let Self { file, folder } = self;
        let file = file
            .into_inner()
            .map_err(|error| io_error("write a file in", &folder, error.into_error()))?;
        map_file(&file).map_err(|source| io_error("map a file in", &folder, source))
    }
}

impl Write for UnnamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_written_is_mapped_and_leaves_nothing_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = UnnamedFile::create_in(folder.path()).unwrap();
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        for part in bytes.chunks(1_000) {
            file.write_all(part).unwrap();
        }
        let mapped = file.map().unwrap();
        assert!(mapped == bytes);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(
            UnnamedFile::create_in(folder.path())
                .unwrap()
                .map()
                .unwrap()
                .len(),
            0
        );
        let missing = UnnamedFile::create_in(&folder.path().join("missing")).unwrap_err();
        assert!(
            missing.to_string().starts_with("cannot create a file in `"),
            "{missing}"
        );
    }
}
