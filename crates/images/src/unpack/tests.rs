//! Unpacking images, layer by layer, and the archives that are rejected.

mod coded;
mod files;
mod hostile;
mod limits;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;

use testing::Archive;

use super::*;

fn tar() -> Archive {
    Archive::default()
}

/// Entries of an image: files with their text, links with their targets, folders.
fn listed(unpacked: &Unpacked) -> BTreeMap<String, String> {
    let what = |entry: &UnpackedEntry| match entry {
        UnpackedEntry::Folder => "folder".to_owned(),
        UnpackedEntry::File(content) => format!("= {}", text(unpacked, *content)),
        UnpackedEntry::Link(target) => format!("-> {target}"),
    };
    unpacked
        .entries()
        .iter()
        .map(|(path, entry)| (path.clone(), what(entry)))
        .collect()
}

fn text(unpacked: &Unpacked, content: FileContent) -> String {
    let mut text = vec![0; usize::try_from(content.bytes).unwrap()];
    assert_eq!(unpacked.read(content, 0, &mut text).unwrap(), text.len());
    String::from_utf8(text).unwrap()
}

/// An error with its causes, in one line.
fn told(error: &UnpackError) -> String {
    let mut told = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push(error.to_string());
        cause = error.source();
    }
    told.join(": ")
}

/// Unpacks blobs, each as a layer.
fn image(blobs: &[Vec<u8>], root: &str, limits: &UnpackLimits) -> Result<Unpacked, String> {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("to");
    fs::create_dir(&to).unwrap();
    let mut layers = Vec::new();
    for (number, blob) in blobs.iter().enumerate() {
        let path = folder.path().join(number.to_string());
        fs::write(&path, blob).unwrap();
        layers.push(Layer {
            blob: path,
            diff_id: None,
            content: LayerContent::Archive,
        });
    }
    let root = CatalogRoot::for_artifact(Some(root)).unwrap();
    let mut heard = 0;
    let done = unpack(&layers, &root, &to, limits, |read| heard = read);
    if done.is_ok() {
        assert_eq!(
            heard,
            blobs.iter().map(|blob| blob.len() as u64).sum::<u64>(),
            "all of the blobs was read"
        );
    }
    assert_eq!(
        fs::read_dir(&to).unwrap().count(),
        0,
        "nothing of it has a name"
    );
    done.map_err(|error| told(&error).replace(folder.path().to_str().unwrap(), "FOLDER"))
}

/// Returns the entries below the root of an image.
fn unpacked_blobs(
    blobs: &[Vec<u8>],
    root: &str,
    limits: &UnpackLimits,
) -> Result<BTreeMap<String, String>, String> {
    image(blobs, root, limits).map(|unpacked| listed(&unpacked))
}

fn unpacked(layers: &[Archive]) -> Result<BTreeMap<String, String>, String> {
    let blobs: Vec<_> = layers.iter().cloned().map(Archive::plain).collect();
    unpacked_blobs(&blobs, "/configs", &UnpackLimits::default())
}

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries
        .iter()
        .map(|(name, what)| ((*name).to_owned(), (*what).to_owned()))
        .collect()
}

#[track_caller]
fn becomes(layers: &[Archive], expected: &[(&str, &str)]) {
    assert_eq!(unpacked(layers), Ok(map(expected)));
}

#[track_caller]
fn is_refused(layers: &[Archive], expected: &str) {
    assert_eq!(unpacked(layers), Err(expected.to_owned()));
}

/// The layer that most images below begin with.
fn base() -> Archive {
    tar()
        .folder("configs")
        .file("configs/a", "1")
        .file("configs/sub/b", "2")
        .file("configs/sub/c", "3")
}

const BASE: [(&str, &str); 4] = [
    ("a", "= 1"),
    ("sub", "folder"),
    ("sub/b", "= 2"),
    ("sub/c", "= 3"),
];

