//! What is fuzzed of layers; beside `targets.rs`, as it alone needs to write archives.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use catalogql::unpack::{Layer, Limits, Root, unpack};

use super::Archive;

/// Layers, as they come and as entries: whatever a layer holds, nothing appears but in its folder, no link leads out of
/// it, and a layer that can be applied a second time changes nothing.
pub(crate) fn layers(data: &[u8]) {
    let mut written = Archive::default();
    for line in data.split(|byte| *byte == b'\n') {
        let Some((flag, rest)) = line.split_first() else { continue };
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

/// What is under a directory of layers; `None` when they are refused.
fn unpacked(blobs: &[&[u8]]) -> Option<BTreeMap<String, Vec<u8>>> {
    let work = tempfile::tempdir().expect("the temporary folder can be written");
    let (to, mut layers) = (work.path().join("to"), Vec::new());
    fs::create_dir(&to).expect("folders can be made");
    for (number, blob) in blobs.iter().enumerate() {
        layers.push(Layer { blob: work.path().join(number.to_string()), diff_id: None });
        fs::write(&layers[number].blob, blob).expect("files can be written");
    }
    let root = Root::of_artifact(Some("/configs")).expect("it is a directory");
    let limits = Limits { file_bytes: 1 << 20, bytes: 1 << 22, entries: 1_000, ..Limits::default() };
    let done = unpack(&layers, &root, &to, &limits, drop);
    let beside = fs::read_dir(work.path()).expect("it is a folder").count();
    assert_eq!(beside, blobs.len() + 1, "nothing appears beside it");
    let mut found = BTreeMap::new();
    gather(&to, &to, &mut found);
    done.is_ok().then_some(found)
}

/// Gathers what is below a folder, by path.
fn gather(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it is there").path();
        let kind = fs::symlink_metadata(&path).expect("it is there").file_type();
        let what = if kind.is_dir() {
            gather(root, &path, found);
            Vec::new()
        } else if kind.is_symlink() {
            assert!(
                path.canonicalize().is_ok_and(|leads| leads.starts_with(root)) || !path.exists(),
                "{}",
                path.display()
            );
            fs::read_link(&path).expect("it is a link").into_os_string().into_encoded_bytes()
        } else {
            assert!(kind.is_file(), "{}", path.display());
            fs::read(&path).expect("it is a file")
        };
        found.insert(path.strip_prefix(root).expect("it is below").to_str().expect("it is text").to_owned(), what);
    }
}
