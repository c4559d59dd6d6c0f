//! Each limit from both of its sides.

use super::*;

fn with(limits: &UnpackLimits, layers: &[Archive]) -> Result<(), String> {
    let blobs: Vec<_> = layers.iter().cloned().map(Archive::plain).collect();
    unpacked_blobs(&blobs, "/configs", limits).map(drop)
}

/// Asserts that exactly the limit is accepted, and one more is rejected.
#[track_caller]
fn holds(limits: &UnpackLimits, enough: &[Archive], more: &[Archive], expected: &str) {
    assert_eq!(with(limits, enough), Ok(()), "{expected}");
    assert_eq!(with(limits, more), Err(expected.to_owned()));
}

#[test]
fn archives_that_are_larger_than_they_may_be_are_refused() {
    let limits = UnpackLimits::default;
    let two = [base(), base()];
    let more = [base(), base().file("x", "")];
    let told = "the image has 3 layers and the limit is 2";
    holds(
        &UnpackLimits {
            layers: 2,
            ..limits()
        },
        &two,
        &[base(), base(), base()],
        told,
    );
    let told = "the layers have more than 8 entries, counted up to layer 2";
    holds(
        &UnpackLimits {
            headers: 8,
            ..limits()
        },
        &two,
        &more,
        told,
    );
    let told =
        "the layers have more than 9216 bytes when they are uncompressed, counted up to layer 2";
    holds(
        &UnpackLimits {
            uncompressed: 9216,
            ..limits()
        },
        &two,
        &more,
        told,
    );
    let told = "an entry of layer 1 has an extended header of more than 110 bytes";
    let named = |bytes| [base().file(&"n".repeat(bytes), "")];
    holds(
        &UnpackLimits {
            header_bytes: 110,
            ..limits()
        },
        &named(110),
        &named(111),
        told,
    );
}

#[test]
fn catalogs_that_are_larger_than_they_may_be_are_refused() {
    let limits = UnpackLimits::default;
    let told = "there are more than 4 files, folders and links under `/configs`, counted up to `configs/x` in layer 2";
    let enough = [base(), base(), tar().file("x/y/z", "")];
    holds(
        &UnpackLimits {
            entries: 4,
            ..limits()
        },
        &enough,
        &[base(), tar().file("configs/x", "")],
        told,
    );
    let told = "there are more than 1 links under `/configs`, counted up to `configs/m` in layer 1";
    let link = || base().link("configs/l", "a");
    holds(
        &UnpackLimits {
            links: 1,
            ..limits()
        },
        &[link().link("x", "y")],
        &[link().link("configs/m", "a")],
        told,
    );
    holds(
        &UnpackLimits {
            links: 1,
            ..limits()
        },
        &[link()],
        &[link().hard_link("configs/m", "configs/l")],
        told,
    );
    let told = "`configs/x` in layer 1 has 6 bytes and the limit is 5";
    let file = |content| base().file("configs/x", content);
    holds(
        &UnpackLimits {
            file_bytes: 5,
            ..limits()
        },
        &[file("12345").file("x", "123456")],
        &[file("123456")],
        told,
    );
    let told =
        "the files under `/configs` have more than 5 bytes, counted up to `configs/a` in layer 2";
    let enough = [file("12").file("x", "123")];
    holds(
        &UnpackLimits {
            bytes: 5,
            ..limits()
        },
        &enough,
        &[base(), tar().file("configs/a", "123")],
        told,
    );
}

#[test]
fn paths_that_are_longer_than_they_may_be_are_refused() {
    let told = |place: &str, limit| {
        format!(
            "the path or the target of `{place}` in layer 1 is too long: a path may have {limit} bytes and each name in it 255"
        )
    };
    let short = UnpackLimits {
        path_bytes: 14,
        ..UnpackLimits::default()
    };
    let file = |name: &str| [base().file(&format!("configs/{name}"), "")];
    holds(
        &short,
        &file("123456"),
        &file("1234567"),
        &told("configs/1234567", 14),
    );
    let link = |target| [base().link("configs/l", target)];
    holds(
        &short,
        &link("12345678901234"),
        &link("123456789012345"),
        &told("configs/l", 14),
    );
    let shown = format!("configs/{}…", "n".repeat(192));
    holds(
        &UnpackLimits::default(),
        &file(&"n".repeat(255)),
        &file(&"n".repeat(256)),
        &told(&shown, 1024),
    );
}

