//! The corpus: real catalogs, which tests and benches use where they are unpacked. Tests that need
//! one that is not there have nothing to look at, and are reported as [skipped](crate::skipped).

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use fbc::Catalog;
use fbc_read::Origins;
use fbc_read::json::JsonValue;
use fbc_read::manifest::read_manifest;

use crate::fixture::read_file;
use crate::skipped::report_skipped;

/// Names of the whole catalogs.
const CATALOGS: [&str; 3] = ["community", "community-objects", "community-v4.18-yaml"];

/// The packages of `community` that `opm validate` refuses, and no other.
pub const REFUSED: [&str; 8] = [
    "dynatrace-operator",
    "infinispan",
    "kuadrant-operator",
    "multicluster-operators-subscription",
    "percona-postgresql-operator",
    "percona-server-mongodb-operator",
    "percona-xtradb-cluster-operator",
    "sosivio",
];

/// Returns the folder that `CATALOGQL_CORPUS` names, or else `catalogql/corpus` in the user's cache
/// folder.
pub fn folder() -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = || env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    env::var_os("CATALOGQL_CORPUS")
        .map_or_else(|| cache().join("catalogql").join("corpus"), PathBuf::from)
}

/// Returns the directory of the catalog `community`: the whole catalog where it is unpacked, or else
/// the 30 packages of it that lie in this repository. For tests that hold over any catalog.
pub fn community() -> PathBuf {
    let whole = folder().join("community");
    if whole.is_dir() {
        whole
    } else {
        part_of_community()
    }
}

/// Returns what a test expects of a directory of [`community`]: of the whole catalog, or of its part.
pub fn whole_or_part<T>(directory: &Path, whole: T, part: T) -> T {
    if directory == part_of_community() {
        part
    } else {
        whole
    }
}

/// Returns the directories of the real catalogs: the whole ones that are unpacked, and the part that
/// lies in this repository. For tests of each catalog.
pub fn catalogs() -> Vec<PathBuf> {
    let whole = CATALOGS.map(|name| folder().join(name));
    let unpacked = whole.into_iter().filter(|directory| directory.is_dir());
    unpacked.chain([part_of_community()]).collect()
}

/// Returns the directory of the packages of `community` that lie in this repository.
pub fn part_of_community() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/testdata/community"
    ))
}

/// Returns the directory of a catalog of the corpus for the test that calls. `None` where it is not
/// unpacked: the test then has nothing to look at and returns, and is reported as skipped. Where
/// `CI` is set and not empty, this panics instead.
#[track_caller]
pub fn find_catalog(name: &str) -> Option<PathBuf> {
    let directory = folder().join(name);
    if directory.is_dir() {
        return Some(directory);
    }
    report_skipped(
        "the corpus of real catalogs",
        &format!("{} is not a directory", directory.display()),
        "unpack the corpus there, or name its folder in CATALOGQL_CORPUS",
    );
    None
}

/// Indexes the packages of a directory, one folder each, without those of some names, such as
/// [`REFUSED`].
///
/// # Errors
/// If a folder or a file cannot be read.
///
/// # Panics
/// If a file is not valid.
pub fn load(directory: &Path, without: &[&str]) -> io::Result<Catalog> {
    let mut lines = Vec::new();
    let mut files = Vec::new();
    for folder in sorted_paths(directory)? {
        if !folder.is_dir() || without.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        for path in sorted_paths(&folder)? {
            if path.is_file() {
                let file = fs::read(&path)?;
                files.push(read_file(&path.to_string_lossy(), &file, &mut lines));
            }
        }
    }
    let origins = Origins {
        files,
        ..Origins::default()
    };
    Ok(Catalog::build(lines.into(), &origins).expect("a valid catalog"))
}

/// A bundle with the manifests that a catalog has of it.
pub struct InlineBundle {
    pub package: String,
    pub name: String,
    /// Manifests, in the order of the catalog.
    pub files: Vec<Vec<u8>>,
}

/// Reads those bundles of a catalog of one file a package, `catalog.json` with a blob a line, that a
/// test wants by package and name: a list for each package, in the order of the catalog, read when
/// it is needed.
///
/// # Panics
/// If a file cannot be read, or has another form.
pub fn inline_bundles(
    catalog: &Path,
    is_wanted: impl Fn(&str, &str) -> bool,
) -> impl Iterator<Item = Vec<InlineBundle>> {
    let folders = sorted_paths(catalog).expect("the catalog can be read");
    folders.into_iter().map(move |folder| {
        let package = folder.file_name().expect("a folder has a name");
        let package = package.to_string_lossy().into_owned();
        let file = fs::File::open(folder.join("catalog.json")).expect("the file can be opened");
        let mut bundles = Vec::new();
        for line in BufReader::new(file).lines() {
            let line = line.expect("the file can be read");
            let blob = JsonValue::new(line.as_bytes());
            let fields = blob.fields(["schema", "name", "properties"]);
            let [schema, name, properties] = fields.expect("a blob is an object");
            if schema.is_none_or(|schema| schema.raw() != b"\"olm.bundle\"") {
                continue;
            }
            let name = name.and_then(|name| name.text().ok());
            let name = name.expect("a bundle has a name").decode().into_owned();
            if is_wanted(&package, &name) {
                bundles.push(InlineBundle {
                    package: package.clone(),
                    name,
                    files: properties.map(inline_files).unwrap_or_default(),
                });
            }
        }
        bundles
    })
}

fn inline_files(properties: JsonValue<'_>) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for property in properties.elements().expect("properties are a list") {
        let [kind, value] = property
            .fields(["type", "value"])
            .expect("a property is an object");
        if kind.is_some_and(|kind| kind.raw() == b"\"olm.bundle.object\"") {
            let mut bytes = Vec::new();
            let value = value.expect("a property has a value");
            read_manifest(value.raw(), &mut bytes).expect("a manifest is base64");
            files.push(bytes);
        }
    }
    files
}

fn sorted_paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
