//! Archives that try to reach what is not theirs, or to be two archives at once.

use super::*;

/// A file that lies in none of the layers, for names that are only refused in the catalog.
fn under(name: &[u8]) -> Archive {
    base().entry(b'0', &[b"configs/", name].concat(), b"", b"x")
}

#[test]
fn names_that_lead_elsewhere_or_cannot_be_shown_are_refused() {
    let long = "n".repeat(300);
    let cut = format!("configs/{}…", "n".repeat(192));
    let told_long = format!(
        "the path or the target of `{cut}` in layer 1 is too long: a path may have 1024 bytes and each name in it 255"
    );
    for (archive, expected) in [
        (
            under(b"../../x"),
            "the name of `configs/../../x` in layer 1 has `..` in it",
        ),
        (
            base().file("../configs/x", ""),
            "the name of `../configs/x` in layer 1 has `..` in it",
        ),
        (
            base().file("etc/../configs/x", ""),
            "the name of `etc/../configs/x` in layer 1 has `..` in it",
        ),
        (
            base().folder(".."),
            "the name of `..` in layer 1 has `..` in it",
        ),
        (
            base().hard_link("configs/x", "configs/../a"),
            "the name of `configs/x` in layer 1 has `..` in it",
        ),
        (
            base().pax(&[("path", "configs/x\0y")]).file("x", ""),
            "the name or the target of `configs/x\\0y` in layer 1 has a NUL in it",
        ),
        (
            base().pax(&[("linkpath", "a\0b")]).link("configs/x", "a"),
            "the name or the target of `configs/x` in layer 1 has a NUL in it",
        ),
        (
            under(b"a\xffb"),
            "the name or the target of `configs/a\u{fffd}b` in layer 1 is not UTF-8",
        ),
        (
            base().entry(b'2', b"configs/x", b"\xff", b""),
            "the name or the target of `configs/x` in layer 1 is not UTF-8",
        ),
        (under(long.as_bytes()), &told_long),
        (
            under(b".wh."),
            "`configs/.wh.` in layer 1 has a name that is reserved for whiteouts, and is not a valid whiteout",
        ),
        (
            under(b".wh.."),
            "`configs/.wh..` in layer 1 has a name that is reserved for whiteouts, and is not a valid whiteout",
        ),
        (
            under(b".wh..."),
            "`configs/.wh...` in layer 1 has a name that is reserved for whiteouts, and is not a valid whiteout",
        ),
        (
            under(b".wh.x/y"),
            "`configs/.wh.x/y` in layer 1 has a name that is reserved for whiteouts, and is not a valid whiteout",
        ),
        (
            under(b"\x1b[2J\xe2\x80\xae/.."),
            "the name of `configs/\\u{1b}[2J\\u{202e}/..` in layer 1 has `..` in it",
        ),
    ] {
        is_refused(&[archive], expected);
    }
}

#[test]
fn names_of_four_kilobytes_are_refused_in_the_catalog_and_passed_over_elsewhere() {
    let name = "d/".repeat(2048);
    let refused = unpacked(&[base().file(&format!("configs/{name}x"), "")]).unwrap_err();
    assert!(
        refused.ends_with("is too long: a path may have 1024 bytes and each name in it 255"),
        "{refused}"
    );
    let refused = unpacked(&[base().link("configs/x", &name)]).unwrap_err();
    assert!(
        refused.ends_with("is too long: a path may have 1024 bytes and each name in it 255"),
        "{refused}"
    );
    becomes(
        &[base().file(&format!("{name}x"), "").link("x", &name)],
        &BASE,
    );
}

#[test]
fn links_that_lead_out_of_the_catalog_are_refused_by_both_names() {
    for (target, shown) in [
        ("../../etc/passwd", "../../etc/passwd"),
        ("/etc/passwd", "/etc/passwd"),
        ("..", ".."),
        ("/", "/"),
        ("missing/../../../x", "missing/../../../x"),
        // Over a link to a folder: the text alone would stay inside.
        ("up/../configs2", "up/../configs2"),
        ("/configs2/a", "/configs2/a"),
    ] {
        let layer = base()
            .link("configs/up", "/configs")
            .link("configs/l", target);
        is_refused(
            &[layer],
            &format!("the link `l` leads to `{shown}`, which is not under `/configs`"),
        );
    }
    is_refused(
        &[base().link("configs/l", "m").link("configs/m", "l")],
        "the link `l` to `m` passes too many other links",
    );
}

