//! Selection of the files of the catalog, and the entries that are rejected.

use super::*;

/// The files of the catalog with their texts, in its order; or why there are none.
fn files(layer: Archive) -> Result<Vec<(String, String)>, String> {
    let unpacked = image(&[layer.plain()], "/configs", &UnpackLimits::default()).unwrap();
    let files = unpacked.files().map_err(|error| told(&error))?;
    Ok(files
        .into_iter()
        .map(|file| (file.path, text(&unpacked, file.content)))
        .collect())
}

#[track_caller]
fn holds(layer: Archive, expected: &[(&str, &str)]) {
    let expected = expected
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    assert_eq!(files(layer), Ok(expected.collect()));
}

#[test]
fn every_file_is_there_in_catalog_order() {
    let layer = tar()
        .file("configs/b.yaml", "2")
        .file("configs/b/x.yaml", "1")
        .file("configs/b-c/.hidden/y", "3");
    let layer = layer
        .file("configs/README.md", "4")
        .folder("configs/empty")
        .hard_link("configs/a", "configs/b/x.yaml");
    let expected = [
        ("README.md", "4"),
        ("a", "1"),
        ("b/x.yaml", "1"),
        ("b-c/.hidden/y", "3"),
        ("b.yaml", "2"),
    ];
    holds(layer, &expected);
}

#[test]
fn ignored_files_are_left_out_whatever_they_are() {
    let layer = tar()
        .link("configs/.indexignore", "patterns")
        .file("configs/patterns", "patterns\n*.md\nlinks\n")
        .file("configs/a.yaml", "a")
        .file("configs/a.md", "b")
        .link("configs/links/nowhere", "missing")
        .link("configs/links/folder", "..")
        .file("configs/sub/.indexignore", "x.yaml")
        .file("configs/sub/x.yaml", "c")
        .file("configs/x.yaml", "d")
        .file("configs/folder/.indexignore/y.yaml", "e");
    holds(
        layer,
        &[
            ("a.yaml", "a"),
            ("folder/.indexignore/y.yaml", "e"),
            ("x.yaml", "d"),
        ],
    );
    holds(
        tar()
            .file("configs/.indexignore", "*")
            .file("configs/a", ""),
        &[],
    );
}

#[test]
fn a_link_to_a_file_is_the_file() {
    let layer = tar()
        .file("configs/d/real.yaml", "r")
        .link("configs/plain.yaml", "d/real.yaml")
        .link("configs/around.yaml", "d/../d/../../configs/d/real.yaml")
        .link("configs/twice.yaml", "plain.yaml")
        .link("configs/d/z", "/configs/d/real.yaml");
    let expected = [
        "around.yaml",
        "d/real.yaml",
        "d/z",
        "plain.yaml",
        "twice.yaml",
    ];
    holds(layer, &expected.map(|path| (path, "r")));
}

#[test]
fn a_link_that_leads_nowhere_or_to_a_folder_is_refused() {
    let to_folder = |path: &str| {
        format!(
            "the link `sub/l` leads to the directory `/{path}` of the catalog: name it in .indexignore or replace it by the directory"
        )
    };
    let nowhere = |path: &str| {
        format!("the link `sub/l` leads to `/{path}` of the catalog, which does not exist")
    };
    for (target, expected) in [
        ("nowhere", nowhere("sub/nowhere")),
        ("b/x", nowhere("sub/b/x")),
        (".", to_folder("sub")),
        ("..", to_folder("")),
        ("/configs", to_folder("")),
    ] {
        assert_eq!(
            files(base().link("configs/sub/l", target)),
            Err(expected),
            "{target}"
        );
        let patterns = base()
            .link("configs/.indexignore", "sub/l")
            .link("configs/sub/l", target);
        assert!(
            files(patterns)
                .unwrap_err()
                .starts_with("the link `.indexignore` leads to "),
            "{target}"
        );
    }
}

#[test]
fn a_config_map_that_was_put_into_an_image_is_read_once() {
    let layer = tar()
        .file("configs/..2026_01_01/catalog.yaml", "a")
        .link("configs/..data", "..2026_01_01")
        .link("configs/catalog.yaml", "..data/catalog.yaml")
        .file("configs/..2026_01_01/sub/.indexignore", "*")
        .file("configs/..2026_01_01.yaml", "x")
        .file("configs/sub/..hidden/b.yaml", "b")
        .file("configs/sub/c..", "c");
    holds(
        layer,
        &[
            ("catalog.yaml", "a"),
            ("sub/..hidden/b.yaml", "b"),
            ("sub/c..", "c"),
        ],
    );
    // A folder of that name is like any other.
    let layer = tar().file("configs/..data/a", "1").file("configs/..x", "2");
    holds(layer, &[("..data/a", "1"), ("..x", "2")]);
}

#[test]
fn patterns_are_read_up_to_their_limit() {
    let with = |patterns: &str| {
        files(base().file("configs/d/.indexignore", patterns)).map(|files| files.len())
    };
    let limit = usize::try_from(fbc_grammar::ignore::IGNORE_FILE_BYTES).unwrap();
    assert_eq!(with(&"#\n".repeat(limit / 2)), Ok(3));
    assert_eq!(
        with(&("#\n".repeat(limit / 2) + "\n")),
        Err(format!("`d/.indexignore` has more than {limit} bytes"))
    );
    let refused = with(&"x".repeat(fbc_grammar::ignore::MAX_LINE + 1)).unwrap_err();
    assert!(
        refused.starts_with("cannot use the patterns of the catalog: line 1 of the .indexignore"),
        "{refused}"
    );
}

#[test]
fn a_content_counts_by_each_of_its_names() {
    let layer = tar()
        .file("configs/a", "123")
        .link("configs/b", "a")
        .hard_link("configs/c", "configs/a");
    let with = |layer: Archive, bytes| {
        let unpacked = image(
            &[layer.plain()],
            "/configs",
            &UnpackLimits {
                bytes,
                ..UnpackLimits::default()
            },
        )
        .unwrap();
        unpacked
            .files()
            .map(|files| files.len())
            .map_err(|error| error.to_string())
    };
    assert_eq!(with(layer.clone(), 9), Ok(3));
    let told = "the files of the catalog have more than 8 bytes, each link counted as its target, up to `c`";
    assert_eq!(with(layer.clone(), 8), Err(told.to_owned()));
    assert_eq!(with(layer.file("configs/.indexignore", "c"), 8), Ok(2));
}

#[test]
fn a_file_is_read_piece_by_piece_and_never_beyond_its_end() {
    let layer = tar()
        .file("configs/a", "123")
        .file("configs/b", "4567")
        .file("configs/c", "");
    let unpacked = image(&[layer.plain()], "/configs", &UnpackLimits::default()).unwrap();
    let pieces = |file: &CatalogFile| {
        let mut pieces = Vec::new();
        let mut at = 0;
        let mut room = [0; 3];
        loop {
            match unpacked.read(file.content, at, &mut room).unwrap() {
                0 => return pieces.join("|"),
                read => pieces.push(String::from_utf8(room[..read].to_vec()).unwrap()),
            }
            at += pieces.last().unwrap().len() as u64;
        }
    };
    let read: Vec<_> = unpacked.files().unwrap().iter().map(pieces).collect();
    assert_eq!(read, ["123", "456|7", ""]);
}
