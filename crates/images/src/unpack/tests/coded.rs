//! Compression of layers, their ends, digests, and labels.

use super::*;

fn one(blob: &[u8]) -> Result<BTreeMap<String, String>, String> {
    unpacked_blobs(&[blob.to_vec()], "/configs", &UnpackLimits::default())
}

#[test]
fn a_layer_says_by_its_first_bytes_how_it_is_compressed() {
    let gzip = base().gzip();
    let zstd = base().zstd();
    let plain = base().plain();
    let members = [
        tar().file("configs/a", "1").0,
        tar()
            .file("configs/sub/b", "2")
            .file("configs/sub/c", "3")
            .plain(),
    ];
    let gzips = members.clone().map(|part| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &part).unwrap();
        encoder.finish().unwrap()
    });
    let zstds = members.map(|part| zstd::encode_all(&*part, 1).unwrap());
    let skippable = [0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 1];
    let skipped = [&skippable[..], &zstd, &skippable].concat();
    for blob in [
        gzip.clone(),
        zstd.clone(),
        plain,
        gzips.concat(),
        zstds.concat(),
        skipped,
    ] {
        assert_eq!(one(&blob), Ok(map(&BASE)));
    }
    for (blob, expected) in [
        (
            &b"BZh91AY"[..],
            "layer 1 is compressed with bzip2: gzip, zstd and plain archives can be read",
        ),
        (
            b"\xfd7zXZ\0\0",
            "layer 1 is compressed with xz: gzip, zstd and plain archives can be read",
        ),
        (
            b"{}",
            "layer 1 is damaged or not a tar archive: failed to read entire block",
        ),
        (
            b"P",
            "layer 1 is damaged or not a tar archive: failed to read entire block",
        ),
        (
            &[b'x'; 1024],
            "layer 1 is damaged or not a tar archive: numeric field was not a number: xxxxxxxx when getting cksum for xxxxxxxx",
        ),
    ] {
        let refused = one(blob).unwrap_err();
        assert!(
            refused.starts_with(expected) || refused == expected,
            "{refused}"
        );
    }
    let gone = "the image has no directory `/configs`: name the one that holds its catalog with --configs-dir";
    assert_eq!(one(b""), Err(gone.to_owned()));
}

#[test]
fn a_layer_that_is_cut_anywhere_is_refused_or_lacks_only_what_was_cut() {
    let whole = base().file("configs/z", &"long ".repeat(300));
    for blob in [whole.clone().gzip(), whole.clone().zstd()] {
        for length in 1..blob.len() {
            let refused = one(&blob[..length]).unwrap_err();
            assert!(
                refused.starts_with("layer 1 is damaged or not a tar archive: "),
                "{length}: {refused}"
            );
        }
    }
    let plain = whole.0;
    for length in (128..plain.len()).step_by(128) {
        // After the content of an entry nothing but the digest tells that more was there.
        let is_after = [1024, 2048, 3072]
            .iter()
            .any(|content| (content + 1..=content + 512).contains(&length));
        let cut = one(&plain[..length]);
        assert_eq!(cut.is_ok(), is_after, "{length}: {cut:?}");
    }
    // The last content, of 1,500 bytes, whole and without its last byte.
    assert_eq!(one(&plain[..plain.len() - 36]), one(&plain));
    assert_eq!(
        one(&plain[..plain.len() - 37]),
        Err("the layer ends in the middle of `configs/z` in layer 1".to_owned())
    );
}

#[test]
fn what_follows_the_end_is_padding_or_refused() {
    let plain = base().plain();
    assert_eq!(one(&[&plain[..], &[0; 10_240]].concat()), Ok(map(&BASE)));
    let goes_on = "layer 1 has data after the end of its archive";
    assert_eq!(
        one(&[&plain[..], &base().0].concat()),
        Err(goes_on.to_owned())
    );
    // One block of zeros ends an archive for some readers, and two for others.
    assert_eq!(
        one(&[&base().0[..], &[0; 512], &base().plain()].concat()),
        Err(goes_on.to_owned())
    );
    for blob in [base().gzip(), base().zstd()] {
        let refused = one(&[&blob[..], b"garbage"].concat()).unwrap_err();
        assert!(
            refused.starts_with("layer 1 is damaged or not a tar archive: "),
            "{refused}"
        );
    }
}

#[test]
fn a_frame_of_zstd_may_refer_back_by_128_megabytes_and_no_more() {
    // A frame of one stored block: magic, no size, the window as an exponent above 10, the block's
    // length and last mark.
    let frame = |window_log: u8| {
        let archive = base().plain();
        let block = u32::try_from(archive.len() << 3 | 1).unwrap().to_le_bytes();
        [
            &[0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3],
            &block[..3],
            &archive,
        ]
        .concat()
    };
    assert_eq!(one(&frame(27)), Ok(map(&BASE)));
    assert_eq!(
        one(&frame(28)),
        Err(
            "layer 1 is damaged or not a tar archive: Frame requires too much memory for decoding"
                .to_owned()
        )
    );
}