#[test]
fn a_link_is_passed_over_eight_others_and_no_more() {
    let chain = |links: u32| {
        (1..=links).fold(base(), |layer, at| {
            layer.link(&format!("configs/l{at}"), &format!("l{}", at - 1))
        })
    };
    let last = |links| {
        unpacked(&[chain(links).file("configs/l0", "")])
            .map(|found| found[&format!("l{links}")].clone())
    };
    assert_eq!(last(9), Ok("-> l0".to_owned()));
    assert_eq!(
        last(10),
        Err("the link `l10` to `l9` passes too many other links".to_owned())
    );
}

#[test]
fn nothing_is_put_below_a_link() {
    let told = |place: &str, layer: u32, link: &str, target: &str| {
        format!(
            "`{place}` in layer {layer} is below the link `{link}` to `{target}`: put it below the directory itself"
        )
    };
    for (layers, expected) in [
        (
            vec![base().link("configs/l", "/etc").file("configs/l/x", "")],
            told("configs/l/x", 1, "configs/l", "/etc"),
        ),
        (
            vec![
                base().link("configs/l", "sub"),
                tar().file("configs/l/x", ""),
            ],
            told("configs/l/x", 2, "configs/l", "sub"),
        ),
        (
            vec![
                base().link("configs/l", "sub"),
                tar().file("configs/l/.wh.b", ""),
            ],
            told("configs/l/.wh.b", 2, "configs/l", "sub"),
        ),
        (
            vec![
                base()
                    .link("configs/l", "sub")
                    .file("configs/l/.wh..wh..opq", ""),
            ],
            told("configs/l/.wh..wh..opq", 1, "configs/l", "sub"),
        ),
        (
            vec![
                base()
                    .link("configs/l", "sub")
                    .hard_link("configs/h", "configs/l/b"),
            ],
            told("configs/h", 1, "configs/l", "sub"),
        ),
        (
            vec![tar().link("configs", "/etc").file("configs/passwd", "")],
            told("configs/passwd", 1, "configs", "/etc"),
        ),
    ] {
        is_refused(&layers, &expected);
    }
    // A folder that takes the place of a link is a folder.
    becomes(&[tar().link("configs", "/etc"), base()], &BASE);
}

#[test]
fn a_root_that_is_a_link_is_named_with_what_to_do() {
    let told = "is a link to `/opt/catalog` in the image: name the directory itself with --configs-dir instead of `/configs`";
    is_refused(
        &[tar()
            .file("opt/catalog/a", "")
            .link("configs", "/opt/catalog")],
        &format!("`/configs` {told}"),
    );
}

#[test]
fn hard_links_that_lead_out_of_the_catalog_or_nowhere_are_refused() {
    for (target, expected) in [
        (
            "etc/passwd",
            "`configs/h` in layer 1 is a hard link to `etc/passwd`, which is not under `/configs`: copy the file instead",
        ),
        (
            "configs",
            "`configs/h` in layer 1 is a hard link to `configs`, which is not under `/configs`: copy the file instead",
        ),
        (
            "",
            "`configs/h` in layer 1 is a hard link to ``, which is not under `/configs`: copy the file instead",
        ),
        (
            "configs/later",
            "`configs/h` in layer 1 is a hard link to `configs/later`, which does not exist at that point",
        ),
        (
            "configs/h",
            "`configs/h` in layer 1 is a hard link to `configs/h`, which does not exist at that point",
        ),
        (
            "configs/sub",
            "`configs/h` in layer 1 is a hard link to `configs/sub`, which does not exist at that point",
        ),
    ] {
        is_refused(
            &[base()
                .hard_link("configs/h", target)
                .file("configs/later", "")],
            expected,
        );
    }
}

#[test]
fn what_is_no_file_is_refused_in_the_catalog_and_passed_over_elsewhere() {
    for (flag, kind) in [
        (b'3', "device"),
        (b'4', "device"),
        (b'6', "pipe"),
        (b'7', "special file"),
        (b'S', "sparse file"),
        (b'V', "special file"),
        (0xff, "special file"),
    ] {
        let layer = |path: &str| base().entry(flag, path.as_bytes(), b"", b"");
        is_refused(
            &[layer("configs/x")],
            &format!("`configs/x` in layer 1 is a {kind}, not a regular file"),
        );
        becomes(&[layer("dev/x")], &BASE);
    }
}

