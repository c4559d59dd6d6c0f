//! Loads a catalog of the corpus.

use std::fs;
use std::path::Path;

use fbc::origin::FileOrigin;
use fbc::read::{FileReader, ReadEvent, ReadLimits};
use fbc::{Catalog, Origins};

/// Indexes the packages of a directory, one folder each, without invalid ones: opm refuses a catalog with them.
pub(crate) fn load(directory: &Path, without: &[&str]) -> Catalog {
    let (mut lines, mut files) = (Vec::new(), Vec::new());
    let mut folders: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.is_dir() && !without.iter().any(|name| folder.ends_with(name)));
    folders.sort();
    for folder in folders {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.push(read(&path, &mut lines));
            }
        }
    }
    Catalog::build(lines.into(), &Origins { files, ..Origins::default() }).unwrap()
}

fn read(path: &Path, lines: &mut Vec<u8>) -> FileOrigin {
    let mut origin = FileOrigin { path: path.to_string_lossy().into_owned(), ..FileOrigin::default() };
    let mut reader = FileReader::new(ReadLimits::default());
    reader.push(&fs::read(path).unwrap());
    reader.finish();
    loop {
        match reader.next().unwrap() {
            ReadEvent::Blob(blob) => {
                lines.extend_from_slice(blob.line);
                origin.lines.push(blob.at);
            }
            ReadEvent::Notice(notice) => origin.notices.push(notice),
            ReadEvent::NeedInput | ReadEvent::End => return origin,
        }
    }
}