#[test]
fn what_lies_under_the_root_is_there_and_nothing_else() {
    let around = tar()
        .file("etc/passwd", "x")
        .folder("configs2")
        .file("configs2/y", "y")
        .file("config", "z");
    let around = around
        .entry(b'3', b"dev/null", b"", b"")
        .entry(b'0', b"not/\xff/utf8", b"", b"")
        .link("l", "../..");
    becomes(&[around, base()], &BASE);
}

#[test]
fn names_are_the_same_however_archives_write_them() {
    for prefix in ["", "./", "/", "/./", "//"] {
        let name = |name: &str| format!("{prefix}{name}");
        let layer = tar()
            .folder(&name("configs/"))
            .file(&name("configs//a"), "1")
            .hard_link("./configs/b", &name("configs/a"));
        becomes(&[layer], &[("a", "= 1"), ("b", "= 1")]);
    }
}

#[test]
fn an_upper_layer_adds_and_replaces() {
    let upper = tar()
        .file("configs/a", "4")
        .file("configs/new/d", "5")
        .file("configs/sub", "6");
    becomes(
        &[base(), upper],
        &[
            ("a", "= 4"),
            ("new", "folder"),
            ("new/d", "= 5"),
            ("sub", "= 6"),
        ],
    );
    let upper = tar().file("configs/a/b", "7").folder("configs/sub");
    becomes(
        &[base(), upper],
        &[("a", "folder"), ("a/b", "= 7"), BASE[1], BASE[2], BASE[3]],
    );
    // A file where the root was, or one of its parents, hides all of it.
    let gone = "the image has no directory `/configs`: name the one that holds its catalog with --configs-dir";
    is_refused(&[base(), tar().file("configs", "")], gone);
    becomes(
        &[
            base(),
            tar().file("configs", ""),
            tar().file("configs/a", "8"),
        ],
        &[("a", "= 8")],
    );
}

#[test]
fn a_whiteout_removes_what_lower_layers_have() {
    let left = [BASE[0], BASE[1], BASE[3]];
    becomes(&[base(), tar().file("configs/sub/.wh.b", "")], &left);
    becomes(&[base(), tar().file("configs/.wh.sub", "")], &BASE[..1]);
    becomes(
        &[
            base(),
            tar().file("configs/.wh.nothing", ""),
            tar().file("nothing/.wh.x", ""),
        ],
        &BASE,
    );
    // Of the root itself and of its parents, also when they come back.
    let new = [tar().file(".wh.configs", ""), tar().file("configs/n", "9")];
    becomes(&[base(), new[0].clone(), new[1].clone()], &[("n", "= 9")]);
    let deep = tar().file("opt/data/configs/a", "1").file("opt/data/b", "");
    let blobs = |upper: Archive| [deep.clone().plain(), upper.plain()];
    let at = |upper| unpacked_blobs(&blobs(upper), "/opt/data/configs", &UnpackLimits::default());
    assert_eq!(
        at(tar().file("opt/data/.wh.b", "")),
        Ok(map(&[("a", "= 1")]))
    );
    for gone in [
        ".wh.opt",
        "opt/.wh.data",
        "opt/.wh..wh..opq",
        ".wh..wh..opq",
        "opt/data/.wh.configs",
    ] {
        let refused = at(tar().file(gone, "")).unwrap_err();
        assert!(
            refused.starts_with("the image has no directory `/opt/data/configs`"),
            "{gone}: {refused}"
        );
        let again = tar().file("opt/data/configs/b", "2").file(gone, "");
        assert_eq!(at(again), Ok(map(&[("b", "= 2")])), "{gone}");
    }
}

#[test]
fn an_opaque_folder_hides_everything_below_it() {
    let opaque = |path: &str| {
        tar()
            .file(&format!("{path}/.wh..wh..opq"), "")
            .file("configs/sub/n", "9")
    };
    becomes(
        &[base(), opaque("configs/sub")],
        &[BASE[0], BASE[1], ("sub/n", "= 9")],
    );
    becomes(&[base(), opaque("configs")], &[BASE[1], ("sub/n", "= 9")]);
    becomes(&[base(), opaque(".")], &[BASE[1], ("sub/n", "= 9")]);
    is_refused(
        &[base(), tar().file("configs/.wh..wh..opq", "")],
        "the directory `/configs` of the image is empty: name the one that holds its catalog with --configs-dir",
    );
}

