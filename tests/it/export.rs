//! `catalogql export`: the files that it writes, what it leaves as it is, and what stops it.

use std::fs::{self, File};
use std::path::Path;

use export::ExportTable;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use testing::fixture;

use crate::support::{ARGO, ETCD, Folders, Output, catalogql, digest, lines, run};

/// A catalog that `opm validate` refuses.
const TWO_HEADS: &str = "
    package etcd default=stable
    channel stable: v0.9.0 , v0.9.2";

/// The folder of a content in the folder of a table.
fn content_folder(catalog: &str, fixture: &str) -> String {
    let digest = digest(lines(fixture).as_bytes()).replace(':', "-");
    format!("catalog={catalog}/content={digest}")
}

/// Exports to `tables`.
fn export(folders: &Folders, arguments: &[&str]) -> Output {
    let to = folders.text("tables");
    let output = run(catalogql()
        .arg("export")
        .args(arguments)
        .args(["--to", &to]));
    Output {
        stdout: folders.shown(&output.stdout),
        stderr: folders.shown(&output.stderr),
        ..output
    }
}

/// Every file below a folder, with its bytes, by its path.
fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("it is below");
                let bytes = fs::read(&path).expect("a file");
                files.push((name.display().to_string(), bytes));
            }
        }
    }
    files.sort();
    files
}

/// The paths of files, in order.
fn paths(files: &[(String, Vec<u8>)]) -> Vec<&str> {
    files.iter().map(|(path, _)| path.as_str()).collect()
}

/// The paths of all tables of these contents, as [`content_folder`] names them, and of the lock.
fn expected_paths(contents: &[String]) -> Vec<String> {
    let mut expected = vec![".lock".to_owned()];
    for table in ExportTable::ALL {
        for content in contents {
            expected.push(format!("{}/{content}/part-0.parquet", table.name()));
        }
    }
    expected.sort();
    expected
}

/// The rows of a file, each as one line.
fn rows(path: &Path) -> Vec<String> {
    let reader =
        SerializedFileReader::new(File::open(path).expect("a file")).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("every column is read");
    rows.map(|row| row.expect("a row").to_string()).collect()
}

#[test]
fn each_table_of_a_content_has_a_file_below_its_catalog_and_its_digest() {
    let folders = Folders::new();
    folders.catalog("one", ETCD);
    folders.catalog("two", ARGO);
    let one = content_folder("one", ETCD);
    let two = content_folder("2026-01-01", ARGO);
    let two_source = format!("2026-01-01={}", folders.text("two"));

    let output = export(&folders, &[&folders.text("one"), &two_source]);
    assert_eq!((output.status, output.stderr.as_str()), (Some(0), ""));
    let digests = [ETCD, ARGO].map(|fixture| digest(lines(fixture).as_bytes()));
    let printed: Vec<_> = output.stdout.lines().collect();
    let expected = [
        format!("one {}: 1 packages and 3 bundles in 11 files, ", digests[0]),
        format!(
            "2026-01-01 {}: 1 packages and 1 bundles in 11 files, ",
            digests[1]
        ),
    ];
    assert_eq!(printed.len(), expected.len(), "{printed:?}");
    for (line, expected) in printed.iter().zip(&expected) {
        assert!(
            line.starts_with(expected) && line.ends_with(" bytes"),
            "{line}"
        );
    }

    assert_eq!(
        paths(&files(&folders.path("tables"))),
        expected_paths(&[one.clone(), two])
    );
    let entries = folders.path(&format!("tables/entries/{one}/part-0.parquet"));
    let expected = [
        r#"{package: "etcd", channel: "stable", ordinal: 0, bundle: "etcd.v0.9.0", has_bundle: true, replaces: null, skips: [], skip_range: null}"#,
        r#"{package: "etcd", channel: "stable", ordinal: 1, bundle: "etcd.v0.9.2", has_bundle: true, replaces: "etcd.v0.9.0", skips: [], skip_range: null}"#,
        r#"{package: "etcd", channel: "stable", ordinal: 2, bundle: "etcd.v0.9.4", has_bundle: true, replaces: "etcd.v0.9.2", skips: ["etcd.v0.9.1"], skip_range: null}"#,
    ];
    assert_eq!(rows(&entries), expected);
}

