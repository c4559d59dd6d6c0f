//! Files with what a process knew last, for its next start.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A JSON file, and a copy of its content.
///
/// Losing it costs time and nothing else, so that a failure to read or write it is logged.
#[derive(Debug)]
pub struct StateFile<T> {
    path: PathBuf,
    saved: T,
}

impl<T: Default + DeserializeOwned + PartialEq + Serialize> StateFile<T> {
    /// Reads the file. A missing or unreadable file counts as empty.
    pub fn open(path: PathBuf) -> Self {
        let log = |error: &dyn Display| {
            tracing::warn!(path = %path.display(), %error, "cannot read the state of the last run, starting without it");
        };
        let saved = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .inspect_err(|error| log(error))
                .unwrap_or_default(),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    log(&error);
                }
                T::default()
            }
        };
        Self { path, saved }
    }

    /// Returns the content of the file.
    pub fn saved(&self) -> &T {
        &self.saved
    }

    /// Replaces the content of the file, if it differs.
    pub fn save(&mut self, state: T) {
        if state == self.saved {
            return;
        }
        match replace(&self.path, &state) {
            Ok(()) => self.saved = state,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot write the state for the next start");
            }
        }
    }
}

fn replace(path: &Path, state: &impl Serialize) -> io::Result<()> {
    // A kill between the two calls leaves the former file.
    let new = path.with_extension("json.new");
    fs::write(&new, serde_json::to_vec(state)?)?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::StateFile;

    #[test]
    fn a_state_is_read_again_and_a_damaged_or_missing_one_counts_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let mut file = StateFile::<Vec<String>>::open(path.clone());
        assert!(file.saved().is_empty());

        file.save(vec!["community".to_owned()]);
        assert_eq!(
            StateFile::<Vec<String>>::open(path.clone()).saved(),
            file.saved()
        );

        std::fs::write(&path, "[\"comm").unwrap();
        assert!(StateFile::<Vec<String>>::open(path).saved().is_empty());
    }

    #[test]
    fn a_state_that_cannot_be_written_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("later").join("state.json");
        let mut file = StateFile::open(path.clone());
        file.save(1);
        assert_eq!(*file.saved(), 0);

        std::fs::create_dir(path.parent().unwrap()).unwrap();
        file.save(1);
        assert_eq!(*StateFile::<i32>::open(path).saved(), 1);
    }
}
