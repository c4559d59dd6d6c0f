//! Listing of directories, the entries that are rejected, and changes during a read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use fbc_grammar::ignore::IGNORE_FILE_BYTES;

use super::*;

/// An entry to create: a file with its text, a link with its target, or an empty folder.
enum Node {
    File(&'static str),
    Link(&'static str),
    Folder,
}
use Node::{File, Folder, Link};

/// Makes `catalog` and what is below it; paths start at the folder that holds `catalog`.
fn tree(nodes: &[(&str, Node)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("catalog")).unwrap();
    for (path, node) in nodes {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match node {
            File(text) => fs::write(path, text).unwrap(),
            Link(target) => symlink(target, path).unwrap(),
            Folder => fs::create_dir_all(path).unwrap(),
        }
    }
    folder
}

/// Lists `catalog`.
fn listed(folder: &tempfile::TempDir) -> Result<Listing, DirectoryError> {
    list(&folder.path().join("catalog"))
}

/// Every file in catalog order with its text, or the error with its causes.
fn read(folder: &tempfile::TempDir) -> Result<Vec<(String, String)>, String> {
    let read = || {
        let listing = listed(folder)?;
        let text = |file: &ListedFile| Ok((file.path.clone(), text(&listing, file)?));
        listing
            .files()
            .iter()
            .map(text)
            .collect::<Result<_, DirectoryError>>()
    };
    read().map_err(|error| shown(folder, &error))
}

fn text(listing: &Listing, file: &ListedFile) -> Result<String, DirectoryError> {
    Ok(String::from_utf8(listing.read(file)?).unwrap())
}

fn shown(folder: &tempfile::TempDir, error: &DirectoryError) -> String {
    let cause = std::error::Error::source(error)
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    format!("{error}{cause}").replace(folder.path().canonicalize().unwrap().to_str().unwrap(), "@")
}

#[track_caller]
fn assert_files(folder: &tempfile::TempDir, expected: &[(&str, &str)]) {
    let expected = expected
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    assert_eq!(read(folder), Ok(expected.collect()));
}

#[test]
fn every_file_is_listed_in_the_order_of_a_walk() {
    let folder = tree(&[
        ("catalog/b/x.yaml", File("1")),
        ("catalog/b.yaml", File("2")),
        ("catalog/b-c/.hidden/y", File("3")),
        ("catalog/README.md", File("4")),
        ("catalog/empty", Folder),
    ]);
    let expected = [
        ("README.md", "4"),
        ("b/x.yaml", "1"),
        ("b-c/.hidden/y", "3"),
        ("b.yaml", "2"),
    ];
    assert_files(&folder, &expected);
}

#[test]
fn a_file_is_read_piece_by_piece() {
    let folder = tree(&[("catalog/large.json", File(""))]);
    let large = "x".repeat(2001);
    fs::write(folder.path().join("catalog/large.json"), &large).unwrap();
    let listing = listed(&folder).unwrap();
    assert_eq!(listing.bytes(), large.len() as u64);
    assert_eq!(text(&listing, &listing.files()[0]).unwrap(), large);
}

#[test]
fn ignored_files_are_not_listed_whatever_they_are() {
    let folder = tree(&[
        ("catalog/.indexignore", Link("patterns")),
        ("catalog/patterns", File("patterns\n*.md\nlinks\n")),
        ("catalog/a.yaml", File("a")),
        ("catalog/a.md", File("b")),
        ("catalog/links/out", Link("/etc/passwd")),
        ("catalog/links/nowhere", Link("nowhere")),
        ("catalog/links/folder", Link("..")),
        ("catalog/sub/.indexignore", File("x.yaml")),
        ("catalog/sub/x.yaml", File("c")),
        ("catalog/x.yaml", File("d")),
    ]);
    assert_files(&folder, &[("a.yaml", "a"), ("x.yaml", "d")]);
}

#[test]
fn a_link_to_a_file_inside_is_followed() {
    let folder = tree(&[
        ("catalog/d/real.yaml", File("r")),
        ("catalog/plain.yaml", Link("d/real.yaml")),
        (
            "catalog/around.yaml",
            Link("d/../d/../../catalog/d/real.yaml"),
        ),
        ("catalog/twice.yaml", Link("plain.yaml")),
    ]);
    let expected = [
        ("around.yaml", "r"),
        ("d/real.yaml", "r"),
        ("plain.yaml", "r"),
        ("twice.yaml", "r"),
    ];
    assert_files(&folder, &expected);
    symlink(
        folder
            .path()
            .canonicalize()
            .unwrap()
            .join("catalog/d/real.yaml"),
        folder.path().join("catalog/z"),
    )
    .unwrap();
    assert_eq!(
        read(&folder).unwrap().last(),
        Some(&("z".to_owned(), "r".to_owned()))
    );
}

#[test]
fn a_link_that_leads_out_is_refused_however_it_is_written() {
    for (name, target) in [
        ("catalog/link.yaml", "../outside.yaml"),
        ("catalog/link.yaml", "../catalog/../outside.yaml"),
        ("catalog/link.yaml", "d/../../outside.yaml"),
        // A folder beside the root whose name begins like the root's.
        ("catalog/link.yaml", "../catalog-2/outside.yaml"),
        // Through another link that itself leads to the parent of the root.
        ("catalog/link.yaml", "../up/outside.yaml"),
        ("catalog/d/link.yaml", "/etc/passwd"),
    ] {
        let folder = tree(&[
            ("outside.yaml", File("o")),
            ("catalog-2/outside.yaml", File("o")),
            ("up", Link(".")),
            ("catalog/a.yaml", File("a")),
            ("catalog/d/a.yaml", File("a")),
        ]);
        symlink(target, folder.path().join(name)).unwrap();
        let error = format!("the link `@/{name}` leads out of the catalog, to `{target}`");
        assert_eq!(read(&folder), Err(error));
    }
}

#[test]
fn a_link_that_leads_nowhere_or_to_itself_or_to_a_folder_is_refused() {
    for (target, error) in [
        (
            "nowhere",
            "the link `@/catalog/link` to `nowhere` cannot be followed: No such file or directory (os error 2)",
        ),
        (
            "link",
            "the link `@/catalog/link` to `link` cannot be followed: Too many levels of symbolic links (os error 40)",
        ),
        (
            "d",
            "the link `@/catalog/link` leads to the directory `d`: name it in .indexignore or replace it by the directory",
        ),
    ] {
        let folder = tree(&[
            ("catalog/d/a.yaml", File("a")),
            ("catalog/link", Link(target)),
        ]);
        assert_eq!(read(&folder), Err(error.to_owned()));
    }
}

#[test]
fn the_root_may_be_a_link() {
    let folder = tree(&[("elsewhere/a.yaml", File("a"))]);
    fs::remove_dir(folder.path().join("catalog")).unwrap();
    symlink("elsewhere", folder.path().join("catalog")).unwrap();
    assert_files(&folder, &[("a.yaml", "a")]);
}

/// Deliberately other than upstream, which fails on such a mount unless `.indexignore` names `..*`.
#[test]
fn a_mounted_config_map_is_read_once() {
    let folder = tree(&[
        ("catalog/..2026_01_01/catalog.yaml", File("a")),
        ("catalog/..data", Link("..2026_01_01")),
        ("catalog/catalog.yaml", Link("..data/catalog.yaml")),
        ("catalog/sub/..hidden/b.yaml", File("b")),
    ]);
    assert_files(
        &folder,
        &[("catalog.yaml", "a"), ("sub/..hidden/b.yaml", "b")],
    );
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let folder = tree(&[("catalog/a.yaml", File("a"))]);
    let socket = UnixListener::bind(folder.path().join("catalog/socket")).unwrap();
    assert_eq!(
        read(&folder),
        Err("`@/catalog/socket` is a socket, not a regular file".to_owned())
    );
    drop(socket);
    fs::remove_file(folder.path().join("catalog/socket")).unwrap();

    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path().join("catalog/pipe"),
        rustix::fs::Mode::RWXU,
    )
    .unwrap();
    assert_eq!(
        read(&folder),
        Err("`@/catalog/pipe` is a pipe, not a regular file".to_owned())
    );
}

#[test]
fn a_name_that_is_not_utf_8_is_refused() {
    let folder = tree(&[("catalog/a.yaml", File("a"))]);
    fs::write(
        folder
            .path()
            .join("catalog")
            .join(std::ffi::OsStr::from_bytes(b"b\xff.yaml")),
        "b",
    )
    .unwrap();
    assert_eq!(
        read(&folder),
        Err("the name of `@/catalog/b\u{fffd}.yaml` is not UTF-8".to_owned())
    );
}

#[test]
fn a_source_without_files_has_none_and_one_that_is_no_directory_is_refused() {
    assert_eq!(read(&tree(&[("catalog/empty", Folder)])), Ok(Vec::new()));
    assert_eq!(
        read(&tree(&[
            ("catalog/.indexignore", File("*")),
            ("catalog/a", File(""))
        ])),
        Ok(Vec::new())
    );

    let folder = tree(&[("a.yaml", File("a"))]);
    fs::remove_dir(folder.path().join("catalog")).unwrap();
    let missing = listed(&folder).unwrap_err();
    assert_eq!(
        missing.to_string(),
        format!("cannot open `{}`", folder.path().join("catalog").display())
    );
    fs::write(folder.path().join("catalog"), "a").unwrap();
    let error = listed(&folder).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "`{}` is not a directory",
            folder.path().join("catalog").display()
        )
    );
}