#[test]
fn a_content_that_is_there_is_left_as_it_is_and_another_one_comes_beside_it() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let source = folders.text("etcd");
    export(&folders, &[&source]);
    let first = files(&folders.path("tables"));

    let output = export(&folders, &[&source]);
    let digest = digest(lines(ETCD).as_bytes());
    let unchanged = format!("etcd {digest}: unchanged\n");
    assert_eq!((output.status, output.stdout), (Some(0), unchanged));
    assert_eq!(files(&folders.path("tables")), first);

    folders.catalog("etcd", fixture::NEWER);
    export(&folders, &[&source]);
    let both = files(&folders.path("tables"));
    let contents = [ETCD, fixture::NEWER].map(|fixture| content_folder("etcd", fixture));
    let mut expected = expected_paths(&contents);
    expected.sort();
    assert_eq!(paths(&both), expected);
    assert!(first.iter().all(|file| both.contains(file)));
}

#[test]
fn the_problems_of_an_invalid_catalog_are_rows() {
    let folders = Folders::new();
    folders.catalog("faulty", TWO_HEADS);
    let output = export(&folders, &[&folders.text("faulty")]);
    assert_eq!((output.status, output.stderr.as_str()), (Some(0), ""));
    let content = content_folder("faulty", TWO_HEADS);
    let problems = folders.path(&format!("tables/problems/{content}/part-0.parquet"));
    let expected = [
        r#"{code: "CHANNEL_MULTIPLE_HEADS", severity: "ERROR", occurrences: 1, message: "multiple channel heads found in graph: etcd.v0.9.0, etcd.v0.9.2", package: "etcd", channel: "stable", bundle: null, file: "catalog.json", line: 2}"#,
    ];
    assert_eq!(rows(&problems), expected);
}

#[test]
fn a_catalog_that_cannot_be_read_does_not_stop_the_others() {
    let folders = Folders::new();
    folders.write("broken/catalog.json", "{");
    folders.catalog("etcd", ETCD);
    let output = export(&folders, &[&folders.text("broken"), &folders.text("etcd")]);
    assert_eq!(output.status, Some(2));
    let start = "error: cannot load the catalog `broken`: ";
    assert!(output.stderr.starts_with(start), "{}", output.stderr);
    let written = files(&folders.path("tables"));
    let expected = expected_paths(&[content_folder("etcd", ETCD)]);
    assert_eq!(paths(&written), expected);
}

#[test]
fn two_sources_of_one_name_are_refused() {
    let folders = Folders::new();
    folders.catalog("one/etcd", ETCD);
    folders.catalog("two/etcd", ARGO);
    let output = export(
        &folders,
        &[&folders.text("one/etcd"), &folders.text("two/etcd")],
    );
    let expected = "error: two catalogs are called `etcd`: write NAME=SOURCE to give one of them another name\n";
    assert_eq!((output.status, output.stderr.as_str()), (Some(2), expected));
    assert!(!folders.path("tables").exists());
}

#[test]
fn a_directory_that_cannot_be_written_to_is_named() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    // Not by permissions, which the superuser does not need.
    folders.write("tables", "a file");
    let output = export(&folders, &[&folders.text("etcd")]);
    let expected = "error: cannot export to `@/tables`: File exists (os error 17)\n";
    assert_eq!((output.status, output.stderr.as_str()), (Some(2), expected));
}

#[test]
fn an_object_store_is_refused_with_what_to_do() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let source = folders.text("etcd");
    let output = run(catalogql().args(["export", &source, "--to", "s3://bucket/tables"]));
    let expected = "error: cannot export to `s3://bucket/tables`: `--to` names a directory: export to one, and copy it with the tools of the object store\n";
    assert_eq!((output.status, output.stderr.as_str()), (Some(2), expected));
}

