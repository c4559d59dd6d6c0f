//! Real catalogs, where they are unpacked: [`testing::corpus`] says where they are looked for, and
//! what becomes of tests that do not find theirs.

mod olm_v1;
mod upgrades;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fbc::{Bundle, Catalog, Channel, Package};
use fbc_read::Severity;
use loading::directory::list;
use serde_json::{Value, json};
use serving::{Content, Served};
use testing::corpus::{REFUSED, find_catalog};

use crate::served;
use crate::support::{Folders, run};

/// A catalog of the corpus, served; `None` where it is not unpacked, as [`find_catalog`] says.
#[track_caller]
pub(crate) fn serve(name: &str) -> Option<Served> {
    Some(served::directory(
        name,
        find_catalog(name)?.to_str().expect("the path is UTF-8"),
    ))
}

/// The catalog `community`, served: the whole of it, or the part that lies in this repository.
pub(crate) fn serve_community() -> Served {
    let directory = testing::corpus::community();
    served::directory("community", directory.to_str().expect("the path is UTF-8"))
}

/// What is expected of this catalog: of the whole `community`, or of its part.
pub(crate) fn of_whole_or_part<T>(catalog: &Catalog, whole: T, part: T) -> T {
    if catalog.packages().len() > 100 {
        whole
    } else {
        part
    }
}

fn property_counts(catalog: &Catalog) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for property in catalog.bundles().flat_map(Bundle::properties) {
        *counts.entry(property.type_name()).or_default() += 1;
    }
    counts
}

#[test]
fn every_package_of_community_is_served_and_just_the_bad_ones_have_errors() {
    let catalog = serve_community().content.catalog;
    let channels = || catalog.packages().flat_map(Package::channels);
    let totals = (
        catalog.packages().len(),
        channels().count(),
        channels()
            .map(|channel| channel.entries().len())
            .sum::<usize>(),
        catalog.bundles().len(),
        catalog.meta_count(),
    );
    assert_eq!(
        totals,
        of_whole_or_part(
            &catalog,
            (333, 654, 10_011, 6_475, 7_462),
            (30, 51, 253, 205, 286)
        )
    );
    let expected = [
        ("olm.constraint", 1, 1),
        ("olm.csv.metadata", 6_475, 205),
        ("olm.gvk", 33_992, 1_019),
        ("olm.gvk.required", 114, 39),
        ("olm.maxOpenShiftVersion", 550, 10),
        ("olm.package", 6_475, 205),
        ("olm.package.required", 151, 60),
    ];
    let expected =
        expected.map(|(name, whole, part)| (name, of_whole_or_part(&catalog, whole, part)));
    assert_eq!(property_counts(&catalog), BTreeMap::from(expected));
    let errors = catalog
        .problems()
        .iter()
        .filter(|problem| problem.severity() == Severity::Error);
    let refused: BTreeSet<&str> = errors
        .map(|problem| problem.package.as_deref().unwrap_or("none"))
        .collect();
    let bad = REFUSED
        .into_iter()
        .filter(|name| catalog.package(name).is_some());
    let bad: BTreeSet<&str> = bad.collect();
    assert_eq!(bad.len(), of_whole_or_part(&catalog, 8, 1));
    assert_eq!(refused, bad);
    assert!(
        catalog
            .problems()
            .iter()
            .all(|problem| problem.file.is_some() && problem.line.is_some())
    );
}

#[test]
fn real_catalogs_are_far_below_the_limits_of_their_size() {
    for directory in testing::corpus::catalogs() {
        let name = directory.display();
        let served = served::directory("c", directory.to_str().expect("the path is UTF-8"));
        let catalog = served.content.catalog;
        let files: u64 = list(&directory).unwrap().bytes();
        let lines = catalog.content().len() as u64;
        let entries = catalog
            .packages()
            .flat_map(Package::channels)
            .flat_map(Channel::entries);
        let entries: usize = entries.map(|entry| 1 + entry.skips().len()).sum();
        let objects =
            catalog.meta_count() + entries + property_counts(&catalog).values().sum::<usize>();
        println!("{name}: {files} bytes of files, {lines} bytes of lines, {objects} objects");
        assert!(2 * lines < loading::MAX_GROWTH * files, "{name}");
        assert!(
            objects as u64 * 50 * fbc::BYTES_PER_OBJECT < 2 * files,
            "{name}"
        );
        assert!(catalog.all_problems().unlisted().total() == 0, "{name}");
    }
}