#[test]
fn a_tree_has_entries_up_to_their_limit() {
    let folder = tree(&[
        ("catalog/a.yaml", File("a")),
        ("catalog/d/b.yaml", File("b")),
    ]);
    let list = |limit| {
        walk::list(&folder.path().join("catalog"), limit).map_err(|error| shown(&folder, &error))
    };
    assert_eq!(list(3).unwrap().files().len(), 2);
    assert_eq!(list(2).unwrap_err(), "`@/catalog` has more than 2 entries");
}

#[test]
fn patterns_are_read_up_to_their_limit() {
    let folder = tree(&[("catalog/a.yaml", File("a"))]);
    let path = folder.path().join("catalog/.indexignore");
    let limit = usize::try_from(IGNORE_FILE_BYTES).unwrap();
    fs::write(&path, "#\n".repeat(limit / 2)).unwrap();
    assert_files(&folder, &[("a.yaml", "a")]);
    fs::write(&path, "#\n".repeat(limit / 2) + "\n").unwrap();
    assert_eq!(
        read(&folder),
        Err(format!(
            "`@/catalog/.indexignore` has more than {limit} bytes"
        ))
    );
    fs::write(&path, "x".repeat(fbc_grammar::ignore::MAX_LINE + 1)).unwrap();
    assert!(
        read(&folder)
            .unwrap_err()
            .starts_with("cannot use the patterns in `@/catalog/.indexignore`: ")
    );
}