#[test]
fn a_whiteout_never_touches_its_own_layer_wherever_it_stands() {
    for mark in [
        "configs/.wh.sub",
        "configs/sub/.wh..wh..opq",
        "configs/sub/.wh.b",
        ".wh.configs",
    ] {
        let new = tar().folder("configs/sub").file("configs/sub/b", "new");
        let first = Archive([tar().file(mark, "").0, new.clone().0].concat());
        let last = new.file(mark, "").file(mark, "");
        let expected = unpacked(&[base(), first]).unwrap();
        assert_eq!(expected["sub/b"], "= new", "{mark}");
        assert_eq!(
            expected.contains_key("sub/c"),
            mark == "configs/sub/.wh.b",
            "{mark}"
        );
        assert_eq!(unpacked(&[base(), last]), Ok(expected), "{mark}");
    }
}

#[test]
fn files_of_aufs_mean_nothing() {
    becomes(
        &[
            base(),
            tar()
                .file("configs/.wh..wh.aufs", "")
                .folder("configs/.wh..wh.orph"),
        ],
        &BASE,
    );
    becomes(&[base(), tar().file(".wh..wh.plnk/1.2", "x")], &BASE);
}

#[test]
fn of_duplicates_in_a_layer_the_last_wins() {
    let layer = tar()
        .file("configs/a", "1")
        .file("configs/b", "2")
        .file("configs/a", "3");
    becomes(&[layer], &[("a", "= 3"), ("b", "= 2")]);
    let layer = tar()
        .file("configs/a/b", "1")
        .file("configs/a", "2")
        .link("configs/c", "a")
        .folder("configs/c");
    becomes(&[layer], &[("a", "= 2"), ("c", "folder")]);
}

#[test]
fn a_hard_link_is_its_file_whatever_becomes_of_the_first_name() {
    let links = tar()
        .hard_link("configs/d", "configs/a")
        .hard_link("configs/sub/e", "configs/d");
    let expected = [
        BASE[0],
        ("d", "= 1"),
        BASE[1],
        BASE[2],
        BASE[3],
        ("sub/e", "= 1"),
    ];
    becomes(&[base(), links.clone()], &expected);
    becomes(&[base(), links.file("configs/.wh.a", "")], &expected[1..]);
    let replaced = tar()
        .file("configs/a", "4")
        .hard_link("configs/b", "configs/a")
        .file("configs/a", "5");
    becomes(&[replaced], &[("a", "= 5"), ("b", "= 4")]);
    let of_link = tar()
        .link("configs/sub/l", "b")
        .hard_link("configs/l", "configs/sub/l")
        .file("configs/b", "4");
    let expected = [
        BASE[0],
        ("b", "= 4"),
        ("l", "-> b"),
        BASE[1],
        BASE[2],
        BASE[3],
        ("sub/l", "-> sub/b"),
    ];
    becomes(&[base(), of_link], &expected);
    // Links elsewhere in the image may lead anywhere.
    becomes(
        &[
            base(),
            tar().hard_link("x", "y").hard_link("z", "configs/a"),
        ],
        &BASE,
    );
}

#[test]
fn a_link_that_stays_inside_leads_straight_to_where_it_leads_in_the_image() {
    for (target, expected) in [
        ("b", "sub/b"),
        ("./../sub/./c", "sub/c"),
        ("/configs/a", "a"),
        ("../../../../configs/a", "a"),
        ("missing", "sub/missing"),
        ("missing/../c", "sub/c"),
        ("to-a", "a"),
        ("/configs/up/sub/c", "sub/c"),
        ("../up", ""),
    ] {
        let layer = base()
            .link("configs/sub/to-a", "/configs/a")
            .link("configs/up", ".")
            .link("configs/sub/l", target);
        assert_eq!(
            unpacked(&[layer]).unwrap()["sub/l"],
            format!("-> {expected}"),
            "{target}"
        );
    }
}