#[test]
fn a_layer_must_be_what_the_image_says() {
    let folder = tempfile::tempdir().unwrap();
    let blob = folder.path().join("blob");
    fs::write(&blob, base().gzip()).unwrap();
    let found = content_digest::digest(&base().plain());
    let run = |diff_id| {
        let to = tempfile::tempdir().unwrap();
        let layers = [Layer {
            blob: blob.clone(),
            diff_id: Some(diff_id),
            content: LayerContent::Archive,
        }];
        unpack(
            &layers,
            &CatalogRoot::for_artifact(None).unwrap(),
            to.path(),
            &UnpackLimits::default(),
            drop,
        )
        .map(drop)
        .map_err(|error| told(&error))
    };
    assert_eq!(run(found), Ok(()));
    let expected = Digest::new([0; 32]);
    assert_eq!(
        run(expected),
        Err(format!(
            "layer 1 has the digest {found} instead of {expected}, which the image config or the artifact names"
        ))
    );
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("missing");
    let done = unpack(
        &[],
        &CatalogRoot::for_artifact(None).unwrap(),
        &to,
        &UnpackLimits::default(),
        drop,
    );
    let told = done.unwrap_err().to_string();
    assert_eq!(
        told.replace(folder.path().to_str().unwrap(), "FOLDER"),
        "cannot create a file in `FOLDER/missing`"
    );
    let layers = [Layer {
        blob: to.clone(),
        diff_id: None,
        content: LayerContent::Archive,
    }];
    let done = unpack(
        &layers,
        &CatalogRoot::for_artifact(None).unwrap(),
        folder.path(),
        &UnpackLimits::default(),
        drop,
    );
    let told = done.unwrap_err().to_string();
    assert_eq!(
        told.replace(folder.path().to_str().unwrap(), "FOLDER"),
        "cannot open `FOLDER/missing`"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing of it remains"
    );
}

#[test]
fn labels_and_users_say_where_the_catalog_is() {
    const CONFIGS: &str = "operators.operatorframework.io.index.configs.v1";
    const DATABASE: &str = "operators.operatorframework.io.index.database.v1";
    const BUNDLE: &str = "operators.operatorframework.io.bundle.package.v1";
    const OTHER: &str = "operators.operatorframework.io.bundle.mediatype.v1";
    let told = |labels: &[(&str, &str)], given| {
        let root = CatalogRoot::from_labels(&map(labels), given);
        root.map_or_else(|error| error.to_string(), |root| root.to_string())
    };
    let nowhere = "the image has no label `operators.operatorframework.io.index.configs.v1`: if it holds a file-based catalog, name its directory with --configs-dir";
    let bundle = "the image is a bundle of the package `etcd`, not a catalog: name the catalog that lists it";
    let index = "the image is an SQLite index (`/database/index.db`), not a file-based catalog: convert it with `opm migrate`, or name an image that was";
    let bad = "is not a valid directory of an image: write a path without `..`, such as /configs";
    for (labels, given, expected) in [
        (&[(CONFIGS, "/configs")][..], None, "/configs"),
        (&[(CONFIGS, "configs//a/./b/")], None, "/configs/a/b"),
        (&[(CONFIGS, "/configs")], Some("/other"), "/other"),
        (&[(CONFIGS, "/"), (DATABASE, "x"), (BUNDLE, "y")], None, "/"),
        (&[], Some("/"), "/"),
        (&[("x", "y"), (CONFIGS, "")], None, nowhere),
        (&[(DATABASE, "/database/index.db")], None, index),
        (
            &[(DATABASE, "/database/index.db")],
            Some("/configs"),
            "/configs",
        ),
        (&[(BUNDLE, "etcd"), (OTHER, "registry+v1")], None, bundle),
        (
            &[(OTHER, "registry+v1")],
            None,
            &bundle.replace(" of the package `etcd`", ""),
        ),
        (&[(CONFIGS, "/a/../b")], None, &format!("`/a/../b` {bad}")),
        (&[(CONFIGS, "a\0")], None, &format!("`a\0` {bad}")),
        (&[], Some(""), &format!("`` {bad}")),
    ] {
        assert_eq!(told(labels, given), expected, "{labels:?} {given:?}");
    }
    for (bytes, is_good) in [(1024, true), (1025, false)] {
        assert_eq!(
            CatalogRoot::for_artifact(Some(&"n".repeat(bytes))).is_ok(),
            is_good
        );
    }
    assert_eq!(CatalogRoot::for_artifact(None).unwrap().to_string(), "/");
}