#[test]
fn of_where_a_link_leads_no_more_is_held_than_a_path_may_have() {
    // Each link adds its own target to what is left of the path.
    let long = "ü".repeat(400);
    let links = base()
        .link("configs/l", &format!("m/{long}"))
        .link("configs/m", &format!("missing/{long}"));
    for (path_bytes, expected) in [(1024, 1025), (1025, 1027), (2048, 1609)] {
        let limits = UnpackLimits {
            path_bytes,
            ..UnpackLimits::default()
        };
        let unpacked = image(&[links.clone().plain()], "/configs", &limits).unwrap();
        assert_eq!(
            listed(&unpacked)["l"].len(),
            "-> ".len() + expected,
            "{path_bytes}"
        );
    }
}

#[test]
fn a_bomb_is_refused_however_it_is_compressed() {
    let zeros = "\0".repeat(4 * 1024 * 1024);
    // zlib makes a thousandth of zeros, zstd much less.
    for (blob, ratio) in [
        (base().file("x", &zeros).gzip(), 100),
        (base().file("x", &zeros).zstd(), 1_000),
    ] {
        let limits = UnpackLimits {
            ratio,
            ratio_from: 1024 * 1024,
            ..UnpackLimits::default()
        };
        let told = format!(
            "layer 1 has more than {ratio} times the bytes of its blob, which no catalog has"
        );
        assert_eq!(
            unpacked_blobs(std::slice::from_ref(&blob), "/configs", &limits),
            Err(told)
        );
        for ratio_from in [4 * 1024 * 1024 + 100_000, u64::MAX] {
            let limits = UnpackLimits {
                ratio,
                ratio_from,
                ..UnpackLimits::default()
            };
            assert_eq!(
                unpacked_blobs(std::slice::from_ref(&blob), "/configs", &limits),
                Ok(map(&BASE))
            );
        }
        let actual = 5 * 1024 * 1024 / blob.len() as u64;
        let limits = UnpackLimits {
            ratio: actual,
            ratio_from: 0,
            ..UnpackLimits::default()
        };
        assert_eq!(unpacked_blobs(&[blob], "/configs", &limits), Ok(map(&BASE)));
    }
}

#[test]
fn a_size_that_no_archive_can_have_is_refused_before_it_is_read() {
    let claims = |bytes: u64| base().header(b'0', b"configs/x", b"", bytes);
    is_refused(
        &[claims(8 * 1024 * 1024 * 1024 - 1)],
        "`configs/x` in layer 1 has 8589934591 bytes and the limit is 1073741824",
    );
    is_refused(
        &[claims(u64::MAX)],
        "layer 1 is damaged or not a tar archive: size overflow",
    );
    let said = base().header(b'L', b"././@LongLink", b"", 1024 * 1024 + 1);
    is_refused(
        &[said],
        "an entry of layer 1 has an extended header of more than 1048576 bytes",
    );
}

#[test]
fn more_entries_than_the_limits_are_refused() {
    // Names that differ count in the catalog; elsewhere each header counts, and is not remembered.
    let different = (4..=200_000).fold(base(), |layer, at| {
        layer.header(b'5', format!("configs/{at}").as_bytes(), b"", 0)
    });
    let refused = "there are more than 200000 files, folders and links under `/configs`, counted up to `configs/200000` in layer 1";
    let limits = UnpackLimits {
        ratio: u64::MAX,
        ..UnpackLimits::default()
    };
    let told = |layer: Archive, limits: &UnpackLimits| {
        unpacked_blobs(&[layer.zstd()], "/configs", limits).map(|found| found.len())
    };
    assert_eq!(told(different, &limits), Err(refused.to_owned()));
    assert_eq!(limits.headers, 1_000_000);
    let limits = UnpackLimits {
        headers: 10_000,
        ..limits
    };
    let equal =
        |count: usize| (0..count).fold(base(), |layer, _| layer.header(b'5', b"etc", b"", 0));
    assert_eq!(told(equal(9_996), &limits), Ok(BASE.len()));
    assert_eq!(
        told(equal(9_997), &limits),
        Err("the layers have more than 10000 entries, counted up to layer 1".to_owned())
    );
}