#[test]
fn the_yaml_of_v4_18_gives_what_another_reader_makes_of_it() {
    let Some(Served {
        content: Content { catalog, .. },
        ..
    }) = serve("community-v4.18-yaml")
    else {
        return;
    };
    let folder = find_catalog("community-v4.18-yaml").expect("it was there before");
    let mut expected = Vec::new();
    for package in sorted(&folder) {
        for file in sorted(&package) {
            let text = fs::read_to_string(&file).expect("a readable file");
            expected.extend(converted(&text).into_iter().map(|value| as_doubles(&value)));
        }
    }
    let blobs = (0..catalog.meta_count()).map(|at| catalog.meta_at(at).blob().raw());
    let read: Vec<Value> = blobs
        .map(|blob| as_doubles(&serde_json::from_slice(blob).expect("a blob is JSON")))
        .collect();
    assert_eq!(read.len(), 840);
    assert_eq!(
        (catalog.packages().len(), catalog.bundles().len()),
        (35, 727)
    );
    assert!(
        read == expected,
        "first difference: {:?}",
        read.iter().zip(&expected).find(|(a, b)| a != b)
    );
}

/// The documents of a file, by a reader that shares no code with ours, set to the dialect of
/// yaml.v2.
fn converted(text: &str) -> Vec<Value> {
    let budget = serde_saphyr::budget! {
        max_events: usize::MAX, max_nodes: usize::MAX, max_documents: usize::MAX, max_total_scalar_bytes: usize::MAX,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_multiple_with_options(text, options).expect("the file is YAML")
}

/// The value with every number as a double, as upstream reads them.
fn as_doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.iter().map(as_doubles).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), as_doubles(value)))
            .collect(),
        other => other.clone(),
    }
}

/// What is in a folder, by name.
pub(crate) fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

#[test]
fn the_real_catalogs_and_the_example_are_served_at_once() {
    let mut all = vec![serve_community()];
    let mut expected = vec![of_whole_or_part(&all[0].content.catalog, 333, 30)];
    for (name, packages) in [("community-objects", 14), ("community-v4.18-yaml", 35)] {
        if testing::corpus::folder().join(name).is_dir() {
            all.extend(serve(name));
            expected.push(packages);
        }
    }
    let example = served::directory("example", "examples/catalog");
    expected.push(example.content.catalog.packages().len());
    all.push(example);
    // Catalogs are listed by priority, and then by name.
    let engine = served::engine(all);
    let query = "{ catalogs { name packages { totalCount } bundles { totalCount } } packages { totalCount } }";
    let answer = engine.execute(&graphql::Request {
        query: Some(query.into()),
        ..Default::default()
    });
    let answer: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
    let catalogs = answer["data"]["catalogs"].as_array().expect("a list");
    let found = catalogs
        .iter()
        .map(|catalog| &catalog["packages"]["totalCount"]);
    assert_eq!(json!(found.collect::<Vec<_>>()), json!(expected));
    assert_eq!(
        answer["data"]["packages"]["totalCount"],
        json!(expected.iter().sum::<usize>())
    );
}

#[test]
fn a_test_without_its_catalog_is_named_and_fails_where_ci_is_set() {
    let folders = Folders::new();
    let test = "corpus::the_yaml_of_v4_18_gives_what_another_reader_makes_of_it";
    let run_without_corpus = |ci: &str| {
        let mut tests = Command::new(std::env::current_exe().expect("tests are a program"));
        tests
            .args(["--exact", test, "--test-threads=2"])
            .env("CI", ci);
        tests
            .env("CATALOGQL_CORPUS", folders.path("nowhere"))
            .env("CATALOGQL_SKIPPED_TESTS", folders.path("skipped"));
        run(&mut tests)
    };
    let output = run_without_corpus("");
    assert!(
        output.status == Some(0) && output.stdout.contains("1 passed"),
        "{output:?}"
    );
    let missing = folders.text("nowhere/community-v4.18-yaml");
    let said = format!("skipped: {test} looked at nothing, because {missing} is not a directory\n");
    assert_eq!(output.stderr, said);
    let listed = fs::read_to_string(folders.path("skipped")).expect("a list");
    assert_eq!(listed, format!("the corpus of real catalogs\t{test}\n"));

    let output = run_without_corpus("true");
    assert_eq!(output.status, Some(101), "{output:?}");
    assert!(
        output
            .stdout
            .contains("unpack the corpus there, or name its folder in CATALOGQL_CORPUS"),
        "{output:?}"
    );
}