#[test]
fn what_readers_would_understand_differently_is_refused() {
    let mut many_holes = base().entry(b'S', b"x", b"", b"");
    let at = many_holes.0.len() - 512;
    many_holes.0[at + 482] = 1;
    let sum: u32 = many_holes.0[at..]
        .iter()
        .map(|byte| u32::from(*byte))
        .sum::<u32>()
        - many_holes.0[at + 148..at + 156]
            .iter()
            .map(|byte| u32::from(*byte))
            .sum::<u32>()
        + 8 * 32;
    many_holes.0[at + 148..at + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let said_twice = "an extended header is repeated";
    let malformed = "a malformed pax record";
    let long = "n".repeat(101);
    for (archive, name, what) in [
        (
            base()
                .header(b'L', b"l", b"", 1)
                .content(b"a")
                .header(b'L', b"l", b"", 1)
                .content(b"b")
                .file("x", ""),
            "l",
            said_twice,
        ),
        (
            base()
                .header(b'K', b"k", b"", 1)
                .content(b"a")
                .header(b'K', b"k", b"", 1)
                .content(b"b")
                .file("x", ""),
            "k",
            said_twice,
        ),
        (base().pax(&[]).pax(&[]).file("x", ""), "pax", said_twice),
        (
            base()
                .pax(&[("path", "a")])
                .entry(b'g', b"global", b"", b"")
                .file("x", ""),
            "global",
            said_twice,
        ),
        (
            base().pax(&[("path", "a")]).file(&long, ""),
            &long,
            "its GNU and pax headers both name it",
        ),
        (
            base().pax(&[("linkpath", "a")]).link("x", &long),
            "x",
            "its GNU and pax headers both name it",
        ),
        (
            base().pax(&[("size", "1")]).file("x", ""),
            "x",
            "its headers have different lengths",
        ),
        (
            base().pax(&[("size", "-1")]).file("x", ""),
            "x",
            "its headers have different lengths",
        ),
        (
            base().header(b'5', b"x", b"", 512).content(&[1; 512]),
            "x",
            "it has a content, which entries of its type do not have",
        ),
        (
            base().entry(b'1', b"x", b"y", b"content"),
            "x",
            "it has a content, which entries of its type do not have",
        ),
        (
            base().entry(b'x', b"pax", b"", b"8 path=a\n").file("x", ""),
            "pax",
            malformed,
        ),
        (
            base()
                .entry(b'x', b"pax", b"", b"+9 path=a\n")
                .file("x", ""),
            "pax",
            malformed,
        ),
        (
            base()
                .entry(b'x', b"pax", b"", b"9 pathaaa\n")
                .file("x", ""),
            "pax",
            malformed,
        ),
        (
            base().entry(b'x', b"pax", b"", b"0 \n").file("x", ""),
            "pax",
            malformed,
        ),
        (
            base()
                .entry(b'x', b"pax", b"", b"99 path=a\n")
                .file("x", ""),
            "pax",
            malformed,
        ),
        (
            base().header(b'L', b"l", b"", 1).content(b"a"),
            "a",
            "its header is missing",
        ),
        (many_holes, "x", "it is a sparse file with many holes"),
    ] {
        is_refused(
            &[archive],
            &format!("`{name}` in layer 1 is ambiguous: {what}"),
        );
    }
}

#[test]
fn what_pax_says_holds() {
    let long = format!("configs/{}/x", "d".repeat(200));
    let layer = base()
        .entry(b'g', b"global", b"", b"16 path=nowhere\n")
        .pax(&[("path", &long), ("size", "1"), ("mtime", "1.5")])
        .file("short", "1")
        .pax(&[("path", "first"), ("path", "configs/last")])
        .file("short", "2")
        .pax(&[
            ("path", "nowhere"),
            ("path", ""),
            ("SCHILY.xattr.user.x", "a\n16 path=hidden\n"),
        ])
        .file("configs/kept", "3")
        .pax(&[("linkpath", "last")])
        .link("configs/link", "short");
    let folder = "d".repeat(200);
    let file = format!("{folder}/x");
    let more = [
        (&*folder, "folder"),
        (&*file, "= 1"),
        ("last", "= 2"),
        ("kept", "= 3"),
        ("link", "-> last"),
    ];
    becomes(&[layer], &[&BASE[..], &more].concat());
    // The true name of a sparse file counts, and not the one for readers that know nothing of such.
    let sparse = |name| {
        base()
            .pax(&[
                ("GNU.sparse.major", "1"),
                ("GNU.sparse.name", name),
                ("path", "x"),
            ])
            .file("x", "")
    };
    is_refused(
        &[sparse("configs/x")],
        "`configs/x` in layer 1 is a sparse file, not a regular file",
    );
    becomes(&[sparse("elsewhere")], &BASE);
}

#[test]
fn old_archives_name_folders_with_a_slash() {
    becomes(
        &[base()
            .entry(0, b"configs/old/", b"", b"")
            .entry(0, b"configs/o", b"", b"1")],
        &[
            BASE[0],
            ("o", "= 1"),
            ("old", "folder"),
            BASE[1],
            BASE[2],
            BASE[3],
        ],
    );
}
