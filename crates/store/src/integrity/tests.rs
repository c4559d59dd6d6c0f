//! Detection of each way in which a file can be overwritten.

use std::fs;
use std::path::Path;

use super::super::tests::{keep_text, open, overwrite};
use super::*;

#[test]
fn a_file_that_was_overwritten_is_found_whichever_it_is_and_its_content_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let text = "{\"schema\":\"x\"}\n".repeat(1_000);
    let paths = |digest: &Digest| {
        let [zstd, gzip] = Coding::ALL.map(|coding| store.encoded_path(digest, coding));
        let index = store.index_path(digest);
        [store.content_path(digest), index, zstd, gzip]
    };
    let write = || {
        let digest = keep_text(&store, "a", &text);
        for coding in Coding::ALL {
            store
                .load_or_compress(&digest, text.as_bytes(), coding)
                .unwrap()
                .unwrap();
        }
        let write = |to: &mut dyn Write| to.write_all(b"index");
        assert!(store.save_index(&digest, write).unwrap());
        digest
    };
    let flipped = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    };
    for which in 0..4 {
        for damage in ["flip", "cut", "lengthen", "empty"] {
            let digest = write();
            assert_eq!(store.find_damage(&digest), None, "{which} {damage}");
            let path = &paths(&digest)[which];
            let whole = fs::read(path).unwrap();
            let bytes = match damage {
                "flip" => flipped(path),
                "cut" => whole[..whole.len() - 1].to_vec(),
                "lengthen" => [&whole[..], &whole[..]].concat(),
                _ => Vec::new(),
            };
            overwrite(path, &bytes);
            assert_eq!(
                store.find_damage(&digest).as_ref(),
                Some(path),
                "{which} {damage}"
            );
            store.discard(&digest).unwrap();
            assert!(
                paths(&digest).iter().all(|path| !path.exists()),
                "{which} {damage}"
            );
            assert!(store.get("a").is_none());
        }
    }
    let digest = write();
    assert_eq!(
        (store.find_damage(&digest), store.get("a").is_some()),
        (None, true)
    );
}

#[test]
fn what_is_not_there_is_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "a", "a\n");
    fs::remove_file(store.content_path(&digest)).unwrap();
    assert_eq!(store.find_damage(&digest), None);
    store.discard(&digest).unwrap();
}