#[test]
fn a_file_that_becomes_a_link_after_it_was_listed_is_not_followed() {
    let folder = tree(&[
        ("outside.yaml", File("o")),
        ("catalog/a.yaml", File("a")),
        ("catalog/d/b.yaml", File("b")),
    ]);
    let listing = listed(&folder).unwrap();
    fs::remove_file(folder.path().join("catalog/a.yaml")).unwrap();
    symlink("../outside.yaml", folder.path().join("catalog/a.yaml")).unwrap();
    fs::rename(folder.path().join("catalog/d"), folder.path().join("away")).unwrap();
    symlink("../away", folder.path().join("catalog/d")).unwrap();
    for file in listing.files() {
        let error = listing.open(file).unwrap_err();
        assert_eq!(
            shown(&folder, &error).split(':').next(),
            Some(&*format!("cannot open `@/catalog/{}`", file.path))
        );
    }
}

#[test]
fn a_file_that_becomes_a_pipe_after_it_was_listed_is_not_waited_for() {
    let folder = tree(&[("catalog/a.yaml", File("a"))]);
    let listing = listed(&folder).unwrap();
    let path = folder.path().join("catalog/a.yaml");
    fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let error = listing.open(&listing.files()[0]).unwrap_err();
    assert_eq!(
        shown(&folder, &error),
        "`@/catalog/a.yaml` is a pipe, not a regular file"
    );
}

#[test]
fn a_listing_reads_the_root_that_it_was_made_of() {
    let folder = tree(&[
        ("catalog/a.yaml", File("old")),
        ("next/a.yaml", File("new")),
    ]);
    let listing = listed(&folder).unwrap();
    fs::rename(folder.path().join("catalog"), folder.path().join("former")).unwrap();
    fs::rename(folder.path().join("next"), folder.path().join("catalog")).unwrap();
    assert_eq!(text(&listing, &listing.files()[0]).unwrap(), "old");
}

#[test]
fn the_revision_changes_with_every_change_and_with_nothing_else() {
    let folder = tree(&[
        ("catalog/.indexignore", File("*.md")),
        ("catalog/a.yaml", File("a")),
        ("catalog/b.md", File("b")),
        ("catalog/l.yaml", Link("a.yaml")),
    ]);
    let root = folder.path().join("catalog");
    let revision = || listed(&folder).unwrap().revision().clone();
    let mut seen = BTreeMap::from([(revision().to_string(), "at first")]);
    fs::write(root.join("b.md"), "ignored").unwrap();
    assert_eq!(seen.get(&revision().to_string()), Some(&"at first"));
    let changes: [(&str, &dyn Fn()); 5] = [
        ("written", &|| {
            fs::write(root.join("a.yaml"), "longer").unwrap();
        }),
        ("renamed", &|| {
            fs::rename(root.join("a.yaml"), root.join("c.yaml")).unwrap();
        }),
        ("added", &|| fs::write(root.join("a.yaml"), "a").unwrap()),
        ("patterns", &|| {
            fs::write(root.join(".indexignore"), "*.md\nx").unwrap();
        }),
        ("removed", &|| fs::remove_file(root.join("c.yaml")).unwrap()),
    ];
    for (name, change) in changes {
        if name == "renamed" {
            fs::remove_file(root.join("l.yaml")).unwrap();
        }
        change();
        assert_eq!(seen.insert(revision().to_string(), name), None, "{name}");
    }
}
