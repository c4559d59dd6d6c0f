//! The fuzz target of image layers, the only one that writes archives.

use std::collections::BTreeMap;
use std::fs;

use images::unpack::{CatalogRoot, Layer, LayerContent, UnpackLimits, UnpackedEntry, unpack};
use testing::Archive;

/// Unpacks the bytes as a layer, and again as entries of one. Whatever a layer holds, nothing of it
/// appears in a folder, no path or link leads upwards, and a layer that is applied twice changes
/// nothing the second time.
pub fn layers(data: &[u8]) {
    let mut written = Archive::default();
    for line in data.split(|byte| *byte == b'\n') {
        let Some((flag, rest)) = line.split_first() else {
            continue;
        };
        let mut texts = rest.splitn(3, |byte| *byte == b'\t').chain([&b""[..]; 2]);
        let mut text = || texts.next().unwrap_or_default();
        written = written.entry(*flag, text(), text(), text());
    }
    for blob in [data.to_vec(), written.plain()] {
        let once = unpacked(&[&blob]);
        let twice = unpacked(&[&blob, &blob]);
        assert!(twice.is_none() || twice == once, "{once:?} {twice:?}");
    }
}

/// Returns the files, folders and links under `/configs` of these layers, with their contents or
/// targets; `None` when the layers are refused.
fn unpacked(blobs: &[&[u8]]) -> Option<BTreeMap<String, Vec<u8>>> {
    let work = tempfile::tempdir().expect("the temporary folder can be written");
    let mut layers = Vec::new();
    for (number, blob) in blobs.iter().enumerate() {
        layers.push(Layer {
            blob: work.path().join(number.to_string()),
            diff_id: None,
            content: LayerContent::Archive,
        });
        fs::write(&layers[number].blob, blob).expect("files can be written");
    }
    let root = CatalogRoot::for_artifact(Some("/configs")).expect("it is a directory");
    let limits = UnpackLimits {
        file_bytes: 1 << 20,
        bytes: 1 << 22,
        entries: 1_000,
        ..UnpackLimits::default()
    };
    let done = unpack(&layers, &root, work.path(), &limits, drop);
    let there = fs::read_dir(work.path()).expect("it is a folder").count();
    assert_eq!(there, blobs.len(), "nothing appears beside the layers");
    let unpacked = done.ok()?;
    for file in unpacked.files().into_iter().flatten() {
        assert!(is_below(&file.path), "{}", file.path);
    }
    let mut found = BTreeMap::new();
    for (path, entry) in unpacked.entries() {
        let what = match entry {
            UnpackedEntry::Folder => Vec::new(),
            UnpackedEntry::Link(target) => {
                assert!(target.is_empty() || is_below(target), "{target}");
                target.clone().into_bytes()
            }
            UnpackedEntry::File(content) => {
                let mut bytes = vec![0; usize::try_from(content.bytes).expect("it is small")];
                unpacked
                    .read(*content, 0, &mut bytes)
                    .expect("it can be read");
                bytes
            }
        };
        assert!(
            is_below(path) && found.insert(path.clone(), what).is_none(),
            "{path}"
        );
    }
    Some(found)
}

/// Returns whether a path leads down at each step.
fn is_below(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