#[test]
fn an_export_that_is_killed_leaves_no_half_file_and_the_next_one_completes_it() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let source = folders.text("etcd");
    let to = folders.text("tables");
    // The kernel kills a program that writes beyond a limit for the size of its files: in the middle
    // of a file.
    let limited = format!(
        "ulimit -c 0; ulimit -f 2; exec '{}' export '{source}' --to '{to}'",
        env!("CARGO_BIN_EXE_catalogql")
    );
    let killed = run(std::process::Command::new("sh").args(["-c", &limited]));
    assert_eq!(killed.status, None, "{killed:?}");
    let left = files(&folders.path("tables"));
    assert!(
        left.iter().any(|(path, _)| path.starts_with(".staging/")),
        "{:?}",
        paths(&left)
    );
    assert!(
        !left.iter().any(|(path, _)| path.ends_with(".parquet")),
        "{:?}",
        paths(&left)
    );

    let output = export(&folders, &[&source]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let expected = expected_paths(&[content_folder("etcd", ETCD)]);
    assert_eq!(paths(&files(&folders.path("tables"))), expected);
}

#[test]
fn a_content_is_complete_when_its_last_table_is_there() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let source = folders.text("etcd");
    export(&folders, &[&source]);
    let complete = files(&folders.path("tables"));
    // As after a kill between two tables.
    let content = content_folder("etcd", ETCD);
    for table in ["contents", "problems"] {
        fs::remove_file(folders.path(&format!("tables/{table}/{content}/part-0.parquet"))).unwrap();
    }
    let output = export(&folders, &[&source]);
    assert!(
        output.stdout.contains(" in 11 files, "),
        "{}",
        output.stdout
    );
    let without_time = |files: &[(String, Vec<u8>)]| {
        let mut files = files.to_vec();
        files.retain(|(path, _)| !path.starts_with("contents/"));
        files
    };
    let again = files(&folders.path("tables"));
    assert_eq!(paths(&again), paths(&complete));
    assert_eq!(without_time(&again), without_time(&complete));
}

#[test]
fn a_table_that_cannot_be_published_leaves_the_content_incomplete_and_stops_no_other_catalog() {
    let folders = Folders::new();
    folders.catalog("argo", ARGO);
    folders.catalog("etcd", ETCD);
    let argo = folders.text("argo");
    let etcd = folders.text("etcd");
    folders.write("tables/images/catalog=etcd", "a file");

    let output = export(&folders, &[&etcd, &argo]);
    assert_eq!(output.status, Some(2));
    let start =
        "error: cannot export the catalog `etcd`: cannot write to `@/tables/images/catalog=etcd/";
    assert!(output.stderr.starts_with(start), "{}", output.stderr);
    let written = files(&folders.path("tables"));
    let of_argo = written
        .iter()
        .filter(|(path, _)| !path.contains("catalog=etcd"));
    let of_argo: Vec<_> = of_argo.cloned().collect();
    assert_eq!(
        paths(&of_argo),
        expected_paths(&[content_folder("argo", ARGO)])
    );
    assert!(!folders.path("tables/contents/catalog=etcd").exists());

    fs::remove_file(folders.path("tables/images/catalog=etcd")).unwrap();
    assert_eq!(export(&folders, &[&etcd]).status, Some(0));
    let contents = [content_folder("argo", ARGO), content_folder("etcd", ETCD)];
    let written = files(&folders.path("tables"));
    assert_eq!(paths(&written), expected_paths(&contents));
}

#[test]
fn a_name_that_is_too_long_for_a_folder_is_refused_without_a_file() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    // `catalog=` and the name have at most 255 bytes.
    let named = |length: usize| format!("{}={}", "a".repeat(length), folders.text("etcd"));
    let output = export(&folders, &[&named(248)]);
    let is_explained = output
        .stderr
        .ends_with(": File name too long (os error 36)\n");
    assert!(output.status == Some(2) && is_explained, "{output:?}");
    assert_eq!(paths(&files(&folders.path("tables"))), [".lock"]);
    assert_eq!(export(&folders, &[&named(247)]).status, Some(0));
}

#[test]
fn two_exports_to_one_directory_do_not_run_at_one_time() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    folders.write("tables/.lock", "");
    let lock = File::open(folders.path("tables/.lock")).unwrap();
    lock.lock().unwrap();
    let output = export(&folders, &[&folders.text("etcd")]);
    let expected =
        "error: cannot export to `@/tables`: another export writes to it: wait until it ends\n";
    assert_eq!((output.status, output.stderr.as_str()), (Some(2), expected));
}
